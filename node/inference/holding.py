"""Obeys the learner's hold on the compute: parks the worker, answers with acknowledgements, goes on when it runs
out."""

from __future__ import annotations

import asyncio
import time

from common.messages import Failure, Message, PauseAcknowledged, PauseHold, PauseRequest
from node.inference.pause import PauseClock
from node.inference.worker import Worker


class Holding:
    """The pause clock with a real clock, and the worker that it stops. Runs on the event loop."""

    def __init__(self, worker: Worker, node_id: str) -> None:
        self._worker, self._node_id = worker, node_id
        self._loop = asyncio.get_running_loop()
        self._clock = PauseClock(started=time.time())
        self._expiry: asyncio.TimerHandle | None = None
        self._free = asyncio.Event()
        self._free.set()
        self._leaving = False

    async def wait_free(self, timeout: float) -> bool:
        """Wait until nothing is held, at most `timeout` seconds; False if it still is, or the node is leaving."""
        try:
            async with asyncio.timeout(timeout):
                await self._free.wait()
        except TimeoutError:
            return False
        return not (self._leaving and self.remaining > 0)

    def leave(self) -> None:
        """The node is leaving: nobody need wait any longer for the end of a pause."""
        self._leaving = True
        self._free.set()

    @property
    def remaining(self) -> float:
        """Seconds until the hold runs out; 0 when there is none."""
        return self._clock.remaining(time.time())

    @property
    def fraction(self) -> float:
        """Share of time paused."""
        return self._clock.fraction(time.time())

    def announced(self, hold: PauseHold | None) -> None:
        """The hold as the state of the run has it."""
        if hold is None:
            return
        now = time.time()
        if hold.until > now:
            self._clock.hold(hold.epoch, hold.until, now)
        else:
            self._clock.release(hold.epoch, now)
        self._obey()

    async def pause(self, request: PauseRequest) -> Message:
        """Acknowledged when no forward pass is running."""
        if not self._clock.hold(request.epoch, request.until, time.time()):
            return Failure(reason=f"pause of epoch {request.epoch} is over or stale (epoch {self._clock.epoch} holds)")
        await self._obey().wait()
        return PauseAcknowledged(epoch=request.epoch, node_id=self._node_id)

    async def resume(self, request: PauseRequest) -> Message:
        """Acknowledged at once."""
        if not self._clock.release(request.epoch, time.time()):
            return Failure(reason=f"resume of epoch {request.epoch} is stale: epoch {self._clock.epoch} holds")
        self._obey()
        return PauseAcknowledged(epoch=request.epoch, node_id=self._node_id, paused=False)

    def _obey(self) -> asyncio.Event:
        """Park or let run, as the clock says; the event is set when the worker has parked."""
        parked = asyncio.Event()
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        remaining = self.remaining
        if remaining > 0:
            if not self._leaving:
                self._free.clear()
            self._worker.park(lambda: self._loop.call_soon_threadsafe(parked.set))
            # A moment more than what is left: the timer's clock is not the wall clock, and may be ahead of it.
            self._expiry = self._loop.call_later(remaining + 0.001, self._obey)
        else:
            self._worker.resume()
            self._free.set()
            parked.set()
        return parked
