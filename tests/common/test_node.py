"""The life of a node, as a process: it announces itself, works, drains on SIGTERM, and tells of its end by its exit
code."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from common.protocol.messages import Heartbeat, LogRecord, Message, NodeInfo, PauseAcknowledged, PauseRequest
from tests.waiting import eventually

PROGRAM = Path(__file__).with_name("node_program.py")
ROOT = PROGRAM.parents[2]
Start = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def start(broker: BusSettings, run_name: str) -> AsyncIterator[Start]:
    """Starts node processes, and ends all of them after the test."""
    processes: list[asyncio.subprocess.Process] = []

    async def start(kind: str, *arguments: str, url: str = broker.url, run: str = run_name) -> Any:
        command = [sys.executable, PROGRAM, kind, url, run, *arguments]
        env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
        process = await spawn_child(command, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        processes.append(process)
        return process

    yield start
    for process in processes:
        await kill_group(process, grace=0)


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Exit code and standard error."""
    async with asyncio.timeout(60):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


async def registered(bus: Bus, state: str | None = None) -> NodeInfo:
    """Wait for the only node of the run (to be in a state), and return its entry."""
    for _ in range(2_000):
        nodes = await bus.nodes()
        if nodes and (state is None or nodes[0].state == state):
            return nodes[0]
        await asyncio.sleep(0.01)
    raise AssertionError(f"no node in state {state} within 20 s; there are {nodes}")


async def fetch(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def until(url: str, status: int) -> str:
    """The content of a page, as soon as it answers with this status."""
    for _ in range(3_000):
        found, text = await fetch(url)
        if found == status:
            return text
        await asyncio.sleep(0.01)
    raise AssertionError(f"{url} does not answer {status} within 30 s: {found} {text}")


async def test_a_node_announces_itself_reports_and_drains_on_sigterm(bus: Bus, start: Start) -> None:
    heard: list[Message] = []
    await bus.subscribe("telemetry.>", (Heartbeat, LogRecord), lambda _, message: heard.append(message))
    process = await start("serve")
    info = await registered(bus, "phase-one")
    assert (info.role, info.pid, info.capacity) == ("tester", process.pid, {"searches": 8})
    assert info.node_id.startswith("tester-")

    status, health = await fetch(info.metrics_url.replace("/metrics", "/healthz"))
    assert status == 200
    assert '"status":"ok"' in health
    assert info.node_id in health
    status, metrics = await fetch(info.metrics_url)
    assert status == 200
    assert "proofmesh_test_things_total 7.0" in metrics
    assert "proofmesh_loop_lag_max_seconds" in metrics
    assert "proofmesh_bus_connected 1.0" in metrics

    beats = lambda: [m for m in heard if isinstance(m, Heartbeat) and m.values.get("searches") == 3.0]  # noqa: E731
    await eventually(lambda: bool(beats()), what="a heartbeat with the reported value")
    assert beats()[0].node_id == info.node_id

    asking = asyncio.create_task(
        bus.request("ctl.test", PauseRequest(epoch=5, seconds=0.5), PauseAcknowledged, timeout=30)
    )
    await eventually(lambda: any(isinstance(m, LogRecord) and m.event == "at work" for m in heard), what="its log")
    process.send_signal(signal.SIGTERM)
    assert (await asking).epoch == 5  # what was at work is answered
    code, errors = await ended(process)
    assert code == 0, errors
    assert await bus.nodes() == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [("crash", "main is broken"), ("crash_beside", "a task is broken")],
)
async def test_a_crash_is_logged_with_its_traceback_and_exits_1(bus: Bus, start: Start, kind: str, said: str) -> None:
    heard: list[LogRecord] = []
    await bus.subscribe("telemetry.>", LogRecord, lambda _, message: heard.append(message))
    code, errors = await ended(await start(kind))
    assert code == 1
    assert "ZeroDivisionError" in errors
    assert said in errors
    assert "Traceback" in errors
    assert any(record.level == "error" and said in str(record.fields) for record in heard)
    assert await bus.nodes() == []


@pytest.mark.parametrize(
    ("kind", "said"), [("fail", "start with warm-start"), ("leave", "port 5 is in use; choose another")]
)
async def test_an_expected_failure_is_said_without_a_traceback(bus: Bus, start: Start, kind: str, said: str) -> None:
    code, errors = await ended(await start(kind))
    assert code == 1
    assert said in errors
    assert "Traceback" not in errors


async def test_a_node_that_is_done_exits_0(bus: Bus, start: Start) -> None:
    code, errors = await ended(await start("done"))
    assert code == 0
    assert "nothing to do" in errors


async def test_a_problem_shows_in_healthz_and_in_the_registry(bus: Bus, start: Start) -> None:
    await start("sick")
    info = await registered(bus, "unhealthy")
    status, health = await fetch(info.metrics_url.replace("/metrics", "/healthz"))
    assert status == 503
    assert "no Lean worker starts" in health


async def test_a_second_signal_ends_at_once(bus: Bus, start: Start) -> None:
    process = await start("ignore")
    await registered(bus, "running")
    process.send_signal(signal.SIGINT)
    await registered(bus, "draining")
    process.send_signal(signal.SIGINT)
    code, errors = await ended(process)
    assert code == 1
    assert "second SIGINT" in errors


async def test_a_blocked_event_loop_is_noticed(bus: Bus, start: Start) -> None:
    process = await start("block")
    info = await registered(bus)
    _, metrics = await fetch(info.metrics_url)
    assert 'proofmesh_loop_lag_seconds_bucket{le="1.0"}' in metrics
    process.send_signal(signal.SIGTERM)
    _, errors = await ended(process)
    assert "event loop was blocked" in errors


async def test_a_node_without_a_broker_says_so_waits_and_can_be_stopped(start: Start, unused_tcp_port: int) -> None:
    process = await start("serve", url=f"nats://127.0.0.1:{unused_tcp_port}")
    assert process.stderr is not None
    said = b""
    while b"broker not reached" not in said:
        said += await asyncio.wait_for(process.stderr.readline(), 30)
    assert str(unused_tcp_port).encode() in said
    process.send_signal(signal.SIGTERM)
    code, _ = await ended(process)
    assert code == 0


async def test_a_node_outlives_its_broker_returns_to_it_and_can_leave_without_it(start: Start, tmp_path: Path) -> None:
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "store")))
    await server.start()
    bus = await Bus.connect(server.bus, run="outage", name="test", wait=10)
    await streams.ensure(bus)
    process = await start("serve", url=server.bus.url, run="outage")
    info = await registered(bus, "phase-one")
    healthz = info.metrics_url.replace("/metrics", "/healthz")

    await server.stop(grace=0)
    health = await until(healthz, 503)
    assert "the broker is away" in health
    server.settings.port = int(server.bus.url.rsplit(":", 1)[1])
    await server.start()
    await until(healthz, 200)
    await eventually(lambda: bus.connected, timeout=30)
    assert (await registered(bus, "phase-one")).node_id == info.node_id
    answer = await bus.request("ctl.test", PauseRequest(epoch=6, seconds=0.0), PauseAcknowledged, timeout=30)
    assert answer.node_id == info.node_id

    await server.stop(grace=0)
    await until(healthz, 503)
    process.send_signal(signal.SIGTERM)
    code, errors = await ended(process)
    assert code == 0, errors
    assert "broker lost" in errors
    assert "broker found again" in errors
    await bus.close()


async def test_a_bad_run_name_exits_2_before_anything_else(start: Start) -> None:
    code, errors = await ended(await start("serve", run="No Such Run"))
    assert code == 2
    assert "lower-case letters" in errors


async def test_a_metrics_port_in_use_is_said(bus: Bus, start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = await ended(await start("serve", str(port)))
    assert code == 1
    assert f"127.0.0.1:{port}" in errors
    assert "in use" in errors
    assert "Traceback" not in errors


async def test_a_killed_node_is_forgotten_by_the_registry(bus: Bus, start: Start) -> None:
    await streams.ensure(bus, node_ttl=4.0)  # renewed every 3.3 s
    process = await start("serve")
    await registered(bus, "phase-one")
    process.kill()
    await process.wait()
    for _ in range(3_000):
        if not await bus.nodes():
            return
        await asyncio.sleep(0.01)
    pytest.fail("still registered after 30 s")
