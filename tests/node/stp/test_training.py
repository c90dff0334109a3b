"""The data of a training of self-play, and the texts of a language model: training sees what generation sees."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from node.llm.outputs import parse_proof
from node.llm.sampling import Sample
from node.llm.templates import Template, TemplateError, load
from node.prover.policies.proofs import ProofRequest, SampledProofs
from node.stp import model
from node.stp.data.statements import statement_of
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, ProverExample, Seed, StpError
from node.stp.training import CONJECTURES, PROOFS, steps_for, train, write_data
from node.training.settings import STAGES
from tests.node.prover.toys import Model
from tests.node.stp.examples import COMM, EASY
from tests.node.stp.reference_rows import conjecture_row, proof_row
from tests.node.stp.tiny_run import TRAIN

PROVED = [ProverExample(EASY, "omega", 0.5), ProverExample(TRAIN[0], "rfl", 1.0, conjectured=True)]
MADE = [ConjecturerExample(Seed(EASY, "omega", COMM), TRAIN[0].signature, 2.0, "conjecture_1_0")]


def test_rows_are_what_proofmesh_train_reads(tmp_path: Path) -> None:
    given = ConjecturerExample(Seed(EASY, "omega", EMPTY_LEMMA), TRAIN[1].signature, 1.0)
    folder = tmp_path / "deep/data"
    sources = (f"proofs:{folder / PROOFS}*2", f"conjectures:{folder / CONJECTURES}*2")
    assert write_data(folder, PROVED, [*MADE, given]) == sources
    proofs = [json.loads(line) for line in (folder / PROOFS).read_text().splitlines()]
    said = {"name": "easy", "statement": "theorem easy (a b : Nat) : a + b = b + a", "proof": "omega"}
    assert proofs[0] == said | {"weight": 0.5, "conjectured": False}
    made = [json.loads(line) for line in (folder / CONJECTURES).read_text().splitlines()]
    assert made[0]["lemma"] == COMM.statement and made[0]["conjecture"] == TRAIN[0].signature
    assert [row["name"] for row in made] == ["conjecture_1_0", "easy:true"]


def test_what_is_empty_is_no_source_and_is_written_over_and_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    write_data(tmp_path, PROVED, MADE)
    assert write_data(tmp_path, PROVED[:1], []) == (f"proofs:{tmp_path / PROOFS}*1",)
    assert (tmp_path / CONJECTURES).read_bytes() == b""
    (tmp_path / "file").write_text("")
    with pytest.raises(StpError, match=r"file.*cannot be written"):
        write_data(tmp_path / "file", PROVED, MADE)


def test_steps_pass_over_all_tokens_as_often_as_asked(tmp_path: Path) -> None:
    sources = write_data(tmp_path, PROVED, MADE)
    settings = replace(STAGES["sft"], length=8, batch_tokens=16)

    def characters(text: str) -> int:
        return len(text)

    assert steps_for(sources, settings, 1.0, characters) == 2  # no row has more than `length`: 3 rows of 8 tokens
    assert steps_for(sources, settings, 4.0, characters) == 6
    assert steps_for(sources, settings, 0.01, characters) == 1
    assert steps_for(sources, replace(settings, length=10_000), 1.0, characters) > 10


@pytest.mark.slow
@pytest.mark.process
async def test_a_training_that_fails_is_told_with_the_end_of_its_output(tmp_path: Path) -> None:
    (tmp_path / "proofs.jsonl").write_text("no json\n")
    source = f"proofs:{tmp_path / 'proofs.jsonl'}*1"
    with pytest.raises(StpError, match=r"training r ended with exit code \d+; .*r\.log ends with: .*proofs\.jsonl"):
        await train("r", tmp_path, STAGES["sft"], start=None, sources=[source], seed=1)


# --- the texts of a language model as prover and conjecturer ----------------------------------------------------------
STP = load("stp")
SCRIPT = "intro h\nconstructor\n· exact h.2\n· exact h.1"
HARD = Theorem("hard", "(a b c : Nat)", "a + (b + c) = c + (b + a)")
WITH_HEADER = msgspec.structs.replace(EASY, header="import Mathlib\nopen Nat")


@pytest.mark.parametrize("theorem", [EASY, WITH_HEADER])
async def test_a_prover_is_asked_as_it_is_trained_and_its_answer_is_read_back(theorem: Theorem) -> None:
    [pair] = model.pairs(STP, [ProverExample(theorem, SCRIPT, 0.25)], [])
    recorder = Model(Sample(pair.completion.removesuffix(STP.output.stops[0])))  # servers leave the stop text out
    [draft] = await SampledProofs(recorder, STP).propose(ProofRequest(theorem, theorem.name, count=1, first=0, seed=0))
    assert recorder.asked[0][0].text == pair.prompt and pair.weight == 0.25
    assert draft.text == SCRIPT and not draft.problem
    assert parse_proof(STP, Sample(pair.completion), theorem).text == SCRIPT, "also where the stop text is left in"


@pytest.mark.parametrize("theorem", [EASY, WITH_HEADER])
def test_a_conjecturer_is_asked_as_it_is_trained_and_its_answer_is_read_back(theorem: Theorem) -> None:
    seed = Seed(theorem, SCRIPT, COMM)
    [pair] = model.pairs(STP, [], [ConjecturerExample(seed, HARD.signature, 2.0)])
    assert pair.prompt == model.conjecturer_prompt(STP, seed).text and pair.weight == 2.0
    assert pair.completion == model.conjecturer_completion(HARD.signature)
    made = statement_of(model.written(pair.completion), name="conjecture_1_0", header=theorem.header)
    assert (made.binders, made.conclusion) == (HARD.binders, HARD.conclusion)


def test_the_texts_are_the_reference_s_rows() -> None:
    seed = Seed(WITH_HEADER, SCRIPT, COMM)
    made = ConjecturerExample(seed, HARD.signature, 1.0)
    [pair] = model.pairs(STP, [], [made])
    assert (pair.prompt, pair.completion) == (conjecture_row(made)["prompt"], conjecture_row(made)["target"])
    proved = ProverExample(WITH_HEADER, SCRIPT, 1.0)
    [pair] = model.pairs(STP, [proved], [])
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
    assert model.written(sample) == statement


def test_conjectures_end_at_their_mark_or_at_a_proof_and_what_is_too_long_is_not_trained_on() -> None:
    decoding = model.conjecturer_decoding(STP, 0.7)
    assert (decoding.temperature, decoding.top_p, decoding.max_tokens) == (0.7, 1.0, 1024)
    assert decoding.stop == model.STOPS == ("</hard theorem>", ":=")
    long = msgspec.structs.replace(EASY, conclusion=" + ".join(["a"] * 2000) + " = b")
    proved = [ProverExample(each, "rfl", 1.0) for each in (long, EASY)]
    rows = model.pairs(STP, proved, [ConjecturerExample(Seed(long, "rfl", EMPTY_LEMMA), HARD.signature, 1.0)])
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
    model.check_template(STP)
    with pytest.raises(TemplateError, match=why):
        model.check_template(template)
