"""Language models as policies: prompts, priors, what is dropped and counted, whole proofs, and premises."""

from collections.abc import Sequence

import msgspec
import pytest

from common.lean import Context, Place, Theorem
from common.output.command import UserError
from common.protocol.attempts import AttemptOutcome, Method
from common.settings import Sampling
from node.command.evaluate import command as eval
from node.lean.opened import OpenedLean
from node.llm import templates
from node.llm.sampling import ContextExceeded, Decoding, Prompt, Sample, SamplerError, Token
from node.llm.templates import Template, TemplateError, load
from node.play.policies import check_for_mesh
from node.prover.agent import Playing
from node.prover.policies import premises
from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.language_model import LanguageModelPolicy
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import BadAdvice
from node.prover.policies.proofs import Draft, Failed, ProofRequest, ProofsUnavailable, SampledProofs, errors_of
from node.prover.settings import ProverSettings
from node.prover.whole_proof import WholeProofAgent
from node.proving.prover import local_prover
from node.proving.settings import ProvingSettings
from node.retrieval.corpus import RetrievalError
from node.retrieval.index import Retrieved
from tests.node.llm.server import tokens_of
from tests.node.play.opened import environment_of
from tests.node.prover.toys import Model, Says, attempt

STATE = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
BFS = "ByteDance-Seed/BFS-Prover-V1-7B"


def sampled(text: str, *logprobs: float, cut: bool = False) -> Sample:
    """A sample with a token for each word; without log-probabilities if none are given."""
    tokens = tuple(map(Token, tokens_of(text), logprobs)) if logprobs else ()
    return Sample(text, cut, tokens, len(tokens_of(text)))


def sums() -> Template:
    return msgspec.structs.replace(templates.load("bfs-prover-v1"), score="sum")


async def test_the_prompt_is_the_familys_and_so_is_the_sampling_unless_something_is_said() -> None:
    model, template = Model(sampled("simp")), templates.load("internlm2.5-step-prover")
    await LanguageModelPolicy(model, template).advise(STATE, 6, 7)
    prompt, count, seed, decoding = model.asked[0]
    assert f"STATE_BEFORE: {STATE}\n" in prompt.text and (count, seed) == (6, 7)
    assert decoding == template.decoding
    other = Sampling(temperature=0.5, top_p=0.9, stop=("\n",))
    await LanguageModelPolicy(model, template, sampling=other).advise(STATE, 6, 7)
    assert model.asked[1][3] == Decoding(0.5, 0.9, template.sampling.max_tokens, ("<|im_end|>", "\n"))


@pytest.mark.parametrize(("first", "least", "then"), [(0.0, 0.0, 0.0), (0.0, 1.5, 1.5), (2.0, 1.5, 2.0)])
async def test_a_state_is_sampled_again_at_its_own_temperature(first: float, least: float, then: float) -> None:
    model = Model(sampled("simp"))
    policy = LanguageModelPolicy(model, sums(), sampling=Sampling(first), resampling=least)
    found = [await policy.advise(STATE, 6, 7, again) for again in (False, True)]
    assert [asked[3].temperature for asked in model.asked] == [first, then]
    assert {advice.exhausted for advice in found} == {then == 0}, "greedy samples are always the same"


async def test_duplicates_add_their_mass_and_what_is_no_tactic_is_dropped_and_counted() -> None:
    told = (("simp", -200.0), ("exact h.1", -100.0, -100.0), (" simp ", -1.0, -199.0, 0.0), ("sorry", -1.0), ("", -1.0))
    model = Model(*(sampled(*each) for each in told), sampled("rw [a", -1.0, -2.0, cut=True))
    policy = LanguageModelPolicy(model, sums())
    advice = await policy.advise(STATE, 6, 7)
    simp, exact = advice.proposals
    assert (simp.tactic, exact.tactic) == ("simp", "exact h.1")
    assert simp.mass == pytest.approx(2 * exact.mass) and exact.log_probability == -200.0
    assert (advice.samples, advice.tokens) == (6, 10) and not advice.exhausted
    assert policy.dropped == {"sorry": 1, "empty": 1, "cut": 1}


async def test_tactics_in_canonical_names_get_the_names_of_their_state_back() -> None:
    model = Model(sampled("exact ⟨v2.2, v2.1⟩", -1.0, -1.0), sampled("exact ⟨ v2.2, v2.1⟩"))
    advice = await LanguageModelPolicy(model, templates.load("proofmesh")).advise(STATE, 2, 7)
    assert model.asked[0][0].text == "<|state|>v0 v1 : Prop\nv2 : v0 ∧ v1\n⊢ v1 ∧ v0<|tactic|>"
    assert [each.tactic for each in advice.proposals] == ["exact ⟨h.2, h.1⟩", "exact ⟨ h.2, h.1⟩"]


async def test_a_family_may_count_the_mean_of_the_kept_text() -> None:
    mean = msgspec.structs.replace(sums(), score="mean")
    tokens = (Token("exact", -1.0), Token(" h.1", -3.0), Token("\nsimp", -50.0))
    model = Model(Sample("exact h.1\nsimp", False, tokens, 3))
    for template, expected in ((mean, -2.0), (sums(), -4.0)):
        (proposal,) = (await LanguageModelPolicy(model, template).advise(STATE, 1, 7)).proposals
        assert (proposal.tactic, proposal.log_probability) == ("exact h.1", expected)


async def test_without_log_probabilities_sample_counts_are_the_prior() -> None:
    model = Model(sampled("simp"), sampled("omega"), sampled("simp"))
    advice = await LanguageModelPolicy(model, sums()).advise(STATE, 3, 7)
    found = [(each.tactic, each.mass, each.log_probability) for each in advice.proposals]
    assert found == [("simp", 2.0, None), ("omega", 1.0, None)]


@pytest.mark.parametrize("error", [SamplerError("server: no answer within 600 s"), ContextExceeded("too long")])
async def test_a_model_that_gives_nothing_says_nothing_about_the_theorem(error: Exception) -> None:
    policy = LanguageModelPolicy(Model(*[error] * 100), sums())
    with pytest.raises(BadAdvice, match=r"no answer within|goals alone make a prompt"):
        await policy.advise(STATE, 6, 7)


def test_templates_of_whole_proofs_are_refused() -> None:
    with pytest.raises(BadPolicy, match="`deepseek-prover-v2` asks for whole proofs"):
        LanguageModelPolicy(Model(), templates.load("deepseek-prover-v2"))


def test_a_mesh_is_asked_for_a_model_without_its_servers() -> None:
    check_for_mesh(f"openai:{BFS}+tactics")
    check_for_mesh(f"openai:{BFS}@my.toml")  # a file of the provers
    check_for_mesh("openai:gpt@goedel-prover-v2", "whole-proof", correct=1)
    wrong = {
        f"openai:http://a/v1#{BFS}": f"inference nodes of a mesh choose it; write `openai:{BFS}`",
        "openai": "names no model; write `openai:MODEL`",
        "openai:gpt": "no template is known for the model `gpt`; .*MODEL@TEMPLATE",
        "openai:gpt@goedel-prover-v2": "gives whole proofs: they go with --method whole-proof",
        "hf:gpt@nope+tactics:list": "`tactics:list` is a file of this machine",
    }
    for text, says in wrong.items():
        with pytest.raises(BadPolicy, match=says):
            check_for_mesh(text)
    with pytest.raises(BadPolicy, match="no form for corrections"):
        check_for_mesh("openai:gpt@kimina-prover", "whole-proof", correct=1)


# --- whole proofs from samples ----------------------------------------------------------------------------------------
SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p", header="set_option maxRecDepth 500")


class Speaker:
    """Says what it was told to say, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Prompt, int, Decoding]] = []

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        self.asked.append((prompt, count, decoding))
        if not self.answers:
            raise SamplerError("the server has gone")
        given, self.answers = self.answers[:count], self.answers[count:]
        return [Sample(answer, token_count=len(answer.split())) for answer in given]


def fenced(proof: str, statement: str = "theorem swap (p q : Prop) : p ∧ q → q ∧ p") -> str:
    return f"A plan.\n\n```lean4\n{statement} := by\n{proof}\n```"


def request(count: int = 2, *correct: Failed) -> ProofRequest:
    return ProofRequest(SWAP, "swap", count, 0, 1, correct)


async def test_answers_become_drafts_and_what_holds_no_proof_says_why() -> None:
    speaker = Speaker(fenced("  exact fun h => ⟨h.2, h.1⟩"), "I cannot.", fenced("  sorry"))
    source = SampledProofs(speaker, load("deepseek-prover-v2"))
    drafts = await source.propose(request(3))
    told = [(draft.text, draft.problem) for draft in drafts]
    assert told == [("exact fun h => ⟨h.2, h.1⟩", ""), ("", "no code block"), ("", "sorry")]
    assert drafts[1].tokens == 2 and drafts[1].output == "I cannot."
    prompt, count, decoding = speaker.asked[0]
    assert "theorem swap (p q : Prop) : p ∧ q → q ∧ p" in prompt.messages[-1].content
    assert (count, decoding) == (3, load("deepseek-prover-v2").decoding)
    with pytest.raises(ProofsUnavailable, match="the server has gone"):
        await source.propose(request())


async def test_a_family_without_corrections_and_a_statement_that_is_too_long_give_none() -> None:
    speaker = Speaker("unused")
    source = SampledProofs(speaker, load("stp"))
    assert not source.corrects
    assert await source.propose(request(1, Failed(Draft("simp"), "simp", "no"))) == ()
    long = Theorem("long", "", " ∧ ".join(["True"] * 20_000))
    assert await source.propose(ProofRequest(long, "long", 1, 0, 1)) == ()
    assert speaker.asked == []
    with pytest.raises(TemplateError, match="is for tactics"):
        SampledProofs(speaker, load("bfs-prover-v2"))


@pytest.mark.lean
async def test_leans_errors_go_back_marked_at_their_place_and_the_correction_proves(opened_lean: OpenedLean) -> None:
    wrong = fenced("  intro h\n  -- the halves\n  constructor\n  · exact h.3\n  · exact h.1")
    half = fenced("  intro h\n  constructor\n  · exact h.2", "theorem swap : True")
    right = fenced("  intro h\n  constructor\n  · exact h.2\n  · exact h.1")
    speaker = Speaker(wrong, half, right)
    wanted = attempt(3, theorem=SWAP, samples=1, method=Method.WHOLE_PROOF, correct=2)
    source = SampledProofs(speaker, load("goedel-prover-v2"))
    result = await WholeProofAgent(wanted, source, environment_of(opened_lean, SWAP), Playing("p")).play()
    assert result.outcome is AttemptOutcome.PROVED, result.message
    assert (result.statistics.simulations, result.statistics.corrections) == (3, 2)
    first, second, third = (prompt.messages for prompt, _, _ in speaker.asked)
    assert [each.role for each in third] == ["user", "assistant", "user", "assistant", "user"]
    assert third[:3] == second and second[0] == first[0] and second[1].content == wrong
    assert "<error>  · exact h.3</error>" in second[-1].content
    assert "(Round 0)" in second[-1].content and "(Round 1)" in third[-1].content
    assert "unsolved goals" in third[-1].content and "⊢ p" in third[-1].content


def test_what_is_said_of_the_whole_proof_stands_at_the_statement() -> None:
    text = errors_of(SWAP, Failed(Draft("skip"), "skip", "unsolved goals\n⊢ p"))
    assert "<error>theorem swap (p q : Prop) : p ∧ q → q ∧ p := by</error>\n  skip" in text
    text = errors_of(SWAP, Failed(Draft("skip"), "skip\nsimp", "simp made no progress", line=1))
    assert "  skip\n<error>  simp</error>" in text


# --- tactics with the names that a file declares, and with those of retrieved premises --------------------------------
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
    assert "induction n <;> simp_all [double, double_pos]" in found and "exact unrelated .." not in found


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
DOUBLE = "n : Nat\n⊢ double n = n + n"
NETWORK = Says("from the network")


async def tactics(policy, state: str = DOUBLE) -> list[str]:
    return [proposal.tactic for proposal in (await policy.advise(state, 6, 0)).proposals]


async def test_a_network_is_joined_by_the_list_and_at_a_place_in_a_file_by_its_names():
    policy = premises.for_people(NETWORK, ALONE)
    assert {"from the network", "rfl"} <= {*await tactics(policy)}
    assert (await policy.advise(DOUBLE, 6, 0)).value == -3.0
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
    assert expected <= {*by_tactic} and by_tactic["rw [Nat.add_comm]"].source == "retrieved premises"
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
