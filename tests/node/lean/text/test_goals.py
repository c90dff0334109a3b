"""Goals as real Lean prints them: splitting, metavariables, independent branches; and goals as JSON."""

import msgspec
import pytest

from node.bank.bank import load_transitions
from node.lean.text.goals import (
    factorise,
    from_state,
    from_text,
    goal_tag,
    metavariables,
    normalise,
    split_goals,
    state_text,
    to_text,
)
from tests.node.lean.toolchain.pocket.conftest import elaborate_file

EXAMPLES = {
    "conjunction": "example (p q : Prop) (hp : p) : p ∧ q := by\n  constructor",
    "one goal": "example (p : Prop) : p → p := by\n  intro h",
    "witness": "example : ∃ n : Nat, n * n = 49 ∧ n < 10 := by\n  refine ⟨?_, ?_, ?_⟩",
    "natural": "example (a b : Nat) : a ≤ b := by\n  apply Nat.le_trans",
    "nested": "example (P : Nat → Nat → Prop) : ∃ a, ∃ b, P a b ∧ P b a ∧ 1 = 1 := by\n"
    "  constructor\n  constructor\n  constructor\n  rotate_left\n  constructor",
    "two groups": "example (P : Nat → Prop) : (∃ a, P a) ∧ True ∧ (∃ b, P b) := by\n  refine ⟨⟨?_, ?_⟩, ?_, ⟨?_, ?_⟩⟩",
    "after cases": "example (p q : Prop) (hp : p ∨ q) : ∃ n : Nat, n = n + 0 := by\n  cases hp\n  apply Exists.intro",
    "projection": "example : ∃ p : Nat × Nat, p.1 = p.2 ∧ True := by\n  refine ⟨?_, ?_, ?_⟩",
    "same tag": "example (p q r : Prop) (key : p → q → r) : r := by\n  apply key",
    "same tag and natural": "example (P : Nat → Prop) (key : ∀ n, P n → P (n + 1) → False) : False := by\n  apply key",
    "question mark names": "example (get? : Nat) (h : get? = 1) : 1 = get? ∧ get? = 1 := by\n  constructor",
}


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """The `unsolved goals` message of every example, from one Lean process."""
    starts, line = {}, 1
    for name, example in EXAMPLES.items():
        starts[name] = line
        line += example.count("\n") + 1
    messages = elaborate_file("\n".join(EXAMPLES.values()))
    goals = {each.line: each.text for each in messages if "unsolved goals" in each.text}
    return {name: goals[start] for name, start in starts.items()}


def states(text: str) -> list[str]:
    return [branch.state for branch in factorise(split_goals(text))]


def layout(text: str) -> tuple[tuple[int, ...], ...]:
    return tuple(branch.goals for branch in factorise(split_goals(text)))


def test_tags_are_removed_and_goals_are_independent_branches(printed):
    assert [goal_tag(goal) for goal in split_goals(printed["conjunction"])] == ["left", "right"]
    assert states(printed["conjunction"]) == ["p q : Prop\nhp : p\n⊢ p", "p q : Prop\nhp : p\n⊢ q"]
    assert layout(printed["conjunction"]) == ((0,), (1,))


def test_goals_that_share_a_metavariable_stay_together(printed):
    (branch,) = factorise(split_goals(printed["witness"]))
    assert branch.goals == (0, 1, 2) and branch.state == "⊢ Nat\n\n⊢ ?m.1 * ?m.1 = 49\n\n⊢ ?m.1 < 10"


def test_a_goal_that_is_itself_the_metavariable_is_joined_through_its_tag(printed):
    goals = split_goals(printed["natural"])
    assert metavariables(goals[0]) == metavariables(goals[1]) == frozenset([f"?{goal_tag(goals[2])}"])
    assert metavariables(goals[2]) == frozenset()
    assert layout(printed["natural"]) == ((0, 1, 2),)


def test_independent_goals_come_before_the_shared_branch(printed):
    (single, shared) = factorise(split_goals(printed["nested"]))
    assert single.state.endswith("⊢ 1 = 1") and len(single.goals) == 1
    assert len(shared.goals) == 4 and not set(shared.goals) & set(single.goals)


def test_an_elided_term_is_held_for_a_metavariable_only_where_there_are_some():
    assert [branch.goals for branch in factorise(["⊢ f ⋯ = 1", "⊢ g ⋯ = 1"])] == [(0,), (1,)]
    assert [branch.goals for branch in factorise(["⊢ f ⋯ = ?m.3", "⊢ g ⋯ = 1", "⊢ True"])] == [(2,), (0, 1)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("⊢ ?m.123 = ?w", {"?m.123", "?w"}),
        ("⊢ ¬?inl.h.w ∧ (?a✝ = 1)", {"?inl.h.w", "?a✝"}),
        ("⊢ xs.get? i = l[0]? ∧ exact? = q?x", set()),
        ('⊢ s = "what ?x"', set()),
        ("case x\n⊢ ?m.4.fst = 0", {"?m.4"}),
        ("h : ∃ x, ?P x\n⊢ ?«odd name» = 1", {"?P", "?«odd name»"}),
    ],
)
def test_metavariables(text, names):
    assert metavariables(text) == names


def test_equal_states_print_equally_whatever_lean_called_their_metavariables():
    assert normalise("⊢ ?inl.w = ?b.w✝ + ?inl.w") == normalise("⊢ ?m.81 = ?w + ?m.81") == "⊢ ?m.1 = ?m.2 + ?m.1"
    assert normalise("⊢ ?m.12.fst = ?u.3") == "⊢ ?m.1.fst = ?m.2"


def test_json_has_the_documented_keys_and_no_others():
    goal = from_text("n : Nat\nm : Nat := n + 1\n⊢ m = n + 1")
    assert msgspec.json.decode(msgspec.json.encode(goal)) == {
        "type": "m = n + 1",
        "hypotheses": [{"type": "Nat", "user_name": "n"}, {"type": "Nat", "user_name": "m", "value": "n + 1"}],
    }


def test_states_of_the_bank_survive_the_way_through_json():
    states = sorted({transition.state for transition in load_transitions()})[::20]
    assert len(states) > 500
    for state in states:
        goals = from_state(state)
        assert len(goals) == len(split_goals(state))
        assert state_text([to_text(goal) for goal in goals]) == state
