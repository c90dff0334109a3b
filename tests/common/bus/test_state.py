import asyncio
import time

import pytest

from broker import streams
from common.bus import Bus, stored
from common.protocol.messages import PauseHold
from tests.message_values import named, node_info
from tests.waiting import eventually


def hold(epoch: int) -> PauseHold:
    return PauseHold(epoch=epoch, seconds=float(epoch))


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


async def test_a_node_that_stops_renewing_is_forgotten(bus: Bus) -> None:
    await streams.ensure(bus, node_ttl=0.4)
    await bus.register(node_info(named("prover-silent")))
    assert len(await bus.nodes()) == 1
    for _ in range(600):
        await bus.register(node_info(named("prover-lively")))
        if len(await bus.nodes()) == 1:
            break
        await asyncio.sleep(0.05)
    assert [info.node_id for info in await bus.nodes()] == [named("prover-lively")]
