"""Small caches of what Lean has said. Correct for one header: the key holds all that an outcome depends on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from common.lean import Outcome, OutcomeKind, Step, Theorem

K = TypeVar("K")
V = TypeVar("V")

StateKey = tuple[str, str, str, tuple[Step, ...]]

_LASTING = (OutcomeKind.PROVED, OutcomeKind.GOALS, OutcomeKind.ERROR)
"""Outcomes that will be the same again. Time and memory may run out once and not again."""


class Recent(Generic[K, V]):
    """A dictionary that forgets what was not used for longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        value = self._items.get(key)
        if value is not None:
            self._items.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._most:
            self._items.popitem(last=False)

    def __len__(self) -> int:
        return len(self._items)


class OutcomeCache:
    """Outcomes of tactics, texts of states, and which tactics are known to parse."""

    def __init__(self, most: int) -> None:
        """`most`: entries of each kind; an outcome takes about 1 KB."""
        self._outcomes: Recent[tuple[StateKey, str], Outcome] = Recent(most)
        self._states: Recent[StateKey, str] = Recent(most)
        self._parsed: Recent[tuple[str, str], bool] = Recent(most)

    def outcome(self, theorem: Theorem, path: Sequence[Step], tactic: str) -> Outcome | None:
        return self._outcomes.get((state_key(theorem, path), tactic))

    def state(self, theorem: Theorem, path: Sequence[Step]) -> str | None:
        return self._states.get(state_key(theorem, path))

    def parses(self, header: str, tactic: str) -> bool:
        """Whether the tactic is known to parse."""
        return bool(self._parsed.get((header, tactic)))

    def learn_state(self, theorem: Theorem, path: Sequence[Step], state: str) -> None:
        self._states.put(state_key(theorem, path), state)

    def learn(self, theorem: Theorem, path: Sequence[Step], tactic: str, outcome: Outcome) -> None:
        """Remember an outcome, and the states that it leads to."""
        if outcome.kind not in _LASTING:
            return
        self._outcomes.put((state_key(theorem, path), tactic), outcome)
        if outcome.kind is not OutcomeKind.ERROR:
            self._parsed.put((theorem.header, tactic), True)
        for number, branch in enumerate(outcome.branches):
            self.learn_state(theorem, (*path, Step(tactic, number, outcome.layout)), branch.state)


def state_key(theorem: Theorem, path: Sequence[Step]) -> StateKey:
    """What a state depends on; the theorem's name is not part of it."""
    return theorem.header, theorem.binders, theorem.conclusion, tuple(path)
