"""Reports on a lean-proxy: gauges for `/metrics`, values for its heartbeat, its health."""

from __future__ import annotations

import asyncio

from common import metrics
from common.lean import outcome_values
from common.node import NodeContext
from node.lean.backend import Backend
from node.lean.requests import Counts, Requests
from node.lean_proxy.handlers import Handlers

REPORT_SECONDS = 0.5
"""Seconds between two updates. Heartbeats are about one second apart."""


async def report(ctx: NodeContext, requests: Requests, handlers: Handlers) -> None:
    """Keep gauges and the heartbeat's values up to date, for ever."""
    backend, counts = requests.backend, requests.counts
    while True:
        resident_mb = backend.resident_mb()
        _set_gauges(backend, counts, resident_mb)
        metrics.gauge("lean_verify_queue", "Proofs that wait for a check").set(handlers.unverified)
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


def _set_gauges(backend: Backend, counts: Counts, resident_mb: float) -> None:
    metrics.gauge("lean_candidates", "Candidate tactics answered").set(counts.candidates)
    metrics.gauge("lean_cache_hits", "Candidates answered from the cache").set(counts.cache_hits)
    metrics.gauge("lean_queue", "Requests that wait for a worker").set(backend.waiting)
    metrics.gauge("lean_workers", "Live Lean workers").set(backend.live)
    metrics.gauge("lean_worker_restarts", "Workers that crashed or were killed by a limit").set(backend.restarts)
    metrics.gauge("lean_workers_rss_mb", "Resident memory of the workers").set(resident_mb)
    metrics.gauge("lean_failures", "Requests that got Busy because Lean or its server was down").set(counts.failures)
    for kind, number in counts.outcomes.items():
        metrics.gauge("lean_outcomes", "Outcomes by kind", ["kind"]).labels(kind).set(number)
