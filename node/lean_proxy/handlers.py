"""Handlers of a lean-proxy's requests, and the report on them.

`lean.run` and `lean.verify` are counted (the bus times them), and the drain waits for open ones. `lean.check` brings
snippets of the verification service, on separate workers that start with the first snippet. The report updates counters
and gauges for `/metrics`, the values of the heartbeat, and the node's health.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from common.lean import OutcomeKind, outcome_values
from common.life import faults, metrics, timeline
from common.life.metrics import Followed
from common.life.node import NodeContext
from common.protocol.messages import (
    Busy,
    Failure,
    LeanCheckGone,
    LeanCheckRequest,
    LeanRunReply,
    LeanRunRequest,
    LeanVerifyReply,
    LeanVerifyRequest,
    Message,
)
from node.lean.check.files.proofs import ProofVerifier
from node.lean.process.child import MIB
from node.lean.requests import Requests
from node.lean.snippets.asked import reply_of, snippet_of
from node.lean.snippets.checker import SnippetChecker
from node.lean.snippets.snippet import SnippetResult

REASON_CHARACTERS = 300
"""Longest reason of a rejection in the log."""

BATCH_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200, 400)
"""Buckets of the histogram of batch sizes."""

log = structlog.get_logger("lean-proxy")


class Handlers:
    """Handlers of `lean.run` and `lean.verify`, with their counters."""

    def __init__(self, requests: Requests, verifier: ProofVerifier) -> None:
        self._requests = requests
        self._verifier = verifier
        self._open = 0
        self._none_open = asyncio.Event()
        self._none_open.set()
        self.accepted = 0
        """Accepted proofs."""
        self.rejected = 0
        """Rejected proofs."""
        self.checks = 0
        """Checks, each of one proof or of a batch of proofs."""
        self._verified = metrics.counter("lean_verified", "Proofs verified", ["verdict"])
        for verdict in ("accepted", "rejected"):
            self._verified.labels(verdict)  # with 0: Prometheus sees no increase when a series begins
        self._batches = metrics.histogram(
            "lean_verify_batch_proofs", "Number of proofs in a check", buckets=BATCH_SIZES
        )
        self._proof_seconds = metrics.histogram(
            "lean_verify_proof_seconds", "Time of a check divided by its verdicts, without queueing"
        )
        self._unsettled = metrics.counter(
            "lean_verify_again", "Proofs without a verdict in a batch, which are checked again in smaller ones"
        )
        verifier.statements.on_checked = self._checked

    async def run(self, request: LeanRunRequest) -> Message:
        """Returns LeanRunReply, Busy or Failure."""
        with self._counted():
            faults.reach("lean-proxy:request-open")
            await faults.slow("lean-proxy:run")
            answer = await self._requests.run(request)
        timeline.ran(answer.elapsed if isinstance(answer, LeanRunReply) else 0.0)
        return answer

    async def run_held(self, request: LeanRunRequest) -> Message:
        """The same for an asker who came back because of kept states. Busy if it would have to wait: others may be
        idle, and the asker asks them all."""
        if self._requests.backend.waiting:
            return Busy(retry_after=RETRY_SECONDS, reason="all workers of this lean-proxy are busy")
        return await self.run(request)

    async def verify(self, request: LeanVerifyRequest) -> Message:
        """Returns LeanVerifyReply, or Failure if there is no verdict. The bus signs it."""
        with self._counted():
            answer = await self._verifier.answer(request)
        if isinstance(answer, LeanVerifyReply):
            self._count(answer)
        return answer

    @property
    def unverified(self) -> int:
        """Proofs that wait for a check."""
        return self._verifier.statements.waiting

    async def drained(self) -> None:
        """Wait until no request is open."""
        await self._none_open.wait()

    def _checked(self, proofs: int, settled: int, seconds: float) -> None:
        """Count a check of `proofs` proofs, which gave `settled` of them a verdict."""
        self.checks += 1
        self._batches.observe(proofs)
        self._unsettled.inc(proofs - settled)
        if settled:
            self._proof_seconds.observe(seconds / settled)

    def _count(self, verdict: LeanVerifyReply) -> None:
        self.accepted += verdict.accepted
        self.rejected += not verdict.accepted
        self._verified.labels("accepted" if verdict.accepted else "rejected").inc()
        if not verdict.accepted:
            log.info("proof rejected", reason=verdict.reason[:REASON_CHARACTERS])

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a request while it is open."""
        self._open += 1
        self._none_open.clear()
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._none_open.set()


# --- snippets ---------------------------------------------------------------------------------------------------------

RETRY_SECONDS = 0.2
"""Seconds before a retry, at this or another lean-proxy, in the Busy reply while all workers have snippets."""


class Checks:
    """Handlers of `lean.check` and of `lean.check.gone`."""

    def __init__(self, checker: SnippetChecker) -> None:
        self._checker = checker
        self._open: dict[str, asyncio.Task[SnippetResult]] = {}

    async def check(self, request: LeanCheckRequest) -> Message:
        """Returns LeanCheckReply, Busy if one snippet waits for each worker, or Failure after LeanCheckGone."""
        if self._checker.waiting >= self._checker.at_once:
            return Busy(retry_after=RETRY_SECONDS, reason="all workers have snippets")
        task = asyncio.create_task(self._checker.check(snippet_of(request)), name="snippet")
        self._open[request.check_id] = task
        try:
            return reply_of(await task)
        except asyncio.CancelledError:
            if not task.cancelled() or self._leaving():
                raise
            return Failure(reason="the client has left")
        finally:
            task.cancel()  # matters only if this handler was cancelled
            if self._open.get(request.check_id) is task:  # not if the client has sent the request again meanwhile
                del self._open[request.check_id]

    def gone(self, _: str, message: LeanCheckGone) -> None:
        """Cancel a check whose client has left, which frees its worker at once."""
        if (task := self._open.get(message.check_id)) is not None:
            task.cancel()

    async def drained(self) -> None:
        """Wait until no snippet is open."""
        await asyncio.gather(*self._open.values(), return_exceptions=True)

    @staticmethod
    def _leaving() -> bool:
        current = asyncio.current_task()
        return current is not None and current.cancelling() > 0


# --- report -----------------------------------------------------------------------------------------------------------

REPORT_SECONDS = 0.5
"""Seconds between two updates. Heartbeats are about one second apart."""


async def report(ctx: NodeContext, requests: Requests, handlers: Handlers) -> None:
    """Keep metrics and the heartbeat's values up to date, for ever."""
    backend, counts = requests.backend, requests.counts
    shown = Shown(requests)
    while True:
        resident_mb = backend.resident_mb()
        shown.update(resident_mb, handlers.unverified)
        ctx.health("lean", requests.problem)
        ctx.report(
            candidates=counts.candidates,
            queue=backend.waiting,
            workers=backend.live,
            worker_restarts=backend.restarts,
            proofs_accepted=handlers.accepted,
            proofs_rejected=handlers.rejected,
            verifications=handlers.checks,
            verify_queue=handlers.unverified,
            rss_mb=round(resident_mb, 1),
            cache_hits=counts.cache_hits,
            failures=counts.failures,
            **outcome_values(counts.outcomes),
        )
        await asyncio.sleep(REPORT_SECONDS)


class Shown:
    """Metrics of the Lean workers, from the totals that they and their requests keep."""

    def __init__(self, requests: Requests) -> None:
        self._backend, self._counts = requests.backend, requests.counts
        self._candidates = Followed(metrics.counter("lean_candidates", "Candidate tactics answered"))
        self._cache_hits = Followed(metrics.counter("lean_cache_hits", "Candidates answered from the cache"))
        self._restarts = Followed(
            metrics.counter("lean_worker_restarts", "Workers that crashed or were killed by a limit")
        )
        self._failures = Followed(
            metrics.counter("lean_failures", "Requests that got Busy because Lean or its server was down")
        )
        outcomes = metrics.counter("lean_outcomes", "Outcomes by kind", ["kind"])
        self._outcomes = {kind: Followed(outcomes.labels(kind)) for kind in OutcomeKind}
        self._queue = metrics.gauge("lean_queue", "Requests that wait for a worker")
        self._verify_queue = metrics.gauge("lean_verify_queue", "Proofs that wait for a check")
        self._workers = metrics.gauge("lean_workers", "Live Lean workers")
        self._resident = metrics.gauge("lean_workers_resident_memory_bytes", "Resident memory of the workers")

    def update(self, resident_mb: float, unverified: int) -> None:
        """Take the current totals. `resident_mb`: memory of the workers, in MiB; `unverified`: proofs in the queue."""
        self._candidates.follow(self._counts.candidates)
        self._cache_hits.follow(self._counts.cache_hits)
        self._restarts.follow(self._backend.restarts)
        self._failures.follow(self._counts.failures)
        for kind, number in self._counts.outcomes.items():
            self._outcomes[kind].follow(number)
        self._queue.set(self._backend.waiting)
        self._verify_queue.set(unverified)
        self._workers.set(self._backend.live)
        self._resident.set(resident_mb * MIB)
