"""Finding declarations, statements and the proof in a larger text, without Lean."""

from pathlib import Path

import pytest
from hypothesis import given, seed, settings, strategies as st

from common.lean import Theorem
from node.lean.text.declarations import NoProof, block_of, declarations
from node.lean.text.statement import StatementError, parse_statement

TEXT = Path(__file__).with_name("declarations.lean").read_text(encoding="utf-8")


def test_names_have_their_namespace_statements_end_before_the_value_and_types_have_constructors():
    found, namespace = declarations(TEXT)
    names = ["inductive Tree", "def Tree.size", "theorem Tree.size_leaf", "lemma Tree.size_pos", "theorem outside"]
    assert [f"{each.kind} {each.name}" for each in found] == names
    statements = [": Tree α → Nat", ": (leaf : Tree α).size = 0", "{t : Tree α} (h : t ≠ leaf := by simp) : 0 < t.size"]
    assert [each.statement for each in found[1:4]] == statements and namespace == "Open.Here"
    leaf, node = found[0].constructors
    assert (leaf.name, node.name) == ("leaf", "node")
    assert node.signature.startswith("(l : Tree α) (a : α) (r : Tree α) : Tree α")


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("simp", "simp"),
        ("by simp", "simp"),
        (":= by\n    intro h\n    exact h", "intro h\nexact h"),
        ("by intro h\n   exact h", "intro h\nexact h"),
        ("have : a := by\n  simp\nomega", "have : a := by\n  simp\nomega"),
        ("by have : a := by\n     simp\n   omega", "have : a := by\n  simp\nomega"),
        ("theorem a : p → p\n  := by intro h\n        exact h", "intro h\nexact h"),
        ("import Mathlib\n\ntheorem a : p := by\n  simp\n\nend Foo", "simp"),
        ("theorem a (n : Nat := by exact 1) : ∃ m, let k := 1; m = k := by\n  simp", "simp"),
        ("lemma b : q := by\n  omega\n\ntheorem a : p := by\n  simp", "simp"),
        ("theorem a : p := ⟨1, 2⟩\n", "exact (⟨1, 2⟩)"),
        ("/- theorem a : p := by trivial -/\ntheorem a : p := by\n  simp -- theorem", "simp -- theorem"),
    ],
)
def test_the_block_of_the_theorem_is_found(text: str, block: str) -> None:
    assert block_of(text, "a") == block


def test_the_declaration_of_that_name_is_taken_before_the_last_one() -> None:
    text = "theorem a : p := by\n  simp\n\ntheorem b : q := by\n  omega"
    assert (block_of(text, "a"), block_of(text, "other")) == ("simp", "omega")


@pytest.mark.parametrize("text", ["", "  \n", "by", "theorem a : p := by", "theorem a : p", "-- only words"])
def test_what_holds_no_proof_says_so(text: str) -> None:
    with pytest.raises(NoProof):
        block_of(text)


@pytest.mark.parametrize(
    ("text", "name", "binders", "conclusion"),
    [
        ("theorem t : True", "t", "", "True"),
        ("theorem t (p q : Prop) : p ∧ q → q ∧ p", "t", "(p q : Prop)", "p ∧ q → q ∧ p"),
        ("lemma add_zero' {n : Nat} : n + 0 = n := by", "add_zero'", "{n : Nat}", "n + 0 = n"),
        ("theorem a.b.c [Decidable p] : p ∨ ¬p := by sorry", "a.b.c", "[Decidable p]", "p ∨ ¬p"),
        ("theorem «a name: (odd)».b (n : Nat) : n = n", "«a name: (odd)».b", "(n : Nat)", "n = n"),
        ("example (x : Nat) : x = x := sorry", "t", "(x : Nat)", "x = x"),
        ("  theorem t\n  (h : ∃ x : Nat, x = 0)\n  : True :=\n", "t", "(h : ∃ x : Nat, x = 0)", "True"),
        ("theorem t ⦃x : Nat⦄ : ∀ y : Nat, x = y → y = x", "t", "⦃x : Nat⦄", "∀ y : Nat, x = y → y = x"),
        ("theorem t (f : Nat → Nat := id) : f 0 = 0", "t", "(f : Nat → Nat := id)", "f 0 = 0"),
    ],
)
def test_statements_are_taken_apart(text: str, name: str, binders: str, conclusion: str) -> None:
    assert parse_statement(text) == Theorem(name, binders, conclusion)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "begins with"),
        ("def f : Nat := 0", "begins with"),
        ("theoremt : True", "begins with"),
        ("theorem : True", "no name|no colon"),
        ("theorem t", "no colon"),
        ("theorem t (p : Prop", r"never closed"),
        ("theorem t (p : Prop] : p", r"unbalanced"),
        ("theorem t p) : p", r"unbalanced"),
        ("theorem t (p : Prop) :", "no conclusion"),
        ("theorem t (p : Prop) : := by", "no conclusion"),
        ("theorem t : True := by trivial", "a proof stands behind"),
    ],
)
def test_what_is_no_statement_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(StatementError, match=reason):
        parse_statement(text)


def test_the_negation_quantifies_over_every_binder() -> None:
    assert parse_statement("theorem t {n : Nat} : n = 0").negation() == Theorem("t_neg", "", "¬ (∀ {n : Nat}, n = 0)")
    assert parse_statement("theorem t : False").negation().conclusion == "¬ (False)"


BINDERS = ["(p q : Prop)", "{n : Nat}", "[Decidable p]", "⦃x : Nat⦄", "(h : ∃ x : Nat, x = 0)", "(f : Nat → Nat := id)"]
CONCLUSIONS = ["True", "p ∧ q → q ∧ p", "∀ y : Nat, x = y", "(fun x : Nat => x) 1 = 1", "¬ (⟨1, 2⟩ : Nat × Nat).1 = 2"]
NAMES = ["t", "a.b.c", "add_zero'", "«a name: (odd)».b", "ünï"]
PROOFS = ["", " :=", " := by", " := by sorry", " := sorry", ":= by\n  sorry\n"]


@seed(1)
@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.sampled_from([*NAMES, *BINDERS, *CONCLUSIONS, *PROOFS, *"()[]{}:«»\n ", "theorem ", "lemma "])))
def test_any_text_is_read_or_refused_with_a_reason(parts: list[str]) -> None:
    text = "theorem t " + "".join(parts)
    try:
        theorem = parse_statement(text)
    except StatementError as refused:
        assert str(refused)
    else:
        assert theorem.conclusion and theorem.conclusion in text and theorem.binders in text
