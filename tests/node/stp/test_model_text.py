"""The texts of a language model as prover and conjecturer: training sees what generation sees."""

import msgspec
import pytest

from common.lean import Theorem
from node.llm.outputs import parse_proof
from node.llm.sampling import Decoding, Prompt, Sample
from node.llm.templates import Template, TemplateError, load
from node.prover.policies.proofs import ProofRequest, SampledProofs
from node.stp.data.statements import statement_of
from node.stp.model import (
    STOPS,
    check_template,
    conjecturer_completion,
    conjecturer_decoding,
    conjecturer_prompt,
    pairs,
    written,
)
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, ProverExample, Seed
from tests.node.stp.examples import COMM, EASY
from tests.node.stp.reference_rows import conjecture_row, proof_row

STP = load("stp")
SCRIPT = "intro h\nconstructor\n· exact h.2\n· exact h.1"
HARD = Theorem("hard", "(a b c : Nat)", "a + (b + c) = c + (b + a)")
WITH_HEADER = msgspec.structs.replace(EASY, header="import Mathlib\nopen Nat")


class Recorder:
    """Keeps what it is asked, and answers with one text."""

    def __init__(self, answer: str) -> None:
        self.answer, self.asked = answer, list[tuple[Prompt, Decoding]]()

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> list[Sample]:
        self.asked.append((prompt, decoding))
        return [Sample(self.answer)] * count


@pytest.mark.parametrize("theorem", [EASY, WITH_HEADER])
async def test_a_prover_is_asked_as_it_is_trained_and_its_answer_is_read_back(theorem: Theorem) -> None:
    [pair] = pairs(STP, [ProverExample(theorem, SCRIPT, 0.25)], [])
    recorder = Recorder(pair.completion.removesuffix(STP.output.stops[0]))  # servers leave the stop text out
    [draft] = await SampledProofs(recorder, STP).propose(ProofRequest(theorem, theorem.name, count=1, first=0, seed=0))
    assert recorder.asked[0][0].text == pair.prompt and pair.weight == 0.25
    assert draft.text == SCRIPT and not draft.problem
    assert parse_proof(STP, Sample(pair.completion), theorem).text == SCRIPT, "also where the stop text is left in"


@pytest.mark.parametrize("theorem", [EASY, WITH_HEADER])
def test_a_conjecturer_is_asked_as_it_is_trained_and_its_answer_is_read_back(theorem: Theorem) -> None:
    seed = Seed(theorem, SCRIPT, COMM)
    [pair] = pairs(STP, [], [ConjecturerExample(seed, HARD.signature, 2.0)])
    assert pair.prompt == conjecturer_prompt(STP, seed).text and pair.weight == 2.0
    assert pair.completion == conjecturer_completion(HARD.signature)
    made = statement_of(written(pair.completion), name="conjecture_1_0", header=theorem.header)
    assert (made.binders, made.conclusion) == (HARD.binders, HARD.conclusion)


def test_the_texts_are_the_reference_s_rows() -> None:
    seed = Seed(WITH_HEADER, SCRIPT, COMM)
    made = ConjecturerExample(seed, HARD.signature, 1.0)
    [pair] = pairs(STP, [], [made])
    assert (pair.prompt, pair.completion) == (conjecture_row(made)["prompt"], conjecture_row(made)["target"])
    proved = ProverExample(WITH_HEADER, SCRIPT, 1.0)
    [pair] = pairs(STP, [proved], [])
    row = proof_row(proved)
    # The reference ends an answer with the end token alone; ours closes the block of code first.
    assert (pair.prompt, pair.completion) == (row["prompt"], row["target"] + "\n```")


@pytest.mark.parametrize(
    ("sample", "statement"),
    [
        ("\ntheorem t (a : Nat) : a = a\n", "theorem t (a : Nat) : a = a"),
        ("\ntheorem t : 1 = 1\n</hard theorem> more", "theorem t : 1 = 1"),
        ("\ntheorem t : 1 = 1 := by\n  rfl\n</hard theorem>", "theorem t : 1 = 1"),
    ],
)
def test_a_conjecture_is_cut_where_it_ends(sample: str, statement: str) -> None:
    assert written(sample) == statement


def test_conjectures_are_as_long_as_proofs_may_be_and_end_at_their_mark_or_at_a_proof() -> None:
    decoding = conjecturer_decoding(STP, 0.7)
    assert (decoding.temperature, decoding.top_p, decoding.max_tokens) == (0.7, 1.0, 1024)
    assert decoding.stop == STOPS == ("</hard theorem>", ":=")


def test_what_is_longer_than_the_family_reads_is_not_trained_on() -> None:
    long = msgspec.structs.replace(EASY, conclusion=" + ".join(["a"] * 2000) + " = b")
    rows = pairs(
        STP,
        [ProverExample(long, "rfl", 1.0), ProverExample(EASY, "rfl", 1.0)],
        [ConjecturerExample(Seed(long, "rfl", EMPTY_LEMMA), HARD.signature, 1.0)],
    )
    assert [row.completion for row in rows] == ["\n  rfl\n```"]


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (load("bfs-prover-v1"), "is for tactics"),
        (load("kimina-prover"), "is a conversation"),
        (msgspec.structs.replace(STP, template="{header}{statement}\nsorry"), "does not end with"),
    ],
)
def test_a_template_that_has_no_place_for_conjectures_is_refused(template: Template, why: str) -> None:
    check_template(STP)
    with pytest.raises(TemplateError, match=why):
        check_template(template)
