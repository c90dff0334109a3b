"""Premises in prompts of models that read some, and as tactics beside other policies."""

import pytest

from common.lean import Theorem
from common.output.command import UserError
from node.command.evaluate import command as eval
from node.lean.opened import OpenedLean
from node.llm import templates
from node.prover.policies.language_model import LanguageModelPolicy
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import BadAdvice
from node.prover.policies.premises import with_retrieved
from node.prover.settings import ProverSettings
from node.proving.prover import local_prover
from node.proving.settings import ProvingSettings
from node.retrieval.corpus import RetrievalError
from node.retrieval.index import Retrieved
from tests.node.prover.toys import Says

THEOREM = Theorem("t", "(a b : Nat)", "a + b = b + a")
STATE = "a b : Nat\n⊢ a + b = b + a"
FOUND = (
    Retrieved("Nat.add_comm", "theorem Nat.add_comm (n m : Nat) : n + m = m + n", True),
    Retrieved("Nat.add", "def Nat.add (n m : Nat) : Nat := n", False),
)


class Source:
    """Gives the same premises for every state."""

    def __init__(self, found=FOUND, error=None):
        self.found, self.error, self.asked = found, error, []

    async def premises(self, state, theorem, count):
        self.asked.append((state, theorem.name))
        if self.error:
            raise self.error
        return self.found[:count]


class Model:
    """A sampler that remembers its prompts."""

    trouble = ""

    def __init__(self):
        self.prompts = []

    async def sample(self, prompt, count, seed, decoding):
        self.prompts.append(prompt.text)
        return []


async def tactics(policy):
    return {each.tactic: each.source for each in (await policy.advise(STATE, 4, 0)).proposals}


async def test_a_policy_is_joined_by_tactics_that_name_premises():
    source = Source()
    advice = await with_retrieved(Says("rfl"), THEOREM, source, has_values=True).advise(STATE, 4, 0)
    by_tactic = {each.tactic: each for each in advice.proposals}
    assert {"rfl", "apply Nat.add_comm", "rw [Nat.add_comm]", "simp [Nat.add_comm, Nat.add]", "unfold Nat.add"} <= {
        *by_tactic
    }
    assert by_tactic["rw [Nat.add_comm]"].source == "retrieved premises"
    assert by_tactic["rfl"].mass == pytest.approx(1 / 1.5) and advice.value == -3.0
    assert source.asked == [(STATE, "t")]


async def test_a_model_that_reads_premises_gets_them_in_its_prompt_alone():
    model = Model()
    policy = LanguageModelPolicy(model, templates.load("reprover-retriever"))
    await with_retrieved(policy, THEOREM, Source(), has_values=False).advise(STATE, 4, 0)
    (prompt,) = model.prompts
    assert prompt == (
        "def <a>Nat.add</a> (n m : Nat) : Nat := n\n\n"
        f"theorem <a>Nat.add_comm</a> (n m : Nat) : n + m = m + n\n\n{STATE}"
    )
    await policy.advise(STATE, 4, 0)  # the policy that all theorems share has none
    assert model.prompts[1] == STATE


async def test_premises_that_cannot_be_had_leave_the_policy_its_tactics():
    source = Source(error=RetrievalError("the index is damaged"))
    assert await tactics(with_retrieved(Says("rfl"), THEOREM, source, has_values=True)) == {"rfl": ""}
    policy = LanguageModelPolicy(Model(), templates.load("reprover-retriever"))
    with pytest.raises(BadAdvice, match="premises: the index is damaged"):
        await with_retrieved(policy, THEOREM, source, has_values=False).advise(STATE, 4, 0)


def test_a_prover_whose_index_is_not_there_says_so_before_it_starts():
    with pytest.raises(ValueError, match=r"policy: premises: nowhere: has no index of premises"):
        ProverSettings(policy="tactics", premises="nowhere").check()
    ProverSettings(policy="tactics").check()


@pytest.mark.lean
async def test_commands_that_ask_a_mesh_refuse_an_index_of_this_machine(opened_lean: OpenedLean):
    with pytest.raises(UserError, match=r"\[prover\] premises"):
        eval.check(eval.EvalSettings(bench="pocket:test", url="nats://127.0.0.1:1", premises="premises"))
    proving = ProvingSettings(premises="nowhere", policy="tactics")
    with pytest.raises(BadPolicy, match="premises: nowhere: has no index"):
        async with local_prover(opened_lean, proving):
            pass
