"""Plays one attempt: opens its policy and its theorem, and lets the agent of its method search.

A prover plays the attempts that it leases. A process without a mesh plays its own attempts in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from common.lean import Outcome
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Method, unplayed
from node.prover.agent import Account, Agent, Playing
from node.prover.environment import LeanEnvironment, Verification
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.combined import ByTurns
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import Policy
from node.prover.policies.proofs import Draft, ProofRequest, ProofSource, ProofsUnavailable
from node.prover.record import SearchRecord
from node.prover.search.methods import needs_messages
from node.prover.settings import ProverSettings
from node.prover.whole_proof import EveryProofAgent, HybridAgent, WholeProofAgent

if TYPE_CHECKING:
    from common.bus import Asking

Watch = Callable[[SearchRecord], None]
"""Hears of the record of an attempt's search when it begins, so that it has the record of a cancelled one, too."""


@dataclass(frozen=True)
class Player:
    """Plays attempts with Lean and networks that answer over `asking`."""

    asking: Asking
    settings: ProverSettings
    policies: AttemptPolicies
    player_id: str
    on_simulation: Callable[[], None] = lambda: None
    on_outcomes: Callable[[Collection[Outcome]], None] = lambda outcomes: None
    on_account: Callable[[Account], None] = lambda account: None
    """Gets the costs of each attempt that was played."""
    watch: Watch | None = None
    messages: bool = False
    """Whether the record of a search has Lean's messages about tactics that failed, also if it is not kept."""

    async def play(self, attempt: Attempt) -> AttemptResult:
        """The attempt's result. All expected errors become results; cancellation is raised."""
        settings = self.settings
        # 1. The policy, and the search parameters that fit it.
        try:
            policy, proofs = self.policies.policy(attempt), self.policies.proofs(attempt)
            parameters = self.policies.parameters(attempt)
        except BadPolicy as error:
            return unplayed(attempt, self.player_id, AttemptOutcome.ERROR, f"{type(error).__name__}: {error}")
        # 2. Lean, for tactics and for the final verification.
        environment = LeanEnvironment(
            self.asking,
            attempt.theorem,
            tactic_timeout=min(filter(None, (settings.tactic_seconds, attempt.tactic_seconds)), default=0.0),
            patience=settings.lean_patience,
            messages=needs_messages(attempt.method) or attempt.keep_search or self.messages,
        )
        verification = Verification(
            self.asking, attempt.theorem, timeout=settings.verify_timeout, patience=settings.verify_patience
        )
        # 3. The agent plays.
        record = SearchRecord(attempt) if attempt.keep_search or self.watch else None
        if record is not None and self.watch is not None:
            self.watch(record)
        playing = Playing(
            self.player_id,
            leaves=settings.leaves,
            parameters=parameters,
            has_values=self.policies.has_values(attempt),
            verify=verification if attempt.verify else None,
            on_simulation=self.on_simulation,
            on_outcomes=self.on_outcomes,
            on_expansion=record.expanded if record is not None else None,
        )
        agent = agent_of(attempt, policy, proofs, environment, playing)
        result = await agent.play()
        self.on_account(agent.account)
        if record is None or not attempt.keep_search:
            return result
        # 4. To write and to compress the trees takes some ms, in which other searches go on.
        return msgspec.structs.replace(result, search=await asyncio.to_thread(record.kept))


class NoProofs:
    """The source of proofs for policies that write none."""

    async def propose(self, request: ProofRequest) -> list[Draft]:
        """Raises ProofsUnavailable."""
        raise ProofsUnavailable(
            f"the method {Method.WHOLE_PROOF} needs a policy that writes whole proofs, such as `proofs:FILE` or a "
            "network that was trained on them; this one proposes tactics"
        )


def agent_of(
    attempt: Attempt,
    policy: Policy | ByTurns,
    proofs: ProofSource | None,
    environment: LeanEnvironment,
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
