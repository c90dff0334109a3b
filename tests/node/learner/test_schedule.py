from __future__ import annotations

import pytest

from common.messages import PauseHold
from node.learner.compute_hold import LENGTH, ComputeHold
from node.learner.schedule import (
    PROBE_STEPS,
    ScheduleSettings,
    TrainingTime,
    rate_factor,
    steps_due,
    wanted_outstanding,
)

SETTINGS = ScheduleSettings(fresh=100, patience=30, reuse=8, steps_limit=40)
BUDGET = 0.25


def known(worked: float = 0.0, total: float = 1e6, per_step: float = 0.1) -> TrainingTime:
    return TrainingTime(worked, total=total, per_step=per_step)


def test_training_waits_for_fresh_transitions() -> None:
    assert steps_due(SETTINGS, 64, 99, 5, known(), BUDGET) == 0
    assert steps_due(SETTINGS, 64, 100, 5, known(), BUDGET) == 12
    assert steps_due(SETTINGS, 64, 5000, 5, known(), BUDGET) == 40


def test_training_does_not_wait_for_ever() -> None:
    assert steps_due(SETTINGS, 64, 1, 31, known(), BUDGET) == 1
    assert steps_due(SETTINGS, 64, 0, 1e6, known(), BUDGET) == 0


def test_the_first_training_phase_is_short_because_nobody_knows_how_long_a_step_takes() -> None:
    assert steps_due(SETTINGS, 64, 5000, 5, TrainingTime(), BUDGET) == PROBE_STEPS


def test_training_waits_while_its_budget_is_spent() -> None:
    assert steps_due(SETTINGS, 64, 500, 5, known(worked=26, total=100), BUDGET) == 0
    assert steps_due(SETTINGS, 64, 500, 5, known(worked=24, total=100), BUDGET) == 0
    assert steps_due(SETTINGS, 64, 500, 5, known(worked=5, total=100), BUDGET) == 40


def test_a_training_phase_never_takes_more_than_the_budget() -> None:
    time = known(worked=0.0, total=30.0, per_step=0.3)
    steps = steps_due(SETTINGS, 64, 5000, 5, time, BUDGET)
    assert 20 <= steps < 40
    time.saw(steps * 0.3, steps * 0.3, steps, paused=False)
    assert 0.2 < time.share <= 0.25 and time.paused_share == 0


def test_time_in_which_inference_stands_still_is_counted_apart() -> None:
    time = TrainingTime(total=100.0)
    time.saw(10.0, 9.0, 20, paused=True)
    time.saw(10.0, 8.0, 40, paused=False)
    assert (time.worked, time.paused, time.total, time.per_step) == (20.0, 10.0, 120.0, 0.2)


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
    hold.seen(PauseHold(epoch=7, until=0.0))
    state = hold.take(now=100.0)
    assert state == PauseHold(epoch=8, until=100.0 + LENGTH)
    assert hold.take(now=101.0).epoch == 9


def test_the_compute_is_ours_only_while_the_broker_has_confirmed_it() -> None:
    hold = ComputeHold()
    state = hold.take(now=100.0)
    assert not hold.ours(100.0)
    hold.confirmed(state)
    assert hold.ours(100.0) and hold.ours(112.0) and not hold.ours(113.5)
    hold.confirmed(hold.renew(110.0))
    assert hold.ours(120.0)
    assert hold.release() == PauseHold(epoch=1, until=0.0) and not hold.ours(110.0)


def test_a_late_confirmation_of_an_older_epoch_changes_nothing() -> None:
    hold = ComputeHold()
    old = hold.take(now=100.0)
    hold.release()
    hold.take(now=200.0)
    hold.confirmed(old)
    assert not hold.ours(100.0)
