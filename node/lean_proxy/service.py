"""The lean-proxy: answers `lean.run` and `lean.verify` on the bus."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from common import faults, metrics, subjects
from common.lean import outcome_values
from common.messages import Failure, FailureKind, LeanRunRequest, LeanVerifyReply, LeanVerifyRequest, Message
from common.settings import NodeSettings
from node.lean_proxy.settings import LeanProxySettings

if TYPE_CHECKING:
    from common.node import NodeContext
    from node.lean.backend import Backend
    from node.lean.process.protections import Protections
    from node.lean.requests import Counts, Requests
    from node.lean.toolchain.lean_toolchain import LeanToolchain
    from node.lean.verify.verifier import Verifier

OPEN_REQUESTS = 4096
"""Handlers at once. The pool's own queue is far shorter and says `busy`; this only bounds what says so."""

REPORT_SECONDS = 0.5


def main(settings: LeanProxySettings, node: NodeSettings) -> int:
    """Run a lean-proxy until it is told to stop; returns the exit code."""
    from common.node import run_node

    capacity = {"workers": settings.resolved_workers(), "verifications": settings.resolved_verifications()}
    return run_node("lean-proxy", node, lambda ctx: serve(ctx, settings), capacity=capacity)


async def serve(ctx: NodeContext, settings: LeanProxySettings) -> None:
    """The life of a lean-proxy, from a connected node to the end of its drain."""
    toolchain = await _toolchain(ctx, settings)
    requests = _requests(settings, toolchain)
    verifier = _verifier(settings, toolchain)
    requests.backend.start()
    try:
        await _prepare(ctx, requests.backend, sized=settings.workers == 0)
        handlers = Handlers(ctx, requests, verifier)
        await ctx.bus.serve(subjects.LEAN_RUN, LeanRunRequest, handlers.run, queue="lean-proxy", limit=OPEN_REQUESTS)
        await ctx.bus.serve(
            subjects.LEAN_VERIFY, LeanVerifyRequest, handlers.verify, queue="lean-proxy", limit=OPEN_REQUESTS
        )
        ctx.spawn(_report(ctx, requests, handlers), "lean-proxy report")
        await ctx.stopping.wait()
        await handlers.drained()
    finally:
        await requests.backend.stop()
        verifier.close()


async def _toolchain(ctx: NodeContext, settings: LeanProxySettings) -> LeanToolchain:
    """The Lean that is configured, confined. Raises NodeFailure."""
    from common.node import NodeFailure
    from node.lean.toolchain.find import find
    from node.lean.toolchain.problems import LeanProblem

    try:
        # Pocket Lean's library may have to be compiled first, which takes seconds; `lake` may take as long.
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        raise NodeFailure(str(error), exit_code=2) from error
    if settings.sandbox:
        toolchain = await asyncio.to_thread(toolchain.confined)
    _tell_protections(ctx, toolchain.protections)
    ctx.facts.update(toolchain.facts())
    ctx.changed.set()
    ctx.log.info("Lean found", command=" ".join(toolchain.command), **toolchain.facts())
    for note in toolchain.notes:
        ctx.log.warning(note)
    return toolchain


async def _prepare(ctx: NodeContext, backend: Backend, *, sized: bool) -> None:
    """Load the configured header, unless told to stop meanwhile: it may take minutes. `sized`: the number of workers
    follows the machine. Raises NodeFailure."""
    from common.node import NodeFailure
    from common.sizing import read_machine
    from node.lean.toolchain.problems import LeanProblem
    from node.lean.worker.pool import Pool
    from node.lean.worker.preparing import prepare

    if not isinstance(backend, Pool):
        return
    preparing = asyncio.create_task(prepare(backend, read_machine() if sized else None), name="header")
    stopping = asyncio.create_task(ctx.stopping.wait())
    try:
        await asyncio.wait({preparing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if preparing.done():
            process = preparing.result()
            seconds, memory = round(process.started_in, 2), round(process.header_mb)
            ctx.capacity["workers"] = backend.workers
            ctx.log.info("Lean is ready", header_seconds=seconds, header_mb=memory, workers=backend.workers)
    except LeanProblem as error:
        raise NodeFailure(str(error), exit_code=2) from error
    finally:
        stopping.cancel()
        preparing.cancel()
        await asyncio.gather(stopping, preparing, return_exceptions=True)


def _tell_protections(ctx: NodeContext, protections: Protections) -> None:
    """In the log, in /healthz and in the registry, where `proofmesh status` finds them."""
    ctx.facts.update(protections.facts())
    ctx.changed.set()
    if gaps := protections.gaps():
        told = {name: ctx.facts[name] for name in gaps}
        ctx.log.warning("Lean processes are not fully confined", **told)
    else:
        ctx.log.info("Lean processes are confined", mechanisms=",".join(protections.mechanisms))


class Handlers:
    """What the subjects are served with."""

    def __init__(self, ctx: NodeContext, requests: Requests, verifier: Verifier) -> None:
        self._ctx = ctx
        self._requests = requests
        self._verifier = verifier
        self._open = 0
        self._none_open = asyncio.Event()
        self._none_open.set()
        self.accepted = 0
        self.rejected = 0
        self._run_seconds = metrics.histogram("lean_run_seconds", "Time of a lean.run request, queueing included")
        self._verify_seconds = metrics.histogram("lean_verify_seconds", "Time of a verification")
        self._verified = metrics.counter("lean_verified", "Proofs verified", ["verdict"])

    async def run(self, request: LeanRunRequest) -> Message:
        with self._counted(self._run_seconds):
            faults.reach("lean-proxy:request-open")
            return await self._requests.run(request)

    async def verify(self, request: LeanVerifyRequest) -> Message:
        from node.lean.verify.verifier import VerificationFailed

        with self._counted(self._verify_seconds):
            try:
                verdict = await self._verifier.verify(request.theorem, request.script)
            except VerificationFailed as error:
                return Failure(reason=str(error), kind=FailureKind(error.kind))
        self._note(verdict)
        return verdict

    def _note(self, verdict: LeanVerifyReply) -> None:
        self.accepted += verdict.accepted
        self.rejected += not verdict.accepted
        self._verified.labels("accepted" if verdict.accepted else "rejected").inc()
        if not verdict.accepted:
            self._ctx.log.info("proof rejected", reason=verdict.reason[:300])

    async def drained(self) -> None:
        """Wait until no request is open."""
        await self._none_open.wait()

    def _counted(self, histogram: metrics.Histogram) -> _Open:
        return _Open(self, histogram)

    def opened(self, change: int) -> None:
        self._open += change
        if self._open:
            self._none_open.clear()
        else:
            self._none_open.set()


class _Open:
    """A request while it is open."""

    def __init__(self, handlers: Handlers, histogram: metrics.Histogram) -> None:
        self._handlers = handlers
        self._histogram = histogram

    def __enter__(self) -> None:
        self._handlers.opened(1)
        self._started = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._handlers.opened(-1)
        self._histogram.observe(time.monotonic() - self._started)


def _requests(settings: LeanProxySettings, toolchain: object) -> Requests:
    from node.lean.backends import make_backend, worker_options
    from node.lean.cache import OutcomeCache
    from node.lean.requests import Requests
    from node.lean.toolchain.lean_toolchain import LeanToolchain

    assert isinstance(toolchain, LeanToolchain)
    backend = make_backend(settings, toolchain, worker_options(settings))
    return Requests(backend, OutcomeCache(settings.cache), longest=settings.tactic_seconds)


def _verifier(settings: LeanProxySettings, toolchain: object) -> Verifier:
    from node.lean.toolchain.lean_toolchain import LeanToolchain
    from node.lean.verify.verifier import Verifier

    assert isinstance(toolchain, LeanToolchain)
    return Verifier(
        toolchain,
        at_once=settings.resolved_verifications(),
        seconds=settings.verify_seconds,
        memory_mb=settings.verify_memory_mb,
    )


async def _report(ctx: NodeContext, requests: Requests, handlers: Handlers) -> None:
    """Keep gauges and the heartbeat's values up to date."""
    backend, counts = requests.backend, requests.counts
    while True:
        _gauges(backend, counts)
        ctx.health("lean", requests.problem)
        ctx.report(
            candidates=counts.candidates,
            queue=backend.waiting,
            workers=backend.live,
            worker_restarts=backend.restarts,
            proofs_accepted=handlers.accepted,
            proofs_rejected=handlers.rejected,
            rss_mb=round(backend.resident_mb(), 1),
            cache_hits=counts.cache_hits,
            failures=counts.failures,
            **outcome_values(counts.outcomes),
        )
        await asyncio.sleep(REPORT_SECONDS)


def _gauges(backend: Backend, counts: Counts) -> None:
    metrics.gauge("lean_candidates", "Candidate tactics answered").set(counts.candidates)
    metrics.gauge("lean_cache_hits", "Candidates answered from the cache").set(counts.cache_hits)
    metrics.gauge("lean_queue", "Requests that wait for a worker").set(backend.waiting)
    metrics.gauge("lean_workers", "Live Lean workers").set(backend.live)
    metrics.gauge("lean_worker_restarts", "Workers that died or were killed by a limit").set(backend.restarts)
    metrics.gauge("lean_workers_rss_mb", "Resident memory of the workers").set(backend.resident_mb())
    metrics.gauge("lean_failures", "Requests that Lean or its server could not take").set(counts.failures)
    for kind, number in counts.outcomes.items():
        metrics.gauge("lean_outcomes", "Outcomes by kind", ["kind"]).labels(kind).set(number)
