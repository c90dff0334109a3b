"""Whole proofs from samples: prompts, what is taken from an answer, and Lean's own errors in the correction turn."""

from collections.abc import Sequence

import pytest

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome, Method
from node.lean.opened import OpenedLean
from node.llm.sampling import Decoding, Prompt, Sample, SamplerError
from node.llm.templates import TemplateError, load
from node.prover.agent import Playing
from node.prover.policies.proofs import Draft, Failed, ProofRequest, ProofsUnavailable, SampledProofs, errors_of
from node.prover.whole_proof import WholeProofAgent
from tests.node.play.opened import environment_of
from tests.node.prover.toys import attempt

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
    assert [(draft.text, draft.problem) for draft in drafts] == [
        ("exact fun h => ⟨h.2, h.1⟩", ""),
        ("", "no code block"),
        ("", "sorry"),
    ]
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
async def test_leans_own_errors_go_back_marked_at_their_place_and_the_correction_proves(
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
