"""Final verification of the proofs that a search finds, by the mesh's lean-proxies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common import subjects
from common.bus import RemoteFailure
from common.lean import ProofTree, Theorem
from common.messages import FailureKind, LeanVerifyReply, LeanVerifyRequest, OversizedMessage
from node.lean.text.script import proof_script
from node.prover.asking import Patience

if TYPE_CHECKING:
    from common.bus import Bus


class MeshVerification:
    """`node.prover.agent.Verify` for one theorem, over the bus."""

    def __init__(self, bus: Bus, theorem: Theorem, *, timeout: float, patience: float) -> None:
        """`timeout`: seconds after which a request is sent again; `patience`: seconds for each verdict, time without a
        broker not counted."""
        self._bus = bus
        self._theorem = theorem.renamed()
        self._timeout = timeout
        self._patience = patience

    async def __call__(self, proof: ProofTree) -> str:
        """Why a proof is refused, empty if it is accepted. What cannot be written down or sent is refused, too.

        Raises BusError: there is no verdict.
        """
        try:
            script = proof_script(proof)
        except ValueError as error:
            return f"the proof cannot be written down: {error}"
        reply = await self.verdict(script)
        return "" if reply.accepted else reply.reason or "no reason was given"

    async def verdict(self, script: str) -> LeanVerifyReply:
        """Lean's word on a script. One that cannot be sent is refused, and so is a statement that Lean does not take.

        Raises BusError: there is no verdict.
        """
        request = LeanVerifyRequest(theorem=self._theorem, script=script)
        try:
            return await Patience(self._bus, self._patience).ask(
                subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=self._timeout
            )
        except OversizedMessage as error:
            return LeanVerifyReply(accepted=False, reason=f"the proof is too large to be verified: {error}")
        except RemoteFailure as failure:
            if failure.kind is not FailureKind.BAD_STATEMENT:
                raise
            return LeanVerifyReply(accepted=False, reason=f"{failure.kind}: {failure.reason}")
