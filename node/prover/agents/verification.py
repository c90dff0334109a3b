"""Final verification of proofs by the mesh's lean-proxies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.bus import RemoteFailure
from common.lean import ProofTree, Theorem
from common.protocol import subjects
from common.protocol.messages import FailureKind, LeanVerifyReply, LeanVerifyRequest, OversizedMessage
from node.lean.text.script import proof_script
from node.prover.agents.asking import Patience

if TYPE_CHECKING:
    from common.bus import Bus


class MeshVerification:
    """`node.prover.agents.agent.Verify` for one theorem, over the bus."""

    def __init__(self, bus: Bus, theorem: Theorem, *, timeout: float, patience: float) -> None:
        """`timeout`: seconds before a request is sent again. `patience`: seconds to wait for each verdict, without
        broker outages."""
        self._bus = bus
        self._theorem = theorem.renamed()
        self._timeout = timeout
        self._patience = patience

    async def __call__(self, proof: ProofTree) -> str:
        """The reason why a proof is refused; empty if it is accepted. A proof that cannot be written as a script or
        sent is refused, too.

        Raises BusError if there is no verdict.
        """
        try:
            script = proof_script(proof)
        except ValueError as error:
            return f"the proof cannot be written down: {error}"
        reply = await self.verdict(script)
        return "" if reply.accepted else reply.reason or "no reason was given"

    async def verdict(self, script: str) -> LeanVerifyReply:
        """Lean's verdict on a script. A script that is too large to send, or a bad statement, is refused.

        Raises BusError if there is no verdict.
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
