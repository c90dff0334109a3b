"""Which documents a plan asks for, and what it makes of what they show: without Lean."""

from common.lean import OutcomeKind, Step, Theorem
from node.lean.process.child import Ending
from node.lean.worker.document import COPY, SENTINEL, STATE, Form, Frame, LeanDocument
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import Diagnostic, Position, Range
from node.lean.worker.reading import read, suspect_at

AND = Theorem("t", "(p q : Prop)", "p ∧ q")
GOAL = "unsolved goals\np q : Prop\n⊢ p ∧ q"
SHOWN = "p q : Prop\n⊢ p ∧ q"
LEFT = Step("constructor", 0, ((0,), (1,)))
SHARED = Step("constructor", 1, ((1,), (0, 2)))


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


def test_candidates_stand_on_copies_of_the_goal_and_the_goal_stands_last():
    document = BatchPlan(AND, (LEFT,), {0: "simp", 1: "intro h\nexact h"}).document(Frame("open Nat"))
    lines = document.text.split("\n")
    assert lines[0] == "open Nat" and document.text.count(COPY) == 1 + 2
    assert forms(document) == [(Form.COPIES, [0, 1, STATE])]
    first, second, state = document.blocks
    assert lines[first.first] == "    · (simp" and lines[first.last].strip() == ")"
    assert lines[second.first : second.last + 1] == ["    · (intro h", "       exact h", "      )"]
    assert lines[state.first] == "    · (skip" and lines[state.last + 1] == "  · sorry"


def test_a_known_state_is_not_shown_again():
    plan = BatchPlan(AND, (), {0: "simp"}, state=SHOWN)
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.COPIES, [0])]
    plan.take(read(document, [error(document, 0, "no progress"), *sentinels(document)]))
    assert plan.outcomes[0].kind is OutcomeKind.ERROR and plan.document(Frame("")) is None


def test_what_a_block_says_at_its_own_place_is_its_outcome():
    plan = BatchPlan(AND, (), {0: "constructor", 1: "simp"})
    document = plan.document(Frame(""))
    two = "unsolved goals\ncase left\n⊢ p\n\ncase right\n⊢ q"
    plan.take(read(document, [goals(document, 0, two), error(document, 1, "no progress"), shown(document)]))
    assert plan.done and plan.state == SHOWN
    assert plan.outcomes[0].kind is OutcomeKind.GOALS and plan.outcomes[0].layout == ((0,), (1,))
    assert plan.outcomes[1].kind is OutcomeKind.ERROR and plan.outcomes[1].message == "no progress"


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
    assert plan.done
    assert (plan.outcomes[1].kind, plan.outcomes[2].kind) == (OutcomeKind.PROVED, OutcomeKind.ERROR)


def test_a_confirmation_without_a_sentinel_confirms_nothing():
    plan = BatchPlan(AND, (), {0: "exact h", 1: "exact h'"}, state=SHOWN)
    document = plan.document(Frame(""))
    plan.take(read(document, sentinels(document)))
    document = plan.document(Frame(""))
    plan.take(read(document, sentinels(document)[:1]))
    assert not plan.outcomes and forms(plan.document(Frame("")))[0][0] is Form.SEPARATE


def test_what_stands_behind_a_candidate_that_does_not_parse_is_run_again():
    plan = BatchPlan(AND, (), {0: "constructor", 1: "exact (", 2: "simp", 3: "rfl"})
    document = plan.document(Frame(""))
    refused = error(document, 1, "unexpected token ')'; expected term")
    plan.take(read(document, [goals(document, 0, GOAL), refused, at(3, 7, GOAL, end=block(document, 1).last)]))
    assert plan.outcomes[0].kind is OutcomeKind.GOALS and plan.outcomes[1].kind is OutcomeKind.ERROR
    assert plan.unparsable == {1}
    assert forms(plan.document(Frame(""))) == [(Form.COPIES, [2, 3, STATE])]


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


def test_goals_that_hold_metavariables_are_never_copied():
    several = BatchPlan(AND, (SHARED,), {0: "simp"})
    assert forms(several.document(Frame(""))) == [(Form.SEPARATE, [STATE]), (Form.SEPARATE, [0])]
    known = BatchPlan(AND, (LEFT,), {0: "simp"}, state="⊢ ?m.1 = 1")
    assert forms(known.document(Frame(""))) == [(Form.SEPARATE, [0])]
    found = BatchPlan(AND, (LEFT,), {0: "simp"})
    document = found.document(Frame(""))
    found.take(read(document, [error(document, 0, "no"), goals(document, STATE, "unsolved goals\n⊢ ?m.7 = 1")]))
    assert not found.outcomes and forms(found.document(Frame(""))) == [(Form.SEPARATE, [0])]


def test_an_error_in_the_statement_or_the_path_is_no_outcome():
    plan = BatchPlan(AND, (LEFT,), {0: "simp"})
    document = plan.document(Frame(""))
    plan.take(read(document, [at(document.examples[0].first, 20, "Unknown identifier `q`")]))
    assert plan.done and plan.bad_statement == "Unknown identifier `q`"

    plan = BatchPlan(AND, (LEFT,), {0: "simp"})
    document = plan.document(Frame(""))
    plan.take(read(document, [at(document.examples[0].statement + 1, 2, "constructor failed")]))
    assert plan.done and plan.outcomes[0].kind is OutcomeKind.LOST and "constructor failed" in plan.outcomes[0].message


def test_a_worker_that_was_stuck_in_a_candidate_makes_it_time_out():
    plan = BatchPlan(AND, (), {0: "simp", 1: "loop", 2: "rfl"})
    document = plan.document(Frame(""))
    running = suspect_at(document, [3, block(document, 1).first, block(document, STATE).first])
    assert running == 1
    plan.ended(Ending.TIMEOUT, "no answer in time", running, stuck=True)
    assert plan.outcomes[1].kind is OutcomeKind.TIMEOUT
    assert forms(plan.document(Frame(""))) == [(Form.COPIES, [0, 2, STATE])]


def test_a_candidate_that_a_worker_died_with_is_run_alone_and_crashes_only_when_it_dies_twice_more():
    plan = BatchPlan(AND, (), {0: "simp", 1: "boom"}, state=SHOWN)
    plan.document(Frame(""))
    plan.ended(Ending.DIED, "killed", 1, stuck=False)
    document = plan.document(Frame(""))
    plan.take(read(document, [error(document, 0, "no"), *sentinels(document)]))
    for expected in (None, OutcomeKind.CRASHED):
        assert forms(plan.document(Frame(""))) == [(Form.SEPARATE, [1])]
        plan.ended(Ending.DIED, "killed", 1, stuck=False)
        assert (plan.outcomes[1].kind if 1 in plan.outcomes else None) is expected
    assert plan.done


def test_a_plan_that_never_gets_a_clear_answer_ends_with_lost_candidates():
    plan = BatchPlan(AND, (), {0: "a", 1: "b"})
    for _ in range(100):
        document = plan.document(Frame(""))
        if document is None:
            break
        plan.take(read(document, []))
    assert plan.done
    assert {outcome.kind for outcome in plan.outcomes.values()} <= {OutcomeKind.LOST, OutcomeKind.ERROR}


def terse_plan(*tactics: str) -> tuple[BatchPlan, LeanDocument]:
    """A plan without error messages on a known state, and its first document, which is terse."""
    plan = BatchPlan(AND, (), dict(enumerate(tactics)), state=SHOWN, messages=False)
    document = plan.document(Frame(""))
    assert document is not None and forms(document) == [(Form.TERSE, list(range(len(tactics))))] and document.brief
    return plan, document


def printed(document: LeanDocument, index: int, text: str) -> Diagnostic:
    """What Lean prints of the goals that a candidate leaves."""
    return at(block(document, index).sentinel, 10, text, severity=3)


def failed(document: LeanDocument, index: int) -> Diagnostic:
    """The sentinel of a candidate that fails."""
    return at(block(document, index).last, 10, SENTINEL, severity=3)


def end(document: LeanDocument) -> Diagnostic:
    """The sentinel after all candidates."""
    return at(document.examples[0].end, 2, SENTINEL, severity=3)


def test_a_terse_document_settles_all_candidates_if_lean_reports_no_error():
    plan, document = terse_plan("constructor", "intro h\nexact h", "simp")
    lines = document.text.split("\n")
    second = block(document, 1)
    assert lines[second.first].endswith(f"first | refine {COPY} ?_ ?_; focus (intro h")
    assert (
        lines[second.sentinel].strip() == "); trace_state; all_goals sorry"
        and lines[second.last].strip() == f'| trace "{SENTINEL}"'
    )
    left = printed(document, 0, "case left\np q : Prop\n⊢ p\n\ncase right\np q : Prop\n⊢ q")
    plan.take(read(document, [left, failed(document, 1), printed(document, 2, ""), end(document)]))
    assert [plan.outcomes[index].kind for index in range(3)] == [
        OutcomeKind.GOALS,
        OutcomeKind.ERROR,
        OutcomeKind.PROVED,
    ]
    assert len(plan.outcomes[0].branches) == 2 and plan.done


def test_after_an_error_in_a_terse_document_a_proof_needs_a_confirmation():
    plan, document = terse_plan("exact foo", "simp")
    plan.take(read(document, [error(document, 0, "an error"), printed(document, 1, ""), end(document)]))
    assert plan.outcomes[0].kind is OutcomeKind.ERROR and 1 not in plan.outcomes
    confirmation = plan.document(Frame(""))
    assert forms(confirmation) == [(Form.CONFIRMATION, [1])]


def test_candidates_that_a_terse_document_may_not_have_reached_run_again():
    plan, document = terse_plan("simp", "omega", "exact (", "rfl")
    plan.take(read(document, [failed(document, 0), error(document, 2, "unexpected token")]))
    assert sorted(plan.outcomes) == [0, 2] and plan.unparsable == {2}
    assert forms(plan.document(Frame(""))) == [(Form.TERSE, [1, 3])]
