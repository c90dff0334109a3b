"""Goals as JSON and as text."""

import msgspec

from node.bank.bank import load_transitions
from node.lean.text.goals import from_state, from_text, split_goals, state_text, to_text


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
