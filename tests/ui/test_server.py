import asyncio
import functools
import json
import re
import subprocess
from pathlib import Path

import pytest
from aiohttp import ClientSession
from yarl import URL

from common.bus import Bus
from common.life.node import NodeContext
from common.protocol.messages import LogRecord, Point
from tests.background import RunOnBroker
from tests.commands import found
from tests.common.nodes import got
from tests.message_values import heartbeat, node_info
from tests.ui.monitors import MAY, TOKEN, controlling, mesh, monitoring, posted, small_run
from tests.waiting import answered
from ui import server
from ui.control import HEADER
from ui.runs import Runs
from ui.server import STATIC


async def test_everything_the_page_needs_comes_from_this_server_and_is_small() -> None:
    async with monitoring(Runs(None, mesh())) as url, ClientSession(auto_decompress=False) as session:
        assert str((await session.get(url + "/")).url) == f"{url}/run/demo/overview"
        text = await (await session.get(url + "/runs", headers={"Accept-Encoding": "identity"})).text()
        addresses = re.findall(r'(?:src|href)="([^"#]+)"', text)
        scripts = {f"/static/{file.relative_to(STATIC)}" for file in STATIC.rglob("*.js")}
        weight = 0
        for address in {*addresses, *scripts, "/chart.js"} - {"/runs"}:
            assert address.startswith("/"), f"{address} is not on this server"
            response = await session.get(url + address, headers={"Accept-Encoding": "gzip"})
            assert response.status == 200 and response.headers["Content-Encoding"] == "gzip", address
            weight += len(await response.read())
            assert (await session.get(url + address, headers={"If-None-Match": response.headers["ETag"]})).status == 304
        assert weight < 600_000, "all pages together, with the charts"
    # No file names another host.
    for file in [each for each in STATIC.rglob("*") if each.is_file()]:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"(?m)(?:^|\s)//.*|/\*.*?\*/|(?<=[,;{])\s*//\s.*|`\$\{[^`]*`", "", text), file.name


async def test_no_other_file_is_served_and_an_address_may_have_any_name_in_it() -> None:
    async with monitoring(Runs(None, mesh())) as url, ClientSession() as session:
        for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/absent.js", "/nowhere"):
            assert (await session.get(URL(url + path, encoded=True))).status == 404
        for name in ("a%0Ab", "a%2Fb", "%E2%80%AEx", "%3Cb%3E", "a%00b"):
            page = await session.get(URL(f"{url}/run/demo/theorem/{name}", encoded=True))
            assert page.status == 200 and "<html" in await page.text(), name


async def test_a_page_hears_what_has_changed(tmp_path: Path) -> None:
    small_run(tmp_path / "run").close()
    async with monitoring(Runs(tmp_path)) as url, ClientSession() as session:
        async with session.get(f"{url}/events?run=run") as response:
            first = await next_tick(response)
            assert (first["run"], first["live"], first["finished"]) == ("run", False, False)
            (tmp_path / "run" / "summary.json").write_text("{}")
            while not (later := await next_tick(response))["finished"]:
                pass
            assert later["versions"]["points"] != first["versions"]["points"]
        assert (await session.get(f"{url}/events?run=absent")).status == 404


async def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_PAGES", 1)
    async with monitoring(Runs(None, mesh())) as url, ClientSession() as web, web.get(f"{url}/events?run=demo") as page:
        assert await next_tick(page)
        assert (await web.get(f"{url}/events?run=demo")).status == 503


async def test_answers_say_what_is_wrong_with_a_question(tmp_path: Path) -> None:
    small_run(tmp_path / "run").close()
    async with monitoring(Runs(tmp_path)) as url, ClientSession() as session:

        async def asked(path: str) -> tuple[int, str]:
            response = await session.get(f"{url}/api/run/{path}")
            return response.status, (await response.json()).get("error", "")

        assert await asked("run/overview") == (200, "")
        assert (await asked("absent/overview"))[0] == 404
        status, words = await asked("run/nothing")
        assert status == 404 and words.startswith("no view nothing; there are: overview")
        status, words = await asked("run/curves?name=loss")
        assert status == 400 and "name" in words
        (tmp_path / "run" / "proofs.sqlite").write_text("damaged " * 1000)
        status, words = await asked("run/overview")
        assert status == 400 and "proofs.sqlite" in words


async def test_the_overview_has_intervals_counters_and_the_latest_proofs(tmp_path: Path) -> None:
    small_run(tmp_path / "run").close()
    async with monitoring(Runs(tmp_path)) as url, ClientSession() as session:
        found = await (await session.get(f"{url}/api/run/run/overview")).json()
        curves = await (await session.get(f"{url}/api/run/run/curves")).json()
    (evaluation,) = found["evaluations"]
    share = {"solved": 1, "of": 3, "rate": 1 / 3, "low": 0.0615, "high": 0.7923}
    assert evaluation["share"] == pytest.approx(share, abs=1e-3)
    assert evaluation["levels"]["1"]["of"] == 3 and found["counters"]["learner.proofs_verified"] == 1
    assert [proof["theorem_id"] for proof in found["proofs"]] == ["t"] and found["verdict"]["fault"] == "none"
    assert curves == {"time": [1.0], "step": [1], "values": {"loss": [2.0]}}


async def test_programs_read_the_state_and_numbers_that_are_not_finite_blank_nothing() -> None:
    nan, huge = float("nan"), float("inf")
    watched = mesh("demo", node_info("a", started=nan))
    state = watched.mesh
    for bad in (nan, huge, -huge, 1e308):
        state.see_heartbeat(heartbeat("a", time=bad, attempts=bad, other=bad))
        state.tick(2.0)
        state.see_point(Point(time=3.0 + (bad == huge), step=1, values={"loss": bad, "valid_loss": 2.0}))
    state.see_point(Point(time=nan, step=2, values={"loss": 1.0}))
    state.see_log(LogRecord(node_id="a", role="prover", time=nan, level="info", event="odd"))
    async with monitoring(Runs(None)) as url, ClientSession() as session:
        assert await (await session.get(url + "/api/state")).json() == {"run": None, "runs": []}
    async with monitoring(Runs(None, watched)) as url, ClientSession() as session:
        shown = await (await session.get(url + "/api/state")).json()
        assert (shown["run"], shown["alive"], shown["connected"]) == ("demo", 1, True)
        for path in ("/api/state", "/api/run/demo/overview", "/api/run/demo/curves"):
            found = json.loads(await (await session.get(url + path)).read(), parse_constant=pytest.fail)
        assert found["values"] == {"valid_loss": [2.0, 2.0]}
    state.see_heartbeat(heartbeat("a", time=5.0, attempts=7))
    assert state.totals() == {"prover.attempts": 7.0}, "a later message is whole again"


async def next_tick(response) -> dict:  # type: ignore[no-untyped-def, type-arg]
    kind, data = (await asyncio.wait_for(response.content.readuntil(b"\n\n"), 60)).decode().strip().split("\n")
    assert kind == "event: tick"
    return json.loads(data.removeprefix("data: "), parse_constant=pytest.fail)


@pytest.mark.process
def test_the_types_in_the_scripts_agree() -> None:
    done = subprocess.run([found("tsc"), "-p", str(STATIC.parent / "jsconfig.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


async def test_nobody_acts_without_the_token_the_header_or_a_whole_request(mesh_run: RunOnBroker, bus: Bus) -> None:
    ask = {"what": "drain", "node": "tester"}
    async with controlling(mesh_run) as url:
        assert (await posted(f"{url}/ask", ask, {HEADER: "1"}))[0] == 401
        assert (await posted(f"{url}/ask", ask, {"Authorization": f"Bearer {TOKEN}"}))[0] == 400
        assert (await posted(f"{url}/ask", ask, MAY | {"Origin": "https://evil.example"}))[0] == 403
        for bad in ({"what": "drain"}, {"what": "rm", "node": "a"}, ask | {"node": ""}, ask | {"more": 1}, []):
            assert (await posted(f"{url}/ask", bad))[0] == 400
        for bad in ({"statement": ""}, {"statement": "theorem t : True", "seconds": 1e9}):
            assert (await posted(f"{url}/submit", bad))[0] == 400
    async with monitoring(Runs(None, mesh(mesh_run.name))) as url:
        status, _ = await posted(f"{url}/api/control/ask", ask)
        assert status in (404, 405), "a monitor without --allow-control cannot act at all"


async def test_a_submitted_statement_says_what_became_of_it(mesh_run: RunOnBroker, lean_proxy: NodeContext) -> None:
    async with controlling(mesh_run) as url:
        status, found = await posted(f"{url}/submit", {"statement": "theorem t (p : Prop) : p → p", "seconds": 60})
        assert status == 200 and found["outcome"] == "searching"

        asked = functools.partial(got, f"{url}/submitted", headers=MAY)
        _, text = await answered(asked, lambda page: '"searching"' not in page[1])
    (found,) = json.loads(text)
    assert found["outcome"] == "proved" and found["lean"].startswith("theorem t (p : Prop) : p → p := by"), found
