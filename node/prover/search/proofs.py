"""Extracts finished proofs from the tree of a search.

A node's tactics use the names of the state for which the node was made. Where another state was merged into the node
(`node.prover.search.merging`), its proof has to use that state's names. A *place* is a node together with such names.
So a node has one proof for each naming of its hypotheses that occurs in the whole proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from common.lean import ProofTree
from common.proofs import bounded
from node.lean.text.lexing import locals_of, renamed
from node.prover.search.merging import hypothesis_names
from node.prover.search.tree import Action, StateNode

Names = tuple[tuple[str, str], ...]
"""From each name of a node's context to the name at a place; empty if the names are the node's own."""


class NotSolved(ValueError):
    """The search has found no proof."""


class Place(NamedTuple):
    """A node with the names that its hypotheses have at one place of the proof."""

    node: StateNode
    names: Names = ()


def extract(root: StateNode, failed: int = 0) -> ProofTree:
    """The shortest known proof of a state: shortest in tactics on the longest branch. Raises NotSolved.

    `failed`: most failed tactics that each step lists.

    Uses no recursion, so any depth is fine. A merged state gets a proof at each place where it occurs.
    """
    if root.best is None:
        raise NotSolved(f"no proof is known for: {root.state[:80]}")
    proofs: dict[Place, ProofTree] = {}
    start = Place(root)
    todo = [start]
    while todo:
        place = todo[-1]
        node, action = place.node, place.node.best
        assert action is not None  # the best action of a solved state leads to solved states
        tactic, below = written(action, place.names)
        missing = [child for child in below if child not in proofs]
        if missing:
            todo += missing
            continue
        todo.pop()
        children = tuple(proofs[child] for child in below)
        source = node.sources.get(action.tactic, "")
        # Failed tactics have the names of the node, so a place with other names lists none.
        refused = failed_at(node, failed) if failed and not place.names else ()
        proofs[place] = ProofTree(tactic, action.layout, children, state_at(place), source, refused)
    return proofs[start]


def failed_at(node: StateNode, most: int) -> tuple[str, ...]:
    """At most `most` of the network's tactics that failed at a state, by decreasing prior mass: the unlikelihood loss
    of a tactic grows with its probability."""
    masses = node.failed or {}
    return bounded(sorted(masses, key=lambda tactic: -masses[tactic]), most)


def state_at(place: Place) -> str:
    """The state with the names of a place; empty if a bound variable would be captured."""
    node, names = place
    if not names:
        return node.state
    here = dict(names)
    taken = set(here.values())
    if any(word in taken and word not in here for word in locals_of(node.state)):
        return ""
    return renamed(node.state, here)


def written(action: Action, names: Names) -> tuple[str, list[Place]]:
    """An action's tactic written with the names of a place, and the places that it leads to.

    A name that the tactic introduces is changed if it is taken at the place: for example `intro h`, where another
    hypothesis of the place is called `h` and the node does not mention it.
    """
    if not names and not action.aliases:
        return action.tactic, [Place(child) for child in action.children]
    here = dict(names)
    if here:
        here |= _fresh(action, here)
    tactic = renamed(action.tactic, here) if here else action.tactic
    return tactic, [_below(action, index, here) for index in range(len(action.children))]


def _below(action: Action, index: int, here: Mapping[str, str]) -> Place:
    """The place of a branch: composes the child's alias with the names of the parent's place."""
    child = action.children[index]
    alias = action.aliases[index] if action.aliases else None
    if alias is None and not here:
        return Place(child)
    names = alias.names if alias else {name: name for name in hypothesis_names(child.state)}
    place = {name: here.get(alias_name, alias_name) for name, alias_name in names.items()}
    return Place(child, tuple(place.items()) if any(name != new_name for name, new_name in place.items()) else ())


def _fresh(action: Action, here: Mapping[str, str]) -> dict[str, str]:
    """New names for names that a tactic introduces and that are taken at the place."""
    taken = set(here.values())
    words = locals_of(action.tactic)
    used = taken.union(here, words)
    fresh: dict[str, str] = {}
    for word in words:
        if word in taken and word not in here:
            number = 1
            while (name := f"{word}_{number}") in used:
                number += 1
            fresh[word] = name
            used.add(name)
    return fresh
