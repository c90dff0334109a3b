"""Dispatches the attempts of a run of self-play and collects each result once. The number of outstanding attempts is
limited to what the mesh's provers can play.

Results are leased from the run's durable queue, and acknowledged after the caller has stored them. So a run that is
killed gets the results that it has not stored when it resumes.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from common.bus import ACK_WAIT, BusError, Lease, names, persistently
from common.life.waiting import wait_first
from common.protocol import subjects
from common.protocol.attempts import SELF_PLAY, Attempt, AttemptOutcome, AttemptResult, ResultPart
from common.protocol.messages import MessageError
from common.protocol.parts import Parts
from node.proving.outstanding import searches_of

if TYPE_CHECKING:
    from common.bus import Bus

TRIES = 4
"""Maximum tries of an attempt whose results are infrastructure errors."""

LOOK_EVERY = 1.0
"""Seconds between checks of the registry, and before failed attempts are dispatched again."""

LOST_AFTER = 20.0
"""Seconds without a result after which the broker's queues are checked for the outstanding attempts."""

LEASED_AT_ONCE = 64
"""Maximum results leased in one request."""

BATCH = 64
"""Attempts published concurrently."""

RESULTS = names.RESULTS_PREFIX + SELF_PLAY
"""The durable queue of self-play's results."""

log = structlog.get_logger("stp")

Ended = asyncio.Queue["Expected"]


@dataclass(eq=False)
class Expected:
    """An attempt whose result a caller waits for."""

    attempt: Attempt
    ended: Ended
    """The queue to put it on once it has a result."""
    tries: int = 1
    parts: Parts = field(default_factory=Parts)
    leases: list[Lease[Any]] = field(default_factory=list)
    """Leases of its messages that are not acknowledged yet."""
    result: AttemptResult | None = None


class Outstanding:
    """All attempts whose results callers wait for. Call `start` before use and `stop` at the end."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._expected: dict[str, Expected] = {}
        self._todo: deque[Expected] = deque()
        self._played: set[str] = set()
        """Ids of dispatched attempts without a result."""
        self._again: list[Expected] = []
        """Attempts to dispatch again."""
        self._tasks: list[asyncio.Task[None]] = []
        self._waited_for = asyncio.Event()
        self._room = asyncio.Event()
        self._heard = time.monotonic()
        self._ack_wait = ACK_WAIT
        self._provers = True

    def start(self) -> None:
        """Start the background tasks."""
        self._tasks = [asyncio.create_task(work()) for work in (self._dispatch, self._collect, self._renew)]

    async def stop(self) -> None:
        """Stop the background tasks. Outstanding attempts continue on the mesh, which keeps their results."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def results(self, attempts: Sequence[Attempt]) -> AsyncIterator[AttemptResult]:
        """The result of each attempt, as they arrive. Raises BusError, and ValueError for two attempts with one id."""
        ended: Ended = asyncio.Queue()
        expected = {attempt.attempt_id: Expected(attempt, ended) for attempt in attempts}
        if len(expected) < len(attempts) or not expected.keys().isdisjoint(self._expected):
            raise ValueError("two attempts have the same id; give each attempt a different id")
        self._expected |= expected
        self._todo.extend(expected.values())
        self._heard = time.monotonic()
        self._waited_for.set()
        self._room.set()
        try:
            for _ in range(len(expected)):
                each = await self._next(ended)
                assert each.result is not None  # set before it is put on the queue
                yield each.result  # the caller stores the result before it asks for the next one
                await self._release(each)
                del self._expected[each.attempt.attempt_id]
        finally:
            await self._forget(expected)

    async def _next(self, ended: Ended) -> Expected:
        """The next attempt with a result. Raises BusError if a background task has failed with it."""
        getting = asyncio.ensure_future(ended.get())
        try:
            await wait_first(getting, *self._tasks)
            for task in self._tasks:
                if task.done() and not getting.done():
                    task.result()
            return getting.result()
        finally:
            getting.cancel()

    async def _forget(self, expected: dict[str, Expected]) -> None:
        """Stop waiting for these attempts. Their leases are handed back, so that their results can be leased later."""
        abandoned = [each for name, each in expected.items() if self._expected.pop(name, None)]
        abandoned_ids = {each.attempt.attempt_id for each in abandoned}
        self._played -= abandoned_ids
        self._todo = deque(each for each in self._todo if each.attempt.attempt_id not in abandoned_ids)
        if not self._expected:
            self._waited_for.clear()
        for lease in [lease for each in abandoned for lease in each.leases]:
            with contextlib.suppress(BusError):
                await lease.hand_back()

    # --- dispatching attempts ---------------------------------------------------------------------------------------

    async def _dispatch(self) -> None:
        """Dispatch attempts until cancelled. Raises BusError if the broker has been away for too long."""
        looked, slots = -LOOK_EVERY, 1
        while True:
            self._room.clear()
            if time.monotonic() - looked >= LOOK_EVERY:
                looked = time.monotonic()
                again, self._again = [each for each in self._again if each.attempt.attempt_id in self._played], []
                await asyncio.gather(*(self._publish_again(each.attempt) for each in again))
                with contextlib.suppress(BusError):  # the broker is away
                    slots = await self._slots()
                    await self._send_lost_again()
            await self._top_up(slots)
            await wait_first(self._room, timeout=LOOK_EVERY)

    async def _slots(self) -> int:
        """Maximum number of outstanding attempts. Raises BusError."""
        nodes = await self._bus.nodes()
        provers = any(node.role == "prover" for node in nodes)
        if self._todo and provers != self._provers:
            log.warning("provers are back" if provers else "no prover is registered; attempts wait for one")
            self._provers = provers
        return searches_of(nodes)

    async def _top_up(self, slots: int) -> None:
        """Dispatch attempts until `slots` are outstanding. Raises BusError."""
        while self._todo and len(self._played) < slots:
            batch: list[Expected] = []
            while self._todo and len(batch) < min(BATCH, slots - len(self._played)):
                each = self._todo.popleft()
                if each.result is None:  # otherwise an earlier process dispatched it, and its result has arrived
                    batch.append(each)
            self._played |= {each.attempt.attempt_id for each in batch}
            await asyncio.gather(*(self._publish(each.attempt, each.attempt.attempt_id) for each in batch))

    async def _publish(self, attempt: Attempt, message_id: str) -> None:
        """Raises BusError if the broker has been away for too long."""
        await persistently(
            lambda: self._bus.publish_durable(subjects.todo(attempt.purpose), attempt, message_id=message_id),
            "attempt not dispatched yet",
            until=self._bus.given_up.is_set,
            attempt=attempt.attempt_id,
        )

    async def _publish_again(self, attempt: Attempt) -> None:
        """Publish under a new message id, because the broker drops ids that it has seen. Raises BusError."""
        await self._publish(attempt, f"{attempt.attempt_id}.{secrets.token_hex(4)}")

    async def _send_lost_again(self) -> None:
        """Dispatch outstanding attempts again if no results arrive and the broker's queues do not have them any more.
        Raises BusError."""
        if not self._played or time.monotonic() - self._heard < LOST_AFTER:
            return
        self._heard = time.monotonic()
        waiting, leased = await self._bus.backlog(), await self._bus.leased()
        held = sum(len(each.leases) for each in self._expected.values())
        purposes = {names.TODO_PREFIX + self._expected[name].attempt.purpose for name in self._played}
        if any(waiting[each] or leased[each] for each in purposes):
            return
        if waiting[RESULTS] or leased[RESULTS] > held:
            return
        log.warning("the mesh has lost attempts; they are dispatched again", attempts=len(self._played))
        await asyncio.gather(*(self._publish_again(self._expected[name].attempt) for name in list(self._played)))

    # --- collecting results -----------------------------------------------------------------------------------------

    async def _collect(self) -> None:
        """Collect results until cancelled. While no caller waits, results stay in the queue."""
        while True:
            await self._waited_for.wait()
            try:
                leases = await self._bus.lease(
                    RESULTS, (AttemptResult, ResultPart), limit=LEASED_AT_ONCE, wait=LOOK_EVERY
                )
            except BusError:  # the broker is away
                await asyncio.sleep(LOOK_EVERY)
                continue
            for lease in leases:
                await self._take(lease)

    async def _take(self, lease: Lease[Any]) -> None:
        self._ack_wait = lease.ack_wait
        message: AttemptResult | ResultPart = lease.message
        expected = self._expected.get(message.attempt_id)
        if expected is None or expected.result is not None:
            await _acknowledge(
                lease
            )  # of an earlier run on this mesh, or the second of an attempt that was played twice
            return
        expected.leases.append(lease)
        try:
            result = expected.parts.add(message) if isinstance(message, ResultPart) else message
        except MessageError as error:
            log.warning("invalid result parts", attempt=message.attempt_id, reason=str(error))
            result = _error(message, str(error), expected.attempt)
        if result is not None:
            self._heard = time.monotonic()
            await self._ended(expected, checked(result))

    async def _ended(self, expected: Expected, result: AttemptResult) -> None:
        if is_inconclusive(result) and expected.tries < TRIES:
            log.warning("attempt is played again", attempt=result.attempt_id, tries=expected.tries, why=result.message)
            expected.tries += 1
            await self._release(expected)
            expected.parts = Parts()
            self._again.append(expected)
            return
        expected.result = result
        self._played.discard(result.attempt_id)
        expected.ended.put_nowait(expected)
        self._room.set()

    async def _release(self, expected: Expected) -> None:
        """Acknowledge the messages of an attempt: its result is stored, or useless."""
        for lease in expected.leases:
            await _acknowledge(lease)
        expected.leases.clear()

    async def _renew(self) -> None:
        """Renew the leases of results until their callers have stored them."""
        while True:
            await asyncio.sleep(self._ack_wait / 3)
            for lease in [lease for each in self._expected.values() for lease in each.leases]:
                await lease.in_progress()


async def _acknowledge(lease: Lease[Any]) -> None:
    """Acknowledge a message. If this fails, the message is delivered again and acknowledged then."""
    with contextlib.suppress(BusError):
        await lease.ack()


def is_inconclusive(result: AttemptResult) -> bool:
    """Whether infrastructure failed, for the whole attempt or for some samples."""
    return not result.outcome.decided or result.statistics.expansions_lost > 0


def checked(result: AttemptResult) -> AttemptResult:
    """The result, or an error if a prover of an older version reports only the first proof."""
    if result.outcome is not AttemptOutcome.PROVED or result.proofs:
        return result
    problem = f"prover {result.prover_id} has an older version, which does not report every proof; update it"
    return msgspec.structs.replace(result, outcome=AttemptOutcome.ERROR, message=problem, proof=None)


def _error(message: AttemptResult | ResultPart, problem: str, attempt: Attempt) -> AttemptResult:
    return AttemptResult(
        attempt_id=attempt.attempt_id,
        theorem_id=attempt.theorem_id,
        purpose=attempt.purpose,
        prover_id=message.prover_id,
        outcome=AttemptOutcome.ERROR,
        message=problem,
    )
