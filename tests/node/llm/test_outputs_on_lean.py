"""Proofs that are taken out of answers, behind our statement: Lean accepts them as it would the model's own text."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from node.lean.text.rules import proof_problem
from node.lean.text.statement import parse_statement
from node.llm.outputs import parse_proof
from node.llm.sampling import Sample
from node.llm.templates import load

pytestmark = pytest.mark.lean

THEOREM = parse_statement("theorem swap (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry")

PROOFS = [
    " := ⟨h.2, h.1⟩",
    " :=\n  ⟨h.2,\n   h.1⟩",
    "\n:= by constructor; exact h.2\n      exact h.1",
    " := by simp [And.comm,\n    h]",
    " := by\n  constructor\n  · have k : q := by\n      exact h.2\n    exact k\n\n  · exact h.1",
    " :=\n  have k := h.2\n  have l := h.1\n  ⟨k, l⟩",
    " :=\nby\n  -- first\n  obtain ⟨a, b⟩ := h -- split\n  /- then\n     join -/\n  exact ⟨b, a⟩",
    " := by\n    cases h with\n    | intro a b =>\n      exact ⟨b, a⟩\n",
    " := by {\n  constructor\n  exact h.2\n  exact h.1\n}",
    " := by\n  refine ⟨?_, ?_⟩ <;>\n    simp_all",
    " := match h with\n  | ⟨a, b⟩ => ⟨b, a⟩",
    " := And.intro\n  h.2\n  h.1",
    " := by\n\tobtain ⟨a, b⟩ := h\n\texact ⟨b, a⟩",
    " := by exact ⟨h.2,\n  h.1⟩",
    " := h.symm\n\nend Foo",
    " := by\n  have key : ∀ x : Nat, x = x := by\n    intro x\n    rfl\n  exact ⟨h.2, h.1⟩\n#print axioms swap",
]


def test_lean_accepts_what_is_taken_out(tmp_path):
    statement = THEOREM.signature
    answers = {
        "goedel-prover-v2": [f"Plan\n```lean4\nimport Mathlib\n\n{statement}{proof}\n```" for proof in PROOFS],
        "stp": [f"{statement}{proof}\n```" for proof in PROOFS],
    }
    written = []
    for name, texts in answers.items():
        for text in texts:
            parsed = parse_proof(load(name), Sample(text), THEOREM)
            assert parsed.problem is None and proof_problem(parsed.text) == ""
            signature = statement.replace("swap", f"swap_{len(written)}")
            written.append(f"{signature} := by\n{textwrap.indent(parsed.text, '  ')}\n")
    file = tmp_path / "Taken.lean"
    file.write_text("\n".join(written), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "node.command.cli", "verify", str(file)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("accepted") == 2 * len(PROOFS)
