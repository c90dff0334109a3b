"""Goals as JSON and as text."""

import msgspec
import pytest

from node.bank.bank import load_transitions
from node.lean.text.goals import (
    LeanTreeGoal,
    LeanTreeHypothesis,
    from_state,
    from_text,
    split_goals,
    state_text,
    to_text,
)


def test_json_has_the_documented_keys_and_no_others():
    goal = from_text("n : Nat\nm : Nat := n + 1\n⊢ m = n + 1")
    assert msgspec.json.decode(msgspec.json.encode(goal)) == {
        "type": "m = n + 1",
        "hypotheses": [{"type": "Nat", "user_name": "n"}, {"type": "Nat", "user_name": "m", "value": "n + 1"}],
    }


TEXTS = [
    "⊢ True",
    "p q : Prop\n⊢ p → q",
    "case h.left\np q : Prop\nhp : p\nhq : q\n⊢ q",
    "a✝ b✝ : Nat\ninst✝ : Decidable (a✝ = b✝)\n⊢ a✝ = b✝",
    "«a b» c : Nat\n⊢ «a b» = c",
    "x : Nat := 5\ny : Nat\n⊢ x = y",
    "x : Nat := 5\ny : Nat := 5\n⊢ x = y",
    "h : { a := 1 : T }.a = 1\n⊢ True",
    "h : let x := 1; x = 1\n⊢ True",
    "f : Nat → Nat\nh : ∀ (x : Nat), f x = x\n⊢ f ?m.1 = 2",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_survives_the_way_through_json(text):
    assert to_text(msgspec.json.decode(msgspec.json.encode(from_text(text)), type=LeanTreeGoal)) == text


def test_lines_that_lean_breaks_are_read_as_one():
    goal = from_text("h :\n  ∀ (x : Nat),\n    x = x\n⊢ a =\n    b")
    assert goal.hypotheses == (LeanTreeHypothesis("∀ (x : Nat), x = x", "h"),) and goal.type == "a = b"


def test_states_of_the_bank_survive_the_way_through_json():
    states = sorted({transition.state for transition in load_transitions()})[::20]
    assert len(states) > 500
    for state in states:
        goals = from_state(state)
        assert len(goals) == len(split_goals(state))
        assert state_text([to_text(goal) for goal in goals]) == state
