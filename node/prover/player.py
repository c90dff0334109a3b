"""Plays one attempt: opens its policy and its theorem, and lets the agent of its method search.

A prover plays the attempts that it leases. A process without a mesh plays its own attempts in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from common.lean import Outcome
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, unplayed
from node.prover.agents.account import Account
from node.prover.agents.attempt_agent import Expansion, Playing
from node.prover.agents.by_method import agent_of
from node.prover.agents.environment import LeanEnvironment, Verification
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.names import BadPolicy
from node.prover.search.methods import ProofSearch, needs_messages
from node.prover.settings import ProverSettings

if TYPE_CHECKING:
    from common.bus import Asking

Watch = Callable[[Attempt], Callable[[ProofSearch, int, Expansion], None]]
"""Gives the callback for the expansions of an attempt's search: `on_expansion` of `Agent`."""


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
    asker_verifies: bool = False
    """Whether the asker verifies each proof at once, and plays the attempt again if the proof is refused."""

    async def play(self, attempt: Attempt) -> AttemptResult:
        """The attempt's result. All expected errors become results; cancellation is raised."""
        try:
            policy, proofs = self.policies.policy(attempt), self.policies.proofs(attempt)
            parameters = self.policies.parameters(attempt)
        except BadPolicy as error:
            return unplayed(attempt, self.player_id, AttemptOutcome.ERROR, f"{type(error).__name__}: {error}")
        if not attempt.verify and not self.asker_verifies:
            # Merging up to names may give wrong renamed proofs, which only verification detects.
            parameters = replace(parameters, merging="text")
        agent = agent_of(
            attempt,
            policy,
            proofs,
            self._environment(attempt),
            Playing(
                self.player_id,
                leaves=self.settings.leaves,
                parameters=parameters,
                has_values=self.policies.has_values(attempt),
                verify=self._verification(attempt) if attempt.verify else None,
                on_simulation=self.on_simulation,
                on_outcomes=self.on_outcomes,
                on_expansion=self.watch(attempt) if self.watch else None,
            ),
        )
        result = await agent.play()
        self.on_account(agent.account)
        return result

    def _environment(self, attempt: Attempt) -> LeanEnvironment:
        longest = self.settings.tactic_seconds
        return LeanEnvironment(
            self.asking,
            attempt.theorem,
            tactic_timeout=min(longest, attempt.tactic_seconds or longest),
            patience=self.settings.lean_patience,
            messages=needs_messages(attempt.method),
        )

    def _verification(self, attempt: Attempt) -> Verification:
        return Verification(
            self.asking,
            attempt.theorem,
            timeout=self.settings.verify_timeout,
            patience=self.settings.verify_patience,
        )
