"""The life of a node: it announces itself, works, drains on SIGTERM, and tells of its end by its exit code. Two are
processes of their own, for signals; the others live in this one."""

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from broker import streams
from broker.launcher import Server
from common.bus import Bus, BusSettings
from common.life import node, pulse
from common.life.logging import Forwarder
from common.life.node import Main, NodeContext, NodeFailure, NodeSettings, live, run_node
from common.protocol.messages import Heartbeat, LogRecord, Message, PauseAcknowledged, PauseRequest
from tests.background import Background, RunOnBroker, start_again
from tests.common.node_program import serve
from tests.common.nodes import got, node_process, registered
from tests.waiting import answered, eventually


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Exit code and standard error."""
    async with asyncio.timeout(60):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


@asynccontextmanager
async def living(settings: NodeSettings, main: Main, code: int = 0) -> AsyncIterator[NodeContext]:
    """A node on the test's loop. At the end of the block it is stopped, and ends with `code`."""
    ctx = NodeContext("tester", settings)
    life = asyncio.create_task(live(ctx, main, Forwarder("tester", ctx.id)))
    yield ctx
    ctx.stopping.set()
    assert await asyncio.wait_for(life, 60) == code


async def fetched(url: str, status: int) -> str:
    """The content of a page, as soon as it answers with this status."""
    _, text = await answered(lambda: got(url), lambda answer: answer[0] == status, 30, f"status {status} of {url}")
    return text


PIPES = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}


async def test_a_node_announces_itself_reports_and_drains_on_sigterm(bus: Bus, mesh_run: RunOnBroker) -> None:
    heard: list[Message] = []
    await bus.subscribe("telemetry.>", (Heartbeat, LogRecord), lambda _, message: heard.append(message))
    async with node_process("serve", mesh_run, **PIPES) as process:
        info = await registered(bus, "phase-one")
        assert (info.role, info.pid, info.capacity) == ("tester", process.pid, {"searches": 8})
        assert info.node_id.startswith("tester-")
        status, health = await got(info.metrics_url.replace("/metrics", "/healthz"))
        assert status == 200 and '"status":"ok"' in health and info.node_id in health
        status, metrics = await got(info.metrics_url)
        shown = ("test_things_total 7.0", "loop_lag_max_seconds", "bus_connected 1.0")
        assert status == 200 and all(f"proofmesh_{line}" in metrics for line in shown)
        beats = lambda: [m for m in heard if isinstance(m, Heartbeat) and m.values.get("searches") == 3.0]  # noqa: E731
        await eventually(lambda: bool(beats()), what="a heartbeat with the reported value")
        assert beats()[0].node_id == info.node_id
        asked = PauseRequest(epoch=5, seconds=0.5)
        asking = asyncio.create_task(bus.request("ctl.test", asked, PauseAcknowledged, timeout=30))
        await eventually(lambda: any(isinstance(m, LogRecord) and m.event == "at work" for m in heard), what="its log")
        process.send_signal(signal.SIGTERM)
        assert (await asking).epoch == 5  # what was at work is answered
        code, errors = await ended(process)
    assert code == 0, errors
    assert await bus.nodes() == []


async def test_a_second_signal_ends_a_node_at_once_and_its_entry_expires(bus: Bus, mesh_run: RunOnBroker) -> None:
    await streams.ensure(bus, node_ttl=1.5)
    async with node_process("ignore", mesh_run, **PIPES) as process:
        await registered(bus, "running")
        process.send_signal(signal.SIGINT)
        await registered(bus, "draining")
        process.send_signal(signal.SIGINT)
        code, errors = await ended(process)
    assert code == 1 and "second SIGINT" in errors
    await answered(bus.nodes, lambda nodes: nodes == [], timeout=30)


def ending(error: BaseException) -> Main:
    async def main(_: NodeContext) -> None:
        raise error

    return main


async def crash_beside(ctx: NodeContext) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("a task is broken")

    ctx.spawn(broken(), "broken")
    await ctx.stopping.wait()


async def done(ctx: NodeContext) -> None:
    ctx.log.info("nothing to do")


def test_an_end_is_said_and_told_to_the_run_and_a_crash_with_its_traceback(
    mesh_run: RunOnBroker, background: Background, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[LogRecord] = []
    bus = background.run(Bus.connect(mesh_run.bus, run=mesh_run.name, name="test", wait=10))
    background.run(bus.subscribe("telemetry.>", LogRecord, lambda _, message: heard.append(message)))
    for main, code, said, crashes in (
        (ending(ZeroDivisionError("main is broken")), 1, "main is broken", True),
        (crash_beside, 1, "a task is broken", True),
        (ending(NodeFailure("no checkpoint; start with warm-start")), 1, "start with warm-start", False),
        (ending(SystemExit("port 5 is in use; choose another")), 1, "port 5 is in use; choose another", False),
        (done, 0, "nothing to do", False),
    ):
        heard.clear()
        assert run_node("tester", mesh_run.node, main) == code
        errors = capsys.readouterr().err
        assert said in errors
        assert ("Traceback" in errors, "ZeroDivisionError" in errors) == (crashes, crashes)
        background.run(eventually(lambda said=said: any(said in str((each.event, each.fields)) for each in heard)))  # type: ignore[misc]
        assert not crashes or "error" in {each.level for each in heard}
        assert background.run(bus.nodes()) == []
    background.run(bus.close())


def test_a_port_in_use_and_a_bad_run_name_are_said(mesh_run: RunOnBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_node("tester", NodeSettings(run="No Such Run"), done) == 2
    assert "lower-case letters" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run_node("tester", replace(mesh_run.node, metrics_port=port), done) == 1
    errors = capsys.readouterr().err
    assert f"127.0.0.1:{port}" in errors and "in use" in errors and "Traceback" not in errors


async def test_a_problem_shows_in_healthz_and_in_the_registry(bus: Bus, mesh_run: RunOnBroker) -> None:
    async def sick(ctx: NodeContext) -> None:
        ctx.health("pool", "no Lean worker starts")
        await ctx.stopping.wait()

    async with living(mesh_run.node, sick):
        status, health = await got((await registered(bus, "unhealthy")).metrics_url.replace("/metrics", "/healthz"))
    assert status == 503 and "no Lean worker starts" in health


async def test_a_blocked_event_loop_is_noticed(mesh_run: RunOnBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "LAG_WARNING_SECONDS", 0.1)
    monkeypatch.setattr(pulse, "LAG_PROBE_SECONDS", 0.01)

    async def block(ctx: NodeContext) -> None:
        await asyncio.sleep(0)  # until the lag is measured
        time.sleep(0.2)  # noqa: ASYNC251 - what the lag gauge is for
        await eventually(lambda: any(line["event"] == "event loop was blocked" for line in logs))
        _, metrics = await got(ctx.metrics_url)
        assert 'proofmesh_loop_lag_seconds_bucket{le="1.0"}' in metrics
        ctx.stopping.set()

    with capture_logs() as logs:
        async with living(mesh_run.node, block) as node:
            await node.stopping.wait()


async def test_a_node_without_a_broker_says_so_waits_and_can_be_stopped(unused_tcp_port: int) -> None:
    url = f"nats://127.0.0.1:{unused_tcp_port}"
    with capture_logs() as logs:
        async with living(NodeSettings(run="alone", bus=BusSettings(url=url)), done):
            await eventually(lambda: any("broker not reached" in line["event"] for line in logs))
    assert any(str(unused_tcp_port) in str(line) for line in logs)
    assert not any(line["event"] == "nothing to do" for line in logs)


async def test_a_node_outlives_and_finds_its_broker(own_broker: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(node, "FAREWELL_SECONDS", 0.1)
    bus = await Bus.connect(own_broker.bus, run="outage", name="test", wait=10)
    await streams.ensure(bus)
    with capture_logs() as logs:
        async with living(NodeSettings(run="outage", bus=own_broker.bus), serve):
            info = await registered(bus, "phase-one")
            healthz = info.metrics_url.replace("/metrics", "/healthz")
            await own_broker.stop(grace=0)
            assert "the broker is away" in await fetched(healthz, 503)
            await start_again(own_broker)
            await fetched(healthz, 200)
            await eventually(lambda: bus.connected, timeout=30)
            assert (await registered(bus, "phase-one")).node_id == info.node_id
            asked = PauseRequest(epoch=6, seconds=0.0)
            answer = await bus.request_patiently("ctl.test", asked, PauseAcknowledged, timeout=30, deadline=30)
            assert answer.node_id == info.node_id
            await own_broker.stop(grace=0)
            await fetched(healthz, 503)
    events = "\n".join(line["event"] for line in logs)
    assert "broker lost" in events and "broker found again" in events
    await bus.close()


def test_a_node_runs_on_uvloop_unless_its_settings_say_otherwise() -> None:
    assert node._loop_factory(NodeSettings(uvloop=False)) is None
    factory = node._loop_factory(NodeSettings())
    assert factory is not None and factory.__module__ == "uvloop"
