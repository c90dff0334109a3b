"""Proves theorems on a running mesh: its provers search, its lean-proxies verify."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from common.bus import Bus, BusError, BusSettings, RemoteFailure
from common.lean import Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Purpose, ResultPart
from common.protocol.messages import (
    FailureKind,
    LeanRunReply,
    LeanRunRequest,
    LeanVerifyReply,
    LeanVerifyRequest,
    MessageError,
)
from common.protocol.parts import Parts
from node.prover.agents.environment import LeanEnvironment
from node.proving.finishing import Unwritable, finished
from node.proving.policies import check_for_mesh
from node.proving.prover import Budget, Found, ProvingFailed
from node.proving.served import check_served, trouble_of
from node.proving.settings import ProvingSettings

AT_ONCE = 8
"""Theorems that are sent to a mesh at once. Its provers queue them."""

CONNECT_SECONDS = 3.0
"""Seconds to wait for the broker that was named on the command line."""

OPEN_SECONDS = 600.0
"""Seconds to wait until a lean-proxy has elaborated a theorem. A cold import of Mathlib can take minutes."""

ANSWER_SECONDS = 60.0
"""Seconds before an unanswered request is sent again."""

REPORT_SECONDS = 3.0
"""Seconds to wait for a prover's result after the time limit. It has the progress of the search, or an error."""

TACTIC_SECONDS = 5.0
"""Time limit in Lean of one variant, when a proof is shortened."""

FINISHING_PATIENCE = 5.0
"""Seconds of retries with busy lean-proxies when a proof is shortened. It is short, because a long proof is fine."""

VERIFY_SECONDS = 120.0
"""Seconds to wait for the verification. Fresh processes take about 0.4 s, on a busy proxy longer."""


class MeshProver:
    """`TheoremProver` over a running mesh, several theorems at once. Create it with `mesh_prover`."""

    def __init__(self, bus: Bus, settings: ProvingSettings | None = None) -> None:
        self._bus = bus
        self._settings = settings or ProvingSettings()
        self.client = subjects.new_client("prove")
        """Names this client in its attempts, so that it gets their results."""
        self._waiting: dict[str, asyncio.Future[AttemptResult]] = {}
        self._parts = Parts()

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Search for a proof, without final verification. The time starts when Lean has elaborated the statement.

        Raises ProvingFailed.
        """
        try:
            if refusal := await self._refusal(theorem):
                return Found(AttemptOutcome.BAD_STATEMENT, reason=refusal)
            began = time.monotonic()
            result = await self._search(theorem, budget)
        except (BusError, MessageError) as error:  # too large a theorem is a MessageError
            raise ProvingFailed(f"the mesh did not search: {error}") from error
        seconds = time.monotonic() - began
        if result is None or result.outcome in (AttemptOutcome.UNDECIDED, AttemptOutcome.ERROR):
            await self._check_served(result)
        if result is None:
            return Found(AttemptOutcome.FAILED, reason=f"no proof within {budget.seconds:g} s", seconds=seconds)
        return await self._found(theorem, result, seconds, budget)

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        """Lean's verdict on a proof, from fresh processes. Raises ProvingFailed."""
        text = "\n".join(f"  {line}" if line else "" for line in script)
        request = LeanVerifyRequest(theorem=theorem.renamed(), script=text)
        try:
            return await self._bus.request_patiently(
                subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=ANSWER_SECONDS, deadline=VERIFY_SECONDS
            )
        except (BusError, MessageError) as error:
            raise ProvingFailed(f"the mesh did not verify the proof that was found: {error}") from error

    def received(self, message: AttemptResult | ResultPart | None) -> None:
        """Handle a result or a part of one. Results that were received before are ignored."""
        waiting = self._waiting.get(message.attempt_id) if message is not None else None
        if message is None or waiting is None or waiting.done():
            return
        try:
            result = self._parts.add(message) if isinstance(message, ResultPart) else message
        except MessageError as error:
            waiting.set_exception(ProvingFailed(f"a prover's result cannot be read: {error}"))
            return
        if result is not None:
            waiting.set_result(result)

    async def _found(self, theorem: Theorem, result: AttemptResult, seconds: float, budget: Budget) -> Found:
        """Raises ProvingFailed."""
        simulations = result.statistics.simulations
        match result.outcome:
            case AttemptOutcome.PROVED if result.proof is not None:
                # Whole proofs stay as their author wrote them.
                shorten = self._settings.shorten and not self._settings.whole_proofs
                left = budget.seconds - seconds if shorten else None
                environment = LeanEnvironment(
                    self._bus, theorem, tactic_timeout=TACTIC_SECONDS, patience=FINISHING_PATIENCE
                )
                try:
                    script = await finished(result.proof, environment, self._settings.closing, left)
                except Unwritable as error:
                    return Found(AttemptOutcome.FAILED, reason=str(error), simulations=simulations, seconds=seconds)
                return Found(result.outcome, script, "", result.proof, simulations, seconds, by="the mesh")
            case AttemptOutcome.FAILED | AttemptOutcome.BAD_STATEMENT:
                return Found(result.outcome, reason=result.message, simulations=simulations, seconds=seconds)
            case AttemptOutcome.UNDECIDED:
                return Found(AttemptOutcome.FAILED, reason=result.message, simulations=simulations, seconds=seconds)
            case _:
                raise ProvingFailed(f"the search was cut short: {result.message}")

    async def _check_served(self, result: AttemptResult | None) -> None:
        """Raises ProvingFailed if the policy's models are not available: then the search was not complete."""
        try:
            trouble = trouble_of(await self._bus.nodes(), self._settings.policy)
        except BusError as error:
            raise ProvingFailed(f"the mesh did not search: {error}") from error
        if trouble:
            details = f" ({result.message})" if result is not None and result.message else ""
            raise ProvingFailed(f"the search was cut short: {trouble}{details}")

    async def _refusal(self, theorem: Theorem) -> str:
        """Lean's error for a theorem that it cannot elaborate; empty if it can.

        Raises BusError, MessageError.
        """
        try:
            await self._bus.request_patiently(
                subjects.LEAN_RUN,
                LeanRunRequest(theorem=theorem),
                LeanRunReply,
                timeout=ANSWER_SECONDS,
                deadline=OPEN_SECONDS,
            )
        except RemoteFailure as error:
            if error.kind is FailureKind.BAD_STATEMENT:
                return error.reason
            raise
        return ""

    async def _search(self, theorem: Theorem, budget: Budget) -> AttemptResult | None:
        """A prover's result; None if the time is over. Raises ProvingFailed, BusError, MessageError."""
        attempt_id = f"interactive-{secrets.token_hex(8)}"
        attempt = Attempt(
            attempt_id=attempt_id,
            theorem_id=attempt_id,
            theorem=theorem,
            purpose=Purpose.INTERACTIVE,
            simulations=budget.simulations,
            seed=0,
            client=self.client,
            samples=self._settings.samples,
            seconds=budget.seconds,
            method=self._settings.method,
            correct=self._settings.correct,
            then=self._settings.then,
            lean_attempts=budget.lean_attempts,
            policy=self._settings.policy,
        )
        waiting: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()
        self._waiting[attempt_id] = waiting
        try:
            await self._bus.publish_durable(subjects.todo(Purpose.INTERACTIVE), attempt, message_id=attempt_id)
            async with asyncio.timeout(budget.seconds + REPORT_SECONDS):
                return await waiting
        except TimeoutError:
            return None
        finally:
            del self._waiting[attempt_id]


@asynccontextmanager
async def mesh_prover(url: str, run: str, settings: ProvingSettings | None = None) -> AsyncIterator[MeshProver]:
    """Connect to the provers of a running mesh for the block.

    Raises BadPolicy if the mesh cannot use the configured policy, and ProvingFailed if its broker cannot be reached.
    """
    settings = settings or ProvingSettings()
    check_for_mesh(settings.policy, settings.method, settings.then, settings.correct)
    try:
        bus = await Bus.connect(BusSettings(url=url), run=run, name="prove", wait=CONNECT_SECONDS)
    except BusError as error:
        raise ProvingFailed(str(error)) from error
    try:
        try:
            await check_served(bus, settings.policy)
        except BusError as error:
            raise ProvingFailed(str(error)) from error
        prover = MeshProver(bus, settings)
        try:
            results = await bus.watch_results(prover.client, (AttemptResult, ResultPart), prover.received)
        except BusError as error:
            raise ProvingFailed(str(error)) from error
        try:
            yield prover
        finally:
            await results.unsubscribe()
    finally:
        await bus.close()
