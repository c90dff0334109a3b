"""What a learner tells the world: gauges and counts in `/metrics`, points and proofs for the monitor."""

from __future__ import annotations

import msgspec
import pytest

from common.bus import Bus
from common.curves import Tail
from common.lean import Context, Place, Theorem
from common.protocol.attempts import AttemptOutcome, Purpose
from common.protocol.messages import Point, ProofFound
from node.learner.run import SOLVE_WINDOW, Run
from tests.node.learner.builders import planned, shown
from tests.waiting import eventually


async def test_a_proof_in_a_file_is_shown_as_its_command(run: Run, bus: Bus) -> None:
    heard: list[ProofFound] = []
    await bus.subscribe("telemetry.learner.*.proof", ProofFound, lambda _, found: heard.append(found))
    place = Place(Context.of("variable (p : Prop)\n"), "theorem t (h : p ∧ p) : p := by\n  ", "\n")
    for theorem in (Theorem("t", "", "p", place=place), Theorem("t", "(p : Prop)", "p → p")):
        attempt = msgspec.structs.replace(planned(1).attempt, theorem=theorem)
        await run.journal.proof(attempt, "  intro x\n  simp", 3)
    await eventually(lambda: len(heard) == 2)
    assert [each.lean for each in heard] == [
        "theorem t (h : p ∧ p) : p := by\n  intro x\n  simp",
        "theorem t (p : Prop) : p → p := by\n  intro x\n  simp",
    ]


async def test_the_solve_rate_is_of_recent_decided_attempts_to_prove_train_statements(run: Run) -> None:
    journal = run.journal
    assert journal.solve_rate() == 0.0
    for outcome in (AttemptOutcome.PROVED, AttemptOutcome.FAILED, AttemptOutcome.REJECTED):
        journal.counted(Purpose.TRAIN, outcome, 1)
    for outcome in AttemptOutcome:
        if not outcome.decided:
            journal.counted(Purpose.TRAIN, outcome, 1)
        journal.counted(Purpose.EVAL, outcome, 1)
        journal.counted(Purpose.DISPROVE, outcome, 1)
    assert journal.solve_rate() == pytest.approx(1 / 3)
    for _ in range(SOLVE_WINDOW):
        journal.counted(Purpose.TRAIN, AttemptOutcome.PROVED, 1)
    assert journal.solve_rate() == 1.0


async def test_a_point_is_in_the_file_in_the_gauge_and_on_the_way_to_the_monitor(run: Run, bus: Bus) -> None:
    heard: list[Point] = []
    await bus.subscribe("telemetry.learner.*.point", Point, lambda _, point: heard.append(point))
    await run.journal.point(12, {"loss": 1.23456789, "value_loss": float("nan")})
    await eventually(lambda: bool(heard))
    (point,) = Tail(run.directory.metrics).read().points
    assert (point.step, point.values) == (12, {"loss": 1.234568}) and heard[0].step == 12
    assert shown("learner_train_step") == 12
