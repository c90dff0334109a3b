"""What exploration adds to a policy's advice."""

from __future__ import annotations

import pytest

from common.lean import TacticRule
from node.prover.policies.combined import EXPLORED_SHARE, ExploringPolicy, RuledPolicy, explored
from node.prover.policies.fixed import candidates
from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.policy import Advice, Proposal

STATE = "p q : Prop\nhp : p\nhq : q\n⊢ p ∧ q"
SAMPLED = [Proposal("constructor", 0.6), Proposal("exact hp", 0.2)]


class Sampler:
    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        return Advice(SAMPLED, -2.5, weights=4)


def test_explored_candidates_come_from_the_fixed_list_by_seed_and_share_their_part_of_the_prior() -> None:
    proposals = explored(SAMPLED, STATE, 5, seed=1)
    assert proposals[:2] == SAMPLED and explored(SAMPLED, STATE, 5, seed=1) == proposals
    added, everything = [proposal.tactic for proposal in proposals[2:]], {*candidates(read_goal(STATE))}
    assert len(set(added)) == 5 and set(added) <= everything - {"constructor"}
    assert [each.tactic for each in explored(SAMPLED, STATE, 5, seed=2)][2:] != added
    masses = [proposal.mass for proposal in proposals]
    assert sum(masses[2:]) / sum(masses) == pytest.approx(EXPLORED_SHARE) and len(set(masses[2:])) == 1
    assert {each.tactic for each in explored(SAMPLED, STATE, 1000, seed=1)} == {*everything, "exact hp"}
    assert all(proposal.mass > 0 for proposal in explored([], STATE, 3, seed=1))


async def test_a_rule_keeps_refused_tactics_from_exploration_and_from_every_policy() -> None:
    rule = TacticRule(allow=("exact", "assumption"))
    advice = await RuledPolicy(ExploringPolicy(Sampler(), 1000, rule), rule).advise(STATE, 6, seed=3)
    tactics = [proposal.tactic for proposal in advice.proposals]
    assert set(tactics) == {"exact hp", "assumption"}
    assert (advice.value, advice.weights) == (-2.5, 4)


async def test_value_and_weights_stay_the_policys() -> None:
    advice = await ExploringPolicy(Sampler(), 4).advise(STATE, 6, seed=3)
    assert (advice.value, advice.weights, advice.exhausted) == (-2.5, 4, False)
    assert len(advice.proposals) == 6
