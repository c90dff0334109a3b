"""The cache of outcomes: what it remembers, for how long, and what it never does."""

import pytest

from common.lean import Branch, Outcome, OutcomeKind, Step, Theorem
from node.lean.backend import OutcomeCache

TRUE = Theorem("t", "", "True")
GOALS = Outcome(OutcomeKind.GOALS, (Branch("⊢ A", (0,)), Branch("⊢ B", (1,))))


def test_an_outcome_is_remembered_with_the_states_that_it_leads_to():
    cache = OutcomeCache(10)
    cache.learn(TRUE, (), "constructor", GOALS)
    assert cache.outcome(TRUE, (), "constructor") is GOALS
    assert cache.outcome(Theorem("other name", "", "True"), (), "constructor") is GOALS
    assert cache.state(TRUE, [Step("constructor", 1, GOALS.layout)]) == "⊢ B"
    assert cache.parses(TRUE, "constructor")
    assert not cache.parses(Theorem("t", "", "True", "open Nat"), "constructor")
    assert cache.outcome(TRUE, [Step("constructor", 1, GOALS.layout)], "constructor") is None


@pytest.mark.parametrize("kind", [OutcomeKind.TIMEOUT, OutcomeKind.MEMORY, OutcomeKind.CRASHED, OutcomeKind.LOST])
def test_what_may_come_out_otherwise_next_time_is_not_remembered(kind):
    cache = OutcomeCache(10)
    cache.learn(TRUE, (), "simp", Outcome(kind))
    assert cache.outcome(TRUE, (), "simp") is None


def test_an_error_without_its_message_does_not_answer_a_request_that_needs_the_message():
    cache = OutcomeCache(10)
    cache.learn(TRUE, (), "simp", Outcome(OutcomeKind.ERROR))
    assert cache.outcome(TRUE, (), "simp") is None
    assert cache.outcome(TRUE, (), "simp", message=False) == Outcome(OutcomeKind.ERROR)
    cache.learn(TRUE, (), "simp", Outcome(OutcomeKind.ERROR, message="no progress"))
    assert cache.outcome(TRUE, (), "simp") is not None


def test_the_least_recently_used_outcome_is_forgotten_first():
    cache = OutcomeCache(2)
    proved = Outcome(OutcomeKind.PROVED)
    cache.learn(TRUE, (), "a", proved)
    cache.learn(TRUE, (), "b", proved)
    assert cache.outcome(TRUE, (), "a") is proved
    cache.learn(TRUE, (), "c", proved)
    assert [cache.outcome(TRUE, (), tactic) for tactic in "abc"] == [proved, None, proved]
