"""The broker is killed and restarted on its store: acknowledged messages are still there, and nodes reconnect."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
import uvloop

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings, Lease, Unanswered
from common.bus.connection import DROPPED, OUTAGE_BUFFER_BYTES, SLOW_CONSUMERS, Connection
from common.protocol.attempts import Attempt
from common.protocol.messages import Heartbeat, LogRecord, PauseAcknowledged, PauseHold, PauseRequest
from common.protocol.subjects import telemetry, todo
from tests.background import start_again
from tests.message_values import attempt, heartbeat, named
from tests.waiting import answered, eventually

pytestmark = pytest.mark.broker


async def connect(server: Server, name: str = "node") -> Bus:
    return await Bus.connect(server.bus, run="outage", name=name, wait=10)


async def acknowledge(leases: list[Lease[Attempt]]) -> set[str]:
    """Acknowledge leases of before the outage; returns the attempts whose acknowledgement the broker did not confirm.

    A killed broker may have forgotten that it gave out the last few: it ignores their acknowledgement, and gives
    them out again. What it confirms, it keeps.
    """
    answers = await asyncio.gather(*(lease.ack() for lease in leases), return_exceptions=True)
    pairs = list(zip(leases, answers, strict=True))
    assert all(answer is None or isinstance(answer, Unanswered) for _, answer in pairs)
    return {lease.message.attempt_id for lease, answer in pairs if answer is not None}


async def test_acknowledged_work_and_state_survive_a_killed_broker(own_broker: Server, tmp_path: Path) -> None:
    bus = await connect(own_broker)
    await streams.ensure(bus)
    for number in range(50):
        await bus.publish_durable(todo("train"), attempt(f"a{number}"), message_id=f"a{number}")
    await bus.put_state("pause", PauseHold(epoch=3, seconds=4.0))
    weights = tmp_path / "weights"
    weights.write_bytes(b"w" * 300_000)
    digest = await bus.put_object("w1", weights)
    held = await bus.lease("todo-train", Attempt, limit=20, wait=10)
    for lease in held[:10]:
        await lease.ack()
    await own_broker.stop(grace=0)
    await eventually(lambda: not bus.connected, what="loss of the broker")
    await start_again(own_broker)
    await eventually(lambda: bus.connected, timeout=30, what="return of the broker")
    unconfirmed = await acknowledge(held[10:])
    await bus.publish_durable(todo("train"), attempt("a49"), message_id="a49")  # a repetition, dropped by its id
    expected = {f"a{number}" for number in range(20, 50)} | unconfirmed
    left: list[str] = []
    while len(left) < len(expected):
        for lease in await bus.lease("todo-train", Attempt, limit=50, wait=10):
            left.append(lease.message.attempt_id)
            await lease.ack()
    assert sorted(left) == sorted(expected)
    assert await bus.lease("todo-train", Attempt, limit=1, wait=0) == []
    assert await bus.get_state("pause", PauseHold) == PauseHold(epoch=3, seconds=4.0)
    await bus.get_object("w1", tmp_path / "again", digest=digest)
    await bus.close()


async def test_an_outage_ends_what_waits_and_watches_servers_and_readers_go_on_after_it(own_broker: Server) -> None:
    bus, other = await connect(own_broker), await connect(own_broker, "other")
    await streams.ensure(bus)
    await bus.put_state("pause", PauseHold(epoch=1, seconds=0.0))
    seen: list[PauseHold | None] = []
    heard: list[float] = []
    started = asyncio.Event()

    async def handler(request: PauseRequest) -> PauseAcknowledged:
        if request.epoch == 0:
            started.set()
            await asyncio.Event().wait()
        return PauseAcknowledged(epoch=request.epoch, node_id="other")

    def ask(epoch: int, timeout: float) -> Awaitable[PauseAcknowledged]:
        return bus.request("ctl.x", PauseRequest(epoch, 0.0), PauseAcknowledged, timeout=timeout)

    await other.watch_state("pause", PauseHold, seen.append)
    await other.subscribe("telemetry.>", Heartbeat, lambda _, message: heard.append(message.time))
    await other.serve("ctl.x", PauseRequest, handler, queue="q", limit=2)
    await eventually(lambda: len(seen) == 1)
    assert await bus.lease("todo-train", Attempt, limit=1, wait=0) == []
    leasing = asyncio.create_task(bus.lease("todo-train", Attempt, limit=1, wait=600))
    open_request = asyncio.ensure_future(ask(0, timeout=600))
    await started.wait()
    await answered(bus.queues, lambda queues: queues["todo-train"].pulls == 1)
    # 1. What waits for the broker ends at once, and nothing new is asked.
    await own_broker.stop(grace=0)
    async with asyncio.timeout(30):
        with pytest.raises(Unanswered, match="broker was lost"):
            await open_request
        assert await leasing == []
    await eventually(lambda: not bus.connected and not other.connected)
    with pytest.raises(Unanswered, match="no broker"):
        await ask(1, timeout=0.1)
    subject = telemetry("prover", named("prover"), "heartbeat")
    await bus.publish(subject, heartbeat(named("prover"), time=5.0))  # never raises
    patient = bus.request_patiently("ctl.x", PauseRequest(6, 0.0), PauseAcknowledged, timeout=5, deadline=60)
    asking = asyncio.create_task(patient)
    # 2. Afterwards all goes on.
    await start_again(own_broker)
    assert (await asking).epoch == 6
    await eventually(lambda: len(seen) == 2, timeout=30, what="the current value after the reconnect")
    assert seen[1] == PauseHold(epoch=1, seconds=0.0)
    await bus.put_state("pause", PauseHold(epoch=2, seconds=0.0))
    await eventually(lambda: seen[-1] == PauseHold(epoch=2, seconds=0.0) and other.connected)
    await bus.publish(subject, heartbeat(named("prover"), time=6.0))
    await eventually(lambda: 6.0 in heard)
    await bus.publish_durable(todo("train"), attempt("a1"), message_id="a1")
    (lease,) = await bus.lease("todo-train", Attempt, limit=1, wait=20)
    await lease.ack()
    await asyncio.gather(bus.close(), other.close())


async def test_without_a_broker_what_is_sent_is_buffered_then_lost_and_who_starts_waits(own_broker: Server) -> None:
    bus = await connect(own_broker)
    await own_broker.stop(grace=0)
    await eventually(lambda: not bus.connected)
    connecting = asyncio.create_task(Bus.connect(own_broker.bus, run="r", name="n"))
    before = DROPPED._value.get()
    record = LogRecord(node_id="n", role="prover", time=1.0, level="info", event="x" * 400_000)
    count = 2 * OUTAGE_BUFFER_BYTES // 400_000
    for _ in range(count):
        await bus.publish("telemetry.prover.n.log", record)
    assert count // 3 < DROPPED._value.get() - before < count
    await asyncio.sleep(0.1)
    assert not connecting.done()
    await start_again(own_broker)
    await eventually(lambda: bus.connected, timeout=30)
    starting = await asyncio.wait_for(connecting, 30)
    assert starting.connected
    await asyncio.gather(bus.close(), starting.close())


async def test_a_connection_that_the_server_ends_for_good_is_noticed(own_broker: Server) -> None:
    bus = await connect(own_broker)
    client = bus._connection.client
    client._max_payload = 10**9  # so that the server, not the library, refuses what is too large
    await client.publish("anything", b"0" * 2_000_000)
    await asyncio.wait_for(bus.given_up.wait(), 30)
    assert not bus.connected
    await bus.close()


async def test_a_slow_consumer_loses_messages_and_is_counted(own_broker: Server) -> None:
    bus, other = await connect(own_broker), await connect(own_broker, "other")
    before, heard = SLOW_CONSUMERS._value.get(), 0

    async def hear(message: object) -> None:
        nonlocal heard
        heard += 1

    await other._connection.subscribe("outage.telemetry.x", hear, pending_messages=2)
    for _ in range(500):
        await bus.publish("telemetry.x", PauseHold(epoch=1, seconds=0.0))
    await eventually(lambda: heard + SLOW_CONSUMERS._value.get() - before == 500)
    assert SLOW_CONSUMERS._value.get() > before
    heard = 0
    await bus.publish("telemetry.x", PauseHold(epoch=2, seconds=0.0))
    await eventually(lambda: heard == 1)
    await asyncio.gather(bus.close(), other.close())


async def test_an_answer_to_a_ping_that_nobody_waits_for_any_more_costs_no_connection(broker: BusSettings) -> None:
    connection = Connection(broker, "impatient", "client")
    await connection.open(10)
    lost = asyncio.Event()
    connection.on_lost.append(lost.set)
    client = connection.client
    answer = asyncio.get_running_loop().create_future()
    await client._send_ping(answer)
    answer.cancel()  # as a `flush` does that is cancelled, or has waited for too long
    await client.flush()
    assert client._reading_task is not None and not client._reading_task.done()
    assert connection.connected and not lost.is_set()
    await connection.close()


def test_a_node_leaves_without_its_broker_also_when_it_has_something_left_to_send(tmp_path: Path) -> None:
    """Runs on uvloop, like nodes: its closed transports raise on a write, while asyncio's only warn."""

    async def leave() -> None:
        server = Server(BrokerSettings(port=0, store=str(tmp_path / "store")))
        await server.start()
        bus = await connect(server)
        await server.stop(grace=0)
        await eventually(lambda: not bus.connected)
        await bus.publish("telemetry.a.n.log", LogRecord(node_id="n", role="a", time=0, level="info", event="lost"))
        await bus.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(leave())
