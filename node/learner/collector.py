"""Collects results: leased, verified by a lean-proxy, recorded, and only then acknowledged."""

from __future__ import annotations

import asyncio

import msgspec

from common import faults
from common.bus import BusError, Lease, RemoteFailure
from common.lean import ProofTree
from common.messages import Attempt, AttemptResult, LeanVerifyReply, LeanVerifyRequest
from common.subjects import LEAN_VERIFY
from node.lean.text.script import proof_script
from node.learner.errors import RunDirectoryError
from node.learner.run.journal import DUPLICATES
from node.learner.run.run import Recorded, Run, now
from node.learner.store.records import Verdict
from node.learner.store.store import Store

CONSUMER = "results"

HAND_BACK_DELAY = 5.0
"""Seconds until a result whose proof could not be verified (no lean-proxy) comes again."""

POISON = "poisoned"


class Collector:
    """Takes results as long as the node lives."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tasks: set[asyncio.Task[None]] = set()
        self.verified = 0
        self.rejected = 0

    async def work(self) -> None:
        """Lease and handle results, until the node is to stop; then what is held is finished or handed back."""
        while not self._run.stopping:
            free = self._run.settings.results - len(self._tasks)
            if free <= 0:
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
                continue
            for lease in await self._run.bus.lease(CONSUMER, AttemptResult, limit=free, wait=0.5):
                task = asyncio.create_task(self._hold(lease))
                self._tasks.add(task)
                task.add_done_callback(self._finished)
        await self._drain()

    async def _drain(self) -> None:
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=10.0)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._run.log.error("result not recorded; it comes again", reason=str(error))
            self._run.ctx.fail(error)

    async def _hold(self, lease: Lease[AttemptResult]) -> None:
        """Handle one result, with its lease renewed."""
        renewing = asyncio.create_task(self._renew(lease))
        try:
            if await self._handle(lease):
                await self._ack(lease)
            else:
                await lease.hand_back(HAND_BACK_DELAY)
        except asyncio.CancelledError:
            await lease.hand_back()
            raise
        except RunDirectoryError:
            await lease.hand_back(HAND_BACK_DELAY)
            raise
        finally:
            renewing.cancel()

    async def _renew(self, lease: Lease[AttemptResult]) -> None:
        while True:
            await asyncio.sleep(lease.ack_wait / 3)
            await lease.in_progress()

    async def _ack(self, lease: Lease[AttemptResult]) -> None:
        try:
            await lease.ack()
        except BusError as error:
            # It comes again, and is found to be recorded.
            self._run.log.info("acknowledgement not confirmed", attempt=lease.message.attempt_id, reason=str(error))

    async def _handle(self, lease: Lease[AttemptResult]) -> bool:
        """Record a result; False when it cannot be judged now. Parts but the last are kept until it comes."""
        result: AttemptResult | None = lease.message
        assert result is not None
        attempt = await self._run.store.call(Store.open_attempt, result.attempt_id)
        if attempt is None:
            DUPLICATES.inc()
            return True
        if result.parts > 1:
            result = await self._run.store.call(Store.keep_part, result)
            if result is None:
                return True
        verdict = await self._judge(attempt, result, lease.deliveries)
        if verdict is None:
            return False
        if verdict.outcome == "proved":  # of other results nothing is kept, and their trees may be malformed
            result = with_honest_transitions(result)
        faults.reach("learner:before-commit")
        first = await self._run.store.call(Store.record, result, verdict, now())
        faults.reach("learner:recorded-not-acked")
        if first:
            await self._tell(attempt, result, verdict)
        else:
            DUPLICATES.inc()
        return True

    async def _judge(self, attempt: Attempt, result: AttemptResult, deliveries: int) -> Verdict | None:
        """What the attempt came to; None when no lean-proxy can say."""
        if deliveries > self._run.settings.max_deliveries:
            return Verdict(POISON, f"{POISON}: the result was delivered {deliveries} times and never recorded")
        if result.outcome != "proved":
            outcome = POISON if result.message.startswith(POISON) else result.outcome
            known = ("failed", "bad-statement", "error", POISON)
            return Verdict(outcome if outcome in known else "error", result.message)
        problem = script_problem(result)
        return Verdict("rejected", problem) if problem else await self._verify(attempt, result)

    async def _verify(self, attempt: Attempt, result: AttemptResult) -> Verdict | None:
        """Ask for the second check. The theorem is the one that was dispatched, whatever the result says."""
        request = LeanVerifyRequest(theorem=attempt.theorem, script=result.script)
        settings = self._run.settings
        try:
            reply = await self._run.bus.request_patiently(
                LEAN_VERIFY,
                request,
                LeanVerifyReply,
                timeout=settings.verify_timeout,
                deadline=settings.verify_patience,
            )
        except RemoteFailure as error:
            if error.kind != "bad-statement":
                self._run.log.warning("verification failed", attempt=attempt.attempt_id, reason=error.reason)
                return None
            return Verdict("rejected", f"{error.kind}: {error.reason}")
        except BusError as error:
            self._run.ctx.health("verification", f"no lean-proxy verifies proofs: {error}")
            return None
        self._run.ctx.health("verification", None)
        if not reply.accepted:
            self._run.log.warning("proof rejected", attempt=attempt.attempt_id, reason=reply.reason)
            return Verdict("rejected", reply.reason, lean_version=reply.lean_version)
        return Verdict("proved", axioms=reply.axioms, lean_version=reply.lean_version)

    async def _tell(self, attempt: Attempt, result: AttemptResult, verdict: Verdict) -> None:
        self.verified += verdict.outcome == "proved"
        self.rejected += verdict.outcome == "rejected"
        expansions = result.statistics.expansions
        self._run.journal.counted(attempt.purpose, verdict.outcome, expansions)
        if verdict.outcome == "proved":
            await self._run.journal.proof(attempt, result.script, result.statistics.simulations)
        event = Recorded(attempt.attempt_id, attempt.theorem_id, attempt.purpose, verdict, expansions)
        await self._run.recorded(event)


def script_problem(result: AttemptResult) -> str:
    """Why a result's script is not that of its proof; empty when it is. A tree from outside may be anything."""
    if result.proof is None:
        return "a proof without its tree"
    try:
        script = proof_script(result.proof)
    except ValueError as error:
        return f"the proof cannot be written down: {error}"
    return "" if result.script.strip() == script.strip() else "the script is not that of the proof"


def with_honest_transitions(result: AttemptResult) -> AttemptResult:
    """The result with those of its transitions that are steps of its proof: only these were verified."""
    steps = _steps(result.proof)
    kept = tuple(each for each in result.transitions if (each.tactic, each.remaining_steps) in steps)
    return msgspec.structs.replace(result, transitions=kept)


def _steps(proof: ProofTree | None) -> set[tuple[str, int]]:
    """(tactic, remaining steps) of every step of a proof."""
    found: set[tuple[str, int]] = set()
    stack = [proof] if proof is not None else []
    while stack:
        node = stack.pop()
        found.add((node.tactic, node.remaining_steps))
        stack.extend(node.children)
    return found
