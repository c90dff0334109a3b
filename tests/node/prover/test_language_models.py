"""Language models as policies: prompts, priors, what is dropped and counted, and whole proofs from their samples."""

from collections.abc import Sequence

import msgspec
import pytest

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome, Method
from common.settings import Sampling
from node.lean.opened import OpenedLean
from node.llm import templates
from node.llm.sampling import ContextExceeded, Decoding, Prompt, Sample, SamplerError, Token
from node.llm.templates import Template, TemplateError, load
from node.play.policies import check_for_mesh
from node.prover.agent import Playing
from node.prover.policies.language_model import LanguageModelPolicy
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import BadAdvice
from node.prover.policies.proofs import Draft, Failed, ProofRequest, ProofsUnavailable, SampledProofs, errors_of
from node.prover.whole_proof import WholeProofAgent
from tests.node.llm.server import tokens_of
from tests.node.play.opened import environment_of
from tests.node.prover.toys import Model, attempt

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


def test_templates_of_whole_proofs_and_distinct_samples_are_refused() -> None:
    with pytest.raises(BadPolicy, match="`deepseek-prover-v2` asks for whole proofs"):
        LanguageModelPolicy(Model(), templates.load("deepseek-prover-v2"))
    with pytest.raises(BadPolicy, match="distinct"):
        LanguageModelPolicy(Model(), sums(), sampling=Sampling(distinct=True))


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
async def test_leans_errors_go_back_marked_at_their_place_and_the_correction_proves(
    opened_lean: OpenedLean,
) -> None:
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
