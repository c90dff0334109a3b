"""The page is whole without the Internet, and pages that do not keep up cannot slow the monitor."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from common.protocol.messages import Heartbeat, LogRecord, NodeInfo, Point
from ui import server
from ui.mesh_state import MeshState
from ui.server import STATIC, Monitor


@pytest.fixture
async def monitor() -> AsyncIterator[tuple[Monitor, str]]:
    monitor = Monitor(MeshState(), "demo")
    runner = web.AppRunner(monitor.application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield monitor, f"http://127.0.0.1:{runner.addresses[0][1]}"
    monitor.close()
    await runner.cleanup()


async def next_event(response) -> tuple[str, dict]:  # type: ignore[no-untyped-def, type-arg]
    text = (await asyncio.wait_for(response.content.readuntil(b"\n\n"), 60)).decode()
    kind, data = text.strip().split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def test_everything_the_page_needs_comes_from_this_server(monitor: tuple[Monitor, str]) -> None:
    _, url = monitor
    async with ClientSession() as session:
        page = await (await session.get(url + "/")).text()
        for address in re.findall(r'(?:src|href)="([^"]+)"', page):
            assert address.startswith("/"), f"{address} is not on this server"
            response = await session.get(url + address)
            assert response.status == 200, address
            assert await response.read()


def test_no_file_of_the_page_names_another_host() -> None:
    for file in STATIC.iterdir():
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"(?m)^\s*//.*|\s//\s.*", "", text), file.name


async def test_a_new_page_gets_history_then_events(monitor: tuple[Monitor, str]) -> None:
    watching, url = monitor
    watching.state.see_log(LogRecord(node_id="a", role="prover", time=0, level="info", event="before"))
    async with ClientSession() as session, session.get(url + "/events") as response:
        kind, history = await next_event(response)
        assert kind == "history" and history["run"] == "demo"
        assert [record["event"] for record in history["logs"]] == ["before"]
        assert (await next_event(response))[0] == "overview"
        watching.publish("log", {"event": "after"})
        assert await next_event(response) == ("log", {"event": "after"})


async def test_a_page_that_does_not_read_is_disconnected(
    monitor: tuple[Monitor, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "QUEUE_LIMIT", 4)
    watching, url = monitor
    async with ClientSession() as session, session.get(url + "/events") as response:
        await next_event(response)
        await next_event(response)
        for i in range(50):  # without giving the page a turn
            watching.publish("log", {"event": str(i)})
        seen = [line async for line in response.content if line.startswith(b"event")]
        assert len(seen) < 50  # the stream ended, early


async def test_programs_can_read_the_state(monitor: tuple[Monitor, str]) -> None:
    _, url = monitor
    async with ClientSession() as session:
        state = await (await session.get(url + "/api/state")).json()
    assert state["run"] == "demo" and state["nodes"] == []


async def test_numbers_that_are_not_finite_blank_nothing(monitor: tuple[Monitor, str]) -> None:
    watching, url = monitor
    nan, huge = float("nan"), float("inf")
    info = NodeInfo(node_id="a", role="prover", host="h", pid=1, version="1", started=nan)
    watching.state.see_registry([info], 1.0)
    for bad in (nan, huge, -huge, 1e308):
        beat = Heartbeat(node_id="a", role="prover", time=bad, state="running", values={"attempts": bad, "other": bad})
        watching.state.see_heartbeat(beat)
        watching.state.tick(2.0)
        watching.point(Point(time=3.0 + (bad == huge), step=1, values={"loss": bad, "valid_loss": 2.0}))
    watching.point(Point(time=nan, step=2, values={"loss": 1.0}))
    watching.state.see_log(LogRecord(node_id="a", role="prover", time=nan, level="info", event="odd"))
    async with ClientSession() as session, session.get(url + "/events") as response:
        kind, history = strict(await response.content.readuntil(b"\n\n"))
        assert kind == "history" and [point["values"] for point in history["points"]] == [{"valid_loss": 2.0}] * 2
        assert history["logs"][0]["time"] is None
        kind, overview = strict(await response.content.readuntil(b"\n\n"))
        assert kind == "overview" and overview["nodes"][0]["values"] == {}
        watching.publish("point", {"values": {"loss": nan}})
        assert strict(await response.content.readuntil(b"\n\n")) == ("point", {"values": {"loss": None}})
        state = await (await session.get(url + "/api/state")).read()
        json.loads(state, parse_constant=pytest.fail)
    watching.state.see_heartbeat(
        Heartbeat(node_id="a", role="prover", time=5.0, state="running", values={"attempts": 7})
    )
    assert watching.state.totals() == {"prover.attempts": 7.0}, "a later message is whole again"


def strict(event: bytes) -> tuple[str, dict]:  # type: ignore[type-arg]
    """An event as a browser reads it, which knows no NaN."""
    kind, data = event.decode().strip().split("\n")
    return kind.removeprefix("event: "), json.loads(data.removeprefix("data: "), parse_constant=pytest.fail)


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run the page's script")
def test_one_bad_field_does_not_stop_the_page(tmp_path: Path) -> None:
    shutil.copy(STATIC / "page.js", tmp_path / "page.mjs")
    (tmp_path / "main.mjs").write_text(
        'import { duration, each, number } from "./page.mjs"; console.error = () => {}; const seen = [];\n'
        "each([1, null, 3], (x) => seen.push(x.toFixed(0)));\n"
        "console.log(JSON.stringify([seen, [null, undefined, NaN, 1 / 0].map(number), [null, NaN].map(duration)]));"
    )
    done = subprocess.run(["node", tmp_path / "main.mjs"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [["1", "3"], ["–"] * 4, ["–"] * 2]
