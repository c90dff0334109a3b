"""Data of self-play from what `proofmesh trace` has really found, with genuine Lean."""

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
