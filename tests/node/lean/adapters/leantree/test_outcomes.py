"""What servers answer, ours and others', as outcomes."""

import pytest

from common.lean import OutcomeKind
from node.lean.adapters.leantree.backend import outcome, process_failure
from node.lean.adapters.leantree.protocol import TacticAnswer, decode


def answered(text: str):
    return outcome(decode(text.encode(), TacticAnswer))


def goal(type_: str) -> str:
    return f'{{"type": "{type_}", "hypotheses": []}}'


def test_both_ways_to_say_that_nothing_is_left():
    assert answered('{"value": []}').kind is OutcomeKind.PROVED
    assert answered('{"value": [{"proof_state_id": 3, "goals": []}]}').kind is OutcomeKind.PROVED


def test_branches_without_places_are_counted_through():
    found = answered(
        f'{{"value": [{{"branch_id": 1, "goals": [{goal("A")}]}}, {{"branch_id": 2, "goals": [{goal("P ?w")}, '
        f'{goal("Nat")}]}}, {{"branch_id": 3, "goals": [{goal("B")}]}}]}}'
    )
    assert found.kind is OutcomeKind.GOALS and found.layout == ((0,), (3,), (1, 2))
    assert [branch.state for branch in found.branches] == ["⊢ A", "⊢ B", "⊢ P ?m.1\n\n⊢ Nat"]


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


def test_our_own_kind_counts_before_the_words():
    assert answered('{"error": "timed out, it says", "kind": "error"}').kind is OutcomeKind.ERROR
    assert answered('{"error": "x", "kind": "crashed"}').kind is OutcomeKind.CRASHED
    assert answered('{"error": "x", "kind": "no such kind"}').kind is OutcomeKind.ERROR
    assert answered('{"error": "an error is no proof", "kind": "proved"}').kind is OutcomeKind.ERROR
    assert answered("{}").kind is OutcomeKind.ERROR


DEATHS = [
    ("Lean REPL ran out of memory (INTERNAL PANIC) - tactic allocation exceeded", OutcomeKind.MEMORY),
    ("Lean REPL did not respond within 300s", OutcomeKind.TIMEOUT),
    ("Lean REPL process ended unexpectedly (killed by SIGSEGV)", OutcomeKind.CRASHED),
    ("Lean REPL stack overflow during tactic elaboration", OutcomeKind.CRASHED),
    ("'NoneType' object has no attribute 'stdin'", OutcomeKind.LOST),
]


@pytest.mark.parametrize(("words", "kind"), DEATHS)
def test_the_loss_of_a_process_says_something_or_nothing(words, kind):
    assert process_failure(words) is kind
