"""When the learner trains, on what, and what it leaves and tells its mesh: a real broker, no real trainer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, NotThere
from common.bus.stored import api
from common.curves import Tail
from common.lean import Context, Place, Theorem
from common.protocol import messages
from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Purpose
from common.protocol.messages import NetworkFacts, PauseHold, WeightsState
from common.protocol.subjects import PAUSE, RESUME
from common.records.store import Store
from common.seeds import derive_seed
from common.weights import KEY as WEIGHTS
from node.learner.errors import LearnerError
from node.learner.learning import compute_hold, phases, publisher as publisher_module
from node.learner.learning.compute_hold import KEY as HOLD, ComputeHolder
from node.learner.learning.loop import Learning
from node.learner.learning.phases import PlanSettings, Progress
from node.learner.learning.publisher import Publisher, versions_stored
from node.learner.replay.replay import epochs, sample
from node.learner.run import SOLVE_WINDOW, Run
from tests.message_values import named, node_info
from tests.node.learner.builders import planned, proved, result, shown
from tests.node.learner.stand_in import StandInTrainer
from tests.waiting import eventually, until

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


async def test_it_waits_trains_and_publishes(run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer) -> None:
    await record(run, 1, 3)
    await learning.turn(RL)
    assert trainer.batches == []
    await record(run, 2, 1)
    await learning.turn(RL)
    assert trainer.step_number == 3
    assert {base for refs, _ in trainer.batches for base, _ in refs} == {run.replay.refs()[0][0]}
    hold = await bus.get_state(HOLD, PauseHold)
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


async def test_the_last_turn_takes_lost_steps_and_saves(run: Run, learning: Learning, trainer: StandInTrainer) -> None:
    trainer.lose = 2
    await record(run, 1, 2)  # too few for a turn of its own
    await learning.last_turn(RL)
    assert trainer.step_number == 2 and len(trainer.batches) == 4 and trainer.saved == [2]


async def test_control_takes_supervised_steps(run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer) -> None:
    run.data.supervised.extend(("supervised", position) for position in range(20))
    await learning.control_turn(Progress(phase=phases.CONTROL), 3)
    assert learning.steps == 3
    expected = [epochs(run.data.supervised, 8, run.settings.seed, step) for step in range(3)]
    assert [refs for refs, _ in trainer.batches] == expected
    assert await bus.get_state(HOLD, PauseHold) is None and learning.time.worked == 0


async def test_inference_pauses_where_it_computes_on_the_trainers_gpu_while_there_are_pauses_left(
    run: Run, bus: Bus, trainer: StandInTrainer, learning: Learning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute_hold, "ACK_TIMEOUT", 0.05)  # nobody acknowledges here
    run.settings.schedule.pause = "auto"
    seen: list[PauseHold] = []
    await bus.watch_state(HOLD, PauseHold, lambda state: seen.append(state) if state else None)
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


async def test_worse_weights_are_held_back(run: Run, bus: Bus, learning: Learning, trainer: StandInTrainer) -> None:
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


# --- weight versions on their way to inference ------------------------------------------------------------------------
# --- weight versions on their way to inference ------------------------------------------------------------------------
MIB = 2**20


async def announced(bus: Bus) -> messages.WeightsState:
    state = await bus.get_state(WEIGHTS, messages.WeightsState)
    assert state is not None
    return state


async def published(publisher: Publisher, trainer: StandInTrainer, versions: int) -> None:
    for _ in range(versions):
        await trainer.step([])
        await publisher.publish()


async def test_a_version_is_stored_recorded_and_announced_once_and_goes_in_the_end_unless_it_is_pinned(
    run: Run, bus: Bus, trainer: StandInTrainer, tmp_path: Path
) -> None:
    run.settings.keep_weights = 2
    publisher = Publisher(run, trainer)
    await published(publisher, trainer, 1)
    row = await publisher.publish()  # nothing was trained meanwhile
    assert (row.version, row.step) == (1, 1) and len(await run.store.call(Store.weights)) == 1
    state = await announced(bus)
    assert (state.version, state.digest, state.object_name) == (1, row.digest, row.object_name)
    await publisher.pin([1], "phase")
    await published(publisher, trainer, 4)
    rows = {row.version: row for row in await run.store.call(Store.weights)}
    kept = {path.name for path in run.directory.weights.iterdir()}
    assert kept == {f"weights-{version:06d}.safetensors" for version in (1, 4, 5)}
    assert [pinned.version for pinned in (await announced(bus)).pinned] == [1]
    await bus.get_object(rows[1].object_name, tmp_path / "pinned", digest=rows[1].digest)
    assert (tmp_path / "pinned").read_bytes() == bytes([1]) * trainer.weights_bytes
    with pytest.raises(NotThere):
        await bus.get_object(rows[2].object_name, tmp_path / "old", digest=rows[2].digest)


async def test_undamaged_files_are_announced_again(run: Run, bus: Bus, trainer: StandInTrainer, tmp_path: Path) -> None:
    await published(Publisher(run, trainer), trainer, 2)
    await streams.remove(bus)
    await streams.ensure(bus)
    (run.directory.weights / "weights-000002.safetensors").write_bytes(b"damaged")
    again = Publisher(run, trainer)
    await again.restore()
    state = await announced(bus)
    assert (state.version, again.latest.version) == (1, 1)
    await bus.get_object(state.object_name, tmp_path / "fetched", digest=state.digest)
    with pytest.raises(LearnerError, match=r"\[2\] are missing"):
        await again.pin([2], "phase")


async def test_what_the_broker_has_lost_is_published_again(
    run: Run, bus: Bus, trainer: StandInTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher_module, "LOOK_EVERY", 0.05)
    publisher = Publisher(run, trainer)
    await published(publisher, trainer, 2)
    keeping = asyncio.create_task(publisher.keep())

    async def there() -> bool:
        objects = [await bus.has_object(f"weights-{version:06d}") for version in (1, 2)]
        return all(objects) and await bus.get_state(WEIGHTS, messages.WeightsState) is not None

    for lost in ("KV_{}-state", "OBJ_{}-weights"):
        await api(bus._replies, f"STREAM.DELETE.{lost.format(bus.run)}")
        await streams.ensure(bus)
        await until(there)
        state = await announced(bus)
        assert state.version == 2
        await bus.get_object(state.object_name, tmp_path / "fetched", digest=state.digest)
    keeping.cancel()


async def test_the_object_store_grows_to_what_the_run_keeps_and_a_broker_that_starts_again_leaves_it_so(
    run: Run, bus: Bus, trainer: StandInTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "WEIGHTS_BYTES", 4 * MIB)
    await streams.remove(bus)
    await streams.ensure(bus)
    trainer.weights_bytes = 3 * MIB
    publisher = Publisher(run, trainer)
    await published(publisher, trainer, 1)
    await publisher.pin([1], "phase")
    await streams.ensure(bus)
    await published(publisher, trainer, 6)
    assert (await announced(bus)).version == 7
    assert versions_stored(run.settings.keep_weights, 1) == 6


@pytest.fixture
async def small_broker(tmp_path: Path, run_name: str) -> AsyncIterator[Bus]:
    """A bus on a broker with little disk."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "store"), max_store_mb=400))
    await server.start()
    bus = await Bus.connect(server.bus, run=run_name, name="test", wait=10)
    await streams.ensure(bus)
    yield bus
    await bus.close()
    await server.stop()


async def test_weights_without_room_end_the_learner(run: Run, small_broker: Bus, trainer: StandInTrainer) -> None:
    run.ctx.bus = small_broker
    run.settings.keep_weights = 300
    trainer.weights_bytes = 2 * MIB
    with pytest.raises(LearnerError, match=r"302 versions of the weights, 2 MiB each.*max_store_mb.*keep_weights"):
        await published(Publisher(run, trainer), trainer, 1)


# --- the hold on the compute, points and proofs for the monitor -------------------------------------------------------
async def test_inference_is_held_for_an_epoch_and_released(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_hold, "RENEW_EVERY", 0.05)
    seen: list[messages.PauseHold] = []
    heard: list[tuple[str, int]] = []

    async def pause(request: messages.PauseRequest) -> messages.Message:
        heard.append(("pause", request.epoch))
        return messages.PauseAcknowledged(epoch=request.epoch, node_id="i1")

    async def resume(request: messages.PauseRequest) -> messages.Message:
        heard.append(("resume", request.epoch))
        return messages.PauseAcknowledged(epoch=request.epoch, node_id="i1", paused=False)

    await bus.serve(PAUSE, messages.PauseRequest, pause, queue=None, limit=1)
    await bus.serve(RESUME, messages.PauseRequest, resume, queue=None, limit=1)
    for number, facts in enumerate((messages.NetworkFacts(), messages.ModelFacts(model="openai:prover"))):
        await bus.register(node_info(named(f"inference-{number}"), "inference", facts=facts))
    await bus.put_state(HOLD, messages.PauseHold(epoch=4, seconds=9e9))
    holds = ComputeHolder(run)
    await holds.restore()
    left = await bus.get_state(HOLD, messages.PauseHold)
    assert left is not None and left.seconds == 0, "what a killed learner held is released"
    heard.clear()
    async with holds.held() as ours:
        state = await bus.get_state(HOLD, messages.PauseHold)
        assert ours() and state is not None and state.epoch == 5 and state.seconds > 0
        assert heard == [("pause", 5)]
        await bus.watch_state(HOLD, messages.PauseHold, lambda state: seen.append(state) if state else None)
        await eventually(lambda: len(seen) >= 3, what="a hold that is renewed while it lasts")
        assert all(state.epoch == 5 and state.seconds > 0 for state in seen)
    state = await bus.get_state(HOLD, messages.PauseHold)
    assert state is not None and state.seconds == 0 and not ours()
    assert heard == [("pause", 5), ("resume", 5)] and holds.paused > 0


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


async def test_points_and_proofs_are_told_to_the_monitor(run: Run, bus: Bus) -> None:
    points: list[messages.Point] = []
    proofs: list[messages.ProofFound] = []
    await bus.subscribe("telemetry.learner.*.point", messages.Point, lambda _, point: points.append(point))
    await bus.subscribe("telemetry.learner.*.proof", messages.ProofFound, lambda _, found: proofs.append(found))
    await run.journal.point(12, {"loss": 1.23456789, "value_loss": float("nan")})
    # A proof in a file is shown as its command.
    place = Place(Context.of("variable (p : Prop)\n"), "theorem t (h : p ∧ p) : p := by\n  ", "\n")
    for theorem in (Theorem("t", "", "p", place=place), Theorem("t", "(p : Prop)", "p → p")):
        attempt = msgspec.structs.replace(planned(1).attempt, theorem=theorem)
        await run.journal.proof(attempt, "  intro x\n  simp", 3)
    await eventually(lambda: bool(points) and len(proofs) == 2)
    begins = ("theorem t (h : p ∧ p) : p", "theorem t (p : Prop) : p → p")
    assert [each.lean for each in proofs] == [f"{each} := by\n  intro x\n  simp" for each in begins]
    (point,) = Tail(run.directory.metrics).read().points
    assert (point.step, point.values) == (12, {"loss": 1.234568}) and points[0].step == 12
    assert shown("learner_train_step") == 12
