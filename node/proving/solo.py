"""Proves theorems in this process: the prover's search on our own Lean workers, without a broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from common.lean import Theorem
from common.messages import Attempt, AttemptOutcome, AttemptResult, LeanVerifyReply, Purpose
from node.lean.text.script import proof_lines
from node.prover.agent import Agent, Expansion
from node.prover.fixed_policy import FixedPolicy
from node.prover.search import Search
from node.prover.settings import ProverSettings
from node.proving.local_lean import LocalLean
from node.proving.prover import Budget, Found, ProvingFailed
from node.proving.settings import ProvingSettings

Watch = Callable[[Theorem], Callable[[Search, int, Expansion], None]]
"""What looks on at each search for a theorem: see `Agent`."""

LEAVES = 4
"""Expansions in flight within a search."""


class SoloProver:
    """`TheoremProver` in this process."""

    def __init__(self, lean: LocalLean, settings: ProvingSettings | None = None, *, watch: Watch | None = None) -> None:
        self._lean = lean
        self._settings = settings or ProvingSettings()
        self._watch = watch

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Look for a proof; it is not verified yet. Raises ProvingFailed."""
        began = time.monotonic()
        attempt = Attempt(
            attempt_id=theorem.name,
            theorem_id=theorem.name,
            theorem=theorem,
            purpose=Purpose.INTERACTIVE,
            simulations=budget.simulations,
            seed=0,
        )
        parameters = ProverSettings(policy="fixed").search_parameters()
        environment = self._lean.environment(theorem)
        agent = Agent(
            *(attempt, FixedPolicy(), environment),
            prover_id="solo",
            leaves=LEAVES,
            parameters=parameters,
            on_expansion=self._watch(theorem) if self._watch else None,
        )
        try:
            async with asyncio.timeout(budget.seconds):
                result = await agent.play()
        except TimeoutError:
            seconds = time.monotonic() - began
            return Found(AttemptOutcome.FAILED, reason=f"no proof within {budget.seconds:g} s", seconds=seconds)
        return _found(result, time.monotonic() - began)

    async def verify(self, theorem: Theorem, script: Sequence[str]) -> LeanVerifyReply:
        """Lean's word on a proof, from fresh processes. Raises ProvingFailed."""
        return await self._lean.verify(theorem, script)


def _found(result: AttemptResult, seconds: float) -> Found:
    """Raises ProvingFailed."""
    simulations = result.statistics.simulations
    match result.outcome:
        case AttemptOutcome.PROVED if result.proof is not None:
            try:
                script = tuple(proof_lines(result.proof, ""))
            except ValueError as error:
                reason = f"the proof that was found cannot be written down: {error}"
                return Found(AttemptOutcome.FAILED, reason=reason, simulations=simulations, seconds=seconds)
            return Found(result.outcome, script, "", result.proof, simulations, seconds, by="search")
        case AttemptOutcome.FAILED | AttemptOutcome.BAD_STATEMENT:
            return Found(result.outcome, reason=result.message, simulations=simulations, seconds=seconds)
        case _:
            raise ProvingFailed(f"the search was cut short: {result.message}")
