"""Exploration in training attempts: beside the policy's samples, a few candidates of the fixed list.

A policy learns from the statements that it proves already. What it would never sample it cannot learn from success,
however often it is trained (AlphaZero adds noise to the priors at the root for the same reason; here the
actions are text, so the noise has to bring tactics of its own). Evaluations do not explore.
"""

from __future__ import annotations

import random
from dataclasses import replace

from node.prover.fixed_policy import candidates
from node.prover.goal_text import read_goal
from node.prover.policy import Advice, Policy
from node.prover.prior import Proposal

SHARE = 0.25
"""Of the prior mass that goes to explored candidates together (the share of AlphaZero's noise)."""


class ExploringPolicy:
    """A policy whose advice is joined by up to `count` candidates of the fixed list, drawn by the request's seed."""

    def __init__(self, policy: Policy, count: int) -> None:
        self._policy = policy
        self._count = count

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """As the policy's, with more proposals. Raises what the policy raises."""
        advice = await self._policy.advise(state, samples, seed)
        return replace(advice, proposals=explored(advice.proposals, state, self._count, seed))


def explored(proposals: list[Proposal], state: str, count: int, seed: int) -> list[Proposal]:
    """The proposals, and after them `count` others of the fixed list, each with an equal part of SHARE."""
    proposed = {proposal.tactic for proposal in proposals}
    others = [tactic for tactic in candidates(read_goal(state)) if tactic not in proposed]
    chosen = random.Random(seed).sample(others, min(count, len(others)))
    if not chosen:
        return proposals
    mass = sum(proposal.mass for proposal in proposals)
    each = SHARE / (1.0 - SHARE) * (mass or 1.0) / len(chosen)
    return [*proposals, *(Proposal(tactic, each) for tactic in chosen)]
