"""When the learner trains, on what, and what it leaves: over a real broker, with a trainer that learns nothing."""

from pathlib import Path

import msgspec
import pytest

from common.bus import Bus
from common.curves import Tail
from common.protocol.attempts import AttemptStatistics
from common.protocol.messages import NetworkFacts, PauseHold, WeightsState
from common.records.store import Store
from common.seeds import derive_seed
from common.weights import KEY as WEIGHTS
from node.learner.learning import compute_hold, phases
from node.learner.learning.compute_hold import KEY as PAUSE, ComputeHolder
from node.learner.learning.loop import Learning
from node.learner.learning.phases import PlanSettings, Progress
from node.learner.learning.publisher import Publisher
from node.learner.replay.replay import epochs, sample
from node.learner.run import Run
from tests.message_values import named, node_info
from tests.node.learner.builders import planned, proved, result, shown
from tests.node.learner.stand_in import StandInTrainer
from tests.waiting import eventually

RL = Progress(phase=phases.RL, learned=100.0)


@pytest.fixture
def trainer(tmp_path: Path) -> StandInTrainer:
    return StandInTrainer(tmp_path)


@pytest.fixture
async def learning(run: Run, trainer: StandInTrainer) -> Learning:
    """Trains 8 transitions a step on each 4 that are fresh, 6 times each: 3 steps."""
    run.settings.trainer.batch = 8
    changes = {"fresh": 4, "reuse": 6.0, "pause": "always", "pause_budget": 0.5, "checkpoint_every": 5}
    for name, value in changes.items():
        setattr(run.settings.schedule, name, value)
    return await begun(run, trainer)


async def begun(run: Run, trainer: StandInTrainer, publisher: Publisher | None = None, warm_steps: int = 0) -> Learning:
    """Learning in a process of its own, in the middle of a run."""
    publisher = publisher or Publisher(run, trainer)
    learning = Learning(run, PlanSettings(minutes=10.0), trainer, publisher, ComputeHolder(run))
    learning.warm_steps = warm_steps
    await learning.restore(RL)
    return learning


async def record(run: Run, number: int, transitions: int, weights: int = 0) -> None:
    """A proof with so many transitions that no other has."""
    plan = planned(number)
    await run.store.call(Store.dispatch, [plan], 1.0)
    found = msgspec.structs.replace(result(plan.attempt), statistics=AttemptStatistics(weights_last=weights))
    await run.store.call(Store.record, found, proved(transitions, number * 100), 2.0)
    await run.fill_replay()


async def test_it_waits_until_enough_is_fresh_then_trains_holds_the_compute_and_publishes(
    run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer
) -> None:
    await record(run, 1, 3)
    await learning.turn(RL)
    assert trainer.batches == []
    await record(run, 2, 1)
    await learning.turn(RL)
    assert trainer.step_number == 3
    assert {base for refs, _ in trainer.batches for base, _ in refs} == {run.replay.refs()[0][0]}
    hold = await bus.get_state(PAUSE, PauseHold)
    assert hold is not None and (hold.epoch, hold.seconds) == (1, 0.0)
    state = await bus.get_state(WEIGHTS, WeightsState)
    assert state is not None and (state.version, state.step) == (1, 3)
    assert shown("learner_pause_ratio") == pytest.approx(learning.time.paused_share) and learning.time.paused > 0
    assert shown("learner_train_step") == 3
    await learning.turn(RL)  # nothing is fresh any more
    assert trainer.step_number == 3


async def test_batches_derive_from_seed_and_step_and_mix(run: Run, learning: Learning, trainer: StandInTrainer) -> None:
    run.data.supervised.extend(("supervised", position) for position in range(5))
    run.settings.replay.supervised_share = 0.5
    await record(run, 1, 4)
    await learning.turn(RL)
    window = run.replay.refs()
    seeds = [derive_seed(run.settings.seed, "batch", step) for step in range(3)]
    expected = [sample(run.data.supervised, window, 8, 0.5, seed) for seed in seeds]
    assert [refs for refs, _ in trainer.batches] == expected
    assert {base == "supervised" for refs, _ in trainer.batches for base, _ in refs} == {True, False}


async def test_the_last_turn_trains_on_what_is_still_fresh_takes_lost_steps_again_and_saves(
    run: Run, learning: Learning, trainer: StandInTrainer
) -> None:
    trainer.lose = 2
    await record(run, 1, 2)  # too few for a turn of its own
    await learning.last_turn(RL)
    assert trainer.step_number == 2 and len(trainer.batches) == 4 and trainer.saved == [2]


async def test_the_control_takes_supervised_steps_and_pauses_nobody(
    run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer
) -> None:
    run.data.supervised.extend(("supervised", position) for position in range(20))
    assert await learning.control_turn(Progress(phase=phases.CONTROL), 3) == 3
    expected = [epochs(run.data.supervised, 8, run.settings.seed, step) for step in range(3)]
    assert [refs for refs, _ in trainer.batches] == expected
    assert await bus.get_state(PAUSE, PauseHold) is None and learning.time.worked == 0


async def test_inference_pauses_where_it_computes_on_the_trainers_gpu_while_there_are_pauses_left(
    run: Run, bus: Bus, trainer: StandInTrainer, learning: Learning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute_hold, "ACK_TIMEOUT", 0.05)  # nobody acknowledges here
    run.settings.schedule.pause = "auto"
    seen: list[PauseHold] = []
    await bus.watch_state(PAUSE, PauseHold, lambda state: seen.append(state) if state else None)
    held = []
    for number, (gpus, gpu, budget, paused) in enumerate(
        (
            ((), "GPU-a", 0.5, False),  # the trainer is on the CPU
            (("GPU-a",), "GPU-b", 0.5, False),
            (("GPU-a",), "", 0.5, False),  # inference is
            (("GPU-a",), "GPU-a", 0.0, False),  # the pauses are used up
            (("GPU-a",), "GPU-a", 0.5, True),
            (("GPU-a",), None, 0.5, True),  # an unknown GPU
        ),
        start=1,
    ):
        trainer.group.gpus, run.settings.schedule.pause_budget = gpus, budget
        await bus.register(node_info(named("inference"), "inference", facts=NetworkFacts(gpu=gpu)))
        beside = await begun(run, trainer)
        await record(run, number, 4)
        await beside.turn(RL)
        assert trainer.step_number == 3 * number and beside.time.worked > 0 and (beside.time.paused > 0) == paused
        held += [gpus] * paused
    await eventually(lambda: [hold.gpus for hold in seen if hold.seconds] == held)


def known_theorems(run: Run, count: int = 40) -> None:
    """Transitions of theorems that the warm start was not trained on."""
    run.data.validation.extend(("validation", position) for position in range(count))


async def test_weights_that_are_worse_on_held_out_transitions_are_held_back_until_they_are_not(
    run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer
) -> None:
    known_theorems(run)
    learning = await begun(run, trainer)
    run.settings.schedule.pause_budget = 1.0
    published = []
    for number, (before, after) in enumerate([(-1.0, -0.9), (-0.9, -2.0), (-2.0, -1.5), (-1.5, -0.8)], start=1):
        await record(run, number, 4)
        trainer.log_probability = before
        trainer.on_step = after
        await learning.turn(RL)
        state = await bus.get_state(WEIGHTS, WeightsState)
        published.append(state.step if state else 0)
    assert published == [3, 3, 3, 12]


async def test_a_run_ends_with_weights_that_act(run: Run, learning: Learning, trainer: StandInTrainer) -> None:
    known_theorems(run)
    publisher = Publisher(run, trainer)
    await publisher.publish()
    learning = await begun(run, trainer, publisher)
    await record(run, 1, 4)
    trainer.on_step = -3.0
    await learning.last_turn(RL)
    assert trainer.step_number == 3 and publisher.latest.step == 0
    assert trainer.restored == [publisher.latest_file] and trainer.replaced == [3]


async def test_a_restart_measures_against_the_published(run: Run, learning: Learning, trainer: StandInTrainer) -> None:
    known_theorems(run)
    publisher = Publisher(run, trainer)
    run.settings.schedule.pause_budget = 1.0
    learning = await begun(run, trainer, publisher)
    await record(run, 1, 4)
    await learning.turn(RL)
    assert publisher.latest_step == 3
    trainer.group.step_number = 1  # a checkpoint that is older than what was published
    trainer.on_step = -3.0
    again = await begun(run, trainer, publisher)
    await record(run, 2, 4)
    await again.turn(RL)
    assert trainer.step_number == 6 and publisher.latest_step == 3


async def test_steps_that_a_crash_has_undone_are_taken_again_and_those_of_the_warm_start_do_not_count(
    run: Run, learning: Learning, trainer: StandInTrainer
) -> None:
    run.settings.schedule.pause_budget = 1.0
    trainer.group.step_number = 50
    learning.warm_steps = 50
    await learning.restore(RL)
    await record(run, 1, 4)
    await learning.turn(RL)
    assert trainer.step_number == 53
    trainer.group.step_number = 50
    again = await begun(run, trainer, warm_steps=50)
    await again.last_turn(RL)
    assert trainer.step_number == 53


async def test_weights_that_a_failing_trainer_brings_back_are_not_published_unmeasured(
    run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer
) -> None:
    publisher = Publisher(run, trainer)
    await publisher.publish()
    learning = await begun(run, trainer, publisher)
    await record(run, 1, 4)
    trainer.back_to = 1
    await learning.turn(RL)
    state = await bus.get_state(WEIGHTS, WeightsState)
    assert state is not None and state.step == 0 and publisher.latest_step == 0


async def test_points_tell_how_fresh_and_how_often_used_what_was_trained_on_is(run: Run, learning: Learning) -> None:
    run.settings.schedule.pause_budget = 1.0
    await record(run, 1, 4)
    await learning.turn(RL)
    first = Tail(run.directory.metrics).read().points[-1].values
    assert 1 <= first["replay_uses_mean"] <= first["replay_uses_max"] <= 24  # 3 steps of 8 on 4 transitions
    assert "replay_age_steps" not in first  # they were found without weights
    await record(run, 2, 4, weights=1)  # those of step 3
    await learning.turn(RL)
    second = Tail(run.directory.metrics).read().points[-1].values
    assert second["replay_age_steps"] == pytest.approx((0 + 1 + 2) / 3, abs=1e-5)
    assert second["replay_uses_max"] > first["replay_uses_max"]
