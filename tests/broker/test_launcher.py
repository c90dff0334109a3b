import dataclasses
import json
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from broker.errors import BrokerError
from broker.launcher import Server, configuration
from broker.settings import BrokerSettings
from common.bus import Bus

pytestmark = pytest.mark.broker


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "deep" / "store")), ("mesh", "secret"))
    await server.start()
    yield server
    await server.stop(grace=0)


async def test_the_store_is_private_and_holds_what_is_stored(server: Server, tmp_path: Path) -> None:
    store = tmp_path / "deep" / "store"
    assert stat.S_IMODE(store.stat().st_mode) == 0o700
    assert stat.S_IMODE((store / "nats-server.json").stat().st_mode) == 0o600
    assert (store / "jetstream").is_dir()


async def test_only_loopback_is_listened_on(server: Server) -> None:
    assert server.process is not None
    listening = [c for c in psutil.Process(server.process.pid).net_connections() if c.status == psutil.CONN_LISTEN]
    assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
    assert len(listening) == 2


async def test_two_brokers_on_one_store_are_refused(server: Server) -> None:
    second = Server(server.settings)
    with pytest.raises(BrokerError, match="another broker runs on the store"):
        await second.start()
    await second.stop()
    bus = await Bus.connect(server.bus, run="r", name="n", wait=10)  # the first is unharmed
    await bus.close()


async def test_a_port_in_use_is_said_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = Server(BrokerSettings(port=port, store=str(tmp_path / "store")))
        with pytest.raises(BrokerError, match=rf"port {port} .* in use.*--port"):
            await server.start()


async def test_a_store_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "file" / "store")))
    with pytest.raises(BrokerError, match=r"cannot keep a store in .*store: Not a directory"):
        await server.start()


async def test_a_stopped_server_frees_its_store_and_leaves_no_process(tmp_path: Path) -> None:
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "store")))
    await server.start()
    assert server.process is not None
    pid = server.process.pid
    await server.stop()
    assert not psutil.pid_exists(pid)
    await server.start()
    await server.stop()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "node-7"])
def test_more_than_loopback_needs_credentials(host: str, tmp_path: Path) -> None:
    settings = BrokerSettings(host=host, store=str(tmp_path))
    for credentials in (("", ""), ("user", ""), ("", "password")):
        with pytest.raises(BrokerError, match=r"without credentials.*PROOFMESH_NATS_PASSWORD"):
            configuration(settings, credentials, tmp_path)
    wanted = configuration(settings, ("user", 'pass"word'), tmp_path)
    assert wanted["authorization"] == {"user": "user", "password": 'pass"word'}
    assert wanted["http"].startswith("127.0.0.1:")
    assert json.loads(json.dumps(wanted)) == wanted


async def test_a_server_that_is_open_to_others_refuses_strangers(tmp_path: Path) -> None:
    settings = BrokerSettings(host="0.0.0.0", port=0, store=str(tmp_path / "store"))
    with pytest.raises(BrokerError):
        await Server(settings).start()
    server = Server(dataclasses.replace(settings), ("mesh", "secret"))
    try:
        await server.start()
        bus = await Bus.connect(server.bus, run="r", name="n", wait=10)
        await bus.close()
    finally:
        await server.stop(grace=0)
