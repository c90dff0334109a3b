"""Sessions: bounded, taken back when idle, with states of their own."""

import pytest

from common.lean import Theorem
from node.lean.adapters.leantree import sessions as module
from node.lean.adapters.leantree.sessions import Sessions, State, UnknownProcess, UnknownState

STATE = State(Theorem("t", "", "True"), (), "⊢ True")


def test_idle_ones_are_taken_back_and_busy_ones_kept():
    sessions = Sessions(3, idle_seconds=10)
    idle, used, busy = (sessions.open(0.0) for _ in range(3))
    busy.open_requests = 1
    sessions.get(used.number, 8.0)
    assert sessions.expire(10.0) == []
    assert sessions.expire(10.5) == [idle.number]
    with pytest.raises(UnknownProcess, match="idle for too long"):
        sessions.get(idle.number, 11.0)
    assert sessions.expire(18.5) == [used.number] and len(sessions) == 1


def test_states_belong_to_their_session_and_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MOST_STATES", 3)
    sessions = Sessions(2, idle_seconds=10)
    one, other = sessions.open(0.0), sessions.open(0.0)
    numbers = [one.add(STATE) for _ in range(4)]
    assert one.states == 3 and one.state(numbers[-1]) is STATE
    with pytest.raises(UnknownState, match="the last 3 are kept"):
        one.state(numbers[0])
    with pytest.raises(UnknownState, match="not found"):
        other.state(numbers[-1])
