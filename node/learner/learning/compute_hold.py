"""Pauses inference while the trainer uses the compute that they share.

`ComputeHold` is the state machine: no clock, no I/O, times are seconds of this machine's monotonic clock.
`ComputeHolder` drives it: it stores and announces the hold, renews it while the trainer works, and releases it.
Inference nodes obey it in `node.inference.serving`.

Each hold has its own epoch and expires unless it is renewed. A learner that cannot renew it must stop using the compute
before then, because inference resumes when the hold expires. Holds travel as durations: the learner counts from before
it sends one, inference from when it arrives. So inference resumes last, whatever their clocks show.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from common.bus import BusError
from common.protocol.messages import NetworkFacts, PauseAcknowledged, PauseHold, PauseRequest, facts_of
from common.protocol.subjects import PAUSE, RESUME
from node.learner.run import Run

KEY = "pause"
"""Key of the hold in the run's state on the broker."""

LENGTH = 15.0
"""Seconds until a hold expires: the longest time that inference stays paused after a learner crashes."""

RENEW_EVERY = LENGTH / 3
"""Seconds between renewals; two may fail before the hold expires."""

ACK_TIMEOUT = 5.0
"""Seconds for inference nodes to park their batches: a forward pass takes milliseconds. A node that does not answer has
left, or will read the hold from the run's state."""


@dataclass
class ComputeHold:
    """One learner's hold. `epoch` increases over the whole run, across restarts of the learner (`seen`)."""

    epoch: int = 0
    gpus: tuple[str, ...] = ()
    """What is held; empty: everything."""
    until: float = 0.0
    """When the confirmed hold expires."""
    _asked: float = 0.0

    def seen(self, state: PauseHold | None) -> None:
        """Continue the epochs from the state that the broker has at start."""
        if state is not None:
            self.epoch = max(self.epoch, state.epoch)

    def take(self, now: float, gpus: tuple[str, ...] = ()) -> PauseHold:
        """Begin a new epoch, for these GPUs; without any: for all that inference computes on."""
        self.epoch += 1
        self.gpus = gpus
        return self.renew(now)

    def renew(self, now: float) -> PauseHold:
        """The state to publish now. Call `confirmed` when the broker has stored it."""
        self._asked = now
        return PauseHold(epoch=self.epoch, seconds=LENGTH, gpus=self.gpus)

    def confirmed(self, state: PauseHold) -> None:
        """The broker has stored this state, the last of its epoch: the compute is ours until it expires."""
        if state.epoch == self.epoch:
            self.until = self._asked + state.seconds

    def release(self) -> PauseHold:
        """End the epoch."""
        self.until = 0.0
        return PauseHold(epoch=self.epoch, seconds=0.0)

    def ours(self, now: float, margin: float = 2.0) -> bool:
        """True while the compute may be used for at least another `margin` seconds."""
        return now + margin < self.until


class ComputeHolder:
    """Pauses inference for one epoch after another."""

    def __init__(self, run: Run, now: Callable[[], float] = time.monotonic) -> None:
        self._run, self._now = run, now
        self._hold = ComputeHold()
        self.paused = 0.0
        """Seconds paused by this process."""

    async def restore(self) -> None:
        """Continue from the broker's epoch, and release a hold that an earlier learner process left."""

        async def read() -> PauseHold | None:
            # Also of a learner whose key was revoked: inference nodes remember its epochs.
            return await self._run.bus.get_state(KEY, PauseHold, from_anybody=True)

        state = await self._run.persistently(read, "pause state not read yet")
        self._hold.seen(state)
        if state is not None and state.seconds > 0:
            await self._release()

    async def shared(self, gpus: tuple[str, ...]) -> bool:
        """Whether an inference node computes on one of these GPUs, or does not say where. Raises BusError."""
        nodes = facts_of(await self._run.bus.nodes(), NetworkFacts)
        return bool(gpus) and any(facts.gpu is None or facts.gpu in gpus for facts in nodes.values())

    @asynccontextmanager
    async def held(self, gpus: tuple[str, ...] = ()) -> AsyncIterator[Callable[[], bool]]:
        """Inference on these GPUs (without any: all inference) is paused inside this context. Yields a function that
        returns whether the compute is still ours."""
        started = time.monotonic()
        await self._take(gpus)
        renewing = asyncio.create_task(self._renew())
        try:
            yield lambda: self._hold.ours(self._now())
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._release()
            self.paused += time.monotonic() - started

    async def _take(self, gpus: tuple[str, ...]) -> None:
        state = self._hold.take(self._now(), gpus)

        async def put() -> None:
            await self._run.bus.put_state(KEY, state)

        await self._run.persistently(put, "pause not stored yet")
        self._hold.confirmed(state)
        nodes = await self._inference_nodes()
        request = PauseRequest(epoch=state.epoch, seconds=state.seconds, gpus=state.gpus)
        acks = await self._run.bus.gather_acks(PAUSE, request, PauseAcknowledged, expected=nodes, timeout=ACK_TIMEOUT)
        if len(acks) < nodes:
            self._run.log.warning("pause not acknowledged by all", acknowledged=len(acks), nodes=nodes)

    async def _inference_nodes(self) -> int:
        """Number of inference nodes that serve the network. Nodes that serve other people's language models do not
        pause."""
        try:
            return len(facts_of(await self._run.bus.nodes(), NetworkFacts))
        except BusError:
            return 0

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY)
            state = self._hold.renew(self._now())
            try:
                await self._run.bus.put_state(KEY, state)
                self._hold.confirmed(state)
            except BusError as error:
                self._run.log.warning("pause not renewed", reason=str(error))

    async def _release(self) -> None:
        state = self._hold.release()
        try:
            await self._run.bus.put_state(KEY, state)
            request = PauseRequest(epoch=state.epoch, seconds=0.0)
            nodes = await self._inference_nodes()
            await self._run.bus.gather_acks(RESUME, request, PauseAcknowledged, expected=nodes, timeout=ACK_TIMEOUT)
        except BusError as error:
            self._run.log.warning("pause not released; it expires within seconds", reason=str(error), seconds=LENGTH)
