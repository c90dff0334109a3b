import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import aiohttp
import nats
import pytest
from structlog.testing import capture_logs

from broker import binary, streams, watch
from broker.launcher import Server
from broker.service import serve
from broker.settings import BrokerSettings
from broker.watch import StreamKeeper
from common.bus import Bus, BusError, BusSettings, NotThere, StreamConflict, Unanswered, names, persistently
from common.bus.stored import api
from common.lean import Theorem
from common.life.logging import Forwarder
from common.life.node import NodeContext, live
from common.life.process import kill_group, spawn_child
from common.protocol.attempts import Attempt
from common.protocol.messages import BrokerFacts, VerifierKeys
from common.protocol.subjects import VERIFIERS, todo
from common.settings import NodeSettings
from tests.background import connected, started
from tests.broker.keyed import ENVIRONMENT, NODE, keeping
from tests.common.nodes import got
from tests.message_values import attempt
from tests.waiting import answered, until


async def publish(bus: Bus, number: int, size: int = 10) -> None:
    message = attempt(f"a{number}", theorem=Theorem("t", "", "x" * size))
    await bus.publish_durable(todo("train"), message, message_id=message.attempt_id, timeout=2)


async def test_streams_and_consumers_that_vanish_are_made_again_and_it_is_said(bus: Bus) -> None:
    ctx = keeping(bus)
    ctx.settings.bus.verifiers = ("a key",)
    keeper = StreamKeeper(ctx)
    await keeper.look()
    assert ctx.facts is None and ctx.healthz()["status"] == "ok"
    for name in names.streams_of(bus.run):
        await api(bus._replies, f"STREAM.DELETE.{name}")
    with capture_logs() as logs:
        await keeper.look()
    assert {stream.name for stream in await bus.streams()} == set(names.streams_of(bus.run))
    (line,) = [each for each in logs if "streams" in each]
    assert line["log_level"] == "error" and all(name in line["streams"] for name in names.streams_of(bus.run))
    assert isinstance(ctx.facts, BrokerFacts) and f"{bus.run}-todo" in ctx.facts.lost, "`proofmesh status` shows it"
    assert await bus.get_state(VERIFIERS, VerifierKeys) == VerifierKeys(keys=("a key",))
    # A consumer that is deleted is made again, too, and its messages are there.
    await publish(bus, 1)
    await api(bus._replies, f"CONSUMER.DELETE.{names.todo_stream(bus.run)}.todo-train")
    assert await bus.lease("todo-train", Attempt, limit=1, wait=0) == []
    await keeper.look()
    (lease,) = await bus.lease("todo-train", Attempt, limit=1, wait=5)
    assert lease.message.attempt_id == "a1"
    await lease.ack()


async def test_a_stream_that_cannot_be_made_again_makes_the_node_unhealthy(bus: Bus) -> None:
    ctx = keeping(bus)
    stream = names.todo_stream(bus.run)
    await api(bus._replies, f"STREAM.DELETE.{stream}")
    await api(bus._replies, f"STREAM.CREATE.{stream}", {"name": stream, "subjects": [bus.run], "storage": "memory"})
    with capture_logs() as logs:
        await StreamKeeper(ctx).look()
    assert ctx.healthz()["status"] == "unhealthy" and stream in ctx.info().problems["streams"]
    assert [each["part"] for each in logs if each["log_level"] == "error"] == ["streams"]
    await api(bus._replies, f"STREAM.DELETE.{stream}")
    await StreamKeeper(ctx).look()
    assert ctx.healthz()["status"] == "ok"


async def test_a_queue_grows_while_it_fills_and_a_full_one_is_told(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    await streams.remove(bus)
    monkeypatch.setattr(streams, "TODO_BYTES", (64 * 1024, 128 * 1024))
    await streams.ensure(bus)
    ctx = keeping(bus)
    keeper = StreamKeeper(ctx)
    for number in range(4):
        await publish(bus, number, 10_000)
    await keeper.look()
    assert {each.name: each.max_bytes for each in await bus.streams()}[names.todo_stream(bus.run)] == 128 * 1024
    assert ctx.healthz()["status"] == "ok"
    with pytest.raises(BusError, match="maximum bytes exceeded"):
        for number in range(4, 100):
            await publish(bus, number, 10_000)
    await keeper.look()
    assert f"{names.todo_stream(bus.run)} is full (0 of 0 MiB)" in ctx.healthz()["problems"]["full"]


@pytest.mark.broker
async def test_a_queue_without_room_at_the_broker_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "TODO_BYTES", (64 * 1024, 2**30))
    settings = BrokerSettings(port=0, store=str(tmp_path / "store"), max_store_mb=145)
    async with started(Server(settings)) as server, connected(server.bus, "r") as bus:
        await streams.ensure(bus)
        free = 145 * streams.MIB - sum(stream.max_bytes for stream in await bus.streams())
        await bus.grow("r-results", free + 64 * streams.MIB)
        ctx = keeping(bus)
        with pytest.raises(BusError, match="maximum bytes exceeded"):
            for number in range(100):
                await publish(bus, number, 1_000)
        await StreamKeeper(ctx).look()
    said = ctx.healthz()["problems"]["full"]
    assert "r-todo is full" in said and "max_store_mb" in said


async def health(bus: Bus) -> dict[str, object]:
    """What `/healthz` of the run's broker node says; empty while it is not registered."""
    for info in await bus.nodes():
        status, text = await got(info.metrics_url.replace("/metrics", "/healthz"))
        return {**json.loads(text), "http": status}
    return {}


def may_mount(folder: Path) -> bool:
    """Whether a user may mount a file system of its own here."""
    if shutil.which("unshare") is None:
        return False
    mounting = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", str(folder)]
    return subprocess.run(mounting, capture_output=True, check=False).returncode == 0


@pytest.mark.process
async def test_a_full_disk_is_said_and_writes_go_on_when_there_is_room(tmp_path: Path, unused_tcp_port: int) -> None:
    """nats-server 2.15 itself would refuse them until someone restarts it (2.12 goes on)."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not await asyncio.to_thread(may_mount, disk):
        pytest.skip("no file systems of one's own here (unshare -rm)")
    inside = 'mount -t tmpfs -o size=24m tmpfs "$1" && exec "$2" -c "$3" "$4" "$1/store"'
    arguments = ["mounting", str(disk), sys.executable, NODE, str(unused_tcp_port)]
    process = await spawn_child(["unshare", "-rm", "sh", "-c", inside, *arguments], env=ENVIRONMENT)
    seen = Path(f"/proc/{process.pid}/root{disk}")  # the disk as the node sees it
    bus = await Bus.connect(BusSettings(url=f"nats://127.0.0.1:{unused_tcp_port}"), run="r", name="test", wait=30)
    number = 0

    async def refused() -> bool:
        nonlocal number
        number += 1
        try:
            await publish(bus, number, 200_000)
        except BusError:
            return True
        return False

    async def healthy() -> bool:
        try:
            return (await health(bus)).get("http") == 200
        except (BusError, aiohttp.ClientError):
            return False

    await until(healthy, timeout=30)
    rest = (os.statvfs(seen).f_bavail * os.statvfs(seen).f_frsize) - 2 * 2**20
    (seen / "filler").write_bytes(bytes(rest))
    await until(refused, timeout=30)
    await answered(lambda: health(bus), lambda said: said.get("http") == 503 and "disk" in said["problems"], timeout=30)
    stored = (await bus.backlog())["todo-train"]
    (seen / "filler").unlink()
    await until(healthy, timeout=60)
    await publish(bus, 100_000)
    assert (await bus.backlog())["todo-train"] == stored + 1, "nothing that was stored is lost"
    await bus.close()
    await kill_group(process, grace=10)
    assert process.returncode == 0


async def test_a_node_without_a_server_keeps_the_streams_on_another_server(
    broker: BusSettings, run_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "EVERY_SECONDS", 0.05)
    bus = await Bus.connect(broker, run=run_name, name="test", wait=10)

    async def complete() -> bool:
        """The consumers are what the node makes last: before them, it does not keep anything yet."""
        try:
            return len(await bus.backlog()) > 0 and len(await bus.streams()) == len(names.streams_of(run_name))
        except NotThere:
            return False

    ctx = NodeContext("broker", NodeSettings(run=run_name, bus=broker))
    living = asyncio.create_task(live(ctx, lambda ctx: serve(ctx, None), Forwarder("broker", ctx.id)))
    await until(complete, timeout=30)
    await api(bus._replies, f"STREAM.DELETE.{names.todo_stream(run_name)}")
    await until(complete, timeout=30)
    ctx.stopping.set()
    assert await living == 0
    assert isinstance(ctx.facts, BrokerFacts) and names.todo_stream(run_name) in ctx.facts.lost
    await bus.remove()
    await bus.close()


def cluster_configuration(number: int, ports: list[int], folder: Path) -> Path:
    """The configuration file of one of three servers; the first three ports are for clients, the others for routes."""
    routes = [f"nats://127.0.0.1:{port}" for port in ports[3:]]
    content = {
        "server_name": f"s{number}",
        "host": "127.0.0.1",
        "port": ports[number],
        "jetstream": {"store_dir": str(folder / f"s{number}"), "max_file_store": 2**30},
        "cluster": {"name": "c", "host": "127.0.0.1", "port": ports[3 + number], "routes": routes},
    }
    path = folder / f"s{number}.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.slow
@pytest.mark.broker
async def test_replicas_stay_and_outlive_a_server(tmp_path: Path, unused_tcp_port_factory: Callable[[], int]) -> None:
    ports = [unused_tcp_port_factory() for _ in range(6)]
    files = [cluster_configuration(number, ports, tmp_path) for number in range(3)]
    commands = [[binary.find(), "--config", file] for file in files]
    servers = [await spawn_child(command, stderr=asyncio.subprocess.DEVNULL) for command in commands]
    url = ",".join(f"nats://127.0.0.1:{port}" for port in ports[:3])
    bus = await Bus.connect(BusSettings(url=url), run="r", name="test", wait=30)
    await persistently(lambda: streams.ensure(bus), "no leader yet", tries=30)
    for name in names.streams_of("r"):
        config = (await api(bus._replies, f"STREAM.INFO.{name}"))["config"]
        await api(bus._replies, f"STREAM.UPDATE.{name}", {**config, "num_replicas": 3})
    assert await streams.ensure(bus) == []

    async def replicated() -> bool:
        infos = [await api(bus._replies, f"STREAM.INFO.{name}") for name in names.streams_of("r")]
        assert {info["config"]["num_replicas"] for info in infos} == {3}
        infos += [await bus._consumer_info(spec.name) for spec in streams.run_spec("r").consumers]  # they follow later
        followers = [follower for info in infos for follower in info.get("cluster", {}).get("replicas", ())]
        return len(followers) == 2 * len(infos) and all(follower["current"] for follower in followers)

    await until(replicated, timeout=60)
    await kill_group(servers[0], grace=0)
    await persistently(lambda: publish(bus, 1), "no leader yet", tries=30)
    assert (await persistently(bus.backlog, "no leader yet", tries=30))["todo-train"] == 1
    await bus.close()
    for server in servers[1:]:
        await kill_group(server, grace=0)


async def test_repeating_ensure_changes_nothing_and_loses_nothing_until_the_run_is_removed(bus: Bus) -> None:
    await bus.publish_durable(todo("train"), attempt("a1"), message_id="a1")
    (held,) = await bus.lease("todo-train", Attempt, limit=1, wait=10)
    await bus.publish_durable(todo("train"), attempt("a2"), message_id="a2")
    for _ in range(3):
        await streams.ensure(bus)
    assert ((await bus.backlog())["todo-train"], (await bus.leased())["todo-train"]) == (1, 1)
    await held.ack()
    with pytest.raises(Unanswered, match="no stream"):  # where nobody would take it
        await bus.publish_durable("theorem.todo.unheard-of", attempt("a3"), message_id="a3")
    # A run that is removed is gone.
    for _ in range(2):
        await streams.remove(bus)
    with pytest.raises(NotThere):
        await bus.backlog()
    assert await bus.streams() == []
    await streams.ensure(bus)
    assert (await bus.backlog())["todo-train"] == 0


async def test_changed_limits_are_brought_up_to_date_and_what_an_operator_has_raised_by_hand_stays(bus: Bus) -> None:
    for ack_wait in (7.0, 30.0):
        await streams.ensure(bus, ack_wait=ack_wait)
        assert (await bus._consumer_info("results-learner"))["config"]["ack_wait"] == ack_wait * 1e9
    name = f"{bus.run}-todo"
    before = (await api(bus._replies, f"STREAM.INFO.{name}"))["config"]
    by_hand = {**before, "max_bytes": 2 * before["max_bytes"], "description": "mine", "max_age": 10**18}
    await api(bus._replies, f"STREAM.UPDATE.{name}", by_hand)
    assert await streams.ensure(bus) == []
    after = (await api(bus._replies, f"STREAM.INFO.{name}"))["config"]
    assert after == {**after, **{key: by_hand[key] for key in ("max_bytes", "description", "max_age")}}


@pytest.mark.broker
async def test_a_broker_without_room_for_another_run_says_what_to_do(tmp_path: Path) -> None:
    settings = BrokerSettings(port=0, store=str(tmp_path / "store"), max_store_mb=64)
    async with started(Server(settings)) as server, connected(server.bus, "r") as bus:
        with pytest.raises(StreamConflict, match=r"proofmesh runs list.*max_store_mb"):
            await streams.ensure(bus)


async def test_a_stream_of_another_kind_in_the_way_is_said(broker: BusSettings, run_name: str) -> None:
    foreign = await nats.connect(broker.url)
    await foreign.jetstream().add_stream(name=f"{run_name}-todo", subjects=["elsewhere"], storage="memory")
    async with connected(broker, run_name) as bus:
        with pytest.raises(StreamConflict, match=rf"{run_name}-todo exists .* use another run name"):
            await streams.ensure(bus)
    await foreign.jetstream().delete_stream(f"{run_name}-todo")
    await foreign.close()
