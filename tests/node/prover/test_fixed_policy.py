"""The fixed tactic list: how goals are read and what is proposed for them."""

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import TacticRule
from node.prover.policies import goal_tactics
from node.prover.policies.fixed import CLOSING, MOST_TACTICS, advise, candidates, everything
from node.prover.policies.goal_tactics import connective, read_goal

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


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(alphabet="⊢ :pqh∀∃→∧∨¬()[]{}\n✝=n", max_size=60))
def test_any_text_gives_distinct_one_line_tactics(state: str) -> None:
    tactics = [proposal.tactic for proposal in advise(state).proposals]
    assert len(tactics) == len(set(tactics)) <= MOST_TACTICS
    assert all(tactic.strip() and "\n" not in tactic for tactic in tactics)


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
    assert list(goal_tactics.introductions(read_goal(state))) == [tactic]


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
    state = read_goal(f"a b m n : Nat\n⊢ {conclusion}")
    assert witness in goal_tactics.solutions(state)
    assert f"exact ⟨{witness}, by omega⟩" in everything(state)


def test_a_rule_chooses_before_the_list_is_cut() -> None:
    relations = "\n".join(f"h{number} : ∀ (x : α), a (b x) = b x" for number in range(20))
    state = f"α : Type\na b : α → α\nx : α\n{relations}\n⊢ a (b x) = b x"
    ruled = [each.tactic for each in advise(state, rule=TacticRule(allow=("rfl", "rw"))).proposals]
    rewrites = {f"rw [{arrow}h{number}]" for number in range(17, 20) for arrow in ("", "← ")}
    assert rewrites.isdisjoint(each.tactic for each in advise(state).proposals)
    assert {"rfl", *rewrites} <= set(ruled) and all(each == "rfl" or each.startswith("rw ") for each in ruled)
