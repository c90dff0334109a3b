"""Tactics with the names that a file declares, and with those of retrieved premises."""

import pytest

from common.lean import Context, Place, Theorem
from common.output.command import UserError
from node.command.evaluate import command as eval
from node.lean.opened import OpenedLean
from node.llm import templates
from node.prover.policies import premises
from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.language_model import LanguageModelPolicy
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import BadAdvice
from node.prover.settings import ProverSettings
from node.proving.prover import local_prover
from node.proving.settings import ProvingSettings
from node.retrieval.corpus import RetrievalError
from node.retrieval.index import Retrieved
from tests.node.prover.toys import Model, Says

FILE = """\
namespace A
inductive Palindrome : List α → Prop where
  | nil : Palindrome []
  | single : (a : α) → Palindrome [a]
  | sandwich : (a : α) → Palindrome as → Palindrome ([a] ++ as ++ [a])
def double (n : Nat) : Nat := n + n
theorem double_pos (n : Nat) (h : 0 < n) : 0 < double n := sorry
theorem unrelated (p : Prop) : p → p := id
theorem rev (h : Palindrome as) : Palindrome as.reverse := sorry
"""


def proposed(state: str, text: str = FILE) -> list[str]:
    return premises.candidates(read_goal(state), premises.Premises.of(text))


def test_definitions_of_the_goal_are_unfolded_and_its_lemmas_applied():
    found = proposed("n : Nat\n⊢ 0 < double n")
    assert found[0] == "simp [double]"
    assert {"unfold double", "exact double_pos ..", "apply double_pos"} <= {*found}
    assert "induction n <;> simp_all [double, double_pos]" in found
    assert "exact unrelated .." not in found


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        (": Palindrome []", []),
        (": (a : α) → Palindrome as → Palindrome ([a] ++ as)", ["a", "a"]),
        ("(l : Tree α) {x : α} (a b : α) : Tree α", ["l", "a", "b"]),
        (": {a : α} → [Inhabited α] → P a → Q", ["a"]),
        ("", []),
    ],
)
def test_explicit_arguments_are_counted(signature, names):
    assert [each.name for each in premises.explicit_arguments(signature)] == names


CONTEXT = Context.of("def double (n : Nat) : Nat := n + n\ntheorem double_zero : double 0 = 0 := rfl\n")
PLACED = Theorem("t", "", "?", place=Place(CONTEXT, "theorem t (n : Nat) : double n = n + n := by\n  ", "\n"))
ALONE = Theorem("t", "(n : Nat)", "n = n")
STATE = "n : Nat\n⊢ double n = n + n"
NETWORK = Says("from the network")


async def tactics(policy, state: str = STATE) -> list[str]:
    return [proposal.tactic for proposal in (await policy.advise(state, 6, 0)).proposals]


async def test_a_network_is_joined_by_the_list_and_at_a_place_in_a_file_by_its_names():
    policy = premises.for_people(NETWORK, ALONE)
    assert {"from the network", "rfl"} <= {*await tactics(policy)}
    assert (await policy.advise(STATE, 6, 0)).value == -3.0
    found = {*await tactics(premises.for_people(NETWORK, PLACED))}
    assert {"from the network", "rfl", "simp [double]", "unfold double"} <= found
    known = premises.with_premises(NETWORK, PLACED, has_values=True, unknown=lambda tactic: tactic.startswith("unfold"))
    assert "simp [double]" in await tactics(known) and "unfold double" not in await tactics(known)
    assert premises.premises_of(ALONE) is None
    assert await tactics(premises.with_premises(NETWORK, ALONE, has_values=True)) == ["from the network"]


# --- retrieved premises: in prompts of models that read some, and as tactics beside other policies --------------------
SUM = Theorem("t", "(a b : Nat)", "a + b = b + a")
SUM_STATE = "a b : Nat\n⊢ a + b = b + a"
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


async def test_a_policy_is_joined_by_tactics_that_name_premises():
    source = Source()
    advice = await premises.with_retrieved(Says("rfl"), SUM, source, has_values=True).advise(SUM_STATE, 4, 0)
    by_tactic = {each.tactic: each for each in advice.proposals}
    expected = {"rfl", "apply Nat.add_comm", "rw [Nat.add_comm]", "simp [Nat.add_comm, Nat.add]", "unfold Nat.add"}
    assert expected <= {*by_tactic}
    assert by_tactic["rw [Nat.add_comm]"].source == "retrieved premises"
    assert by_tactic["rfl"].mass == pytest.approx(1 / 1.5) and advice.value == -3.0
    assert source.asked == [(SUM_STATE, "t")]


async def test_a_model_that_reads_premises_gets_them_in_its_prompt_alone():
    model = Model()
    policy = LanguageModelPolicy(model, templates.load("reprover-retriever"))
    await premises.with_retrieved(policy, SUM, Source(), has_values=False).advise(SUM_STATE, 4, 0)
    ((prompt, *_),) = model.asked
    assert prompt.text == (
        "def <a>Nat.add</a> (n m : Nat) : Nat := n\n\n"
        f"theorem <a>Nat.add_comm</a> (n m : Nat) : n + m = m + n\n\n{SUM_STATE}"
    )
    await policy.advise(SUM_STATE, 4, 0)  # the policy that all theorems share has none
    assert model.asked[1][0].text == SUM_STATE


async def test_premises_that_cannot_be_had_leave_the_policy_its_tactics():
    source = Source(error=RetrievalError("the index is damaged"))
    assert await tactics(premises.with_retrieved(Says("rfl"), SUM, source, has_values=True), SUM_STATE) == ["rfl"]
    policy = LanguageModelPolicy(Model(), templates.load("reprover-retriever"))
    with pytest.raises(BadAdvice, match="premises: the index is damaged"):
        await premises.with_retrieved(policy, SUM, source, has_values=False).advise(SUM_STATE, 4, 0)


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
