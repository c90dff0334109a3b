"""A theorem is opened before its time begins: starting Lean and elaborating what stands above it is no search."""

from __future__ import annotations

from common.lean import BadStatement, Theorem
from common.messages import AttemptOutcome, LeanVerifyReply
from node.proving.local_lean import LocalLean
from node.proving.prover import Budget, Found, TheoremProver


class OpeningProver:
    """`TheoremProver` whose budgets begin when Lean shows the theorem's first state."""

    def __init__(self, prover: TheoremProver, lean: LocalLean) -> None:
        self._prover = prover
        self._lean = lean

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        """Look for a proof; it is not verified yet. Raises ProvingFailed."""
        try:
            await self._lean.environment(theorem).open()
        except BadStatement as error:
            return Found(AttemptOutcome.BAD_STATEMENT, reason=str(error))
        return await self._prover.find(theorem, budget)

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        """Lean's word on a proof, from fresh processes. Raises ProvingFailed."""
        return await self._prover.verify(theorem, script)
