"""Parsing statements, and the errors for texts that are not statements."""

import pytest
from hypothesis import given, seed, settings, strategies as st

from common.lean import Theorem
from node.lean.text.statement import StatementError, parse_statement


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
