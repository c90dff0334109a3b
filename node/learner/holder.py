"""Holds the compute while the trainer works: the effects around `hold.Hold`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from common.bus import BusError
from common.messages import PauseAcknowledged, PauseHold, PauseRequest
from common.subjects import PAUSE, RESUME
from node.learner.hold import RENEW_EVERY, Hold
from node.learner.run.retrying import persistently
from node.learner.run.run import Run, now

KEY = "pause"

ACK_TIMEOUT = 5.0
"""Seconds for inference nodes to park their batches: a forward pass takes milliseconds. One that does not answer has
left, or will see the state of the run."""


class Holder:
    """Pauses inference for one epoch after another."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._hold = Hold()
        self.paused = 0.0
        """Seconds paused by this process."""

    async def restore(self) -> None:
        """Go on from the epoch that the broker knows, and release what an earlier learner left."""

        async def read() -> PauseHold | None:
            return await self._run.bus.get_state(KEY, PauseHold)

        state = await persistently(read, self._run, "pause state not read yet")
        self._hold.seen(state)
        if state is not None and state.until > now():
            await self._release()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Callable[[], bool]]:
        """Inference stands still inside. Yields a function that says whether the compute is still ours."""
        started = time.monotonic()
        await self._take()
        renewing = asyncio.create_task(self._renew())
        try:
            yield lambda: self._hold.ours(now())
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._release()
            self.paused += time.monotonic() - started

    async def _take(self) -> None:
        state = self._hold.take(now())

        async def put() -> None:
            await self._run.bus.put_state(KEY, state)

        await persistently(put, self._run, "pause not stored yet")
        self._hold.confirmed(state)
        nodes = await self._inference_nodes()
        request = PauseRequest(epoch=state.epoch, until=state.until)
        acks = await self._run.bus.gather_acks(PAUSE, request, PauseAcknowledged, expected=nodes, timeout=ACK_TIMEOUT)
        if len(acks) < nodes:
            self._run.log.warning("pause not acknowledged by all", acknowledged=len(acks), nodes=nodes)

    async def _inference_nodes(self) -> int:
        try:
            return sum(node.role == "inference" for node in await self._run.bus.nodes())
        except BusError:
            return 0

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY)
            state = self._hold.renew(now())
            try:
                await self._run.bus.put_state(KEY, state)
                self._hold.confirmed(state)
            except BusError as error:
                self._run.log.warning("pause not renewed", reason=str(error))

    async def _release(self) -> None:
        state = self._hold.release()
        try:
            await self._run.bus.put_state(KEY, state)
            request = PauseRequest(epoch=state.epoch, until=0.0)
            nodes = await self._inference_nodes()
            await self._run.bus.gather_acks(RESUME, request, PauseAcknowledged, expected=nodes, timeout=ACK_TIMEOUT)
        except BusError as error:
            self._run.log.warning("pause not released; it runs out by itself", reason=str(error))
