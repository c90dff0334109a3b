"""The interface of a Lean backend: run a batch of candidate tactics on one proof state.

A request names a state by its theorem and the path of steps from there, never by a handle. A backend with handles (the
REPL, LeanTree) maps paths to handles and replays a path whose handle is lost. A backend without handles (the worker)
writes the steps of the path into each document. No session has to be opened, so none can be lost. A request for the
state of the empty path opens a theorem.

Before a backend gets candidates, `requests.py` removes those that break a text rule, duplicates, and those whose
outcome is in the cache. All backends give the same outcomes (`tests/node/lean/test_conformance.py`):

- Outcomes are those of `common.lean`. `node.lean.text.goals` factorises and prints their goals.
- A candidate is PROVED only if it leaves no goal, no placeholder and no error at its place in the whole script.
- A candidate that loops gets TIMEOUT. One that exceeds the memory limit gets MEMORY, one that kills its process
  CRASHED. The other candidates of the batch still get their own outcomes.
- LOST means that the backend failed. It says nothing about the candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from cachetools import LRUCache

from common.lean import Outcome, OutcomeKind, Step, Theorem


class BackendFull(Exception):
    """No process is free for this request: retry after `retry_after` seconds."""

    def __init__(self, retry_after: float, waiting: int = 0, *, reason: str = "") -> None:
        """`waiting`: requests in the queue, for the message; `reason`: another message instead."""
        super().__init__(reason or f"{waiting} requests are waiting")
        self.retry_after = retry_after


class BackendDown(Exception):
    """Lean does not start, or its server does not answer; the text says why. The request itself may be fine."""


@dataclass(frozen=True)
class TacticBatch:
    """Candidates to run on the state that `path` leads to. Without candidates: open the theorem, or show the state."""

    theorem: Theorem
    path: tuple[Step, ...] = ()
    tactics: tuple[str, ...] = ()
    """Distinct."""
    timeout: float = 10.0
    """Wall-clock seconds for each candidate when it runs alone."""
    state: str | None = None
    """The state's text, if the cache has it."""
    parsed: frozenset[str] = frozenset()
    """A hint: candidates that have parsed before."""
    messages: bool = True
    """Whether outcomes of kind ERROR need Lean's message."""


@dataclass(frozen=True)
class BatchResult:
    """The outcomes of a batch."""

    state: str
    """The text of the state; empty if replaying the path failed."""
    outcomes: tuple[Outcome, ...]
    """One for each candidate, in order."""
    elapsed: float = 0.0
    """Seconds that Lean worked, without the time in the queue."""
    kept: bool = False
    """Whether a process has kept the state, because it takes long to reach."""


@runtime_checkable
class Backend(Protocol):
    """Runs Lean. One event loop uses it, and many calls of `attempt` may be open at the same time."""

    def start(self) -> None:
        """Get ready; processes may start later, on demand."""

    async def stop(self) -> None:
        """End all processes and connections. Open calls of `attempt` raise CancelledError."""

    async def attempt(self, batch: TacticBatch) -> BatchResult:
        """Run a batch. Raises BackendFull, BackendDown, BadStatement."""

    @property
    def in_files(self) -> bool:
        """True when the backend can fill a gap in a file, a theorem with a `place`."""

    @property
    def waiting(self) -> int:
        """Batches that wait for a process."""

    @property
    def live(self) -> int:
        """Processes (or connections) that are up."""

    @property
    def restarts(self) -> int:
        """Processes that have crashed or were killed by a limit, so far."""

    @property
    def header_seconds(self) -> float:
        """Seconds that the slowest live process took to start with its header; 0 if that is not known here."""

    def resident_mb(self) -> float:
        """Resident memory of the processes in MB; 0 if they run on another machine."""


# --- Caches of tactic outcomes and state texts -----------------------------------------------------------------------
#
# Use one cache for one Lean (version, project, limits). The keys hold everything else that an outcome depends on.


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
