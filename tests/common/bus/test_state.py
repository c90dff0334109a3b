import asyncio
import time
from pathlib import Path

import pytest

from broker import streams
from common.bus import Bus, BusSettings, DigestMismatch, NotThere, file_digest, stored
from common.protocol.messages import NodeInfo, PauseHold
from tests.message_values import named
from tests.waiting import eventually


def hold(epoch: int) -> PauseHold:
    return PauseHold(epoch=epoch, seconds=float(epoch))


def node(node_id: str) -> NodeInfo:
    return NodeInfo(
        node_id=named(f"prover-{node_id}"),
        role="prover",
        host="h",
        pid=1,
        version="0",
        started=1.0,
        capacity={"searches": 4},
    )


async def test_a_watch_begins_with_the_current_value_and_follows(bus: Bus, other: Bus) -> None:
    await bus.put_state("pause", hold(1))
    seen: list[PauseHold | None] = []
    await other.watch_state("pause", PauseHold, seen.append)
    await eventually(lambda: seen == [hold(1)])
    # One after the other: it is state, so a value that is gone before the watch comes to it may be left out.
    await bus.put_state("pause", hold(2))
    await eventually(lambda: seen == [hold(1), hold(2)])
    await bus.put_state("pause", hold(3))
    await eventually(lambda: seen == [hold(1), hold(2), hold(3)])


async def test_a_watch_tells_how_long_the_broker_had_the_value_whatever_our_clock_shows(
    bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600.0)
    began = time.monotonic()
    await bus.put_state("pause", hold(1))
    seen: list[float] = []
    await other.watch_aged("pause", PauseHold, lambda _, age: seen.append(age))
    await eventually(lambda: len(seen) == 1)
    assert 0 < seen[0] <= time.monotonic() - began
    await bus.put_state("pause", hold(2))
    await eventually(lambda: len(seen) == 2)
    assert seen[1] == 0.0


async def test_a_watch_of_nothing_says_so_first(bus: Bus) -> None:
    seen: list[PauseHold | None] = []
    await bus.watch_state("pause", PauseHold, seen.append)
    await eventually(lambda: seen == [None])


async def test_a_stopped_watch_is_silent(bus: Bus) -> None:
    seen: list[PauseHold | None] = []
    watch = await bus.watch_state("pause", PauseHold, seen.append)
    await eventually(lambda: seen == [None])
    await watch.unsubscribe()
    await bus.put_state("pause", hold(1))
    follower: list[PauseHold | None] = []
    await bus.watch_state("pause", PauseHold, follower.append)
    await eventually(lambda: follower == [hold(1)])
    assert seen == [None]


async def test_a_watch_sees_what_is_written_after_its_bucket_was_made_again(
    bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bucket begins to count anew, so the client library alone would skip as many values as there were before."""
    monkeypatch.setattr(stored, "WATCH_LOOK", 0.05)
    seen: list[PauseHold | None] = []
    for epoch in (1, 2, 3):
        await bus.put_state("pause", hold(epoch))
    await other.watch_state("pause", PauseHold, seen.append)
    await eventually(lambda: seen == [hold(3)])
    await streams.remove(bus)
    await streams.ensure(bus)
    await bus.put_state("pause", hold(4))
    await eventually(lambda: seen[-1] == hold(4))


async def test_a_watch_outlives_a_callback_that_raises(bus: Bus) -> None:
    seen: list[PauseHold | None] = []

    def fragile(value: PauseHold | None) -> None:
        seen.append(value)
        raise ValueError("no")

    await bus.watch_state("pause", PauseHold, fragile)
    await bus.put_state("pause", hold(1))
    await eventually(lambda: seen == [None, hold(1)])


async def test_a_node_that_stops_renewing_is_forgotten(bus: Bus) -> None:
    await streams.ensure(bus, node_ttl=0.4)
    await bus.register(node("silent"))
    assert len(await bus.nodes()) == 1
    for _ in range(600):
        await bus.register(node("lively"))
        if len(await bus.nodes()) == 1:
            break
        await asyncio.sleep(0.05)
    assert [info.node_id for info in await bus.nodes()] == [named("prover-lively")]


async def test_an_object_with_another_digest_is_not_written(bus: Bus, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new weights")
    target.write_bytes(b"old weights")
    await bus.put_object("w", source)
    with pytest.raises(DigestMismatch, match="not 0000"):
        await bus.get_object("w", target, digest="0" * 128)
    assert target.read_bytes() == b"old weights"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]


async def test_an_object_that_is_replaced_or_deleted(bus: Bus, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"one")
    await bus.put_object("w", source)
    source.write_bytes(b"two")
    await bus.get_object("w", target, digest=await bus.put_object("w", source))
    assert target.read_bytes() == b"two"
    await bus.delete_object("w")
    await bus.delete_object("w")
    with pytest.raises(NotThere):
        await bus.get_object("w", target, digest=file_digest(source))


async def test_a_run_without_streams_says_what_is_missing(broker: BusSettings, tmp_path: Path) -> None:
    bare = await Bus.connect(broker, run="bare-run-2", name="bare", wait=10)
    source = tmp_path / "f"
    source.write_bytes(b"x")
    with pytest.raises(NotThere, match="created this run's streams"):
        await bare.put_object("w", source)
    with pytest.raises(NotThere, match="created this run's streams"):
        await bare.watch_state("pause", PauseHold, lambda _: None)
    await bare.close()
