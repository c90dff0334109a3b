"""Reports on a lean-proxy: counters and gauges for `/metrics`, values for its heartbeat, its health."""

from __future__ import annotations

import asyncio

from common.lean import OutcomeKind, outcome_values
from common.life import metrics
from common.life.metrics import Followed
from common.life.node import NodeContext
from node.lean.process.child import MIB
from node.lean.requests import Requests
from node.lean_proxy.handlers import Handlers

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
