from __future__ import annotations

import pytest

from common.protocol.messages import PauseHold
from node.learner.attempts.dispatcher import wanted_outstanding
from node.learner.learning.compute_hold import LENGTH, ComputeHold
from node.learner.learning.schedule import ScheduleSettings, TrainingTime, rate_factor, steps_due, steps_owed

SETTINGS = ScheduleSettings(fresh=100, patience=30, reuse=8, steps_limit=40)
BUDGET = 0.25


def known(worked: float = 0.0, total: float = 1e6, per_step: float = 0.1) -> TrainingTime:
    return TrainingTime(worked, total=total, per_step=per_step)


def due(transitions: int, waited: float, time: TrainingTime, steps: int = 0) -> int:
    return steps_due(SETTINGS, 64, steps_owed(SETTINGS, 64, transitions, steps), waited, time, BUDGET)


def test_training_waits_for_fresh_transitions() -> None:
    assert due(99, 5, known()) == 0
    assert due(104, 5, known()) == 13
    assert due(5000, 5, known()) == 40


def test_what_a_full_phase_leaves_is_trained_in_the_next_one() -> None:
    assert due(400, 5, known(), steps=0) == 40
    assert due(400, 5, known(), steps=36) == 14
    assert due(400, 5, known(), steps=50) == 0 and due(400, 1e6, known(), steps=50) == 0


def test_training_does_not_wait_for_ever() -> None:
    assert due(8, 31, known()) == 1
    assert due(0, 1e6, known()) == 0


def test_training_waits_while_its_budget_is_spent() -> None:
    assert due(500, 5, known(worked=26, total=100)) == 0
    assert due(500, 5, known(worked=24, total=100)) == 0
    assert due(500, 5, known(worked=5, total=100)) == 40


def test_a_training_phase_never_takes_more_than_the_budget() -> None:
    time = known(worked=0.0, total=30.0, per_step=0.3)
    steps = due(5000, 5, time)
    assert 20 <= steps < 40
    time.saw(steps * 0.3, steps * 0.3, steps, paused=False)
    assert 0.2 < time.share <= 0.25 and time.paused_share == 0


def test_learning_rates_fall_to_a_tenth_when_an_end_is_known() -> None:
    assert rate_factor(0.3, None) == 0.3
    assert rate_factor(0.3, 0.0) == pytest.approx(0.3)
    assert rate_factor(0.3, 0.5) == pytest.approx(0.165)
    assert rate_factor(0.3, 1.7) == pytest.approx(0.03)


def test_attempts_outstanding_follow_the_slots_of_the_mesh() -> None:
    assert wanted_outstanding(0) == 4
    assert wanted_outstanding(16) == 24


def test_a_hold_counts_up_from_what_the_bucket_says() -> None:
    hold = ComputeHold()
    hold.seen(None)
    hold.seen(PauseHold(epoch=7, seconds=0.0))
    state = hold.take(now=100.0)
    assert state == PauseHold(epoch=8, seconds=LENGTH)
    assert hold.take(now=101.0).epoch == 9


def test_the_compute_is_ours_only_while_the_broker_has_confirmed_it() -> None:
    hold = ComputeHold()
    state = hold.take(now=100.0)
    assert not hold.ours(100.0)
    hold.confirmed(state)
    assert hold.ours(100.0) and hold.ours(112.0) and not hold.ours(113.5)
    hold.confirmed(hold.renew(110.0))
    assert hold.ours(120.0)
    assert hold.release() == PauseHold(epoch=1, seconds=0.0) and not hold.ours(110.0)


def test_without_a_budget_all_that_is_owed_is_due_at_once() -> None:
    assert steps_due(SETTINGS, 64, 500, 5, TrainingTime(), 1.0) == 40
    assert steps_due(SETTINGS, 64, 500, 5, known(worked=100, total=100), 1.0) == 40
