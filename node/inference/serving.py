"""Serves tactic requests: passes them to the worker thread and sends its answers.

This module runs on the event loop. The worker thread computes forward passes, and helper threads load weights.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from common import weights
from common.bus import BusError, ServedSubscription
from common.life import metrics
from common.life.metrics import Followed
from common.life.node import NodeContext
from common.protocol.messages import (
    Busy,
    Failure,
    FailureKind,
    Message,
    NetworkFacts,
    PauseHold,
    PauseRequest,
    TacticRequest,
    WeightsState,
)
from common.protocol.subjects import PAUSE, RESUME, TACTIC_REQUEST
from common.sizing import read_machine, sizes
from node.inference.engine.engine import Engine
from node.inference.pause import WorkerPause
from node.inference.settings import InferenceSettings
from node.inference.weights.follower import WeightsFollower
from node.inference.weights.shelf import WeightsId
from node.inference.weights.store import Builder, WeightsStore
from node.inference.worker import Jobs, Snapshot, reply_of

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
        self._pause = WorkerPause(self._worker, context.id)
        self._held = 0

    async def run(self) -> None:
        """Serve until the node stops, then finish the running requests."""
        self._context.facts = NetworkFacts()
        self._worker.start()
        self._context.spawn(self._watch_worker(), "inference worker")
        self._context.spawn(self._report(), "report")
        try:
            if self._settings.weights:
                served = await self._weights.serve_local(Path(self._settings.weights.removeprefix(OWN)))
                self._context.facts = NetworkFacts(weights=served)
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
        start = time.perf_counter()
        self._held += 1
        try:
            return await self._answer(request)
        finally:
            self._held -= 1
            self._telemetry.answered(time.perf_counter() - start)

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
        answer = await self._jobs.done(job, version)
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
        self._seconds = metrics.histogram("inference_request_seconds", "From a request's arrival to its answer")
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

    def answered(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def serving(self, version: int) -> None:
        self._version = version
        self._weights.set(version)

    def update(self, snapshot: Snapshot, queue: int, paused: bool, fraction: float) -> None:
        """Count what the worker did since the last call."""
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
