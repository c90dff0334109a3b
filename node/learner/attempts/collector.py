"""Collects the results of attempts: leases each one, has a lean-proxy verify its proof, records it, then acknowledges.

A prover sends a proof as a tree. The collector itself derives from the tree both the script that Lean verifies and the
transitions to train on, so a prover cannot fake them. Only the proof states in the tree are taken on trust.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import asdict, astuple, replace
from typing import Any

import msgspec

from common.bus import BusError, Lease, RemoteFailure, names
from common.lean import ProofTree
from common.life import faults, metrics, timeline
from common.life.metrics import ATTEMPT_BUCKETS
from common.life.timeline import Timeline
from common.life.waiting import Gathering, wait_first
from common.proofs import transitions_of
from common.protocol.attempts import (
    LEARNER,
    TRAINED_PURPOSES,
    Attempt,
    AttemptOutcome,
    AttemptResult,
    Purpose,
    ResultPart,
)
from common.protocol.messages import (
    ANY_PROOF,
    FailureKind,
    LeanVerifyReply,
    LeanVerifyRequest,
    MessageError,
    OversizedMessage,
)
from common.protocol.subjects import LEAN_VERIFY
from common.records.database import RunDirectoryError
from common.records.readers import WantedAttempts, read_attempts
from common.records.rows import Arrival, Verdict, VerifiedProof
from common.records.searches import BadSearch, KeptSearches
from common.records.store import Store
from common.watch.spans import Trace, around
from node.lean.text.rules import proof_problem
from node.lean.text.script import proof_script
from node.learner.algorithms.algorithm import Found
from node.learner.run import DUPLICATES, Recorded, Run, now

CONSUMER = names.RESULTS_PREFIX + LEARNER

MOST_VERIFIED = 8
"""Most proofs in verification, as a multiple of the results that are handled at once."""

VERIFICATIONS_WAITED, MOST_WAITED = 3.0, 120.0
"""A proof is sent again after as many times the slowest of the latest verifications, at most so many seconds, if
`verify_timeout` is less: with a header that takes seconds to import, a large batch takes a minute."""

FORGETTING = 0.98
"""What is left of the slowest verification's time after each further one."""

HAND_BACK_DELAY = 5.0
"""Seconds until a result whose proof could not be verified (no lean-proxy) is redelivered."""

EVALUATION_GATHER = 2.0
"""Longest wait in seconds of an evaluation's proof for others to share a verification batch. It is short because the
run waits for the evaluation's last proof."""

RECORDED = metrics.histogram(
    "learner_attempt_seconds", "From an attempt's dispatch until it was recorded", ["purpose"], ATTEMPT_BUCKETS
)
PARTS = metrics.histogram(
    "learner_attempt_part_seconds",
    "What an attempt spent of this time on, each moment counted once",
    ["part"],
    ATTEMPT_BUCKETS,
)
BAD_PARTS = metrics.counter("learner_bad_parts", "Results in parts that cannot be joined")

ResultLease = Lease[Any]
"""The lease of an AttemptResult or a ResultPart."""


class Collector:
    """Handles results until the node stops."""

    def __init__(self, run: Run) -> None:
        self._run = run
        seconds, stopping = run.settings.verify_gather, run.ctx.stopping
        self._training = Gathering(seconds, stopping)
        self._others = Gathering(min(seconds, EVALUATION_GATHER), stopping)
        self._tasks: set[asyncio.Task[None]] = set()
        self._slowest = 0.0
        """Seconds of the slowest of the latest verifications, from the first request to the verdict."""
        self._fewer = asyncio.Event()
        """Set when a result is done, or its proof begins or ends to be verified."""
        run.on_judging.append(self._fewer.set)
        self._searches: KeptSearches | None = None
        self.verified = 0
        self.rejected = 0

    async def work(self) -> None:
        """Lease and handle results until the node stops. Then finish the leased results or hand them back."""
        try:
            while not self._run.stopping:
                await self._take()
            await self._drain()
        finally:
            # Also when this task is cancelled, as at the end of the run: nothing may reach the store after it closes.
            await self._cancel(self._tasks)
            if self._searches is not None:
                self._searches.close()

    async def _take(self) -> None:
        """Lease results up to the limit of concurrent ones. If the limit is reached, wait until one is finished.

        Proofs that a lean-proxy is verifying do not count until they are MOST_VERIFIED times as many: a failed search,
        which needs no lean-proxy, waits behind none of them.
        """
        results, verified = self._run.settings.results, self._run.judging.total()
        free = min(results - (len(self._tasks) - verified), MOST_VERIFIED * results - verified)
        if free <= 0:
            if verified >= MOST_VERIFIED * results:
                self._training.close()
                self._others.close()
            self._fewer.clear()
            await wait_first(self._fewer, self._run.ctx.stopping)
            return
        for lease in await self._run.bus.lease(CONSUMER, (AttemptResult, ResultPart), limit=free, wait=0.5):
            task = asyncio.create_task(self._handle_leased(lease), name="result")
            self._tasks.add(task)
            task.add_done_callback(self._finished)

    async def _drain(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=10.0)

    @staticmethod
    async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
        """Cancel tasks and wait for them to end: each hands its result back to the broker."""
        late = list(tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._fewer.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._run.log.error("result not recorded; it will be redelivered", reason=str(error))
            self._run.ctx.fail(error)

    async def _handle_leased(self, lease: ResultLease) -> None:
        """Handle one leased message, then acknowledge it. If it cannot be handled now, hand it back."""
        try:
            with timeline.attempting(lease.message.attempt_id) as line:
                arrival = Arrival(lease.stored, now(), self._run.bus.ahead, {})
                async with lease.kept():
                    handled = await self._handle(lease.message, lease.deliveries, arrival, line)
            if handled:
                await self._ack(lease)
            else:
                await lease.hand_back(HAND_BACK_DELAY)
        except asyncio.CancelledError:
            await lease.hand_back()
            raise
        except RunDirectoryError:
            await lease.hand_back(HAND_BACK_DELAY)
            raise

    async def _ack(self, lease: ResultLease) -> None:
        try:
            await lease.ack()
        except BusError as error:
            # Harmless: the redelivered result is recognised as a duplicate.
            self._run.log.info("acknowledgement not confirmed", attempt=lease.message.attempt_id, reason=str(error))

    async def _handle(
        self, message: AttemptResult | ResultPart, deliveries: int, arrival: Arrival, line: Timeline
    ) -> bool:
        """Record a result. Returns False if it cannot be judged now. A part is stored until the result is complete."""
        attempt = await self._run.store.call(Store.open_attempt, message.attempt_id)
        if attempt is None:
            DUPLICATES.inc()
            return True
        if attempt.traced:
            line.trace = Trace(attempt.attempt_id, self._run.ctx.spans.add)
        result = await self._joined(message, attempt) if isinstance(message, ResultPart) else message
        if result is None:
            return True
        verdict = await self._judge(attempt, result, deliveries)
        if verdict is None:
            return False
        faults.reach("learner:before-commit")
        first = await self._run.store.call(_record, result, verdict, arrival, line)
        if first and attempt.traced:
            await self._run.store.call(self._trace, attempt.attempt_id)
        if first and attempt.keep_search:
            await self._run.store.call(self._keep, attempt, result, verdict)
        faults.reach("learner:recorded-not-acked")
        if first:
            await self._announce(attempt, result, verdict)
        else:
            DUPLICATES.inc()
        return True

    def _trace(self, _store: Store, attempt_id: str) -> None:
        """Make spans of what was before and after the attempt was played. In the store's thread, which has just
        recorded it."""
        (record,) = read_attempts(self._run.directory.database, 1, WantedAttempts(beginning=attempt_id))
        if record.parts is not None and record.recorded is not None:
            for span in around(attempt_id, record.created, record.recorded, asdict(record.parts)):
                self._run.ctx.spans.add(span)

    def _keep(self, _store: Store, attempt: Attempt, result: AttemptResult, verdict: Verdict) -> None:
        """Keep the search. In the store's thread, because it writes. What cannot be kept is no lost result."""
        try:
            if self._searches is None:
                most = self._run.settings.keep_searches_mb * 2**20
                self._searches = KeptSearches(self._run.directory.path, most)
            self._searches.keep(attempt, result, verdict.outcome)
        except BadSearch as error:
            self._run.log.warning("a search was not kept", attempt=attempt.attempt_id, reason=str(error))

    async def _joined(self, part: ResultPart, attempt: Attempt) -> AttemptResult | None:
        """The result that this part completes; None while other parts are missing. If the parts cannot be joined, the
        attempt gets the outcome ERROR, because the prover does not send the result again."""
        try:
            return await self._run.store.call(Store.keep_part, part)
        except MessageError as error:
            BAD_PARTS.inc()
            self._run.log.warning(
                "a result in parts cannot be joined; its attempt counts as failed by the infrastructure",
                attempt=part.attempt_id,
                prover=part.prover_id,
                reason=str(error),
            )
            return AttemptResult(
                attempt_id=attempt.attempt_id,
                theorem_id=attempt.theorem_id,
                purpose=attempt.purpose,
                prover_id=part.prover_id,
                outcome=AttemptOutcome.ERROR,
                message=f"the result cannot be read: {error}",
            )

    async def _judge(self, attempt: Attempt, result: AttemptResult, deliveries: int) -> Verdict | None:
        """The attempt's final outcome; None if no lean-proxy can verify its proof now."""
        if deliveries > self._run.settings.max_deliveries:
            reason = f"the result was delivered {deliveries} times and never recorded"
            return Verdict(AttemptOutcome.POISONED, reason)
        if result.outcome is AttemptOutcome.REJECTED:
            # Only the learner may reject a proof.
            return Verdict(AttemptOutcome.ERROR, f"a prover reported the outcome `rejected`: {result.message}")
        if result.outcome is AttemptOutcome.BAD_STATEMENT:
            with timeline.doing("verify"):
                return await self._refused(attempt)
        if result.outcome is not AttemptOutcome.PROVED:
            return Verdict(result.outcome, result.message)
        if result.proof is None:
            return Verdict(AttemptOutcome.REJECTED, "the result has no proof tree")
        try:
            script = proof_script(result.proof)
        except ValueError as error:
            return Verdict(AttemptOutcome.REJECTED, f"the proof cannot be written as a script: {error}")
        # Here, too: a lean-proxy of an older version does not know rules.
        rule = attempt.theorem.rule
        if rule is not None and (problem := proof_problem(script, rule)):
            return Verdict(AttemptOutcome.REJECTED, problem)
        with self._run.judged(attempt.purpose), timeline.doing("verify"):
            return await self._verify(attempt, result.proof, script)

    async def _verify(self, attempt: Attempt, proof: ProofTree, script: str) -> Verdict | None:
        """Have a lean-proxy verify the proof. The theorem is the one that was dispatched, not one from the result."""
        # 1. What is wrong with the proof or its statement is a verdict.
        request = LeanVerifyRequest(theorem=attempt.theorem.renamed(), script=script)
        try:
            reply = await self._ask(attempt, request)
        except RemoteFailure as error:
            return Verdict(AttemptOutcome.REJECTED, f"{error.kind}: {error.reason}")
        except OversizedMessage as error:
            return Verdict(AttemptOutcome.REJECTED, f"the proof is too large to send to a lean-proxy: {error}")
        if reply is None:
            return None
        # 2. The algorithm says which steps of an accepted proof train, and how much.
        if not reply.accepted:
            self._run.log.warning("proof rejected", attempt=attempt.attempt_id, reason=reply.reason)
            return Verdict(AttemptOutcome.REJECTED, reply.reason)
        transitions = transitions_of(proof)
        weights: tuple[float, ...] = ()
        if attempt.purpose in TRAINED_PURPOSES:
            standing = self._run.matchmaker.standing(attempt.theorem_id)
            found = Found(transitions, standing, disproof=attempt.purpose is Purpose.DISPROVE)
            weights = tuple(self._run.algorithm.examples(found))
        verified = VerifiedProof(script, transitions, reply.axioms, reply.lean_version, reply.header, weights)
        return Verdict(AttemptOutcome.PROVED, proof=verified)

    async def _refused(self, attempt: Attempt) -> Verdict | None:
        """Whether Lean refuses the statement, as a prover says; None if no lean-proxy can say it now. A theorem that is
        refused is never attempted again, so a prover's word does not suffice."""
        theorem = msgspec.structs.replace(attempt.theorem, rule=None).renamed()
        try:
            reply = await self._ask(attempt, LeanVerifyRequest(theorem=theorem, script=ANY_PROOF))
        except RemoteFailure as error:
            return Verdict(AttemptOutcome.BAD_STATEMENT, error.reason)
        except OversizedMessage as error:
            return Verdict(AttemptOutcome.ERROR, f"the statement is too large to send to a lean-proxy: {error}")
        if reply is None:
            return None
        return Verdict(
            AttemptOutcome.ERROR, "a prover reported that Lean refuses the statement, and a verifier does not"
        )

    async def _ask(self, attempt: Attempt, request: LeanVerifyRequest) -> LeanVerifyReply | None:
        """A verifier's reply; None if there is none now: what is wrong with the mesh is no verdict, and the result
        comes again. Raises RemoteFailure if Lean refuses the statement, OversizedMessage."""
        # A batch costs Lean hardly more than one proof, so each waits for others.
        await (self._training if attempt.purpose in TRAINED_PURPOSES else self._others).wait()
        began, patience = time.monotonic(), self._run.settings.verify_patience
        try:
            reply = await self._run.bus.request_patiently(
                LEAN_VERIFY, request, LeanVerifyReply, timeout=self._verify_timeout(), deadline=patience
            )
        except RemoteFailure as error:
            if error.kind is FailureKind.BAD_STATEMENT:
                raise
            self._run.log.warning("verification failed", attempt=attempt.attempt_id, reason=error.reason)
            return None
        except BusError as error:
            self._run.ctx.health("verification", f"no lean-proxy verifies proofs: {error}")
            return None
        self._slowest = max(time.monotonic() - began, FORGETTING * self._slowest)
        self._run.ctx.health("verification", None)
        return reply

    def _verify_timeout(self) -> float:
        """Seconds after which a proof is sent to a lean-proxy again."""
        return max(self._run.settings.verify_timeout, min(MOST_WAITED, VERIFICATIONS_WAITED * self._slowest))

    async def _announce(self, attempt: Attempt, result: AttemptResult, verdict: Verdict) -> None:
        """Publish a recorded result to the mesh and to the learner's other parts."""
        self.verified += verdict.outcome is AttemptOutcome.PROVED
        self.rejected += verdict.outcome is AttemptOutcome.REJECTED
        expansions = result.statistics.expansions
        self._run.journal.counted(attempt.purpose, verdict.outcome, expansions)
        if verdict.proof is not None:
            with contextlib.suppress(OversizedMessage):  # recorded, but too long for the monitor
                await self._run.journal.proof(attempt, verdict.proof.script, result.statistics.simulations)
        event = Recorded(attempt.attempt_id, attempt.theorem_id, attempt.purpose, verdict, expansions)
        await self._run.recorded(event)


def _record(store: Store, result: AttemptResult, verdict: Verdict, arrival: Arrival, line: Timeline) -> bool:
    """In the store's thread, because the wait for it is part of the attempt's time."""
    first = store.record(result, verdict, now(), replace(arrival, spent=line.parts("store")))
    if first and (parts := store.parts(result.attempt_id)) is not None:
        RECORDED.labels(result.purpose).observe(sum(astuple(parts)))
        for part, seconds in asdict(parts).items():
            PARTS.labels(part).observe(seconds)
    return first
