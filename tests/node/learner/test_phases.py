from __future__ import annotations

from dataclasses import replace

import pytest

from node.learner.learning.phases import (
    CONTROL,
    DONE,
    EVALUATE_AFTER,
    EVALUATE_BEFORE,
    RL,
    WARM_START,
    PlanSettings,
    Progress,
    advance,
    finished,
    learning_left,
    share_done,
    tick,
)


def walk(plan: PlanSettings) -> list[str]:
    progress, seen = Progress(), []
    while not seen or seen[-1] != DONE:
        seen.append(progress.phase)
        progress = advance(progress, plan)
    return seen


def test_learning_ends_with_its_expansions_on_whatever_machine() -> None:
    plan = PlanSettings(expansions=1000)
    progress = Progress(phase=RL, expansions=250)
    assert share_done(progress, plan) == 0.25 and not finished(tick(progress, 1e6), plan)
    assert finished(replace(progress, expansions=1000), plan)
    both = replace(plan, minutes=1.0)
    assert share_done(tick(progress, 30), both) == 0.5 and finished(tick(progress, 61), both)


def test_the_control_takes_steps_in_place_of_learning() -> None:
    plan = PlanSettings(evaluate=True, control_steps=10)
    assert walk(plan) == [WARM_START, EVALUATE_BEFORE, CONTROL, EVALUATE_AFTER, DONE]
    progress = Progress(phase=CONTROL)
    assert not finished(tick(progress, 100, steps=9), plan)
    assert finished(tick(progress, 100, steps=10), plan)
    assert finished(progress, PlanSettings(control_steps=0))


def test_learning_ends_early_when_every_theorem_is_decided_if_the_plan_says_so() -> None:
    plan = PlanSettings(minutes=30, until_decided=True)
    learning = Progress(phase=RL, learned=10.0)
    assert not finished(learning, plan) and not finished(replace(learning, undecided=1), plan)
    assert finished(replace(learning, undecided=0), plan)
    assert not finished(replace(learning, undecided=0), PlanSettings(minutes=30))
    assert finished(replace(learning, undecided=1, learned=1800.0), plan)


def test_learning_is_cut_short_so_that_the_run_ends_in_time() -> None:
    plan = PlanSettings(evaluate=True, minutes=60, limit_minutes=12)
    progress = tick(Progress(), 100)
    progress = tick(advance(progress, plan), 120)
    progress = advance(progress, plan)
    assert progress.phase == RL and progress.evaluation == 120
    left = learning_left(progress, plan)
    assert left == 720 - 220 - 150 - 20
    assert finished(tick(progress, left), plan)


def test_the_share_done_goes_by_time_or_by_steps() -> None:
    plan = PlanSettings(minutes=2)
    assert share_done(Progress(phase=RL), plan) == 0
    assert share_done(Progress(phase=RL, learned=30), plan) == 0.25
    assert share_done(Progress(phase=RL, learned=130), plan) == 1
    assert share_done(Progress(phase=RL, learned=130), PlanSettings()) is None
    assert share_done(Progress(phase=CONTROL, steps=5), PlanSettings(control_steps=20)) == 0.25
    # Cut short by the limit: the share is of what there will be.
    assert (
        share_done(Progress(phase=RL, learned=60, worked=120), PlanSettings(minutes=10, limit_minutes=200 / 60)) == 0.5
    )


SLOW = PlanSettings(evaluate=True, minutes=7.0, transitions=600, training_steps=400, limit_minutes=25.0)


def test_a_slow_machine_learns_beyond_its_minutes_until_it_has_found_and_trained_enough() -> None:
    behind = Progress(phase=RL, worked=700.0, learned=500.0, evaluation=60.0, transitions=300, training_steps=500)
    assert not finished(behind, SLOW)
    assert share_done(behind, SLOW) == pytest.approx(0.5, abs=0.02)
    assert finished(replace(behind, transitions=600), SLOW)
    assert not finished(replace(behind, transitions=600, training_steps=399), SLOW)


def test_the_limit_ends_learning_whatever_was_found_and_the_learning_rates_have_fallen_by_then() -> None:
    late = Progress(phase=RL, worked=1500 - 60 * 1.25 - 20, learned=1200.0, evaluation=60.0, transitions=100)
    assert finished(late, SLOW) and share_done(late, SLOW) == pytest.approx(1.0)
