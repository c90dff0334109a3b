"""Whole proofs of a network, if it was trained on whole proofs as well as on tactics."""

from __future__ import annotations

from collections.abc import Sequence

from node.prover.policies.policy import InferencePolicy
from node.prover.policies.proofs.drafts import Draft, ProofRequest, ProofsUnavailable


class InferenceProofs:
    """`node.prover.policies.proofs.drafts.ProofSource` with a network."""

    def __init__(self, inference: InferencePolicy) -> None:
        """`inference`: asks the network, with its version and its sampling settings."""
        self._inference = inference

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """Empty for a statement that is longer than the network's context, and for corrections, for which the network
        is not trained. Raises ProofsUnavailable, BusError."""
        if request.correct:
            return ()
        reply = await self._inference.ask(request.theorem.signature, request.count, request.seed, proof=True)
        if any(sample.tokens is None for sample in reply.tactics):
            raise ProofsUnavailable("an inference node of an older version answered with tactics: update it")
        # The text is the block of tactics. A sample that is cut off has no proof.
        return [
            Draft(
                sample.tactic if sample.complete else "",
                problem="" if sample.complete else "cut off, empty, or no text",
                log_probability=sample.log_probability,
                tokens=sample.tokens or 0,
                output=sample.tactic,
            )
            for sample in reply.tactics
        ]
