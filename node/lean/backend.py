"""What a Lean backend does for the lean-proxy: run a batch of candidates on one proof state.

A state is named by a path from its theorem, never by a handle: a backend that keeps handles (the REPL, LeanTree) maps
paths to them and replays what it has lost, one that does not (the worker) writes the path down each time. So there is
no session to open, and none to lose: a theorem is opened by asking for the state of its empty path.

The candidates that a backend gets have passed the text rules, are distinct, and are not in the outcome cache
(`requests.py` does all three). Its outcomes mean the same whatever ran them (`tests/node/lean/test_conformance.py`):

- outcomes are `common.lean`'s, with goals factorised and printed by `node.lean.text.goals`;
- PROVED only for a candidate that leaves no goal, no placeholder and no error where it stands in the whole script;
- a candidate that loops, eats memory or kills its process gets TIMEOUT, MEMORY or CRASHED, and its neighbours their own
  outcomes all the same; LOST says that the backend failed, and nothing about the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from common.lean import Outcome, Step, Theorem


class BackendFull(Exception):
    """No process is free for this request: ask again after `retry_after` seconds."""

    def __init__(self, retry_after: float, waiting: int = 0, *, reason: str = "") -> None:
        """`waiting`: requests in the queue; `reason`: says something else than that they wait."""
        super().__init__(reason or f"{waiting} requests are waiting")
        self.retry_after = retry_after


class BackendDown(Exception):
    """Lean does not start, or its server does not answer; the text says why. Says nothing about the request."""


@dataclass(frozen=True)
class TacticBatch:
    """Candidates on the state that `path` leads to. Without candidates: open the theorem, or show the state."""

    theorem: Theorem
    path: tuple[Step, ...] = ()
    tactics: tuple[str, ...] = ()
    """Distinct."""
    timeout: float = 10.0
    """Wall-clock seconds for each candidate when it runs alone."""
    state: str | None = None
    """The state's text, if it is known already."""
    parsed: frozenset[str] = frozenset()
    """Candidates that are known to parse: a hint."""


@dataclass(frozen=True)
class BatchResult:
    """What became of a batch."""

    state: str
    """The text of the state; empty when the path did not replay."""
    outcomes: tuple[Outcome, ...]
    """One for each candidate, in order."""
    elapsed: float = 0.0
    """Seconds that Lean worked, queueing excluded."""


@runtime_checkable
class Backend(Protocol):
    """A way to run Lean. Used from one event loop; `attempt` may be called many times at once."""

    def start(self) -> None:
        """Get ready; processes may start later, on demand."""

    async def stop(self) -> None:
        """End all processes and connections; attempts that are open end with CancelledError."""

    async def attempt(self, batch: TacticBatch) -> BatchResult:
        """Run a batch. Raises BackendFull, BackendDown, BadStatement."""

    @property
    def in_files(self) -> bool:
        """Whether it can prove what is missing at a place in a file (`Theorem.place`)."""

    @property
    def waiting(self) -> int:
        """Batches that wait for a process."""

    @property
    def live(self) -> int:
        """Processes (or connections) that are up."""

    @property
    def restarts(self) -> int:
        """Processes that ended on their own, or were killed by a limit, so far."""

    def resident_mb(self) -> float:
        """Resident memory of the processes in MB; 0 where they run elsewhere."""
