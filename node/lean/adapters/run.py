"""Batches of candidates in an adapter: their outcomes, and how many run at the same time.

Outcomes are kept when a process ends and another one continues.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from common.lean import Outcome, OutcomeKind
from node.lean.backend import BackendFull, BatchResult, TacticBatch


class NotReplayed(Exception):
    """Replaying a path on this process failed; the text says at which step, and why."""


class AdapterRun:
    """A batch and the outcomes of its candidates so far."""

    def __init__(self, batch: TacticBatch) -> None:
        self.batch = batch
        self.state: str | None = batch.state
        """The text of the state; empty if replaying its path fails."""
        self.outcomes: dict[str, Outcome] = {}
        """Outcomes by candidate."""
        self.crashes: dict[str, int] = {}
        """Number of processes that ended while they ran a candidate, by candidate."""

    def count_crash(self, tactic: str) -> int:
        """Record that a process ended while it ran a candidate. Returns the number of such crashes."""
        self.crashes[tactic] = self.crashes.get(tactic, 0) + 1
        return self.crashes[tactic]

    async def settle_rest(self, state: str, settle: Callable[[str], Awaitable[Outcome]]) -> None:
        """Run `settle` for each candidate without an outcome, on a process that has reached `state`.

        Raises the exceptions of `settle`, after which the outcomes so far remain."""
        self.state = state
        for tactic in self.batch.tactics:
            if tactic not in self.outcomes:
                self.outcomes[tactic] = await settle(tactic)

    def give_up(self, reason: str) -> None:
        """Give the remaining candidates the outcome LOST, because the state cannot be reached."""
        self.state = ""
        lost = Outcome(OutcomeKind.LOST, message=reason)
        self.outcomes |= {tactic: lost for tactic in self.batch.tactics if tactic not in self.outcomes}

    def result(self, elapsed: float) -> BatchResult:
        """All outcomes in the batch's order. `elapsed`: seconds that Lean worked."""
        return BatchResult(self.state or "", tuple(self.outcomes[tactic] for tactic in self.batch.tactics), elapsed)


class Places:
    """Places for running batches. Use it from one event loop."""

    def __init__(self, places: int, queue: int) -> None:
        """`places`: most batches that run at the same time. `queue`: most waiting batches."""
        self.waiting = 0
        self._queue = queue
        self._free = asyncio.Semaphore(places)
        self._open: set[asyncio.Task[BatchResult]] = set()

    async def attend(self, attempt: Coroutine[Any, Any, BatchResult], name: str) -> BatchResult:
        """Run an attempt and return its result. `cancel`, or the end of the caller, also ends the attempt."""
        task = asyncio.create_task(attempt, name=name)
        self._open.add(task)
        try:
            return await task
        finally:
            task.cancel()  # matters only if the caller was cancelled
            self._open.discard(task)

    async def cancel(self) -> None:
        """Cancel all open attempts, and wait for their end."""
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def hold(self, retry_after: float) -> AsyncIterator[None]:
        """Wait for a place and hold it. Raises BackendFull with `retry_after` (seconds) if the queue is full."""
        if self._free.locked() and self.waiting >= self._queue:
            raise BackendFull(retry_after, self.waiting)
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._free.release()
