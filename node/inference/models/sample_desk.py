"""Running requests for samples on a node, and finished answers that wait to be fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from common.bus.subscriptions import ServiceTime
from common.protocol.messages import Busy, Message
from common.protocol.model_messages import ANSWER, HOLD, SampleReply, SampleRequest, SampleWait


@dataclass
class _Work:
    task: asyncio.Task[Message]
    forgotten: asyncio.TimerHandle
    """Drops the request if no caller asks for it in time."""


class SampleDesk:
    """Runs at most `limit` requests at a time. A caller waits for `hold` seconds, and may then ask again."""

    def __init__(
        self,
        sample: Callable[[SampleRequest], Awaitable[Message]],
        node_id: str,
        *,
        limit: int,
        connected: Callable[[], bool],
        hold: float = HOLD,
        keep: float = ANSWER,
    ) -> None:
        """`sample` answers a request, however long that takes. `connected` returns whether callers can reach this node.
        `keep`: seconds without a caller after which a request is cancelled, or its answer dropped."""
        self._sample = sample
        self._node_id = node_id
        self._limit = limit
        self._connected = connected
        self._hold, self._keep = hold, keep
        self._works: dict[str, _Work] = {}
        self._time = ServiceTime()

    @property
    def at_work(self) -> int:
        """Number of running requests."""
        return sum(not work.task.done() for work in self._works.values())

    async def take(self, request: SampleRequest) -> Message:
        """Start a request, or wait for it if it is a repetition of a running one."""
        key = request.request_id
        if key not in self._works:
            if self.at_work >= self._limit:
                return Busy(retry_after=self._time.retry_after(self._limit), reason="queue full")
            loop = asyncio.get_running_loop()
            task: asyncio.Task[Message] = loop.create_task(self._timed(request), name=f"samples {key}")
            self._works[key] = _Work(task, loop.call_later(self._keep, self._forget, key))
        return await self._progress(key)

    async def wait(self, wait: SampleWait) -> Message:
        """Wait again for a request that runs here."""
        if wait.request_id not in self._works:
            return Busy(retry_after=0.0, reason="not at work here")
        return await self._progress(wait.request_id)

    async def drain(self, seconds: float) -> None:
        """Wait at most `seconds` for the running requests, and cancel the others: callers send them to other nodes."""
        tasks = {work.task for work in self._works.values()}
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for key in list(self._works):
            self._drop(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _timed(self, request: SampleRequest) -> Message:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            return await self._sample(request)
        finally:
            self._time.observe(loop.time() - began)

    async def _progress(self, key: str) -> Message:
        """The answer, or a reply that the request is still running. Raises what `sample` raised."""
        work = self._works[key]
        self._keep_on(key, work)
        await asyncio.wait({work.task}, timeout=self._hold)  # the task goes on if the caller is cancelled
        if not work.task.done():
            return SampleReply(at_work=self._node_id)
        if work.task.cancelled():
            return Busy(retry_after=0.0, reason="the node ends")
        return work.task.result()

    def _keep_on(self, key: str, work: _Work) -> None:
        work.forgotten.cancel()
        work.forgotten = asyncio.get_running_loop().call_later(self._hold + self._keep, self._forget, key)

    def _forget(self, key: str) -> None:
        """Drop a request that no caller asks for: its search has ended, or its prover has crashed."""
        if key in self._works and not self._connected():
            self._keep_on(key, self._works[key])  # callers could not reach this node
        else:
            self._drop(key)

    def _drop(self, key: str) -> None:
        work = self._works.pop(key, None)
        if work is not None:
            work.forgotten.cancel()
            work.task.cancel()
