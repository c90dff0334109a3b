"""Chooses the agent that plays an attempt: tree search, whole proofs, or both one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection

from common.attempts import Attempt, Method
from common.lean import Outcome
from node.prover.agent import Agent, Expansion
from node.prover.attempt_agent import Verify
from node.prover.drafts import Draft, ProofRequest, ProofSource, ProofsUnavailable
from node.prover.environment import Environment
from node.prover.every_proof import EveryProofAgent
from node.prover.hybrid import HybridAgent, halved
from node.prover.methods import ProofSearch
from node.prover.parameters import SearchParameters
from node.prover.policy import Policy
from node.prover.turns import ByTurns
from node.prover.whole_proof import WholeProofAgent

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
    *,
    prover_id: str,
    leaves: int,
    has_values: bool = False,
    on_simulation: Callable[[], None] = lambda: None,
    on_outcomes: Callable[[Collection[Outcome]], None] = lambda outcomes: None,
    parameters: SearchParameters | None = None,
    verify: Verify | None = None,
    on_expansion: Callable[[ProofSearch, int, Expansion], None] | None = None,
) -> Agent | WholeProofAgent | HybridAgent:
    """The agent for an attempt, by the attempt's method. A whole-proof attempt without a source of proofs ends in an
    error. `has_values`: whether the policy's values are learned. The other arguments are those of `Agent`."""

    def whole_proofs(attempt: Attempt) -> WholeProofAgent:
        return WholeProofAgent(
            attempt,
            proofs or NoProofs(),
            environment,
            prover_id=prover_id,
            on_simulation=on_simulation,
            on_outcomes=on_outcomes,
            verify=verify,
        )

    def search(attempt: Attempt, policy: Policy | ByTurns) -> Agent:
        return Agent(
            attempt,
            policy,
            environment,
            prover_id=prover_id,
            leaves=leaves,
            on_simulation=on_simulation,
            on_outcomes=on_outcomes,
            parameters=parameters,
            verify=verify,
            on_expansion=on_expansion,
        )

    if attempt.every_proof:
        return EveryProofAgent(
            attempt,
            proofs or NoProofs(),
            environment,
            prover_id=prover_id,
            on_simulation=on_simulation,
            on_outcomes=on_outcomes,
        )
    if attempt.method != Method.WHOLE_PROOF:
        return search(attempt, policy)
    if not attempt.then:
        return whole_proofs(attempt)
    return HybridAgent(attempt, whole_proofs(halved(attempt)), search, policy, has_values=has_values)
