"""Results are divided so that every part fits in a message and nothing is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from node.prover.results import divide

from common.lean import ProofTree
from common.messages import MAX_MESSAGE_BYTES, AttemptResult, Purpose, Transition, encode


def result(transitions: list[Transition], script: str = "  simp") -> AttemptResult:
    return AttemptResult(
        attempt_id="a",
        theorem_id="t",
        purpose=Purpose.TRAIN,
        prover_id="p",
        outcome="proved",
        proof=ProofTree("simp"),
        script=script,
        transitions=tuple(transitions),
    )


def test_small_result_is_one_part() -> None:
    (only,) = divide(result([Transition("⊢ p", "simp", 1)]))
    assert (only.part, only.parts, len(only.transitions)) == (0, 1, 1)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 900), max_size=80), st.integers(4_000, 9_000))
def test_parts_fit_and_hold_every_transition_in_order(sizes: list[int], limit: int) -> None:
    transitions = [Transition("p" * size, f"t{index}", index) for index, size in enumerate(sizes)]
    parts = divide(result(transitions), limit)
    assert all(len(encode(part)) <= limit for part in parts)
    assert [part.part for part in parts] == list(range(len(parts)))
    assert {part.parts for part in parts} == {len(parts)}
    assert [transition for part in parts for transition in part.transitions] == transitions
    assert parts[0].proof is not None and parts[0].script == "  simp"


def test_megabytes_of_transitions_travel_in_messages_of_the_real_limit() -> None:
    transitions = [Transition("⊢ p" * 5000, f"t{index}", 1) for index in range(100)]
    parts = divide(result(transitions))
    assert len(parts) >= 3
    assert sum(len(part.transitions) for part in parts) == 100


def test_proof_that_fits_no_message_becomes_an_error_that_says_so() -> None:
    (only,) = divide(result([], script="x" * (MAX_MESSAGE_BYTES + 1)))
    assert only.outcome == "error" and "too large" in only.message and only.proof is None


def test_transition_that_fits_no_message_becomes_an_error_that_says_so() -> None:
    (only,) = divide(result([Transition("x" * (MAX_MESSAGE_BYTES + 1), "t", 1)]))
    assert only.outcome == "error" and "transition" in only.message
