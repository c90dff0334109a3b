"""Whole proofs from inference nodes: the network that proposes tactics writes them, where it was trained on both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from common.messages import SampledTactic
from node.prover.drafts import Draft, ProofRequest, ProofsUnavailable
from node.prover.policy import InferencePolicy


class InferenceProofs:
    """`node.prover.drafts.ProofSource` over the bus."""

    def __init__(self, inference: InferencePolicy) -> None:
        """`inference`: whom to ask, for which weights, and how to sample."""
        self._inference = inference

    async def propose(self, request: ProofRequest) -> Sequence[Draft]:
        """None for a statement that is longer than what the network reads, and for corrections, which it was not
        trained to make. Raises ProofsUnavailable, BusError."""
        if request.correct:
            return ()
        reply = await self._inference.ask(request.theorem.signature, request.count, request.seed, proof=True)
        if any(sample.tokens is None for sample in reply.tactics):
            raise ProofsUnavailable("an inference node of an older version answered with tactics: bring it up to date")
        return drafts_of(reply.tactics)


def drafts_of(samples: Iterable[SampledTactic]) -> list[Draft]:
    """Whole proofs as a network writes them: the text is the block of tactics. One that is cut off is none."""
    return [
        Draft(
            sample.tactic if sample.complete else "",
            problem="" if sample.complete else "cut off, empty, or no text",
            log_probability=sample.log_probability,
            tokens=sample.tokens or 0,
            output=sample.tactic,
        )
        for sample in samples
    ]
