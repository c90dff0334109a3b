"""Which documents a plan asks for, and what it makes of what they show: without Lean."""

import pytest

from common.lean import OutcomeKind, Step, Theorem
from node.lean.process.child import Ending
from node.lean.worker.document import COPY, SENTINEL, STATE, Form, Frame, LeanDocument, Writer
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import Diagnostic, Position, Range
from node.lean.worker.reading import echoed, read, suspect_at

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


def test_many_candidates_are_divided_and_the_state_is_shown_once():
    plan = BatchPlan(AND, (), {number: f"exact h{number}" for number in range(70)})
    sizes = []
    while (document := plan.document(Frame(""))) is not None:
        assert document.brief and len(document.examples) == 1 and len(sizes) < 3
        sizes.append(len(document.blocks))
        indices = [block.index for block in document.blocks]
        assert (STATE in indices) == (len(sizes) == 1)
        errors = [error(document, index, "no progress") for index in indices if index != STATE]
        plan.take(read(document, [*errors, *([shown(document)] if STATE in indices else sentinels(document))]))
    assert sizes == [33, 32, 6] and len(plan.outcomes) == 70

    plan = BatchPlan(AND, (), {number: f"exact h{number}" for number in range(70)})
    plan.stop_brief_documents()
    assert [len(example.blocks) for example in plan.document(Frame("")).examples] == [33, 32, 6]


def test_what_a_block_says_at_its_own_place_is_its_outcome():
    plan = BatchPlan(AND, (), {0: "constructor", 1: "simp"})
    document = plan.document(Frame(""))
    two = "unsolved goals\ncase left\n⊢ p\n\ncase right\n⊢ q"
    plan.take(read(document, [goals(document, 0, two), error(document, 1, "no progress"), shown(document)]))
    assert plan.done and plan.state == SHOWN
    assert plan.outcomes[0].kind is OutcomeKind.GOALS and plan.outcomes[0].layout == ((0,), (1,))
    assert plan.outcomes[1].kind is OutcomeKind.ERROR and plan.outcomes[1].message == "no progress"


def test_goals_left_beside_an_error_are_an_error():
    plan = BatchPlan(AND, (), {0: "constructor\n· simp"}, state=SHOWN)
    document = plan.document(Frame(""))
    plan.take(read(document, [goals(document, 0, GOAL), error(document, 0, "no progress")]))
    assert plan.outcomes[0].kind is OutcomeKind.ERROR


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


@pytest.mark.parametrize("tactic", ["case left => simp", "case' left => skip", "exact ?left", "refine ?a"])
def test_candidates_that_name_a_goal_have_an_example_of_their_own(tactic):
    document = BatchPlan(AND, (), {0: tactic}, state=SHOWN).document(Frame(""))
    assert forms(document) == [(Form.SEPARATE, [0])]


@pytest.mark.parametrize("tactic", ["refine ⟨?_, ?_⟩", "exact xs.get? 1", "cases h", "exact casework"])
def test_other_candidates_are_copied(tactic):
    assert forms(BatchPlan(AND, (), {0: tactic}, state=SHOWN).document(Frame(""))) == [(Form.COPIES, [0])]


def test_probes_come_first_and_keep_garbage_out_of_the_batch():
    plan = BatchPlan(AND, (), {0: "exact (", 1: "simp"}, state=SHOWN, probe=frozenset({0, 1}))
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.PROBE, [0]), (Form.PROBE, [1])]
    taken = [at(example.first, 8, f"`{COPY}` has already been declared") for example in document.examples]
    plan.take(read(document, [error(document, 0, "unexpected token"), *taken]))
    assert plan.outcomes[0].kind is OutcomeKind.ERROR
    assert forms(plan.document(Frame(""))) == [(Form.COPIES, [1])]


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


@pytest.mark.parametrize(
    ("ending", "kind"), [(Ending.TIMEOUT, OutcomeKind.TIMEOUT), (Ending.MEMORY, OutcomeKind.MEMORY)]
)
def test_limits_that_are_passed_alone_are_the_outcome(ending, kind):
    plan = BatchPlan(AND, (), {0: "boom"}, state=SHOWN, alone=frozenset({0}))
    plan.document(Frame(""))
    plan.ended(ending, "too much", None, stuck=False)
    assert plan.done and plan.outcomes[0].kind is kind


def test_a_plan_that_never_gets_a_clear_answer_ends_with_lost_candidates():
    plan = BatchPlan(AND, (), {0: "a", 1: "b"})
    for _ in range(100):
        document = plan.document(Frame(""))
        if document is None:
            break
        plan.take(read(document, []))
    assert plan.done
    assert {outcome.kind for outcome in plan.outcomes.values()} <= {OutcomeKind.LOST, OutcomeKind.ERROR}


def test_lines_of_nested_paths_are_counted_right():
    path = (LEFT, Step("cases h", 1, ((0,), (1,), (2,))), Step("have x := 1\nskip", 0))
    writer = Writer(Frame("open Nat"))
    writer.copies(AND, path, [(0, "simp"), (1, "a\nb")], show_state=False)
    document = writer.document()
    lines = document.text.split("\n")
    for place, text in zip(document.blocks, ("(simp", "(a"), strict=True):
        assert lines[place.first].strip() == f"· {text}" and lines[place.last].strip() == ")"
        assert lines[place.first].index("·") == place.column
    assert SENTINEL in lines[document.examples[0].end]


def test_a_brief_document_is_the_same_with_an_echo_of_its_own():
    plan, other = (BatchPlan(AND, (LEFT,), {0: tactic, 1: "a\nb"}, state=SHOWN) for tactic in ("simp", "rfl"))
    brief, another = plan.document(Frame("open Nat")), other.document(Frame("open Nat"))
    assert brief.brief and "cmdlineSnapshots true" in brief.text
    assert brief.text.count(brief.echo) == 1 and brief.echo != another.echo
    assert not echoed(brief, [at(4, 2, another.echo, severity=3)]), "Lean speaks of another document"
    assert echoed(brief, [at(4, 2, brief.echo, severity=3)])
    plan.stop_brief_documents()
    document = plan.document(Frame("open Nat"))
    assert not document.brief and echoed(document, []) and "cmdlineSnapshots" not in document.text
    assert forms(document) == forms(brief) == [(Form.COPIES, [0, 1])]
    lines, brief_lines = document.text.split("\n"), brief.text.split("\n")
    for place, brief_place in zip(document.blocks, brief.blocks, strict=True):
        assert lines[place.first : place.last + 1] == brief_lines[brief_place.first : brief_place.last + 1]


def test_documents_with_more_than_one_example_are_not_brief():
    document = BatchPlan(AND, (SHARED,), dict(enumerate(["simp", "rfl"])), state=SHOWN).document(Frame(""))
    assert len(document.examples) > 1 and not document.brief
    plan = BatchPlan(AND, (), dict(enumerate(["simp", "case left => skip", "case right => skip"])), state=SHOWN)
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.COPIES, [0])] and document.brief
    plan.take(read(document, [error(document, 0, "no progress"), *sentinels(document)]))
    document = plan.document(Frame(""))
    assert forms(document) == [(Form.SEPARATE, [1]), (Form.SEPARATE, [2])] and not document.brief
    plan = BatchPlan(AND, (), {0: "simp", 1: "rfl"}, state=SHOWN, probe=frozenset({0, 1}))
    assert not plan.document(Frame("")).brief


def test_a_tactic_that_leaves_more_text_than_anybody_reads_is_an_error():
    plan = BatchPlan(AND, (), {0: "constructor"}, state=SHOWN)
    document = plan.document(Frame(""))
    huge = "unsolved goals\n" + "\n\n".join(f"h : {'x' * 5000}\n⊢ p" for _ in range(10))
    plan.take(read(document, [goals(document, 0, huge), *sentinels(document)]))
    assert plan.outcomes[0].kind is OutcomeKind.ERROR and "10 goals" in plan.outcomes[0].message


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


def test_a_candidate_without_a_message_in_a_terse_document_is_confirmed():
    plan, document = terse_plan("simp", "rfl")
    plan.take(read(document, [failed(document, 0), end(document)]))
    assert forms(plan.document(Frame(""))) == [(Form.CONFIRMATION, [1])]


def test_a_candidate_with_both_goals_and_an_error_runs_again_in_another_form():
    plan, document = terse_plan("constructor")
    both = [printed(document, 0, "p q : Prop\n⊢ p"), error(document, 0, "don't know how to synthesize placeholder")]
    plan.take(read(document, [*both, end(document)]))
    assert not plan.outcomes and forms(plan.document(Frame(""))) == [(Form.COPIES, [0])]
