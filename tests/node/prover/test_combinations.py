"""What the fixed list proposes beyond single steps: several at once, numbers, and steps that lose nothing first."""

from __future__ import annotations

import pytest

from node.prover.policies import goal_tactics
from node.prover.policies.fixed import CLOSING, advise, candidates, everything
from node.prover.policies.goal_tactics import Goal, binder_type, read_goal


def goal(text: str) -> Goal:
    return read_goal(text)


@pytest.mark.parametrize(
    ("state", "tactic"),
    [
        ("⊢ ∀ (m n : Nat), m = n → n = m", "intro m n h"),
        ("⊢ ∀ {x : Nat} (P : Nat → Prop), P x → ¬P x → False", "intro x P h h_1"),
        ("h : 0 = 0\nx : Nat\n⊢ ∀ (x : Nat), x ≠ 1", "intro x_1 h_1"),
        ("p q : Prop\n⊢ (p → q) → p → q", "intro h h_1"),
    ],
)
def test_all_that_stands_before_the_result_is_introduced_at_once(state: str, tactic: str) -> None:
    assert list(goal_tactics.introductions(goal(state))) == [tactic]


def test_a_truth_table_distinguishes_the_smallest_propositions() -> None:
    state = goal("p q : Prop\nh : p ∨ q → ∃ x, x = 1\n⊢ ((p → q) → p) → p")
    assert goal_tactics.propositions(state) == ["p", "q", "∃ x, x = 1"]
    table, *others = goal_tactics.distinctions(state)
    assert table == "by_cases h_1 : p <;> by_cases h_2 : q <;> simp_all"
    assert others == ["by_cases h_1 : ∃ x, x = 1"]


def test_a_hypothesis_is_used_with_all_that_it_asks_for() -> None:
    state = goal("h : ∀ (x y : α), R x y → ¬R y x\n⊢ False")
    assert list(goal_tactics.uses(state)) == ["exact h _ _ ‹_› ‹_›"]


@pytest.mark.parametrize(
    ("conclusion", "witness"),
    [
        ("∃ k, n = 2 * k", "n / 2"),
        ("∃ k, a + b = k + k", "(a + b) / 2"),
        ("∃ k, n = m + k", "n - m"),
        ("∃ k, 3 * k = a * b", "(a * b) / 3"),
        ("∃ k, n = k", "n"),
    ],
)
def test_an_equation_says_which_number_is_wanted(conclusion: str, witness: str) -> None:
    state = goal(f"a b m n : Nat\n⊢ {conclusion}")
    assert witness in goal_tactics.solutions(state)
    assert f"exact ⟨{witness}, by omega⟩" in everything(state)


def test_functions_that_equations_define_are_unfolded_where_they_are_multiplied_out() -> None:
    state = goal("s : Nat → Nat\nh0 : s 0 = 0\nhs : ∀ (n : Nat), s (n + 1) = s n + 2\nn : Nat\n⊢ s (n + 1) = 2 * n + 2")
    assert goal_tactics.defining(state) == ["hs", "h0"]
    (tactic,) = goal_tactics.multiplied_out(state)
    assert tactic.startswith("simp only [hs, h0, Nat.mul_add") and tactic.endswith("<;> omega")


def test_where_a_step_loses_nothing_no_other_is_chosen() -> None:
    state = goal("p q : Prop\nh : p ∧ q\nhq : q → p\n⊢ p ∨ q")
    assert [tactic for tactic in everything(state) if not tactic.startswith("exact")] == ["obtain ⟨h_1, h_2⟩ := h"]
    assert "left" in candidates(state)


def test_linear_arithmetic_is_proposed_where_there_are_numbers() -> None:
    assert "omega" in candidates(goal("n : Nat\n⊢ n + 1 > n"))
    assert "omega" not in candidates(goal("p : Prop\n⊢ p → p"))


def test_what_a_library_has_besides_is_tried_everywhere() -> None:
    first = [*CLOSING, "grind"]
    proposals = advise("p : Prop\n⊢ p ∧ p", first).proposals
    assert [proposal.tactic for proposal in proposals][: len(first)] == first


@pytest.mark.parametrize(
    ("proposition", "type_"),
    [("∀ (x : α), P x", "α"), ("∀ (P : α → Prop), P a", "α → Prop"), ("∀ x, P x", ""), ("∃ y, y = 1", "")],
)
def test_the_type_of_a_bound_variable_is_read_where_it_is_shown(proposition: str, type_: str) -> None:
    assert binder_type(proposition) == type_
