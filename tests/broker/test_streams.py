from pathlib import Path

import nats
import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings, NotThere, StreamConflict, Unanswered
from common.bus.stored import api
from common.protocol.attempts import Attempt
from common.protocol.subjects import todo
from tests.message_values import attempt


async def test_repeating_ensure_changes_nothing_and_loses_nothing(bus: Bus) -> None:
    await bus.publish_durable(todo("train"), attempt("a1"), message_id="a1")
    (held,) = await bus.lease("todo-train", Attempt, limit=1, wait=10)
    await bus.publish_durable(todo("train"), attempt("a2"), message_id="a2")
    for _ in range(3):
        await streams.ensure(bus)
    assert (await bus.backlog())["todo-train"] == 1
    assert (await bus.leased())["todo-train"] == 1
    await held.ack()
    with pytest.raises(Unanswered, match="no stream"):  # where nobody would take it
        await bus.publish_durable("theorem.todo.unheard-of", attempt("a3"), message_id="a3")


async def test_changed_limits_are_brought_up_to_date(bus: Bus) -> None:
    await streams.ensure(bus, ack_wait=7.0)
    assert (await bus._consumer_info("results-learner"))["config"]["ack_wait"] == 7e9
    await streams.ensure(bus)
    assert (await bus._consumer_info("results-learner"))["config"]["ack_wait"] == 30e9


async def test_what_an_operator_has_raised_by_hand_outlives_the_next_start(bus: Bus) -> None:
    name = f"{bus.run}-todo"
    before = (await api(bus._replies, f"STREAM.INFO.{name}"))["config"]
    by_hand = {**before, "max_bytes": 2 * before["max_bytes"], "description": "mine", "max_age": 10**18}
    await api(bus._replies, f"STREAM.UPDATE.{name}", by_hand)
    assert await streams.ensure(bus) == []
    after = (await api(bus._replies, f"STREAM.INFO.{name}"))["config"]
    assert after == {**after, **{key: by_hand[key] for key in ("max_bytes", "description", "max_age")}}


@pytest.mark.broker
async def test_a_broker_without_room_for_another_run_says_what_to_do(tmp_path: Path) -> None:
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "store"), max_store_mb=64))
    await server.start()
    bus = await Bus.connect(server.bus, run="r", name="test", wait=10)
    with pytest.raises(StreamConflict, match=r"proofmesh runs list.*max_store_mb"):
        await streams.ensure(bus)
    await bus.close()
    await server.stop()


async def test_a_stream_of_another_kind_in_the_way_is_said(broker: BusSettings, run_name: str) -> None:
    foreign = await nats.connect(broker.url)
    await foreign.jetstream().add_stream(name=f"{run_name}-todo", subjects=["elsewhere"], storage="memory")
    bus = await Bus.connect(broker, run=run_name, name="test", wait=10)
    with pytest.raises(StreamConflict, match=rf"{run_name}-todo exists .* use another run name"):
        await streams.ensure(bus)
    await foreign.jetstream().delete_stream(f"{run_name}-todo")
    await foreign.close()
    await bus.close()


async def test_a_removed_run_is_gone(bus: Bus) -> None:
    await bus.publish_durable(todo("train"), attempt("a1"), message_id="a1")
    await streams.remove(bus)
    await streams.remove(bus)
    with pytest.raises(NotThere):
        await bus.backlog()
    await streams.ensure(bus)
    assert (await bus.backlog())["todo-train"] == 0
