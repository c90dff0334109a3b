"""Rows in the forms of public data sets, with statements of our own that core Lean can say."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HEADER = "open Nat\n\n"


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


MINIF2F = [
    {
        "name": name, "split": split, "informal_prefix": "/-- Show it. -/\n", "header": HEADER, "goal": "⊢ True",
        "formal_statement": f"theorem {name} {statement} := by\n",
    }
    for name, split, statement in (
        ("mathd_algebra_1", "valid", "(n : Nat) (h : n = 2) :\n  n + 0 = 2"),
        ("amc12a_2001_p1", "test", ": ∀ n : Nat, n = n"),
        ("mathd_algebra_314", "test", "(n : Nat) (h₀ : n = 11) : (1 / 4) ^ (n + 1) * 2 ^ (2 * n) = 1 / 4"),
    )
]  # fmt: skip

PUTNAM = [{
    "name": "putnam_1900_a1", "tags": ["algebra"], "coq_statement": "null", "isabelle_statement": "null",
    "lean4_statement": "abbrev putnam_1900_a1_solution : Nat → Nat := sorry\n-- fun n : Nat => n + n\n"
    "/--\nFind the double.\n-/\ntheorem putnam_1900_a1\n(n : Nat)\n: n * 2 = putnam_1900_a1_solution n :=\nsorry\n",
    "informal_statement": "Find the double.", "informal_solution": "2n",
}]  # fmt: skip

PROVERBENCH = [{
    "name": "small_problem", "area": "Number Theory", "header": "open Nat\n",
    "formal_statement": "/-- Show it. -/\ntheorem small_problem (p : Prop) (h : p) : p ∧ p := by\n  sorry\n",
}]  # fmt: skip

FORMALMATH = [{
    "theorem_names": "base_1", "source": "base_1", "domain": "['Mathematics -> Algebra']",
    "refined_statement": "Show that two and two is four.", "solution": "Count.",
    "autoformalization": "open Nat\ntheorem base_1 : 2 + 2 = 4 := by sorry",
}]  # fmt: skip

NUMINA = [{
    "uuid": "0-1", "problem": "What is 1 + 1?", "answer": "2", "author": "human", "problem_type": "Algebra",
    "formal_statement": "open Nat\n\n/- What is $1 + 1$? -/\n"
    "theorem algebra_7 (n : Nat) (h₀ : n = 1) :\n    n + n = 2 := by sorry",
    "ground_truth_type": "complete", "rl_data": {"n_proofs": 1},
}]  # fmt: skip

WORKBOOK = [{
    "id": "lean_workbook_1", "status": "proved", "natural_language_statement": "Show it.", "answer": "",
    "formal_statement": "theorem lean_workbook_1 (p q : Prop) (h : p ∧ q) : q ∧ p  :=  by sorry",
    "tactic": "rfl", "split": "lean_workbook",
}]  # fmt: skip

PROOFNET_SHARP = [{
    "id": "Artin|exercise_2_3_2", "nl_statement": "Show it.", "nl_proof": "", "lean4_src_header": "open Nat\n\n",
    "lean4_formalization": "theorem exercise_2_3_2 (a b : Nat) : a + b = b + a := sorry", "split": "test",
}]  # fmt: skip

NUMINA_MINIF2F = [{
    "name": "mathd_algebra_314", "informal_prefix": "/-- Show it. -/\n",
    "formal_statement": "theorem mathd_algebra_314 (n : ℕ) (h₀ : n = 11) :\n"
    "  (1 / 4 : ℝ) ^ (n + 1) * 2 ^ (2 * n) = 1 / 4 := by",
}]  # fmt: skip
