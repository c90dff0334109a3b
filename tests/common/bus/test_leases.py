import asyncio
import time
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from broker import streams
from common.bus import Bus, BusSettings, Lease, NotThere, Unanswered, stored
from common.life import pulse
from common.life.context import NodeContext
from common.protocol.attempts import LEARNER, Attempt, AttemptResult
from common.protocol.messages import OversizedMessage, PauseHold
from common.protocol.subjects import result as results_of, todo
from common.settings import NodeSettings
from tests.background import connected
from tests.message_values import attempt, example_of, named, node_info
from tests.waiting import answered, eventually


async def publish(bus: Bus, *numbers: int) -> None:
    for number in numbers:
        await bus.publish_durable(todo("train"), attempt(f"a{number}"), message_id=f"a{number}")


async def take(bus: Bus, limit: int = 10, wait: float = 10.0) -> list[Lease[Attempt]]:
    return await bus.lease("todo-train", Attempt, limit=limit, wait=wait)


def ids(leases: list[Lease[Attempt]]) -> list[str]:
    return [lease.message.attempt_id for lease in leases]


async def test_what_was_published_is_leased_in_order_and_only_once(bus: Bus, other: Bus) -> None:
    await publish(bus, *range(5))
    first, second = await take(bus, limit=3), await take(other, limit=3)
    assert ids(first) + ids(second) == ["a0", "a1", "a2", "a3", "a4"]
    assert [lease.deliveries for lease in first + second] == [1] * 5 and await take(bus, wait=0) == []


async def test_an_attempt_that_is_acknowledged_or_terminated_never_comes_again(bus: Bus, other: Bus) -> None:
    await streams.ensure(bus, ack_wait=0.2)
    await publish(bus, 1, 2, 3)
    leases = await take(bus)
    await leases[0].ack()
    await leases[0].ack()
    await leases[1].terminate("poisoned")
    (again,) = await take(other, wait=20)
    assert (again.message.attempt_id, again.deliveries) == ("a3", 2)
    await again.ack()
    assert await bus.backlog() == dict.fromkeys(await bus.backlog(), 0)
    assert (await bus.leased())["todo-train"] == 0


async def test_a_lease_is_kept_while_it_is_renewed_and_one_handed_back_comes_again_later(bus: Bus, other: Bus) -> None:
    await streams.ensure(bus, ack_wait=0.7)
    await publish(bus, 1)
    (lease,) = await take(bus)
    assert lease.ack_wait == 0.7
    async with lease.kept():
        assert await take(other, wait=1.0) == []
    (again,) = await take(other, wait=20)
    assert again.deliveries == 2, "after the block it runs out"
    await again.hand_back(delay=0.4)
    start = time.monotonic()
    (later,) = await take(bus, wait=20)
    assert (later.message.attempt_id, later.deliveries) == ("a1", 3) and time.monotonic() - start > 0.2


async def cancelled_wait(bus: Bus) -> None:
    """Begin to wait for one attempt, and give up: the request stays at the broker."""
    waiting = asyncio.create_task(take(bus, limit=1, wait=60))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_a_cancelled_wait_loses_nothing(bus: Bus) -> None:
    await cancelled_wait(bus)
    await publish(bus, 1, 2)
    assert sorted(ids(await take(bus, limit=1)) + ids(await take(bus, limit=1))) == ["a1", "a2"]


async def test_what_was_delivered_but_not_taken_is_handed_back_on_leaving(broker: BusSettings, bus: Bus) -> None:
    async with connected(broker, bus.run, "leaving") as leaving:
        await cancelled_wait(leaving)
        await publish(bus, 1)
        await asyncio.sleep(0.05)
    async with asyncio.timeout(20):  # the ack wait is 30 s: it comes because it was handed back
        (lease,) = await take(bus, wait=25)
    assert lease.message.attempt_id == "a1"


async def test_more_leases_than_the_server_default_of_a_thousand(bus: Bus) -> None:
    await asyncio.gather(*(publish(bus, n) for n in range(1_100)))
    held: set[str] = set()
    while len(held) < 1_100:
        leases = await take(bus, limit=500, wait=10)
        assert leases
        held.update(ids(leases))
    assert held == {f"a{n}" for n in range(1_100)}


async def test_without_streams_nothing_is_leased_or_kept_and_oversize_is_refused(broker: BusSettings, bus: Bus) -> None:
    async with connected(broker, "bare-run") as bare:
        assert await take(bare, wait=0.1) == []
        with pytest.raises(Unanswered, match="no stream"):
            await publish(bare, 1)
        for made in (bare.put_object("w", Path(__file__)), bare.watch_state("pause", PauseHold, lambda _: None)):
            with pytest.raises(NotThere, match="created this run's streams"):
                await made
    result = msgspec.structs.replace(example_of(AttemptResult), message="x" * 600_000)
    with pytest.raises(OversizedMessage, match="parts"):
        await bus.publish_durable(results_of(LEARNER), result, message_id="a.p.0")


async def test_a_node_is_unhealthy_while_a_queue_is_refused(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "HEARTBEAT_SECONDS", 0.02)
    monkeypatch.setattr(stored, "REFUSED_PAUSE", 0.02)
    ctx = NodeContext("prover", NodeSettings(run=bus.run))
    ctx.bus, ctx.state = bus, "running"
    with capture_logs() as logs:
        beating = asyncio.create_task(pulse.beat(ctx))
        await streams.remove(bus)
        for number in (1, 2):
            with pytest.raises(Unanswered, match="no stream"):
                await bus.publish_durable(todo("train"), attempt(f"a{number}"), message_id=f"a{number}")
            assert await bus.lease("todo-train", Attempt, limit=1, wait=0) == []
        await eventually(lambda: ctx.healthz()["status"] == "unhealthy")
    while "reading todo-train" not in ctx.info().problems["queues"]:  # without a wait, a busy broker says nothing
        assert await bus.lease("todo-train", Attempt, limit=1, wait=0) == []
    assert f"writing to {bus.run}-todo" in ctx.info().problems["queues"]
    assert [line["part"] for line in logs if line["log_level"] == "error"] == ["queues"]
    await streams.ensure(bus)
    await bus.publish_durable(todo("train"), attempt("a3"), message_id="a3")
    assert len(await bus.lease("todo-train", Attempt, limit=1, wait=5)) == 1
    await eventually(lambda: ctx.healthz()["status"] == "ok")
    beating.cancel()


def hold(epoch: int) -> PauseHold:
    return PauseHold(epoch=epoch, seconds=float(epoch))


async def test_a_watch_tells_a_values_age_at_the_broker(bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600.0)
    began = time.monotonic()
    await bus.put_state("pause", hold(1))
    seen: list[float] = []
    await other.watch_aged("pause", PauseHold, lambda _, age: seen.append(age))
    await eventually(lambda: len(seen) == 1)
    assert 0 < seen[0] <= time.monotonic() - began
    await bus.put_state("pause", hold(2))
    await eventually(lambda: seen[1:] == [0.0])


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


async def test_a_watch_goes_on_in_a_bucket_made_again(bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    # The bucket begins to count anew, so the client library alone would skip as many values as there were before.
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

    async def renewed() -> list[str]:
        await bus.register(node_info(named("prover-lively")))
        return [info.node_id for info in await bus.nodes()]

    await answered(renewed, lambda names: names == [named("prover-lively")], timeout=30)
