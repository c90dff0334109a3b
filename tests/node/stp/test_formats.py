"""The reference's rows, read and written."""

import json
from pathlib import Path
from typing import Any

import pytest

from common.lean import Theorem
from node.bank import sources
from node.stp.data.sources import BadRow, ConjectureRow, ProofRow, read, read_row
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, ProverExample, Seed
from tests.node.stp.examples import ASK, COMM, CONJECTURER, EASY, GENERATED, HEADER, MATHLIB, seed_of
from tests.node.stp.reference_rows import conjecture_row, proof_row, write


def test_a_generated_proof_is_read() -> None:
    theorem = Theorem("lean_workbook_1", "(a b : ℝ) (h : a < b)", "a ≤ b", HEADER)
    assert read_row(GENERATED) == ProofRow(theorem, "have := h\nexact le_of_lt this")
    conjectured = read_row(GENERATED | {"tag": "['conjecture']"})
    assert isinstance(conjectured, ProofRow) and conjectured.conjectured
    fenced = read_row(GENERATED | {"target": " linarith\n```\nmore"})
    assert isinstance(fenced, ProofRow) and fenced.script == "linarith"
    glued = read_row(GENERATED | {"target": "linarith"})
    assert isinstance(glued, ProofRow) and glued.script == "linarith"


def test_a_theorem_of_mathlib_is_read_below_its_context() -> None:
    found = read_row(MATHLIB)
    assert isinstance(found, ProofRow)
    assert (found.theorem.signature, found.script) == ("theorem one (h : n = 1) : 1 = n", "exact h.symm")
    assert "namespace Foo\nvariable (n : ℕ)" in found.theorem.header


def test_a_conjecturer_s_example_is_read() -> None:
    found = read_row(CONJECTURER)
    assert isinstance(found, ConjectureRow)
    assert found.seed.lemma.statement == "theorem sq_nonneg (a : α) : 0 ≤ a ^ 2"
    assert found.seed.theorem == Theorem("x", "(a : ℝ)", "0 ≤ a ^ 2", HEADER)
    assert found.seed.proof == "exact sq_nonneg a"
    assert found.conjecture == Theorem("y", "(a b : ℝ)", "0 ≤ a ^ 2 + b ^ 2", HEADER)
    empty = read_row(
        CONJECTURER
        | {"prompt": CONJECTURER["prompt"].replace("lemma sq_nonneg (a : α) : 0 ≤ a ^ 2", "theorem true: True")}
    )
    assert isinstance(empty, ConjectureRow) and empty.seed.lemma == EMPTY_LEMMA


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "no fields"),
        ({"prompt": 3, "target": "x"}, "`prompt` and `target`"),
        ({"prompt": "theorem x : p := by", "target": "x"}, "no Lean code"),
        (GENERATED | {"target": "\n  sorry"}, "`sorry`"),
        (GENERATED | {"target": "\n"}, "nothing stands"),
        (GENERATED | {"prompt": ASK + "def x := by"}, "theorem"),
        (MATHLIB | {"target": "def one := 1"}, "data|theorem"),
        (CONJECTURER | {"target": "\n</hard theorem>"}, "theorem"),
    ],
)
def test_rows_that_are_none_are_refused_in_words(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadRow, match=reason):
        read_row(row)


@pytest.mark.parametrize("header", ["", HEADER])
def test_what_is_written_is_read_again(header: str) -> None:
    theorem = Theorem("t", "(n : Nat)", "n = n", header)
    proof = ProverExample(theorem, "cases n with\n| zero => rfl\n| succ n => rfl", 0.25, conjectured=True)
    assert read_row(proof_row(proof)) == ProofRow(theorem, proof.proof)
    assert read_row(proof_row(proof, iteration=2)) == ProofRow(theorem, proof.proof, conjectured=True)
    assert proof_row(proof)["weight"] == 0.25 and proof_row(proof, 2)["iteration"] == 2
    for lemma in (COMM, EMPTY_LEMMA):
        seed = Seed(Theorem("e", "(a b : Nat)", "a = b", header), "omega\nomega", lemma)
        example = ConjecturerExample(seed, "theorem c (x : Nat) : x < x + 1", 2.0)
        found = read_row(conjecture_row(example))
        assert found == ConjectureRow(seed, Theorem("c", "(x : Nat)", "x < x + 1", header))


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_files_are_read_as_sources(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train{suffix}"
    conjectures = [ConjecturerExample(seed_of(), "theorem c (x : Nat) : x < x + 1", 0.5)]
    assert write(path, [ProverExample(EASY, "rw [Nat.add_comm]", 1.0)], conjectures) == 2
    found = read(str(path))
    assert [(given.theorem, given.proof.script) for given in found.proofs] == [(EASY, "rw [Nat.add_comm]")]
    assert [(each.seed, each.conjecture) for each in found.conjectures] == [(seed_of(), conjectures[0].conjecture)]
    assert found.lemmas == [seed_of().lemma] and not found.problems


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_files_are_what_their_trainers_and_the_hub_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "data" / f"train{suffix}"
    proofs = [ProverExample(EASY, "rw [Nat.add_comm]", 1.0)]
    conjectures = [ConjecturerExample(seed_of(), "theorem c (x : Nat) : x < x + 1", 0.5)]
    assert write(path, proofs, conjectures) == 2
    # The loader of Hugging Face data sets reads a folder as it reads a repository.
    rows = list(sources.rows_of_hub(str(path.parent)))
    assert [row["weight"] for row in rows] == [1.0, 0.5] and {row["split"] for row in rows} == {"train"}
    assert read_row(rows[0]) == ProofRow(EASY, "rw [Nat.add_comm]")
    assert read_row(rows[1]) == ConjectureRow(seed_of(), Theorem("c", "(x : Nat)", "x < x + 1"))
    if suffix == ".json":
        assert [set(row) for row in json.loads(path.read_bytes())] == [{"prompt", "target", "weight"}] * 2
