"""Without Lean: which documents a plan asks for and what it makes of what they show; and messages of the language
server protocol, cut out of a byte stream."""

import msgspec
import pytest

from common.lean import OutcomeKind, Step, Theorem
from node.lean.process.child import Ending
from node.lean.worker import process
from node.lean.worker.document import SENTINEL, STATE, Form, Frame, LeanDocument
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import Diagnostic, Position, Range
from node.lean.worker.reading import read

AND = Theorem("t", "(p q : Prop)", "p ∧ q")
GOAL = "unsolved goals\np q : Prop\n⊢ p ∧ q"
SHOWN = "p q : Prop\n⊢ p ∧ q"


def at(line: int, column: int, message: str, severity: int = 1, end: int | None = None) -> Diagnostic:
    end = line if end is None else end
    return Diagnostic(Range(Position(line, column), Position(end, column + 1)), message, severity)


def block(document: LeanDocument, index: int):
    return next(block for block in document.blocks if block.index == index)


def goals(document: LeanDocument, index: int, message: str) -> Diagnostic:
    """Lean's message that a bullet has goals left."""
    place = block(document, index)
    return at(place.first, place.column, message, end=place.last)


def error(document: LeanDocument, index: int, message: str) -> Diagnostic:
    place = block(document, index)
    return at(place.first, place.column + 3, message)


def sentinels(document: LeanDocument) -> list[Diagnostic]:
    """All sentinels of a document, as when nothing went wrong."""
    lines = document.text.split("\n")
    return [at(number, 2, SENTINEL, severity=3) for number, line in enumerate(lines) if f'"{SENTINEL}"' in line]


def shown(document: LeanDocument) -> Diagnostic:
    return goals(document, STATE, GOAL)


def forms(document: LeanDocument) -> list[tuple[Form, list[int]]]:
    return [(example.form, [block.index for block in example.blocks]) for example in document.examples]


def kinds(plan: BatchPlan) -> dict[int, OutcomeKind]:
    return {index: outcome.kind for index, outcome in plan.outcomes.items()}


def test_silence_has_to_be_confirmed_in_an_example_without_errors():
    plan = BatchPlan(AND, (), {0: "simp", 1: "exact h", 2: "exact _"})
    document = plan.document(Frame(""))
    plan.take(read(document, [error(document, 0, "no"), shown(document)]))
    assert set(plan.outcomes) == {0}
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.CONFIRMATION, [1, 2])]
    plan.take(read(document, [error(document, 2, "don't know how to synthesize placeholder"), *sentinels(document)]))
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.SEPARATE, [1]), (Form.SEPARATE, [2])]
    plan.take(read(document, [error(document, 2, "don't know how to synthesize placeholder"), *sentinels(document)]))
    assert plan.done and kinds(plan) == {0: OutcomeKind.ERROR, 1: OutcomeKind.PROVED, 2: OutcomeKind.ERROR}


def test_a_runaway_candidate_and_those_behind_it_are_run_again_it_alone():
    plan = BatchPlan(AND, (), {0: "simp", 1: "loop", 2: "rfl"}, state=SHOWN)
    document = plan.document(Frame(""))
    out = "(deterministic) timeout at `whnf`, maximum number of heartbeats (40000) has been reached"
    plan.take(read(document, [error(document, 0, "no"), error(document, 1, out)]))
    assert set(plan.outcomes) == {0}
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.COPIES, [2])]
    plan.take(read(document, [error(document, 2, "no"), *sentinels(document)]))
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.SEPARATE, [1])]
    plan.take(read(document, [error(document, 1, out)]))
    assert plan.done and plan.outcomes[1].kind is OutcomeKind.TIMEOUT


def test_a_candidate_that_a_worker_died_with_is_run_alone_and_crashes_only_when_it_dies_twice_more():
    plan = BatchPlan(AND, (), {0: "simp", 1: "boom"}, state=SHOWN)
    plan.document(Frame(""))
    plan.ended(Ending.DIED, "killed", 1, stuck=False)
    document = plan.document(Frame(""))
    plan.take(read(document, [error(document, 0, "no"), *sentinels(document)]))
    for expected in (None, OutcomeKind.CRASHED):
        assert forms(plan.document(Frame(""))) == [(Form.SEPARATE, [1])]
        plan.ended(Ending.DIED, "killed", 1, stuck=False)
        assert kinds(plan).get(1) is expected
    assert plan.done


def test_a_plan_that_never_gets_a_clear_answer_ends_with_lost_candidates():
    plan = BatchPlan(AND, (), {0: "a", 1: "b"})
    for _ in range(100):
        document = plan.document(Frame(""))
        if document is None:
            break
        plan.take(read(document, []))
    assert plan.done and {*kinds(plan).values()} <= {OutcomeKind.LOST, OutcomeKind.ERROR}


def terse_plan(*tactics: str) -> tuple[BatchPlan, LeanDocument]:
    """A plan without error messages on a known state, and its first document, which is terse."""
    plan = BatchPlan(AND, (), dict(enumerate(tactics)), state=SHOWN, messages=False)
    document = plan.document(Frame(""))
    assert document is not None and forms(document) == [(Form.TERSE, list(range(len(tactics))))] and document.brief
    return plan, document


def failed(document: LeanDocument, index: int) -> Diagnostic:
    """The sentinel of a candidate that fails."""
    return at(block(document, index).last, 10, SENTINEL, severity=3)


def end(document: LeanDocument) -> Diagnostic:
    """The sentinel after all candidates."""
    return at(document.examples[0].end, 2, SENTINEL, severity=3)


def test_candidates_that_a_terse_document_may_not_have_reached_run_again():
    plan, document = terse_plan("simp", "omega", "exact (", "rfl")
    plan.take(read(document, [failed(document, 0), error(document, 2, "unexpected token")]))
    assert sorted(plan.outcomes) == [0, 2] and plan.unparsable == {2}
    assert forms(plan.document(Frame(""))) == [(Form.TERSE, [1, 3])]


EXISTS = Theorem("t", "", "∃ n, 3 ≤ n")
SHARED = (Step("apply Exists.intro", 0, ((0, 1),)),)
"""After it, a candidate for `3 ≤ ?w` decides `?w`."""


def undone_plan(*tactics: str, path: tuple[Step, ...] = SHARED) -> BatchPlan:
    """A plan without error messages on a known state with a metavariable."""
    return BatchPlan(EXISTS, path, dict(enumerate(tactics)), state="⊢ 3 ≤ ?m.1\n\n⊢ Nat", messages=False)


def left(document: LeanDocument, index: int, *goals: str) -> Diagnostic:
    """Lean's message when a candidate is taken back: the goals that it leaves."""
    return at(block(document, index).sentinel, 6, "unsolved goals\n" + "\n\n".join(goals))


def test_candidates_that_leave_no_goals_run_again_after_an_undone_example():
    plan = undone_plan("skip", "omega", "exact Nat.le_refl 3", "have : 1 = 2 := by skip", "case h => skip")
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.UNDONE, [0, 1, 2])] and document.brief
    refused = at(block(document, 1).last, 8, "The tactic provided to `fail_if_success` succeeded")
    both = left(document, 0, "case h\n⊢ 3 ≤ ?w", "case w\n⊢ Nat")
    plan.take(read(document, [both, refused, left(document, 2), end(document)]))
    assert kinds(plan) == {0: OutcomeKind.GOALS, 1: OutcomeKind.ERROR} and plan.outcomes[0].layout == ((0, 1),)
    assert forms(plan.document(Frame(""))) == [(Form.SEPARATE, [2]), (Form.SEPARATE, [3]), (Form.SEPARATE, [4])]


def test_after_an_error_in_the_steps_before_it_nothing_is_undone_any_more():
    plan = undone_plan("skip", "rfl")
    document = plan.document(Frame(""))
    plan.take(read(document, [at(block(document, 1).first - 1, 6, "unknown identifier"), end(document)]))
    assert not plan.outcomes
    assert forms(plan.document(Frame(""))) == [(Form.SEPARATE, [0]), (Form.SEPARATE, [1])]


def test_nothing_is_undone_behind_a_step_that_names_a_goal():
    named = (*SHARED, Step("case' h => skip", 0, ((0, 1),)))
    assert forms(undone_plan("skip", path=named).document(Frame(""))) == [(Form.SEPARATE, [0])]
    alone = (*named, Step("exact Nat.le_refl 3"))  # a single goal can be copied
    assert forms(undone_plan("skip", path=alone).document(Frame(""))) == [(Form.UNDONE, [0])]


def frame(message: object) -> bytes:
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_messages_come_whole_however_the_stream_is_cut():
    sent = {"method": "a", "params": {"text": "∀ ∃"}}, {"id": 7, "result": None}, {"method": "b"}
    stream = b"".join(map(frame, sent))
    for size in (1, 2, 3, 7, 1000):
        decoder = process.Decoder()
        parts = [stream[start : start + size] for start in range(0, len(stream), size)]
        messages = [message for part in parts for message in decoder.feed(part)]
        assert [(message.method, message.id) for message in messages] == [("a", None), ("", 7), ("b", None)]
        assert msgspec.json.decode(messages[0].params) == {"text": "∀ ∃"}


@pytest.mark.parametrize(
    "data",
    [
        b"no header at all" * 1000,
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: 999999999999\r\n\r\n",
        b"Content-Length: 3\r\n\r\nxyz",
        b"Something: 3\r\n\r\nxyz",
    ],
)
def test_what_is_not_the_protocol_raises(data):
    with pytest.raises(process.FramingError):
        list(process.Decoder().feed(data))
