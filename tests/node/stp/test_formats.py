"""What data is made of: the reference's rows, traces, and the lemmas that proofs invoke."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.lean import Theorem
from node.bank import sources
from node.lean.text.statement import parse_statement
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.formats import Lines, context_row, theorem_rows
from node.lean.trace.tracing import Tracer
from node.stp.data.lemmas import LemmaGone, Library
from node.stp.data.sources import BadRow, ConjectureRow, ProofRow, read, read_row
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Lemma, ProverExample, Seed, StpError
from tests.node.stp.examples import (
    ASK,
    COMM,
    CONJECTURER,
    EASY,
    GENERATED,
    HEADER,
    MATHLIB,
    conjecture_row,
    proof_row,
    seed_of,
    write,
)


def test_a_generated_proof_and_a_theorem_of_mathlib_below_its_context_are_read() -> None:
    theorem = Theorem("lean_workbook_1", "(a b : ℝ) (h : a < b)", "a ≤ b", HEADER)
    assert read_row(GENERATED) == ProofRow(theorem, "have := h\nexact le_of_lt this")
    conjectured = read_row(GENERATED | {"tag": "['conjecture']"})
    assert isinstance(conjectured, ProofRow) and conjectured.conjectured
    fenced = read_row(GENERATED | {"target": " linarith\n```\nmore"})
    assert isinstance(fenced, ProofRow) and fenced.script == "linarith"
    glued = read_row(GENERATED | {"target": "linarith"})
    assert isinstance(glued, ProofRow) and glued.script == "linarith"
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
    prompt = CONJECTURER["prompt"].replace("lemma sq_nonneg (a : α) : 0 ≤ a ^ 2", "theorem true: True")
    empty = read_row(CONJECTURER | {"prompt": prompt})
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


# --- lemmas: names as they are written, those of hypotheses left out --------------------------------------------------
LIBRARY = Library(
    [Lemma(name, f"theorem {name} : True") for name in ("Nat.add_comm", "Nat.succ_le", "foo", "trivial", "A.B.bar")],
    protected={"Nat.add_comm"},
)


def invoked_by(script: str, statement: str, header: str = "", library: Library = LIBRARY) -> tuple[str, ...]:
    return library.invoked_in(parse_statement(statement, header), script)


@pytest.mark.parametrize(
    ("script", "invoked"),
    [
        ("rw [Nat.add_comm, ← foo]", ("Nat.add_comm", "foo")),
        ("simp only [Nat.add_comm] at *\nexact foo", ("Nat.add_comm", "foo")),
        ("exact (Nat.add_comm a b).symm", ("Nat.add_comm",)),
        ("exact Nat.succ_le.mp h", ("Nat.succ_le",)),
        ("exact @foo _ _", ("foo",)),
        ("exact _root_.foo", ("foo",)),
        ("rw [Nat.add_comm] at foo'", ("Nat.add_comm",)),
        ("exact h.foo", ()),
        ("exact ?foo", ()),
        ("exact Nat.add_comm_left", ()),
        ("exact X.Nat.add_comm", ()),
        ("trivial", ()),
        ("exact bar", ()),
        ("-- foo\nsimp", ()),
        ("exact f (foo := 1)", ()),
    ],
)
def test_names_are_lemmas_only_as_lean_would_read_them(script: str, invoked: tuple[str, ...]) -> None:
    assert invoked_by(script, "theorem t : True") == invoked


@pytest.mark.parametrize(
    "script",
    [
        "intro foo\nexact foo",
        "rintro ⟨foo, h⟩\nexact foo",
        "rcases h with ⟨x, foo⟩ | h\n· exact foo x",
        "obtain ⟨foo, h⟩ := h\nexact foo",
        "cases h with | inl foo => exact foo | inr k => exact k.foo",
        "have foo : 1 = 1 := rfl\nexact foo",
        "exact fun foo => foo",
        "by_cases foo : p\n· exact foo",
        "generalize h = foo\nexact foo",
    ],
)
def test_a_hypothesis_with_a_lemmas_name_is_no_lemma(script: str) -> None:
    assert invoked_by(script, "theorem t (h : p) : q") == ()


def test_what_the_statement_binds_is_no_lemma_and_neither_are_its_projections() -> None:
    assert invoked_by("exact foo.symm", "theorem t (foo : a = b) : b = a") == ()
    assert invoked_by("exact Nat.add_comm", "theorem t (Nat : Foo) : b = a") == ()
    assert invoked_by("rw [Nat.add_comm]", "theorem t (n : Nat) (h : ∀ m : Nat, m = n) : n = n") == ("Nat.add_comm",)


@pytest.mark.parametrize(
    ("header", "script", "invoked"),
    [
        ("open Nat", "exact succ_le", ("Nat.succ_le",)),
        ("open Nat", "exact add_comm", ()),  # it is protected
        ("open A.B Nat", "exact bar succ_le", ("A.B.bar", "Nat.succ_le")),
        ("open Nat hiding succ_le", "exact succ_le", ()),
        ("open Nat (succ_le)", "exact succ_le", ("Nat.succ_le",)),
        ("open Nat renaming succ_le → less", "exact less", ("Nat.succ_le",)),
        ("open scoped Nat", "exact succ_le", ()),
        ("section\nopen Nat\nend", "exact succ_le", ()),
        ("namespace A\nnamespace B", "exact bar", ("A.B.bar",)),
        ("namespace A.B\nend A.B", "exact bar", ()),
        ("namespace A", "exact B.bar", ("A.B.bar",)),
        ("theorem mine (n : Nat) : n = n := rfl", "exact mine n", ("mine",)),
        ("namespace C\ntheorem mine : 1 = 1 := rfl\nend C", "exact mine C.mine", ("C.mine",)),
    ],
)
def test_open_namespaces_and_the_header_s_own_lemmas(header: str, script: str, invoked: tuple[str, ...]) -> None:
    assert invoked_by(script, "theorem t : True", header) == invoked
    assert LIBRARY.invoked_in(Theorem("t", "", "True", header), script) == invoked


def test_a_lemma_that_is_gone_is_told_in_words_and_the_empty_one_is_always_there() -> None:
    assert LIBRARY.lemma("true") == EMPTY_LEMMA
    with pytest.raises(LemmaGone, match=r"no lemma 'Nat\.gone'.*stp prepare"):
        LIBRARY.lemma("Nat.gone")


def test_lemmas_of_files(tmp_path: Path) -> None:
    rows = tmp_path / "lemmas.jsonl"
    rows.write_bytes(msgspec.json.encode({"name": "A.b", "statement": "theorem b (n : Nat) : n = n := by"}) + b"\n")
    assert Library.of(rows).lemmas == [Lemma("A.b", "theorem A.b (n : Nat) : n = n")]
    lean = tmp_path / "x.lean"
    made = ("private theorem c : True := trivial", "protected theorem d : True := trivial", "def e := 1\n")
    lean.write_text("\n".join(("namespace A", *made)))
    assert Library.of(lean).lemmas == [Lemma("A.d", "theorem A.d : True")]
    assert invoked_by("exact d A.d", "theorem t : True", "open A", Library.of(lean)) == ("A.d",)
    rows.write_text('{"name": "x", "statement": "theorem x : True"}\n{"name": 3}\n')
    with pytest.raises(StpError, match=r"lemmas\.jsonl, line 2"):
        Library.of(rows)
    with pytest.raises(StpError, match=r"nowhere\.jsonl"):
        Library.of(tmp_path / "nowhere.jsonl")


def test_pocket_lean_s_library_has_its_theorems() -> None:
    library = Library.of("pocket")
    assert library.lemma("Nat.add_comm").statement == "theorem Nat.add_comm (n m : Nat) : n + m = m + n"
    assert "Or.inl" not in library and "Nat.add" not in library
    assert all(each.statement.startswith(f"theorem {each.name} ") for each in library.lemmas)


# --- what proofmesh trace has found, with genuine Lean ----------------------------------------------------------------
LEAN = """def x := 1

namespace A

theorem first (a b : Nat) : a + b = b + a := by
  rw [Nat.add_comm]

theorem second (a b c : Nat) : a + b + c = c + (b + a) := by
  rw [first (a + b) c]
  rw [first a b]

theorem term (a b : Nat) : a + b = b + a := first a (by exact b)

variable (p : Prop)

theorem split (h : p) : p ∧ p := by
  constructor
  · exact h
  · exact h

theorem broken : 1 = 2 := by
  rfl

end A
"""


@pytest.mark.lean
async def test_a_trace_gives_proofs_statements_and_the_lemmas_that_are_read_off_its_proofs(tmp_path: Path) -> None:
    traced = await Tracer(LeanToolchain.pocket(), tmp_path).trace(LEAN, "A.lean")
    for name, rows in (("theorems", theorem_rows(traced)), ("contexts", [context_row(traced, LEAN)])):
        lines = Lines(tmp_path / f"{name}.jsonl")
        for row in rows:
            lines.write(row)
        lines.close()
    found = read(str(tmp_path))
    assert [lemma.name for lemma in found.lemmas] == ["A.first", "A.second", "A.term", "A.split"]
    assert Library.of(tmp_path).lemma("A.first").statement == "theorem A.first (a b : Nat) : a + b = b + a"
    scripts = {given.theorem.name: given.proof for given in found.proofs}
    assert scripts.keys() == {"A.first", "A.second", "A.split"}  # `term` is no block of tactics
    assert scripts["A.second"].script == "rw [first (a + b) c]\nrw [first a b]"
    assert scripts["A.second"].lemmas == ("A.first",) and scripts["A.first"].lemmas == ()
    assert scripts["A.split"].script == "constructor\n· exact h\n· exact h"
    split = next(given.theorem for given in found.proofs if given.theorem.name == "A.split")
    assert "variable (p : Prop)" in split.header and "namespace A" in split.header
    assert any("A.lean" in problem or "broken" in problem or "line" in problem for problem in found.problems)
    placed = {each.theorem.name: each.theorem for each in found.statements}
    second = placed["A.second"]
    assert isinstance(second, Theorem) and second.place is not None
    assert second.place.context.text == LEAN[: LEAN.index("theorem second")]
    library = Library.of(tmp_path)
    for given in found.proofs:
        assert library.invoked_in(given.theorem, given.proof.script) == given.proof.lemmas
    measured = read(str(tmp_path), test=True)
    assert not measured.proofs and {each.split for each in measured.statements} == {"test"}
