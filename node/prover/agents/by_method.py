"""Chooses the agent that plays an attempt: tree search, whole proofs, or both one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection

from common.lean import Outcome
from common.protocol.attempts import Attempt, Method
from node.prover.agents.agent import Agent, Expansion
from node.prover.agents.attempt_agent import Verify
from node.prover.agents.environment import Environment
from node.prover.agents.every_proof import EveryProofAgent
from node.prover.agents.hybrid import HybridAgent, halved
from node.prover.agents.whole_proof import WholeProofAgent
from node.prover.methods.by_name import ProofSearch
from node.prover.methods.turns import ByTurns
from node.prover.policies.policy import Policy
from node.prover.policies.proofs.drafts import Draft, ProofRequest, ProofSource, ProofsUnavailable
from node.prover.search.parameters import SearchParameters

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
