"""The data of a training of self-play, and how much of it is read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from node.stp.records import EMPTY_LEMMA, ConjecturerExample, ProverExample, Seed, StpError
from node.stp.training import CONJECTURES, PROOFS, steps_for, train, write_data
from node.training.settings import STAGES
from tests.node.stp.examples import COMM, EASY
from tests.node.stp.tiny_run import TRAIN

PROVED = [ProverExample(EASY, "omega", 0.5), ProverExample(TRAIN[0], "rfl", 1.0, conjectured=True)]
MADE = [ConjecturerExample(Seed(EASY, "omega", COMM), TRAIN[0].signature, 2.0, "conjecture_1_0")]


def test_rows_are_what_proofmesh_train_reads(tmp_path: Path) -> None:
    given = ConjecturerExample(Seed(EASY, "omega", EMPTY_LEMMA), TRAIN[1].signature, 1.0)
    folder = tmp_path / "deep/data"
    assert write_data(folder, PROVED, [*MADE, given]) == (
        f"proofs:{folder / PROOFS}*2",
        f"conjectures:{folder / CONJECTURES}*2",
    )
    proofs = [json.loads(line) for line in (folder / PROOFS).read_text().splitlines()]
    assert proofs[0] == {
        "name": "easy",
        "statement": "theorem easy (a b : Nat) : a + b = b + a",
        "proof": "omega",
        "weight": 0.5,
        "conjectured": False,
    }
    made = [json.loads(line) for line in (folder / CONJECTURES).read_text().splitlines()]
    assert made[0]["lemma"] == COMM.statement and made[0]["conjecture"] == TRAIN[0].signature
    assert [row["name"] for row in made] == ["conjecture_1_0", "easy:true"]


def test_what_is_empty_is_no_source_and_is_written_over(tmp_path: Path) -> None:
    write_data(tmp_path, PROVED, MADE)
    assert write_data(tmp_path, PROVED[:1], []) == (f"proofs:{tmp_path / PROOFS}*1",)
    assert (tmp_path / CONJECTURES).read_bytes() == b""


def test_data_that_cannot_be_written_is_told(tmp_path: Path) -> None:
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
