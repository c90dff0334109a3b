import json
import socket
import stat
from pathlib import Path

import psutil
import pytest

from broker.errors import BrokerError
from broker.launcher import Server, configuration
from broker.settings import BrokerSettings
from common.bus import Bus

pytestmark = pytest.mark.broker


async def test_a_server_keeps_a_private_store_listens_on_loopback_alone_and_is_alone_on_its_store(
    tmp_path: Path,
) -> None:
    store = tmp_path / "deep" / "store"
    server = Server(BrokerSettings(port=0, store=str(store)), ("mesh", "secret"))
    await server.start()
    assert server.process is not None
    pid = server.process.pid
    try:
        assert stat.S_IMODE(store.stat().st_mode) == 0o700
        assert stat.S_IMODE((store / "nats-server.json").stat().st_mode) == 0o600
        assert (store / "jetstream").is_dir()
        listening = [c for c in psutil.Process(pid).net_connections() if c.status == psutil.CONN_LISTEN]
        assert [c.laddr.ip for c in listening] == ["127.0.0.1"] * 2
        second = Server(server.settings)
        with pytest.raises(BrokerError, match="another broker runs on the store"):
            await second.start()
        await second.stop()
        bus = await Bus.connect(server.bus, run="r", name="n", wait=10)  # the first is unharmed
        await bus.close()
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
            (
                BrokerSettings(port=0, store=str(tmp_path / "file" / "store")),
                r"keep a store in .*: Not a directory",
            ),
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
    assert wanted["http"].startswith("127.0.0.1:")
    assert json.loads(json.dumps(wanted)) == wanted


async def test_a_server_that_is_open_to_others_refuses_strangers(tmp_path: Path) -> None:
    settings = BrokerSettings(host="0.0.0.0", port=0, store=str(tmp_path / "store"))
    with pytest.raises(BrokerError):
        await Server(settings).start()
    server = Server(settings, ("mesh", "secret"))
    try:
        await server.start()
        bus = await Bus.connect(server.bus, run="r", name="n", wait=10)
        await bus.close()
    finally:
        await server.stop(grace=0)
