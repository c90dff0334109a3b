"""What is watched of nodes: the spans of attempts, and what a node tells of itself when it is asked."""

import asyncio
import json
import re
import signal
import threading
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from aiohttp import web

from common.bus import Bus
from common.life import timeline
from common.life.logging import LinesFile
from common.output.command import Exit
from common.protocol.messages import LogRecord, PauseAcknowledged, PauseRequest, Span, Spans
from common.watch import diagnosis, spans
from common.watch.diagnosis import Watchdog
from common.watch.logs import LOGS, LogFiles
from node.command.watch.diagnose import main
from tests.background import RunOnBroker
from tests.commands import Answer, Called
from tests.common.nodes import node_process, registered
from tests.ui.monitors import controlling, posted
from tests.waiting import eventually


async def test_what_an_attempt_waits_for_becomes_spans(bus: Bus, tmp_path: Path) -> None:
    async def handler(request: PauseRequest) -> PauseAcknowledged:
        timeline.ran(0.0)
        return PauseAcknowledged(epoch=request.epoch, node_id="node")

    await bus.serve("ctl.attempt", PauseRequest, handler, queue="q", limit=1)
    queue = spans.SpanQueue()
    with timeline.attempting("a-1") as line:
        line.trace = spans.Trace("a-1", queue.add)
        for _ in range(2):
            with timeline.doing("lean"):
                await bus.request("ctl.attempt", PauseRequest(1, 0.0), PauseAcknowledged, timeout=20)
    for span in spans.around("a-1", 10.0, 20.0, {"dispatch": 1.0, "queue": 2.0, "store": 0.5}):
        queue.add(span)
    made = queue.take(100)
    file = LinesFile(tmp_path / spans.FILE)
    spans.write(file, Spans("prover-1", "prover", 1.0, tuple(made)))
    spans.write(file, Spans("prover-1", "prover", 1.0, (msgspec.structs.replace(made[0], attempt="a-2"),)))
    file.write('{"resourceSpans": [' + spans.trace_id("a-1"))  # torn
    found = spans.read(tmp_path, "a-1")
    assert [span.name for span in found] == ["attempt", "dispatch", "queue", "store", "lean", "lean"]
    assert [(span.start, span.seconds) for span in found[:4]] == [(10, 10), (10, 1), (11, 2), (19.5, 0.5)]
    first, *others, last = found
    assert (last.node, last.requests) == (bus._connection.name, 1) and 0 < last.waited <= last.seconds
    assert {span.parent for span in (*others, last)} == {first.id}
    first = json.loads((tmp_path / spans.FILE).read_text().splitlines()[0])["resourceSpans"][0]
    assert {"key": "service.name", "value": {"stringValue": "proofmesh-prover"}} in first["resource"]["attributes"]
    written = first["scopeSpans"][0]["spans"][0]
    assert len(written["traceId"]) == 32 and len(written["spanId"]) == 16 and written["kind"] == 3


def test_an_attempt_has_no_more_spans_than_its_limit_and_says_how_many_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MOST_SPANS", 3)
    made: list[Span] = []
    trace = spans.Trace("a-1", made.append)
    for _ in range(5):
        trace.span("lean", 0.0, 1.0)
    trace.span(spans.PLAY, 0.0, 9.0, left_out=trace.left_out)
    assert [span.name for span in made] == ["lean", "lean", "lean", "play"] and made[-1].left_out == 2
    share = sum(spans.sampled(f"tag-{number}", 0.1) for number in range(2000)) / 2000
    assert 0.07 < share < 0.13 and spans.sampled("x", 1.0) and not spans.sampled("x", 0.0)


async def test_a_collector_gets_the_spans_and_may_be_busy_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "TRY_SECONDS", (0.0, 0.0))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20T, x=1")
    bodies: list[dict[str, Any]] = []
    statuses = [503, 200, 400]

    async def receive(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer T" and request.headers["x"] == "1"
        bodies.append(await request.json())
        return web.json_response({}, status=statuses.pop(0))

    app = web.Application()
    app.router.add_post("/v1/traces", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    message = Spans("prover-1", "prover", 1.0, (Span("a-1", "0" * 16, "lean", 1.0, 2.0),))
    async with spans.exporting(f"http://127.0.0.1:{runner.addresses[0][1]}/") as export:
        export(message)
        await eventually(lambda: len(bodies) == 2)
        export(message)
        await eventually(lambda: not statuses)
    await runner.cleanup()
    assert bodies[0] == bodies[1] == spans.as_otlp("prover", "prover-1", message.spans)


async def test_a_killed_node_loses_its_last_second_at_most(
    mesh_run: RunOnBroker, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "own_host", lambda: "another-machine")
    await spans.keep_telemetry(bus, tmp_path)
    told: list[float] = []
    async with node_process("tell", mesh_run, stdout=PIPE, stderr=DEVNULL) as node:
        assert node.stdout is not None
        while len(told) < 100:
            told.append(float((await node.stdout.readline()).split()[1]))
        node.send_signal(signal.SIGKILL)
        told += [float(line.split()[1]) for line in (await node.stdout.read()).splitlines() if b" " in line]
    old = {f"number {number}" for number, at in enumerate(told) if at < told[-1] - 1.0}

    def all_kept() -> bool:
        logged = {each.event for each in LogFiles(tmp_path / LOGS).read() if each.node_id.startswith("tester-")}
        return old <= logged and old <= {span.name for span in spans.read(tmp_path, "a-1")}

    await eventually(all_kept, 20, "what is older than a second")


async def test_a_running_node_is_diagnosed(mesh_run: RunOnBroker, bus: Bus, called: Called, tmp_path: Path) -> None:
    heard: list[LogRecord] = []
    await bus.subscribe("telemetry.tester.*.log", LogRecord, lambda _, record: heard.append(record))

    async def asked(*flags: object) -> Answer:
        return await asyncio.to_thread(called, main, *flags, *mesh_run.flags)

    log, env = (tmp_path / "node.log").open("wb"), {"TMPDIR": str(tmp_path)}
    async with node_process("serve", mesh_run, env=env, stderr=log) as node, controlling(mesh_run) as url:
        log.close()
        await registered(bus, "phase-one")
        ran = await asked("tester", "--stacks", "--memory", "--profile", "--seconds", "0.1")
        assert ran.code == 0, ran
        assert "task tester main" in ran.out and "await ctx.stopping.wait()" in ran.out
        assert re.search("profile (failed=py-spy|file=)", ran.out)
        assert "objects by type" in next(tmp_path.glob("tester-*/memory.txt")).read_text()
        assert (await asked("--level", "error", "--seconds", "600")).code == 0
        assert (await asked("--stacks")).code == 0, "what is asked for is logged at every level"
        node.send_signal(signal.SIGUSR2)
        await eventually(lambda: any(each.fields.get("logs") == "debug" for each in heard))
        node.send_signal(signal.SIGUSR1)
        await eventually(lambda: "Current thread" in (tmp_path / "node.log").read_text())
        # The monitor asks in the same way, for its page.
        status, found = await posted(f"{url}/ask", {"what": "level", "node": "tester", "level": "debug", "seconds": 1})
        assert status == 200 and found["silent"] == []
        assert [each["fields"]["logs"] for each in found["answers"]] == ["debug"]
        status, found = await posted(f"{url}/ask", {"what": "pause", "node": "tester"})
        assert "a tester cannot pause" in found["answers"][0]["fields"]["failed"]
        status, found = await posted(f"{url}/ask", {"what": "stacks", "node": "nobody"})
        assert status == 400 and "no node nobody" in found["error"]
        refused = await asked("tester", "--do", "pause")
        assert refused.code == 1 and "a tester cannot pause; ask a learner" in refused.out
        assert "name the nodes" in (await asked("--do", "drain")).err
        assert "has no node nobody" in (await asked("nobody", "--stacks")).err
        assert "say what to ask" in (await asked()).err
        await posted(f"{url}/ask", {"what": "drain", "node": "tester"})
        assert await asyncio.wait_for(node.wait(), 60) == Exit.DRAINED


async def test_a_stuck_event_loop_says_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "STUCK_SECONDS", 0.05)
    said = threading.Event()

    def stuck() -> None:
        assert said.wait(60)

    def heard(_: object, __: str, event: dict[str, object]) -> dict[str, object]:
        if event["event"] == "event loop is stuck" and event["of"] == "this test":
            assert "in stuck" in str(event["stack"])
            said.set()
        raise structlog.DropEvent

    structlog.configure(processors=[heard], cache_logger_on_first_use=False)
    with Watchdog(structlog.get_logger().bind(of="this test")).watching():
        stuck()
