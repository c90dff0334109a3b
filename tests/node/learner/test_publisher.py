"""Weight versions on their way to inference, over a real broker."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, NotThere
from common.bus.stored import api
from common.protocol.messages import WeightsState
from common.records.store import Store
from common.weights import KEY
from node.learner.errors import LearnerError
from node.learner.learning import publisher as publisher_module
from node.learner.learning.publisher import Publisher, versions_stored
from node.learner.run import Run
from tests.node.learner.stand_in import StandInTrainer
from tests.waiting import until

MIB = 2**20


@pytest.fixture
def trainer(tmp_path: Path) -> StandInTrainer:
    return StandInTrainer(tmp_path)


async def announced(bus: Bus) -> WeightsState:
    state = await bus.get_state(KEY, WeightsState)
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


async def test_what_an_earlier_process_published_is_announced_again_without_damaged_files(
    run: Run, bus: Bus, trainer: StandInTrainer, tmp_path: Path
) -> None:
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
        return all(objects) and await bus.get_state(KEY, WeightsState) is not None

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


async def test_weights_that_the_broker_has_no_room_for_end_the_learner_with_what_to_do(
    run: Run, small_broker: Bus, trainer: StandInTrainer
) -> None:
    run.ctx.bus = small_broker
    run.settings.keep_weights = 300
    trainer.weights_bytes = 2 * MIB
    with pytest.raises(LearnerError, match=r"302 versions of the weights, 2 MiB each.*max_store_mb.*keep_weights"):
        await published(Publisher(run, trainer), trainer, 1)
