"""Serves tactic requests: passes them to the worker thread and sends its answers, and pauses when the learner says so.

This module runs on the event loop. The worker thread computes forward passes, and helper threads load weights.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog

from common import weights
from common.bus import BusError, ServedSubscription
from common.life import faults, metrics, timeline
from common.life.metrics import Followed
from common.life.node import NodeContext
from common.machine import gpu_id, read_machine, sizes
from common.protocol.messages import (
    Busy,
    Failure,
    FailureKind,
    Message,
    NetworkFacts,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
    TacticRequest,
    WeightsState,
)
from common.protocol.subjects import PAUSE, RESUME, TACTIC_REQUEST
from node.inference.engine.engine import Engine, WeightsId
from node.inference.settings import InferenceSettings
from node.inference.weights import Builder, WeightsFollower, WeightsStore, chosen_device
from node.inference.worker import Jobs, Snapshot, Worker, reply_of

M = TypeVar("M", bound=Message)

OWN = "own:"
"""Optional prefix of [inference] weights, as in the name of a policy."""
NO_WEIGHTS_RETRY = 1.0
"""Retry time in `Busy` while there are no weights: the first version comes after the learner's warm start."""
STATE_RETRY = 0.5
"""Seconds between attempts to read the run's buckets, while the broker is still creating them."""
DRAIN_SECONDS = 5.0
"""Longest wait for running requests at the end; a caller without an answer asks another node."""
REPORT_SECONDS = 0.5
"""Seconds between reports: two for every heartbeat."""
PAUSED_RETRY = 1.0
"""Longest retry time in `Busy` while paused: the learner may release the node before the hold expires."""


class Serving:
    """Serves the network until the node stops."""

    def __init__(self, settings: InferenceSettings, context: NodeContext, build: Builder = Engine) -> None:
        self._settings, self._context = settings, context
        self._bus, self._log = context.bus, context.log
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        threads = settings.threads or sizes(read_machine()).inference_threads
        self._jobs = Jobs(threads, self._failure.set_exception)
        self._worker = self._jobs.worker
        self._telemetry = Telemetry(context)
        self._store = WeightsStore(self._bus, settings.device, settings.engine, settings.cache, build)
        self._weights = WeightsFollower(
            self._bus,
            self._worker,
            self._store,
            settings.versions,
            serving=self._telemetry.serving,
            health=lambda problem: context.health("weights", problem),
        )
        self._gpu = gpu_id(chosen_device(settings.device))
        self._pause = WorkerPause(self._worker, context.id, gpu=self._gpu)
        self._held = 0

    async def run(self) -> None:
        """Serve until the node stops, then finish the running requests."""
        self._context.facts = NetworkFacts(gpu=self._gpu)
        if self._bus.follows_anybody():
            self._log.warning(
                "this node knows no learner's key, so it loads what anybody announces: take an invite, or set [bus] "
                "learners (PROOFMESH_LEARNERS) to what `proofmesh broker keys RUN` lists as learner and stp"
            )
        self._worker.start()
        self._context.spawn(self._watch_worker(), "inference worker")
        self._context.spawn(self._report(), "report")
        try:
            if self._settings.weights:
                served = await self._weights.serve_local(Path(self._settings.weights.removeprefix(OWN)))
                self._context.facts = NetworkFacts(weights=served, gpu=self._gpu)
            else:
                self._context.spawn(self._weights.follow(), "weights")
                await self._watch(weights.KEY, WeightsState, lambda state, _: self._weights.announced(state))
            await self._watch("pause", PauseHold, self._pause.announced)
            requests, *control = await self._serve()
            await self._context.stopping.wait()
            self._pause.leave()
            await requests.drain(DRAIN_SECONDS)
            for subscription in control:
                await subscription.unsubscribe()
        finally:
            self._worker.stop()
            await asyncio.to_thread(self._worker.join, DRAIN_SECONDS)
            self._store.close()

    async def _serve(self) -> tuple[ServedSubscription, ...]:
        return (
            await self._bus.serve(
                TACTIC_REQUEST, TacticRequest, self._tactics, queue="inference", limit=self._settings.queue
            ),
            await self._bus.serve(PAUSE, PauseRequest, self._pause.pause, queue=None, limit=8),
            await self._bus.serve(RESUME, PauseRequest, self._pause.resume, queue=None, limit=8),
        )

    async def _watch(self, key: str, kind: type[M], callback: Callable[[M | None, float], None]) -> None:
        """Watch a key of the run's state, as soon as the broker has the run's buckets."""
        while not self._context.stopping.is_set():
            try:
                await self._bus.watch_aged(key, kind, callback)
                return
            except BusError as error:
                self._log.info("waiting for the run's state", key=key, reason=str(error))
                await asyncio.sleep(STATE_RETRY)

    async def _watch_worker(self) -> None:
        """Ends the node when its worker thread has failed."""
        await self._failure

    # --- requests ----------------------------------------------------------------------------------------------------

    async def _tactics(self, request: TacticRequest) -> Message:
        self._held += 1
        try:
            return await self._answer(request)
        finally:
            self._held -= 1

    async def _answer(self, request: TacticRequest) -> Message:
        job = self._jobs.job(request)
        if problem := job.problem(self._settings.engine.cells):
            return Failure(reason=problem, kind=FailureKind.MALFORMED)
        if not await self._pause.wait_free(self._settings.pause_wait):
            return Busy(retry_after=min(self._pause.remaining, PAUSED_RETRY), reason="paused")
        version: WeightsId | None = None
        if request.weights is not None:
            pinned = await self._weights.pinned(request.weights)
            if not isinstance(pinned, WeightsId):
                return pinned
            version = pinned
        elif not self._weights.ready:
            return Busy(retry_after=NO_WEIGHTS_RETRY, reason="no weights yet")
        await faults.slow("inference:request")
        answer = await self._jobs.done(job, version)
        timeline.ran(answer.seconds)
        if answer.finished is None:
            return self._weights.unknown(answer.version.version)
        return reply_of(answer.finished, answer.version)

    # --- telemetry ---------------------------------------------------------------------------------------------------

    async def _report(self) -> None:
        state = ""
        while True:
            paused = self._pause.remaining > 0
            self._telemetry.update(self._worker.snapshot, self._held, paused, self._pause.fraction)
            if state != (state := "paused" if paused else "running"):
                self._context.state = state
            await asyncio.sleep(REPORT_SECONDS)


# --- telemetry of an inference node: Prometheus metrics and the values of its heartbeat -------------------------------


class Telemetry:
    """Turns the worker's running totals into metrics."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._version = -1
        self._states = Followed(metrics.counter("inference_states", "States answered"))
        self._tokens = Followed(metrics.counter("inference_tokens", "Tokens sampled, ends included"))
        self._prompt_tokens = Followed(metrics.counter("inference_prompt_tokens", "Tokens of prompts read"))
        self._remembered = Followed(
            metrics.counter("inference_states_remembered", "States whose prompt was found prefilled and not read again")
        )
        self._dropped = Followed(
            metrics.counter("inference_prefilled_dropped", "Prefilled states dropped for newer ones")
        )
        self._cut_off = Followed(metrics.counter("inference_cut_off", "Samples cut off, which never go to Lean"))
        self._prefilled = metrics.gauge("inference_prefilled", "Prefilled states kept, over all weight versions")
        self._prefilled_bytes = metrics.gauge("inference_prefilled_bytes", "Memory of the prefilled states")
        self._passes = Followed(metrics.counter("inference_passes", "Forward passes"))
        self._rows = Followed(
            metrics.counter("inference_rows", "Rows of forward passes: distinct completions and new prompts")
        )
        self._samples = Followed(metrics.counter("inference_samples", "Samples advanced, summed over forward passes"))
        self._queue = metrics.gauge("inference_queue", "Requests held, running ones included")
        self._paused = metrics.gauge("inference_paused", "1 while the learner holds the compute")
        self._fraction = metrics.gauge("inference_pause_ratio", "Share of time paused")
        self._weights = metrics.gauge("inference_weights", "Weight version served")

    def serving(self, version: int) -> None:
        self._version = version
        self._weights.set(version)

    def update(self, snapshot: Snapshot, queue: int, paused: bool, fraction: float) -> None:
        """Count what the worker did since the last call."""
        # 1. Totals, as Prometheus takes them.
        now = snapshot.counters
        self._states.follow(now.states)
        self._tokens.follow(now.tokens)
        self._prompt_tokens.follow(now.prompt_tokens)
        self._remembered.follow(now.remembered)
        self._dropped.follow(now.dropped)
        self._cut_off.follow(now.cut_off)
        self._prefilled.set(snapshot.prefilled)
        self._prefilled_bytes.set(snapshot.prefilled_bytes)
        self._passes.follow(now.passes)
        self._rows.follow(now.rows)
        self._samples.follow(now.samples)
        self._queue.set(queue)
        self._paused.set(paused)
        self._fraction.set(fraction)
        # 2. The same for the heartbeat, which people see.
        self._context.report(
            states=now.states,
            tokens=now.tokens,
            passes=now.passes,
            rows_per_pass=now.rows / max(1, now.passes),
            samples_per_pass=now.samples / max(1, now.passes),
            remembered=now.remembered,
            cut_off=now.cut_off,
            prefilled_bytes=snapshot.prefilled_bytes,
            queue=queue,
            weights=self._version,
            paused=float(paused),
            pause_fraction=fraction,
        )


# ----------------------------------------------------------------------------------------------------------------------
# The pause while the learner holds the compute (`node.learner.learning.compute_hold`): parks the worker, acknowledges,
# and resumes. `PauseClock` is the state machine: no clock, no I/O, times are seconds of this machine's monotonic clock.
# `WorkerPause` drives it.
#
# A hold has an epoch and a length. It arrives both as a request that needs an acknowledgement and in the run's state,
# in any order and possibly more than once. It expires unless it is renewed, so a crashed learner cannot stop inference
# for ever. Its length counts from its arrival, so the clocks of two machines need not agree: the learner counts from
# before it sends a hold, and stops first.


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

    def __init__(self, worker: Worker, node_id: str, now: Callable[[], float] = time.monotonic, gpu: str = "") -> None:
        """`gpu`: id of the GPU that computes; empty: a CPU."""
        self._worker, self._node_id, self._gpu = worker, node_id, gpu
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
        if hold is None or not self._concerns(hold):
            return
        if hold.seconds > age:
            self._hold(hold.epoch, hold.seconds - age)
        else:
            self._clock.release(hold.epoch, self._now())
        self._obey()

    async def pause(self, request: PauseRequest) -> Message:
        """Handle a request to pause. Acknowledges when no forward pass is running; at once if other GPUs are meant."""
        if not self._concerns(request):
            return PauseAcknowledged(epoch=request.epoch, node_id=self._node_id, paused=False)
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

    def _concerns(self, hold: PauseHold | PauseRequest) -> bool:
        """Whether the learner needs what this node computes on. A release is for everyone: the learner may have moved
        since the pause."""
        return not hold.gpus or self._gpu in hold.gpus or hold.seconds <= 0

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
