"""Handlers of `lean.run` and `lean.verify`. They time and count each request, and the drain waits for open ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from prometheus_client import Histogram

from common.life import faults, metrics
from common.protocol.messages import LeanRunRequest, LeanVerifyReply, LeanVerifyRequest, Message
from node.lean.check.files.proofs import ProofVerifier
from node.lean.requests import Requests

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
        self._run_seconds = metrics.histogram("lean_run_seconds", "Time of a lean.run request, with queueing")
        self._verify_seconds = metrics.histogram("lean_verify_seconds", "Time of a verification")
        self._verified = metrics.counter("lean_verified", "Proofs verified", ["verdict"])
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
        with self._counted(self._run_seconds):
            faults.reach("lean-proxy:request-open")
            return await self._requests.run(request)

    async def verify(self, request: LeanVerifyRequest) -> Message:
        """Returns LeanVerifyReply, or Failure if there is no verdict. The bus signs it."""
        with self._counted(self._verify_seconds):
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
    def _counted(self, seconds: Histogram) -> Iterator[None]:
        """Count and time a request while it is open."""
        self._open += 1
        self._none_open.clear()
        started = time.monotonic()
        try:
            yield
        finally:
            seconds.observe(time.monotonic() - started)
            self._open -= 1
            if not self._open:
                self._none_open.set()
