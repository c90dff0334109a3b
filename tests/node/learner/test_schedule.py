"""When training is due, when phases end, when weights may be published, and the end of a run in numbers."""

import asyncio
import math
import random
from dataclasses import replace

import pytest

from common.protocol.messages import Heartbeat, PauseHold
from node.learner import summary
from node.learner.learning.compute_hold import LENGTH, ComputeHold
from node.learner.learning.gate import Comparison, chance, compare
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
from node.learner.learning.schedule import ScheduleSettings, TrainingTime, rate_factor, steps_due, steps_owed
from tests.node.learner.builders import row

SETTINGS = ScheduleSettings(fresh=100, patience=30, reuse=8, steps_limit=40)
BUDGET = 0.25


def known(worked: float = 0.0, total: float = 1e6, per_step: float = 0.1) -> TrainingTime:
    return TrainingTime(worked, total=total, per_step=per_step)


FULL = known(worked=100, total=100)


@pytest.mark.parametrize(
    ("transitions", "waited", "time", "steps", "budget", "expected"),
    [
        (99, 5, known(), 0, BUDGET, 0),  # too few are fresh
        (104, 5, known(), 0, BUDGET, 13),
        (5000, 5, known(), 0, BUDGET, 40),
        (400, 5, known(), 36, BUDGET, 14),  # what a full phase leaves is trained in the next one
        (400, 5, known(), 50, BUDGET, 0),
        (400, 1e6, known(), 50, BUDGET, 0),
        (8, 31, known(), 0, BUDGET, 1),  # it does not wait for ever
        (0, 1e6, known(), 0, BUDGET, 0),
        (500, 5, known(worked=26, total=100), 0, BUDGET, 0),  # the budget is spent
        (500, 5, known(worked=24, total=100), 0, BUDGET, 0),
        (500, 5, known(worked=5, total=100), 0, BUDGET, 40),
        (5000, 5, TrainingTime(), 0, 1.0, 40),  # there is none
        (5000, 5, FULL, 0, 1.0, 40),
    ],
)
def test_steps_that_are_due(
    transitions: int, waited: float, time: TrainingTime, steps: int, budget: float, expected: int
) -> None:
    assert steps_due(SETTINGS, 64, steps_owed(SETTINGS, 64, transitions, steps), waited, time, budget) == expected


def test_a_training_phase_never_takes_more_than_the_budget() -> None:
    time = known(worked=0.0, total=30.0, per_step=0.3)
    steps = steps_due(SETTINGS, 64, 500, 5, time, BUDGET)
    assert 20 <= steps < 40
    time.saw(steps * 0.3, steps * 0.3, steps, paused=False)
    assert 0.2 < time.share <= 0.25 and time.paused_share == 0


def test_learning_rates_fall_to_a_tenth_when_an_end_is_known() -> None:
    assert [rate_factor(0.3, done) for done in (None, 0.0, 0.5, 1.7)] == pytest.approx([0.3, 0.3, 0.165, 0.03])


def test_the_compute_is_ours_only_while_the_broker_has_confirmed_it() -> None:
    hold = ComputeHold()
    hold.seen(None)
    hold.seen(PauseHold(epoch=7, seconds=0.0))
    state = hold.take(now=100.0)
    assert state == PauseHold(epoch=8, seconds=LENGTH) and not hold.ours(100.0)
    hold.confirmed(state)
    assert hold.ours(100.0) and hold.ours(112.0) and not hold.ours(113.5)
    hold.confirmed(hold.renew(110.0))
    assert hold.ours(120.0) and hold.release() == PauseHold(epoch=8, seconds=0.0) and not hold.ours(110.0)


LATER = {"learned": 1200.0, "evaluation": 60.0, "transitions": 100}
SLOW = PlanSettings(evaluate=True, minutes=7.0, transitions=600, training_steps=400, limit_minutes=25.0)
BEHIND = Progress(phase=RL, worked=700.0, learned=500.0, evaluation=60.0, transitions=300, training_steps=500)
EXPANDED = Progress(phase=RL, expansions=250)
DECIDED = PlanSettings(minutes=30, until_decided=True)


@pytest.mark.parametrize(
    ("plan", "progress", "share", "over"),
    [
        (PlanSettings(minutes=2), Progress(phase=RL), 0.0, False),
        (PlanSettings(minutes=2), Progress(phase=RL, learned=30), 0.25, False),
        (PlanSettings(minutes=2), Progress(phase=RL, learned=130), 1.0, True),
        (PlanSettings(), Progress(phase=RL, learned=130), None, False),
        # Cut short by the limit: the share is of what there will be.
        (PlanSettings(minutes=10, limit_minutes=200 / 60), Progress(phase=RL, learned=60, worked=120), 0.5, False),
        # On whatever machine it ends with its expansions, or with what comes first.
        (PlanSettings(expansions=1000), tick(EXPANDED, 1e6), 0.25, False),
        (PlanSettings(expansions=1000), replace(EXPANDED, expansions=1000), 1.0, True),
        (PlanSettings(expansions=1000, minutes=1.0), tick(EXPANDED, 30), 0.5, False),
        (PlanSettings(expansions=1000, minutes=1.0), tick(EXPANDED, 61), 1.0, True),
        # A slow machine goes on until it has found and trained enough, or the limit comes; then the rates have fallen.
        (SLOW, BEHIND, pytest.approx(0.5, abs=0.02), False),
        (SLOW, replace(BEHIND, transitions=600), 1.0, True),
        (SLOW, replace(BEHIND, transitions=600, training_steps=399), 399 / 400, False),
        (SLOW, Progress(phase=RL, worked=1500 - 60 * 1.25 - 20, **LATER), pytest.approx(1.0), True),
        # It ends early when every theorem is decided, if the plan says so.
        (DECIDED, Progress(phase=RL, learned=10.0), pytest.approx(1 / 180), False),
        (DECIDED, Progress(phase=RL, learned=10.0, undecided=1), pytest.approx(1 / 180), False),
        (DECIDED, Progress(phase=RL, learned=10.0, undecided=0), pytest.approx(1 / 180), True),
        (DECIDED, Progress(phase=RL, learned=1800.0, undecided=1), 1.0, True),
        (PlanSettings(minutes=30), Progress(phase=RL, learned=10.0, undecided=0), pytest.approx(1 / 180), False),
        # The control goes by steps.
        (PlanSettings(control_steps=20), Progress(phase=CONTROL, steps=5), 0.25, False),
        (PlanSettings(control_steps=10), Progress(phase=CONTROL, steps=9), 0.9, False),
        (PlanSettings(control_steps=10), Progress(phase=CONTROL, steps=10), 1.0, True),
        (PlanSettings(control_steps=0), Progress(phase=CONTROL), 1.0, True),
    ],
)
def test_how_much_of_learning_is_done(plan: PlanSettings, progress: Progress, share: float | None, over: bool) -> None:
    assert (share_done(progress, plan), finished(progress, plan)) == (share, over)


def test_the_control_takes_steps_in_place_of_learning() -> None:
    progress, seen = Progress(), []
    while progress.phase != DONE:
        seen.append(progress.phase)
        progress = advance(progress, PlanSettings(evaluate=True, control_steps=10))
    assert seen == [WARM_START, EVALUATE_BEFORE, CONTROL, EVALUATE_AFTER]


def test_learning_is_cut_short_so_that_the_run_ends_in_time() -> None:
    plan = PlanSettings(evaluate=True, minutes=60, limit_minutes=12)
    progress = advance(tick(advance(tick(Progress(), 100), plan), 120), plan)
    assert progress.phase == RL and progress.evaluation == 120
    left = learning_left(progress, plan)
    assert left == 720 - 220 - 150 - 20 and finished(tick(progress, left), plan)


KNOWN_REFS = [("known", position) for position in range(100)]
FOUND_REFS = [("found", position) for position in range(50)]


def test_a_chance_is_that_of_at_least_one_sample_in_k() -> None:
    chances = [chance(math.log(0.25), 1), chance(math.log(0.25), 6), chance(0.0, 6)]
    assert chances == pytest.approx([0.25, 1 - 0.75**6, 1.0])
    assert 0 <= chance(-500.0, 6) < 1e-9


def compared(best: float, candidate: float, noise: float = 0.1) -> Comparison:
    """Weights with these mean chances, by transition with some noise."""
    random_number = random.Random(0)
    first = dict.fromkeys([*KNOWN_REFS, *FOUND_REFS], best)
    second = {ref: candidate + random_number.uniform(-noise, noise) for ref in first}
    found = compare(first, second, [KNOWN_REFS, FOUND_REFS], 24)
    assert found is not None and found.best == pytest.approx(best)
    return found


def test_a_loss_within_noise_of_the_threshold_is_no_damage() -> None:
    assert compared(0.5, 0.42, noise=0.02).is_damage(0.15)
    assert not compared(0.5, 0.42, noise=0.4).is_damage(0.15)


def test_known_and_found_transitions_count_the_same_if_both_were_measured_on_them_and_few_do_not() -> None:
    best = dict.fromkeys([*KNOWN_REFS, *FOUND_REFS], 0.5)
    forgotten = {ref: 0.3 if ref in KNOWN_REFS else 0.7 for ref in best}
    found = compare(best, forgotten, [KNOWN_REFS, FOUND_REFS], 24)
    assert found is not None and found.candidate == pytest.approx(0.5)
    best = dict.fromkeys(KNOWN_REFS, 0.5)
    candidate = dict.fromkeys([*KNOWN_REFS[:30], *FOUND_REFS], 0.2)
    found = compare(best, candidate, [KNOWN_REFS, FOUND_REFS], 24)
    assert found is not None and found.compared == 30
    assert compare(best, candidate, [KNOWN_REFS[:20], FOUND_REFS], 24) is None
    assert compare({}, {}, [[], []], 0) is None


# --- the end of a run: evaluations compared, totals of the mesh -------------------------------------------------------
def outcomes(*solved: int, total: int = 160) -> dict[str, bool]:
    return {f"t{index}": index in solved for index in range(total)}


def test_counts_are_exact_and_the_interval_is_that_of_the_paired_difference() -> None:
    before, after = outcomes(*range(50)), outcomes(*range(10, 80))
    found = summary.compare(before, after, seed=1)
    assert (found.total, found.before, found.after, found.both) == (160, 50, 70, 40)
    assert found.difference == pytest.approx(20 / 160)
    # 30 gained, 10 lost: standard error sqrt((40 - 20²/160) / 160²) = 0.0387.
    assert (found.low, found.high) == pytest.approx((0.125 - 1.96 * 0.0387, 0.125 + 1.96 * 0.0387), abs=0.01)


def test_a_statement_that_is_undecided_on_either_side_is_left_out_and_never_counts_as_unsolved() -> None:
    before: dict[str, bool | None] = {"a": False, "b": False, "c": True, "d": True, "e": None}
    after: dict[str, bool | None] = {"a": True, "b": None, "c": None, "d": True, "e": True}
    found = summary.compare(before, after, seed=1)
    assert (found.total, found.before, found.after, found.both) == (5, 2, 3, 1)
    assert (found.undecided_before, found.undecided_after, found.compared) == (1, 2, 2)
    alone = summary.compare({"a": False, "d": True}, {"a": True, "d": True}, seed=1)
    assert (found.difference, found.low, found.high) == (alone.difference, alone.low, alone.high) == (0.5, 0.0, 1.0)


def test_a_run_that_went_on_with_other_statements_is_compared_on_those_of_both_evaluations() -> None:
    found, left_out = summary.in_both({"before": outcomes(1, 2, total=6), "after": outcomes(1, 7, total=9)})
    assert left_out == 3 and found["before"] == outcomes(1, 2, total=6) and found["after"] == outcomes(1, total=6)
    rows = [row(f"t{index}", "test") for index in range(9)]
    assert summary.by_group(rows, found["before"], found["after"])["level"] == {"1": [6, 2, 1]}
    assert summary.in_both({"before": {"a": True}, "after": {"b": True}}) == ({"before": {}, "after": {}}, 2)


def test_several_banks_are_compared_each_by_itself() -> None:
    before, after = outcomes(*range(50)), outcomes(*range(10, 80))
    bank_of = {name: "one" if int(name[1:]) < 60 else "two" for name in before}
    found = summary.by_bank(before, after, bank_of, seed=1)
    counts = {name: (each["test_total"], each["solved_before"], each["solved_after"]) for name, each in found.items()}
    assert counts == {"one": (60, 50, 50), "two": (100, 0, 20)}
    assert found["one"]["difference"] == 0 < found["two"]["ci_low"] < 0.2 < found["two"]["ci_high"]
    assert summary.by_bank(before, after, {}, seed=1) == {}


def test_evaluations_with_nothing_decided_twice_or_of_different_theorems_say_nothing() -> None:
    found = summary.compare({"a": None, "b": True}, {"a": True, "b": None}, seed=1)
    assert (found.compared, found.difference, found.low, found.high) == (0, 0.0, -1.0, 1.0)
    with pytest.raises(ValueError, match="different theorems"):
        summary.compare(outcomes(total=3), outcomes(total=4), seed=1)


def test_counts_of_other_processes_are_kept_when_they_have_gone() -> None:
    heard = summary.Heard()

    def beat(node: str, role: str, **values: float) -> None:
        heard.hear(Heartbeat(node_id=node, role=role, time=0.0, state="running", values=values))

    beat("p1", "prover", roots_solved=3, searches=8)
    beat("p1", "prover", roots_solved=5)
    beat("p2", "prover", roots_solved=2)
    beat("p1", "prover", roots_solved=4)  # a late heartbeat
    beat("l1", "lean-proxy", proofs_accepted=7, proofs_rejected=1)
    beat("u1", "ui", roots_solved=100)
    for nonsense in (math.inf, math.nan, 1e300, -1.0):
        beat("p2", "prover", roots_solved=nonsense)
    verdicts = {"lean-proxy.proofs_accepted": 7, "lean-proxy.proofs_rejected": 1}
    assert heard.sums() == {"prover.roots_solved": 7, **verdicts}


async def test_the_last_counts_are_awaited_from_all_nodes_that_are_there() -> None:
    now = [0.0]
    heard = summary.Heard(clock=lambda: now[0])

    def beat(node: str, accepted: int) -> None:
        values = {"proofs_accepted": float(accepted)}
        heard.hear(Heartbeat(node_id=node, role="lean-proxy", time=0.0, state="running", values=values))

    await asyncio.wait_for(heard.settled(), 5)  # nobody is there
    beat("gone", 1)
    now[0] += summary.GONE_SECONDS
    beat("l1", 1)
    beat("l2", 1)
    settled = asyncio.create_task(heard.settled())
    await asyncio.sleep(0)
    for node, accepted in (("l1", 1), ("l1", 2), ("l2", 1)):
        beat(node, accepted)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not settled.done()
    beat("l2", 3)
    await asyncio.wait_for(settled, 5)
    assert heard.sums() == {"lean-proxy.proofs_accepted": 6}
