"""A lookup table of the states of one search, which merges states that differ only in names and order of hypotheses.

Two states are equal if their canonical keys are equal. A key costs more than the rest of a simulation, and most
states are unique. So each state first gets a cheap sketch (`Sketches`), and keys are computed only for states with
equal sketches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from node.lean.text.canonical import Canonical, Merging, Sketches, canonical
from node.lean.text.goals import ELIDED

if TYPE_CHECKING:
    from node.prover.search.tree import StateNode


@dataclass(frozen=True, slots=True)
class Alias:
    """A state that was merged into a node with another text."""

    state: str
    """The text of the merged state, as Lean prints it."""
    names: dict[str, str]
    """From each name of the node's context to the name in the merged state."""


class KnownStates:
    """The nodes of a tree by text, by sketch and by canonical key."""

    def __init__(self, merging: Merging) -> None:
        self.merged = 0
        """Number of texts that were merged into a node with another text."""
        self._merging: Merging = merging
        self._by_text: dict[str, tuple[StateNode, Alias | None]] = {}
        self._sketches = Sketches()
        self._by_sketch: dict[int, StateNode | None] = {}
        """The only node with this sketch. None: there may be several, and all of them are in `_by_key`."""
        self._by_key: dict[str, tuple[StateNode, Canonical]] = {}

    def find(self, state: str) -> tuple[StateNode | None, Alias | None, int | None]:
        """The node of a state (None for a new state), the state's alias (None if its text is the node's), and its
        sketch (None if it may be merged with equal texts only)."""
        known = self._by_text.get(state)
        if known is not None:
            return *known, None
        sketch = None if self._merging == "text" else self._sketches.of(state)
        if sketch is None or sketch not in self._by_sketch:
            return None, None, sketch
        form = canonical(state, self._merging)
        if form is None:
            return None, None, None
        self._compute_key(sketch)
        equal = self._by_key.get(form.key)
        if equal is None:
            return None, None, sketch
        node, first = equal
        alias = Alias(state, dict(zip(first.names, form.names, strict=True)))
        self._by_text[state] = node, alias
        self.merged += 1
        return node, alias, sketch

    def of_text(self, state: str) -> tuple[StateNode, Alias | None]:
        """The node of a known state, and the state's alias (None if its text is the node's). Raises KeyError if the
        text is unknown."""
        return self._by_text[state]

    def enter(self, node: StateNode, sketch: int | None) -> None:
        """Add a new node. `sketch`: from `find`; None: only states with equal text are merged with this one."""
        if ELIDED not in node.state:
            self._by_text[node.state] = node, None
        if sketch is None:
            return
        if sketch in self._by_sketch:
            self._enter_key(node)
        else:
            self._by_sketch[sketch] = node

    def _compute_key(self, sketch: int) -> None:
        """Enter the key of the first state with this sketch, because there is a second one now."""
        first = self._by_sketch[sketch]
        if first is not None:
            self._by_sketch[sketch] = None
            self._enter_key(first)

    def _enter_key(self, node: StateNode) -> None:
        form = canonical(node.state, self._merging)
        if form is not None:
            self._by_key[form.key] = node, form
