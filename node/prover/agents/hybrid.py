"""Plays an attempt in two phases: whole proofs first, then a tree search that starts from their correct beginnings.

Whole proofs get the first half of each budget. The part of a failed proof above its first error (its beginning) becomes
one tactic at the theorem's root state, which the search's policy proposes in addition to its own tactics. If it runs,
the search continues from the state after it. The search gets the remaining budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import msgspec

from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, AttemptStatistics
from node.prover.agents.account import Account
from node.prover.agents.agent import Agent
from node.prover.agents.attempt_agent import Playing
from node.prover.agents.environment import Environment
from node.prover.agents.whole_proof import WholeProofAgent
from node.prover.policies.combined import ByTurns, MixturePolicy, Part, wrapped
from node.prover.policies.fixed import value
from node.prover.policies.policy import Advice, Policy, Proposal
from node.prover.policies.proofs import ProofSource
from node.prover.search.methods import ProofSearch

MOST_BEGINNINGS = 16
"""Most beginnings that are proposed, all at the root state. The longest are taken."""


BEGINNINGS = "failed whole proofs"
"""The source of these tactics in results."""


class Beginnings:
    """A policy that proposes beginnings of failed proofs at the root state, and nothing at other states."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._proposals = [Proposal(text, 1.0) for text in texts]
        self._first = ""

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """The beginnings at the root state. A search's first request is for its root state."""
        self._first = self._first or state
        return Advice(list(self._proposals) if state == self._first else [], value(state), exhausted=True, samples=0)


class HybridAgent:
    """One attempt at one theorem, with the interface of `node.prover.agents.agent.Agent`."""

    def __init__(
        self,
        attempt: Attempt,
        policy: Policy | ByTurns,
        source: ProofSource,
        environment: Environment,
        playing: Playing,
    ) -> None:
        """`source`: writes the whole proofs of the first phase. `policy`: proposes the tactics of the second."""
        self.attempt = attempt
        self.account = Account()
        self.search: ProofSearch | None = None
        self._proofs = WholeProofAgent(halved(attempt), source, environment, playing)
        self._policy = policy
        self._environment = environment
        self._playing = playing
        self._tree: Agent | None = None

    @property
    def lean_attempts(self) -> int:
        """Proofs and tactics sent to Lean so far."""
        return self._proofs.lean_attempts + (self._tree.lean_attempts if self._tree else 0)

    @property
    def simulations(self) -> int:
        """Proofs sampled and expansions counted so far."""
        return self._proofs.simulations + (self._tree.simulations if self._tree else 0)

    async def play(self) -> AttemptResult:
        """The attempt's result. All errors become results; only cancellation is raised."""
        first = await self._proofs.play()
        left = remaining(self.attempt, first.statistics)
        if first.outcome not in (AttemptOutcome.FAILED, AttemptOutcome.UNDECIDED) or left is None:
            self.account = self._proofs.account
            return first
        longest = sorted(self._proofs.beginnings, key=lambda text: -text.count("\n"))[:MOST_BEGINNINGS]
        beginnings = Part(Beginnings(longest), name=BEGINNINGS)

        def beside(policy: Policy) -> Policy:
            return MixturePolicy([Part(policy, has_values=self._playing.has_values), beginnings], strict=True)

        self._tree = Agent(left, wrapped(self._policy, beside), self._environment, self._playing)
        second = await self._tree.play()
        self.search = self._tree.search
        self.account = both_accounts(self._proofs.account, self._tree.account)
        outcome, words = second.outcome, f"whole proofs: {first.message}"
        if outcome is AttemptOutcome.FAILED and first.statistics.expansions_lost:
            outcome = AttemptOutcome.UNDECIDED
        return msgspec.structs.replace(
            second,
            outcome=outcome,
            message=f"{second.message}; {words}" if second.message else "",
            statistics=both(first.statistics, second.statistics),
        )


def halved(attempt: Attempt) -> Attempt:
    """The attempt with half of each budget, rounded up."""
    return msgspec.structs.replace(
        attempt,
        simulations=(attempt.simulations + 1) // 2,
        lean_attempts=(attempt.lean_attempts + 1) // 2,
        seconds=attempt.seconds / 2,
    )


def remaining(attempt: Attempt, spent: AttemptStatistics) -> Attempt | None:
    """The search's attempt with the remaining budgets; None if one is used up."""
    simulations = attempt.simulations - spent.simulations
    lean_attempts = attempt.lean_attempts - spent.lean_attempts
    seconds = attempt.seconds - (spent.seconds - spent.seconds_verify)
    budgets = (attempt.simulations, simulations), (attempt.lean_attempts, lean_attempts), (attempt.seconds, seconds)
    if any(limit and left <= 0 for limit, left in budgets):
        return None
    return msgspec.structs.replace(
        attempt,
        method=attempt.then,
        simulations=simulations if attempt.simulations else 0,
        lean_attempts=lean_attempts if attempt.lean_attempts else 0,
        seconds=seconds if attempt.seconds else 0.0,
    )


_SOLVED_AT = {
    "solved_at_simulations": "simulations",
    "solved_at_lean_attempts": "tactics_tried",
    "solved_at_seconds": "seconds",
}
"""From a statistic of the search's proof to the cost of the whole proofs that is added to it."""


def both(first: AttemptStatistics, second: AttemptStatistics) -> AttemptStatistics:
    """The sum of the statistics of whole proofs and search. End and weights are those of `second`."""
    proofs, search = msgspec.structs.asdict(first), msgspec.structs.asdict(second)
    from_search = {"ended", "weights_first", "weights_last", *_SOLVED_AT}
    total = {name: number if name in from_search else proofs[name] + number for name, number in search.items()}
    if second.solved_at_simulations:
        total |= {name: search[name] + proofs[cost] for name, cost in _SOLVED_AT.items()}
        total["solved_at_seconds"] -= first.seconds_verify
    return AttemptStatistics(**total)


def both_accounts(first: Account, second: Account) -> Account:
    """The sum of both accounts. Weights are those of `second`."""
    sums = {each.name: getattr(first, each.name) + getattr(second, each.name) for each in fields(Account)}
    return Account(**sums | {"weights_first": second.weights_first, "weights_last": second.weights_last})
