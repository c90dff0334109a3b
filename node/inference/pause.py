"""Pauses inference while the learner holds the compute (`node.learner.learning.compute_hold`): parks the worker,
acknowledges, and resumes.

`PauseClock` is the state machine: no clock, no I/O, times are seconds of this machine's monotonic clock. `WorkerPause`
drives it.

A hold has an epoch and a length. It arrives both as a request that needs an acknowledgement and in the run's state, in
any order and possibly more than once. It expires unless it is renewed, so a crashed learner cannot stop inference for
ever. Its length counts from its arrival, so the clocks of two machines need not agree: the learner counts from before
it sends a hold, and stops first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from common.protocol.messages import Failure, Message, PauseAcknowledged, PauseHold, PauseRequest
from node.inference.worker import Worker

log = structlog.get_logger("inference")

LONGEST = 60.0
"""Most seconds of one hold. Our learner asks for 15 and renews every 5, so nothing needs more; without a limit, one
message would stop inference for ever."""


@dataclass
class PauseClock:
    """Whether this node is paused, until when, and for what share of its time so far."""

    started: float
    epoch: int = -1
    until: float = 0.0
    _held_since: float | None = None
    _held: float = 0.0

    def hold(self, epoch: int, seconds: float, now: float) -> bool:
        """Begin, renew or shorten a hold, for at most LONGEST seconds. Returns False if it has no length or an older
        epoch than the current hold."""
        self._settle(now)
        if seconds <= 0 or (self.paused(now) and epoch < self.epoch):
            return False
        self.epoch, self.until = epoch, now + min(seconds, LONGEST)
        if self._held_since is None:
            self._held_since = now
        return True

    def release(self, epoch: int, now: float) -> bool:
        """End the hold. Returns False if the current hold has a newer epoch."""
        self._settle(now)
        if self.paused(now) and epoch < self.epoch:
            return False
        self.epoch, self.until = epoch, 0.0
        self._count(now)
        return True

    def paused(self, now: float) -> bool:
        return now < self.until

    def remaining(self, now: float) -> float:
        """Seconds until the hold runs out; 0 when there is none."""
        return max(0.0, self.until - now)

    def fraction(self, now: float) -> float:
        """Share of time paused since the start."""
        self._settle(now)
        current = now - self._held_since if self._held_since is not None else 0.0
        return (self._held + current) / max(now - self.started, 1e-9)

    def _settle(self, now: float) -> None:
        """Count a hold that has expired meanwhile, up to its expiry."""
        if self._held_since is not None and not self.paused(now):
            self._count(min(now, max(self.until, self._held_since)))

    def _count(self, now: float) -> None:
        if self._held_since is not None:
            self._held += now - self._held_since
            self._held_since = None


class WorkerPause:
    """The pause of one worker. Runs on the event loop."""

    def __init__(self, worker: Worker, node_id: str, now: Callable[[], float] = time.monotonic) -> None:
        self._worker, self._node_id = worker, node_id
        self._loop = asyncio.get_running_loop()
        self._now = now
        self._clock = PauseClock(started=now())
        self._expiry: asyncio.TimerHandle | None = None
        self._free = asyncio.Event()
        self._free.set()
        self._leaving = False

    async def wait_free(self, timeout: float) -> bool:
        """Wait until the node is not paused, at most `timeout` seconds. Returns False if it is still paused."""
        try:
            async with asyncio.timeout(timeout):
                await self._free.wait()
        except TimeoutError:
            return False
        return not (self._leaving and self.remaining > 0)

    def leave(self) -> None:
        """The node stops: requests do not wait for the end of a pause any more."""
        self._leaving = True
        self._free.set()

    @property
    def remaining(self) -> float:
        """Seconds until the hold runs out; 0 when there is none."""
        return self._clock.remaining(self._now())

    @property
    def fraction(self) -> float:
        """Share of time paused."""
        return self._clock.fraction(self._now())

    def announced(self, hold: PauseHold | None, age: float = 0.0) -> None:
        """Take the hold from the run's state, where it has been for `age` seconds."""
        if hold is None:
            return
        if hold.seconds > age:
            self._hold(hold.epoch, hold.seconds - age)
        else:
            self._clock.release(hold.epoch, self._now())
        self._obey()

    async def pause(self, request: PauseRequest) -> Message:
        """Handle a request to pause. Acknowledges when no forward pass is running."""
        if not self._hold(request.epoch, request.seconds):
            return Failure(reason=f"pause of epoch {request.epoch} is over or stale (epoch {self._clock.epoch} holds)")
        await self._obey().wait()
        return PauseAcknowledged(epoch=request.epoch, node_id=self._node_id)

    async def resume(self, request: PauseRequest) -> Message:
        """Handle a request to resume. Acknowledges at once."""
        if not self._clock.release(request.epoch, self._now()):
            return Failure(reason=f"resume of epoch {request.epoch} is stale: epoch {self._clock.epoch} holds")
        self._obey()
        return PauseAcknowledged(epoch=request.epoch, node_id=self._node_id, paused=False)

    def _hold(self, epoch: int, seconds: float) -> bool:
        if seconds > LONGEST:
            log.warning("pause cut: it is longer than any learner needs", seconds=seconds, longest=LONGEST, epoch=epoch)
        return self._clock.hold(epoch, seconds, self._now())

    def _obey(self) -> asyncio.Event:
        """Park or resume the worker, as the clock says. The event is set when the worker has parked."""
        parked = asyncio.Event()
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        remaining = self.remaining
        if remaining > 0:
            if not self._leaving:
                self._free.clear()
            self._worker.park(lambda: self._loop.call_soon_threadsafe(parked.set))
            # A little later than the expiry: the loop may call a timer early by its clock's resolution.
            self._expiry = self._loop.call_later(remaining + 0.001, self._obey)
        else:
            self._worker.resume()
            self._free.set()
            parked.set()
        return parked
