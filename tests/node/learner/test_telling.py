"""What a learner tells its mesh over a real broker: weights, the hold on the compute, gauges, points and proofs."""

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
from common.protocol.attempts import AttemptOutcome, Purpose
from common.protocol.subjects import PAUSE, RESUME
from common.records.store import Store
from common.weights import KEY
from node.learner.errors import LearnerError
from node.learner.learning import compute_hold, publisher as publisher_module
from node.learner.learning.compute_hold import KEY as PAUSE_KEY, ComputeHolder
from node.learner.learning.publisher import Publisher, versions_stored
from node.learner.run import SOLVE_WINDOW, Run
from tests.message_values import named, node_info
from tests.node.learner.builders import planned, shown
from tests.node.learner.stand_in import StandInTrainer
from tests.waiting import eventually, until

# --- weight versions on their way to inference ------------------------------------------------------------------------
MIB = 2**20


@pytest.fixture
def trainer(tmp_path: Path) -> StandInTrainer:
    return StandInTrainer(tmp_path)


async def announced(bus: Bus) -> messages.WeightsState:
    state = await bus.get_state(KEY, messages.WeightsState)
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
        return all(objects) and await bus.get_state(KEY, messages.WeightsState) is not None

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
    await bus.put_state(PAUSE_KEY, messages.PauseHold(epoch=4, seconds=9e9))
    holds = ComputeHolder(run)
    await holds.restore()
    left = await bus.get_state(PAUSE_KEY, messages.PauseHold)
    assert left is not None and left.seconds == 0, "what a killed learner held is released"
    heard.clear()
    async with holds.held() as ours:
        state = await bus.get_state(PAUSE_KEY, messages.PauseHold)
        assert ours() and state is not None and state.epoch == 5 and state.seconds > 0
        assert heard == [("pause", 5)]
        await bus.watch_state(PAUSE_KEY, messages.PauseHold, lambda state: seen.append(state) if state else None)
        await eventually(lambda: len(seen) >= 3, what="a hold that is renewed while it lasts")
        assert all(state.epoch == 5 and state.seconds > 0 for state in seen)
    state = await bus.get_state(PAUSE_KEY, messages.PauseHold)
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
    assert [each.lean for each in proofs] == [
        "theorem t (h : p ∧ p) : p := by\n  intro x\n  simp",
        "theorem t (p : Prop) : p → p := by\n  intro x\n  simp",
    ]
    (point,) = Tail(run.directory.metrics).read().points
    assert (point.step, point.values) == (12, {"loss": 1.234568}) and points[0].step == 12
    assert shown("learner_train_step") == 12
