"""Data of self-play from what `proofmesh trace` has really found, with genuine Lean."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from common.lean import Theorem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.formats import Lines, context_row, theorem_rows
from node.lean.trace.tracing import Tracer
from node.stp.data.lemmas import Library
from node.stp.data.sources import read

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace, contexts included."""
    folder = tmp_path_factory.mktemp("trace")
    traced = asyncio.run(Tracer(LeanToolchain.pocket(), folder).trace(LEAN, "A.lean"))
    for name, rows in (("theorems", theorem_rows(traced)), ("contexts", [context_row(traced, LEAN)])):
        lines = Lines(folder / f"{name}.jsonl")
        for row in rows:
            lines.write(row)
        lines.close()
    return folder


@pytest.mark.lean
def test_proofs_lemmas_and_statements_of_a_trace(folder: Path) -> None:
    found = read(str(folder))
    assert [lemma.name for lemma in found.lemmas] == ["A.first", "A.second", "A.term", "A.split"]
    assert Library.of(folder).lemma("A.first").statement == "theorem A.first (a b : Nat) : a + b = b + a"
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


@pytest.mark.lean
def test_lemmas_read_off_a_proof_are_those_that_lean_tells(folder: Path) -> None:
    library = Library.of(folder)
    for given in read(str(folder)).proofs:
        assert library.invoked_in(given.theorem, given.proof.script) == given.proof.lemmas


@pytest.mark.lean
def test_what_is_measured_on_gives_no_proofs(folder: Path) -> None:
    found = read(str(folder), test=True)
    assert not found.proofs and {each.split for each in found.statements} == {"test"}
