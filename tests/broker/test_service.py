"""The broker as a node."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import aiohttp
import psutil
import pytest

from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child

pytestmark = pytest.mark.broker

ROOT = Path(__file__).parents[2]
CODE = """
import sys
from broker.service import main
from broker.settings import BrokerSettings
from common.settings import NodeSettings
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


async def test_the_broker_serves_its_run_and_stops_its_server_on_sigterm(tmp_path: Path, unused_tcp_port: int) -> None:
    process = await start(unused_tcp_port, tmp_path / "store")
    await read_until(process, b"streams are ready")
    (server,) = [p for p in psutil.Process(process.pid).children() if "nats-server" in p.name()]
    bus = await Bus.connect(BusSettings(url=f"nats://127.0.0.1:{unused_tcp_port}"), run="service", name="n", wait=10)
    assert set((await bus.backlog()).values()) == {0}
    metrics = await metrics_with(bus, "proofmesh_server_slow_consumers_total 0.0")
    assert 'proofmesh_leased{consumer="todo-train"} 0.0' in metrics
    process.send_signal(signal.SIGTERM)
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, errors.decode()
    assert not psutil.pid_exists(server.pid)
    await bus.close()


async def test_the_broker_ends_with_the_reason_when_its_server_dies(tmp_path: Path, unused_tcp_port: int) -> None:
    process = await start(unused_tcp_port, tmp_path / "store")
    await read_until(process, b"streams are ready")
    (server,) = [p for p in psutil.Process(process.pid).children() if "nats-server" in p.name()]
    server.kill()
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert b"nats-server ended with code -9" in errors


async def test_a_killed_broker_node_takes_its_server_along(tmp_path: Path, unused_tcp_port: int) -> None:
    process = await start(unused_tcp_port, tmp_path / "store")
    await read_until(process, b"streams are ready")
    (server,) = [p for p in psutil.Process(process.pid).children() if "nats-server" in p.name()]
    process.kill()
    await process.wait()
    gone, alive = await asyncio.to_thread(psutil.wait_procs, [server], 30)
    assert [p.pid for p in gone] == [server.pid]
    assert alive == []
    again = await start(unused_tcp_port, tmp_path / "store")  # store and port are free again
    await read_until(again, b"streams are ready")
    await kill_group(again, grace=30)


async def test_a_port_in_use_ends_the_broker_with_a_clear_word(tmp_path: Path, broker: BusSettings) -> None:
    port = int(broker.url.rsplit(":", 1)[1])
    process = await start(port, tmp_path / "store")
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert f"port {port}".encode() in errors
    assert b"Traceback" not in errors
