"""Chooses the agent that plays an attempt: tree search, whole proofs, or both one after the other."""

from __future__ import annotations

from common.protocol.attempts import Attempt, Method
from node.prover.agents.agent import Agent
from node.prover.agents.attempt_agent import Playing
from node.prover.agents.environment import Environment
from node.prover.agents.every_proof import EveryProofAgent
from node.prover.agents.hybrid import HybridAgent
from node.prover.agents.whole_proof import WholeProofAgent
from node.prover.policies.combined import ByTurns
from node.prover.policies.policy import Policy
from node.prover.policies.proofs import Draft, ProofRequest, ProofSource, ProofsUnavailable

NO_PROOFS = (
    f"the method {Method.WHOLE_PROOF} needs a policy that writes whole proofs, such as `proofs:FILE` or a "
    "network that was trained on them; this one proposes tactics"
)


class NoProofs:
    """The source of proofs for policies that write none."""

    async def propose(self, request: ProofRequest) -> list[Draft]:
        """Raises ProofsUnavailable."""
        raise ProofsUnavailable(NO_PROOFS)


def agent_of(
    attempt: Attempt,
    policy: Policy | ByTurns,
    proofs: ProofSource | None,
    environment: Environment,
    playing: Playing,
) -> Agent | WholeProofAgent | HybridAgent:
    """The agent for an attempt, by the attempt's method. A whole-proof attempt without a source of proofs ends in an
    error."""
    source = proofs or NoProofs()
    if attempt.every_proof:
        return EveryProofAgent(attempt, source, environment, playing)
    if attempt.method != Method.WHOLE_PROOF:
        return Agent(attempt, policy, environment, playing)
    if not attempt.then:
        return WholeProofAgent(attempt, source, environment, playing)
    return HybridAgent(attempt, policy, source, environment, playing)
