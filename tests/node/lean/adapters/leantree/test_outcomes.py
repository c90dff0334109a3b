"""What servers answer as outcomes; and the sessions of our own server. No process."""

import pytest

from common.lean import OutcomeKind, Theorem
from node.lean.adapters.leantree import sessions as module
from node.lean.adapters.leantree.backend import outcome
from node.lean.adapters.leantree.protocol import TacticAnswer, decode
from node.lean.adapters.leantree.sessions import Sessions, State, UnknownProcess, UnknownState


def answered(text: str):
    return outcome(decode(text.encode(), TacticAnswer))


def goal(type_: str) -> str:
    return f'{{"type": "{type_}", "hypotheses": []}}'


def test_places_that_are_named_count():
    found = answered(
        f'{{"value": [{{"branch_id": 1, "goals": [{goal("A")}], "positions": [1]}}, '
        f'{{"branch_id": 2, "goals": [{goal("P ?w")}, {goal("Nat")}], "positions": [0, 2]}}]}}'
    )
    assert found.layout == ((1,), (0, 2))


def test_what_cannot_be_put_together_again_is_an_error():
    pair = f"[{goal('P ?w')}, {goal('Nat')}]"
    found = answered(f'{{"value": [{{"branch_id": 1, "goals": {pair}}}, {{"branch_id": 2, "goals": {pair}}}]}}')
    assert found.kind is OutcomeKind.ERROR and "several groups" in found.message
    huge = "x" * 40_000
    assert answered(f'{{"value": [{{"branch_id": 1, "goals": [{goal(huge)}]}}]}}').kind is OutcomeKind.ERROR


WORDS = [
    ("Tactic application timed out.", OutcomeKind.TIMEOUT),
    ("REPL returned error: Lean error:\\n(deterministic) timeout at `whnf`", OutcomeKind.TIMEOUT),
    ("Search tactics (apply?, rw?, exact?, grind?) are not allowed.", OutcomeKind.REFUSED),
    ("`sorry` not allowed in `simpa`", OutcomeKind.REFUSED),
    ("REPL returned error: Lean error:\\nunknown identifier", OutcomeKind.ERROR),
    ("the theorem about timeouts does not hold", OutcomeKind.ERROR),
]


@pytest.mark.parametrize(("words", "kind"), WORDS)
def test_errors_of_other_servers_are_sorted_by_their_words(words, kind):
    assert answered(f'{{"error": "{words}"}}').kind is kind


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
