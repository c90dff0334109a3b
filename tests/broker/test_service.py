import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import aiohttp
import psutil
import pytest
from structlog.testing import capture_logs

from broker.launcher import Server
from broker.service import running, serve
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings
from common.life import node
from common.life.logging import Forwarder
from common.life.node import NodeContext, NodeSettings, live
from common.life.process import spawn_child
from tests.waiting import eventually

pytestmark = pytest.mark.broker

ROOT = Path(__file__).parents[2]
CODE = """
import sys
from broker import watch
from broker.service import main
from broker.settings import BrokerSettings
from common.settings import NodeSettings
watch.EVERY_SECONDS = 0.2
sys.exit(main(BrokerSettings(port=int(sys.argv[1]), store=sys.argv[2]), NodeSettings(run="service")))
"""


async def start(port: int, store: Path) -> asyncio.subprocess.Process:
    command = [sys.executable, "-c", CODE, str(port), store]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return await spawn_child(command, env=env, stderr=asyncio.subprocess.PIPE)


async def read_until(process: asyncio.subprocess.Process, text: bytes) -> bytes:
    assert process.stderr is not None
    said = b""
    async with asyncio.timeout(60):
        while text not in said:
            line = await process.stderr.readline()
            assert line, said.decode()
            said += line
    return said


def server_of(process: asyncio.subprocess.Process) -> psutil.Process:
    (server,) = [p for p in psutil.Process(process.pid).children() if "nats-server" in p.name()]
    return server


async def metrics_with(bus: Bus, text: str) -> str:
    """The metrics of the run's only node, as soon as they contain a text."""
    found = ""
    async with aiohttp.ClientSession() as session:
        for _ in range(2_000):
            for info in await bus.nodes():
                async with session.get(info.metrics_url) as answer:
                    found = await answer.text()
            if text in found:
                return found
            await asyncio.sleep(0.01)
    raise AssertionError(f"no {text} within 20 s in:\n{found}")


async def test_the_broker_serves_its_run_also_after_a_kill_and_stops_its_server_on_sigterm(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    # 1. A killed node takes its server along.
    killed = await start(unused_tcp_port, tmp_path / "store")
    await read_until(killed, b"streams are ready")
    server = server_of(killed)
    killed.kill()
    await killed.wait()
    gone, alive = await asyncio.to_thread(psutil.wait_procs, [server], 30)
    assert [p.pid for p in gone] == [server.pid]
    assert alive == []

    # 2. Its store and port are free again, and the next one serves the run.
    process = await start(unused_tcp_port, tmp_path / "store")
    await read_until(process, b"streams are ready")
    bus = await Bus.connect(BusSettings(url=f"nats://127.0.0.1:{unused_tcp_port}"), run="service", name="n", wait=10)
    assert set((await bus.backlog()).values()) == {0}
    metrics = await metrics_with(bus, 'proofmesh_leased{consumer="todo-train"} 0.0')
    assert "proofmesh_server_slow_consumers_total 0.0" in metrics

    # 3. On a signal it leaves, with its server.
    server = server_of(process)
    process.send_signal(signal.SIGTERM)
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, errors.decode()
    assert not psutil.pid_exists(server.pid)
    await bus.close()


async def lived(settings: BrokerSettings, meanwhile: Callable[[Server], None]) -> tuple[int, str]:
    """The exit code of a broker node in this process, and why it says that it ends. `meanwhile` is called when its
    streams are ready."""
    server = Server(settings)

    async def main(ctx: NodeContext) -> None:
        serving = asyncio.create_task(serve(ctx, server))
        await eventually(lambda: any(line["event"] == "streams are ready" for line in logs))
        meanwhile(server)
        await serving

    with capture_logs() as logs:
        context = NodeContext("broker", NodeSettings(run="service"))
        code = await live(context, main, Forwarder("broker", context.id), lambda _: running(server, BusSettings()))
    (said,) = [line for line in logs if line["log_level"] == "error"]
    assert "exc_info" not in said, "the reason is enough"
    return code, said["reason"]


async def test_the_broker_ends_with_the_reason_when_its_server_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "FAREWELL_SECONDS", 0.1)

    def kill(server: Server) -> None:
        assert server.process is not None
        server.process.kill()

    code, reason = await lived(BrokerSettings(port=0, store=str(tmp_path / "store")), kill)
    assert code == 1
    assert "nats-server ended with code -9" in reason
