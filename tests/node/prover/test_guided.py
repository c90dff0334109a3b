"""Predicted steps beside a policy: as values, and to rank tactics."""

import math

import pytest

from node.progress.data import question
from node.progress.guidance import Guidance, ProgressError
from node.prover.policies.combined import ByTurns, Guide, Player, open_guide, with_guide
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import Advice, BadAdvice, NoTactics, Proposal

STATE = "a b : Nat\n⊢ a + b = b + a"
STEPS = {question(STATE): 4.0, question(STATE, "near"): 1.0, question(STATE, "far"): 3.0}


class Steps:
    """Answers from a table."""

    digest = "table"

    def __init__(self, answers_states=True, error=None):
        self.answers_states, self.error = answers_states, error

    async def steps(self, texts):
        if self.error:
            raise self.error
        return [STEPS[text] for text in texts]


class Two:
    """A policy that prefers the tactic that leads nowhere."""

    async def advise(self, state, samples, seed):
        return Advice([Proposal("far", 2.0, -1.0), Proposal("near", 1.0, -2.0)], -10.0, weights=7)


async def advice(guidance, **source):
    return await with_guide(Two(), Guide(Steps(**source), guidance)).advise(STATE, 8, 0)


async def test_predicted_steps_of_a_state_or_of_its_best_tactic_are_its_value():
    found = await advice(Guidance("value"))
    assert found.value == -4.0 and found.weights == 7
    assert [each.tactic for each in found.proposals] == ["far", "near"]
    assert (await advice(Guidance("value", share=0.25))).value == pytest.approx(-0.25 * 4 - 0.75 * 10)
    assert (await advice(Guidance("value"), answers_states=False)).value == -2.0


async def test_tactics_are_ranked_by_the_steps_after_them():
    found = await advice(Guidance("rank", exponent=0.5))
    assert [each.tactic for each in found.proposals] == ["near", "far"]
    near, far = found.proposals
    assert far.mass / near.mass == pytest.approx(2 * math.exp(-0.5 * (3 - 1)))
    assert near.log_probability == -2.0 and far.log_probability == pytest.approx(-1.0 - 0.5 * 2)
    assert found.value == -10.0
    both = await advice(Guidance("both"))
    assert both.value == -4.0 and both.proposals[0].tactic == "near"


async def test_a_model_that_fails_fails_the_answer_and_one_that_is_not_there_is_told(tmp_path):
    assert open_guide("", Guidance()) is None
    with pytest.raises(BadPolicy, match=r"progress: .*no config\.json"):
        open_guide(str(tmp_path), Guidance())
    with pytest.raises(BadAdvice, match="progress: its weights are broken"):
        await advice(Guidance("value"), error=ProgressError("its weights are broken"))


def test_of_policies_that_take_turns_each_is_guided():
    guide = Guide(Steps(), Guidance())
    found = with_guide(ByTurns((Player(Two()), Player(Two(), True))), guide)
    assert isinstance(found, ByTurns) and [each.has_values for each in found.players] == [False, True]
    assert all(not isinstance(each.policy, Two) for each in found.players)
    nothing = NoTactics()
    assert with_guide(nothing, guide) is nothing
    assert guide.words.startswith("table ")
