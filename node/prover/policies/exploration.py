"""Exploration in training attempts: adds a few tactics of the fixed list to the policy's samples.

A policy learns from the theorems that it proves. It cannot learn from tactics that it never samples. AlphaZero adds
Dirichlet noise to the root's priors for the same reason; here actions are text, so the noise has to be extra tactics.
Evaluations do not explore.
"""

from __future__ import annotations

import random
from dataclasses import replace

from node.prover.policies.fixed.goal_text import read_goal
from node.prover.policies.fixed.policy import candidates
from node.prover.policies.policy import Advice, Policy
from node.prover.search.prior import Proposal

SHARE = 0.25
"""Share of the prior mass that all explored tactics get together (AlphaZero's share of noise)."""


class ExploringPolicy:
    """A policy that adds up to `count` tactics of the fixed list to its proposals, drawn with the request's seed."""

    def __init__(self, policy: Policy, count: int) -> None:
        self._policy = policy
        self._count = count

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """The policy's advice with more proposals. Raises what the policy raises."""
        advice = await self._policy.advise(state, samples, seed)
        return replace(advice, proposals=explored(advice.proposals, state, self._count, seed))


def explored(proposals: list[Proposal], state: str, count: int, seed: int) -> list[Proposal]:
    """The proposals, followed by up to `count` new tactics of the fixed list, each with an equal part of SHARE."""
    proposed = {proposal.tactic for proposal in proposals}
    unproposed = [tactic for tactic in candidates(read_goal(state)) if tactic not in proposed]
    chosen = random.Random(seed).sample(unproposed, min(count, len(unproposed)))
    if not chosen:
        return proposals
    mass = sum(proposal.mass for proposal in proposals)
    each = SHARE / (1.0 - SHARE) * (mass or 1.0) / len(chosen)
    return [*proposals, *(Proposal(tactic, each) for tactic in chosen)]
