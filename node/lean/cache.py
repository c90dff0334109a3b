"""Small caches of what Lean has answered. Correct for one Lean: the key holds all else that an outcome depends on."""

from __future__ import annotations

from collections.abc import Sequence

from cachetools import LRUCache

from common.lean import Outcome, OutcomeKind, Step, Theorem

StateKey = tuple[object, tuple[Step, ...]]

IN_FILE = "\0"
"""Marks the digest of a file's text, so that it is no header."""

_LASTING = (OutcomeKind.PROVED, OutcomeKind.GOALS, OutcomeKind.ERROR)
"""Outcomes that will be the same again. Time and memory may run out once and not again."""


class OutcomeCache:
    """Outcomes of tactics, texts of states, and which tactics are known to parse. The least recently used go first."""

    def __init__(self, entries: int) -> None:
        """`entries`: most of each kind; 0 remembers nothing. An outcome takes about 1 KB."""
        self._enabled = entries > 0
        self._outcomes: LRUCache[tuple[StateKey, str], Outcome] = LRUCache(entries)
        self._states: LRUCache[StateKey, str] = LRUCache(entries)
        self._parsed: LRUCache[tuple[str, str], bool] = LRUCache(entries)

    def outcome(self, theorem: Theorem, path: Sequence[Step], tactic: str) -> Outcome | None:
        """The outcome of a tactic on the state at the end of a path, if it is known."""
        return self._outcomes.get((state_key(theorem, path), tactic))

    def state(self, theorem: Theorem, path: Sequence[Step]) -> str | None:
        """The text of the state at the end of a path, if it is known."""
        return self._states.get(state_key(theorem, path))

    def parses(self, theorem: Theorem, tactic: str) -> bool:
        """Whether the tactic is known to parse where the theorem stands."""
        return bool(self._parsed.get((grammar_key(theorem), tactic)))

    def learn_state(self, theorem: Theorem, path: Sequence[Step], state: str) -> None:
        """Remember the text of a state."""
        if self._enabled:
            self._states[state_key(theorem, path)] = state

    def learn(self, theorem: Theorem, path: Sequence[Step], tactic: str, outcome: Outcome) -> None:
        """Remember an outcome, and the states that it leads to."""
        if not self._enabled or outcome.kind not in _LASTING:
            return
        self._outcomes[state_key(theorem, path), tactic] = outcome
        if outcome.kind is not OutcomeKind.ERROR:
            self._parsed[grammar_key(theorem), tactic] = True
        for number, branch in enumerate(outcome.branches):
            self.learn_state(theorem, (*path, Step(tactic, number, outcome.layout)), branch.state)


def state_key(theorem: Theorem, path: Sequence[Step]) -> StateKey:
    """What a state depends on; the theorem's name is not part of it."""
    return (theorem.header, *theorem.stated), tuple(path)


def grammar_key(theorem: Theorem) -> str:
    """What decides whether a tactic parses: the commands above the theorem."""
    return theorem.header if theorem.place is None else f"{IN_FILE}{theorem.place.context.digest}"
