"""What servers answer, ours and others', as outcomes."""

import pytest

from common.lean import OutcomeKind
from node.lean.adapters.leantree.backend import outcome
from node.lean.adapters.leantree.protocol import TacticAnswer, decode


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
