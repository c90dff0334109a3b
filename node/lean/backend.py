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

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from common.lean import Outcome, Step, Theorem


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

    def resident_mb(self) -> float:
        """Resident memory of the processes in MB; 0 if they run on another machine."""
