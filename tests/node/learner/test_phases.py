from __future__ import annotations

from node.learner.phases import (
    CONTROL,
    DONE,
    EVALUATE_AFTER,
    EVALUATE_BEFORE,
    REPEAT_BEFORE,
    RL,
    WARM_START,
    Progress,
    RunPlan,
    advance,
    finished,
    learning_left,
    share_done,
    tick,
)


def walk(plan: RunPlan) -> list[str]:
    progress, seen = Progress(), []
    while not seen or seen[-1] != DONE:
        seen.append(progress.phase)
        progress = advance(progress, plan)
    return seen


def test_the_demo_evaluates_before_and_after_learning() -> None:
    assert walk(RunPlan(evaluate=True, minutes=5)) == [WARM_START, EVALUATE_BEFORE, RL, EVALUATE_AFTER, DONE]


def test_the_control_takes_steps_in_place_of_learning() -> None:
    plan = RunPlan(evaluate=True, steps=10)
    assert walk(plan) == [WARM_START, EVALUATE_BEFORE, CONTROL, EVALUATE_AFTER, DONE]
    progress = Progress(phase=CONTROL)
    assert not finished(tick(progress, 100, steps=9), plan)
    assert finished(tick(progress, 100, steps=10), plan)
    assert finished(progress, RunPlan(steps=0))


def test_the_evaluation_before_can_be_repeated() -> None:
    assert walk(RunPlan(evaluate=True, repeat=True, minutes=1))[1:3] == [EVALUATE_BEFORE, REPEAT_BEFORE]


def test_a_plan_without_evaluation_or_end_learns_for_ever() -> None:
    plan = RunPlan()
    assert walk(plan) == [WARM_START, RL, DONE]
    assert not finished(Progress(phase=RL, learned=1e9, worked=1e9), plan)


def test_learning_ends_after_its_minutes() -> None:
    plan = RunPlan(minutes=2)
    progress = Progress(phase=RL)
    assert learning_left(progress, plan) == 120
    progress = tick(progress, 119)
    assert not finished(progress, plan)
    assert finished(tick(progress, 1), plan)


def test_learning_is_cut_short_so_that_the_run_ends_in_time() -> None:
    plan = RunPlan(evaluate=True, minutes=60, limit=720)
    progress = tick(Progress(), 100)
    progress = tick(advance(progress, plan), 120)
    progress = advance(progress, plan)
    assert progress.phase == RL and progress.evaluation == 120
    left = learning_left(progress, plan)
    assert left == 720 - 220 - 150 - 20
    assert finished(tick(progress, left), plan)


def test_the_share_done_goes_by_time_or_by_steps() -> None:
    plan = RunPlan(minutes=2)
    assert share_done(Progress(phase=RL), plan) == 0
    assert share_done(Progress(phase=RL, learned=30), plan) == 0.25
    assert share_done(Progress(phase=RL, learned=130), plan) == 1
    assert share_done(Progress(phase=RL, learned=130), RunPlan()) is None
    assert share_done(Progress(phase=CONTROL, steps=5), RunPlan(steps=20)) == 0.25
    # Cut short by the limit: the share is of what there will be.
    assert share_done(Progress(phase=RL, learned=60, worked=120), RunPlan(minutes=10, limit=200)) == 0.5


def test_only_time_of_learning_counts_as_learning() -> None:
    progress = tick(Progress(), 50)
    assert (progress.worked, progress.learned) == (50, 0)
