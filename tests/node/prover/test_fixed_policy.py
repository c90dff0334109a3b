"""The fixed tactic list: how goals are read and what is proposed for them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from node.prover.policies.fixed import CLOSING, MOST_TACTICS, advise, candidates, value
from node.prover.policies.goal_tactics import binder_name, connective, operands, read_goal

STATE = """\
α : Type
p q : Prop
P : α → Prop
n m✝ : Nat
h : p ∧
    q
f : ∀ (x : α), P x → q
⊢ q ∧ p"""


def test_context_is_read_with_broken_lines_and_without_inaccessible_names() -> None:
    goal = read_goal(STATE)
    assert [h.name for h in goal.hypotheses] == ["α", "p", "q", "P", "n", "h", "f"]
    assert goal.conclusion == "q ∧ p"
    assert [h.name for h in goal.proofs] == ["f", "h"]
    assert goal.proofs[1].type == "p ∧ q"


@pytest.mark.parametrize(
    ("proposition", "symbol"),
    [
        ("p ∧ q → q ∧ p", "→"),
        ("p ∨ q ↔ q ∨ p", "↔"),
        ("¬p ∨ q", "∨"),
        ("¬(p ∨ q)", "¬"),
        ("∀ (x : Nat), x = x ∧ p", "∀"),
        ("∃ x, P x → q", "∃"),
        ("(∃ x, P x) → q", "→"),
        ("p ∧ ∃ x, P x ∨ q", "∧"),
        ("a + b = b + a", "="),
        ("P x", ""),
    ],
)
def test_main_connective(proposition: str, symbol: str) -> None:
    assert connective(proposition) == symbol


def test_operands_of_nested_implications() -> None:
    assert operands("(p → q) → p → q", "→") == ["(p → q)", "p", "q"]


def test_binder_names_are_taken_over() -> None:
    assert [binder_name(p) for p in ("∀ (n : Nat), P n", "∃ y, P y", "∀ {a b : Nat}, a = b", "∀ x✝, P x✝")] == [
        "n",
        "y",
        "a",
        "x",
    ]


@pytest.mark.parametrize(
    ("state", "tactic"),
    [
        ("p q : Prop\n⊢ p ∧ q → q ∧ p", "intro h"),
        ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "obtain ⟨h_1, h_2⟩ := h"),
        ("p q : Prop\nh : p ∨ q\n⊢ q ∨ p", "rcases h with h_1 | h_2"),
        ("p q : Prop\nh : p\n⊢ q ∨ p", "right"),
        ("p q : Prop\nhq : p → q\nhp : p\n⊢ q", "apply hq"),
        ("p q r : Prop\nhq : p → q\nhp : p\n⊢ r", "have h := hq hp"),
        ("a b : Nat\nh : a = b\n⊢ b = a", "rw [h]"),
        ("n : Nat\n⊢ 0 + n = n", "induction n with | zero => ?_ | succ n' ih => ?_"),
        ("xs : List Nat\n⊢ xs = xs", "induction xs with | nil => ?_ | cons x xs' ih => ?_"),
        ("n : Nat\n⊢ ∃ m, m = n", "refine ⟨n, ?_⟩"),
        ("p : Prop\n⊢ p ∨ ¬p", "by_cases h : p"),
    ],
)
def test_tactics_are_filled_in_from_the_goal(state: str, tactic: str) -> None:
    assert tactic in candidates(read_goal(state))


def test_advice_is_one_round_in_order_with_a_falling_prior() -> None:
    advice = advise(STATE)
    assert advice.exhausted
    assert tuple(proposal.tactic for proposal in advice.proposals[: len(CLOSING)]) == CLOSING
    masses = [proposal.mass for proposal in advice.proposals]
    assert masses == sorted(masses, reverse=True) and masses[0] == 1.0 and masses[-1] > 0.5


def test_value_counts_what_is_left_to_prove() -> None:
    assert value("p : Prop\n⊢ p") > value("p : Prop\n⊢ p ∧ p") > value("p : Prop\n⊢ p ∧ p\n\np : Prop\n⊢ p")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(alphabet="⊢ :pqh∀∃→∧∨¬()[]{}\n✝=n", max_size=60))
def test_any_text_gives_distinct_one_line_tactics(state: str) -> None:
    tactics = [proposal.tactic for proposal in advise(state).proposals]
    assert len(tactics) == len(set(tactics)) <= MOST_TACTICS
    assert all(tactic.strip() and "\n" not in tactic for tactic in tactics)
