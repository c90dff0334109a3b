"""Caches of tactic outcomes and state texts.

Use one cache for one Lean (version, project, limits). The keys hold everything else that an outcome depends on.
"""

from __future__ import annotations

from collections.abc import Sequence

from cachetools import LRUCache

from common.lean import Outcome, OutcomeKind, Step, Theorem

StateKey = tuple[object, tuple[Step, ...]]

IN_FILE = "\0"
"""Prefix of the digest of a file's text, which keeps it apart from every header."""

_REPEATABLE = (OutcomeKind.PROVED, OutcomeKind.GOALS, OutcomeKind.ERROR)
"""Outcomes that a second run gives again. A timeout or a memory limit may depend on the machine's load."""


class OutcomeCache:
    """Three LRU caches: outcomes of tactics, texts of states, and tactics that have parsed."""

    def __init__(self, entries: int) -> None:
        """`entries`: capacity of each cache; 0 turns caching off. An outcome takes about 1 KB."""
        self._enabled = entries > 0
        self._outcomes: LRUCache[tuple[StateKey, str], Outcome] = LRUCache(entries)
        self._states: LRUCache[StateKey, str] = LRUCache(entries)
        self._parsed: LRUCache[tuple[str, str], bool] = LRUCache(entries)

    def outcome(self, theorem: Theorem, path: Sequence[Step], tactic: str, *, message: bool = True) -> Outcome | None:
        """The cached outcome of a tactic on the state at the end of a path. `message`: an error needs its message."""
        outcome = self._outcomes.get((state_key(theorem, path), tactic))
        if message and outcome is not None and outcome.kind is OutcomeKind.ERROR and not outcome.message:
            return None
        return outcome

    def state(self, theorem: Theorem, path: Sequence[Step]) -> str | None:
        """The cached text of the state at the end of a path."""
        return self._states.get(state_key(theorem, path))

    def parses(self, theorem: Theorem, tactic: str) -> bool:
        """True when the tactic has parsed below the same header or file text."""
        return bool(self._parsed.get((grammar_key(theorem), tactic)))

    def learn_state(self, theorem: Theorem, path: Sequence[Step], state: str) -> None:
        """Remember the text of a state."""
        if self._enabled:
            self._states[state_key(theorem, path)] = state

    def learn(self, theorem: Theorem, path: Sequence[Step], tactic: str, outcome: Outcome) -> None:
        """Remember an outcome and the states that the tactic leads to."""
        if not self._enabled or outcome.kind not in _REPEATABLE:
            return
        self._outcomes[state_key(theorem, path), tactic] = outcome
        if outcome.kind is not OutcomeKind.ERROR:
            self._parsed[grammar_key(theorem), tactic] = True
        for number, branch in enumerate(outcome.branches):
            self.learn_state(theorem, (*path, Step(tactic, number, outcome.layout)), branch.state)


def state_key(theorem: Theorem, path: Sequence[Step]) -> StateKey:
    """Everything that a state depends on: header, statement, path. The theorem's name is not part of it."""
    return (theorem.header, *theorem.stated), tuple(path)


def grammar_key(theorem: Theorem) -> str:
    """Identifies the commands above the theorem, which decide whether a tactic parses."""
    return theorem.header if theorem.place is None else f"{IN_FILE}{theorem.place.context.digest}"
