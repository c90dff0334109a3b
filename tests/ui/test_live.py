"""A page follows a run while it goes on, and keeps its place: what is new appears, a node dies and returns, the monitor
goes and comes back, addresses can be shared."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from common import curves
from common.limits import LONGEST_NAME
from common.protocol.messages import Heartbeat, LogRecord, NodeInfo, Point, ProofFound
from scripts.browser import DESKTOP, PHONE, listed
from scripts.made_run import make_run
from tests.message_values import heartbeat, node_info
from tests.ui.browser import Serve, Windows, expect, flaws, told
from tests.ui.hostile_run import NUMBERS, TEXTS
from tests.ui.monitors import monitoring
from ui import server
from ui.mesh_state import MeshState
from ui.runs import Kind, Run, Runs

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages hear of changes five times a second."""
    monkeypatch.setattr(server, "TICK", 0.2)


class Mesh:
    """A watched run whose nodes are told by hand."""

    def __init__(self, folder: Path | None) -> None:
        self.state = MeshState()
        self.run = Run("made", Kind.LEARNER if folder else Kind.MESH, folder, self.state, connected=True)

    def has(self, *names: str, **values: float) -> None:
        """The registry has these nodes, and each has sent a heartbeat with these values."""
        now = time.time()
        self.state.see_registry([node_info(name, role(name)) for name in names], now)
        for name in names:
            self.state.see_heartbeat(heartbeat(name, role(name), now, **values), now)
        self.state.tick(now)


def role(name: str) -> str:
    return name.rpartition("-")[0]


async def test_what_is_new_in_a_runs_files_appears(page: Page, windows: Windows, serve: Serve, tmp_path: Path) -> None:
    make_run(tmp_path / "made", finished=False)
    evaluations = tmp_path / "made" / curves.EVALUATIONS
    lines = evaluations.read_bytes().splitlines(keepends=True)
    evaluations.write_bytes(b"".join(lines[:2]))
    url = await serve(tmp_path)
    await page.goto(f"{url}/run/made/overview")
    await windows.settled(page)
    await expect(page.get_by_role("status")).to_have_text("from files")
    evaluations.write_bytes(b"".join(lines))
    await expect(page.get_by_role("img", name="over 4 points").first).to_be_visible()
    (tmp_path / "made" / "summary.json").write_text(json.dumps({"run": "made", "solved_before": 3, "solved_after": 77}))
    await expect(page.get_by_role("status")).to_have_text("finished")
    assert await flaws(page) == []


async def test_a_node_dies_and_returns(page: Page, windows: Windows, serve: Serve) -> None:
    mesh = Mesh(None)
    mesh.has("learner-1", "prover-1", "prover-2", attempts=5.0)
    url = await serve(None, mesh.run)
    await page.goto(f"{url}/run/made/nodes")
    count = page.locator('#nav a[data-page="nodes"] .count')
    await expect(count).to_have_text("3")
    mesh.has("learner-1", "prover-1", attempts=6.0)
    await expect(count).to_have_text("1 sick")
    mesh.has("learner-1", "prover-1", "prover-2", attempts=7.0)
    await expect(count).to_have_text("3")
    mesh.run.connected = False
    await expect(page.get_by_role("status")).to_have_text("broker unreachable")
    assert await flaws(page) == []


async def test_addresses_lead_back_to_where_one_was(page: Page, windows: Windows, site: str) -> None:
    await page.goto(f"{site}/run/made/overview")
    await windows.settled(page)
    await page.get_by_role("navigation").get_by_role("link", name="Theorems").click()
    heading = page.get_by_role("heading", level=1)
    await expect(heading).to_have_text(re.compile("theorems", re.IGNORECASE))
    assert page.url == f"{site}/run/made/theorems"
    await page.reload()
    await expect(heading).to_have_text(re.compile("theorems", re.IGNORECASE))
    await page.go_back()
    await expect(heading).to_have_text("Overview")
    await page.get_by_role("combobox", name="Run").select_option("hostile")
    await expect(page.locator("main")).to_contain_text("Overview")
    assert page.url == f"{site}/run/hostile/overview", "the same page of another run"


@pytest.mark.slow
async def test_the_theme_stays_as_chosen(windows: Windows, site: str) -> None:
    page = await windows.open(f"{site}/run/made/overview", dark=True)
    root = page.locator("html")
    await expect(root).to_have_attribute("data-theme", "dark")
    await page.get_by_role("button", name="Theme").click()
    await expect(root).to_have_attribute("data-theme", "light")
    await page.reload()
    await expect(root).to_have_attribute("data-theme", "light")
    await windows.settled(page)


@pytest.mark.slow
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
async def test_hostile_nodes_leave_pages_whole(windows: Windows, serve: Serve, size: tuple[int, int]) -> None:
    """A node says of itself what it likes."""
    mesh, now = Mesh(None), time.time()
    mesh.run.name = "<b>run</b> & 100% ?#/..\u202e"
    infos = []
    for place, text in enumerate(TEXTS):
        name, number = f"{place} {text}"[:LONGEST_NAME], NUMBERS[place % len(NUMBERS)]
        short = name[:200]
        infos.append(
            NodeInfo(
                node_id=name,
                role=("learner", "prover", "lean-proxy", "inference", short)[place % 5],
                host=name,
                pid=-place,
                version=name,
                started=number,
                metrics_url=name,
                capacity={short: 2**62},
                state=("running", "unhealthy", short)[place % 3],
                problems={short: text[:2000]},
            )
        )
        mesh.state.see_log(LogRecord(name, infos[-1].role, number, short, text, fields={short: text}))
        mesh.state.see_proof(ProofFound(theorem_id=name, attempt_id=name, purpose=short, time=number, lean=text))
        mesh.state.see_point(Point(time=now + place, step=place, values={short: number, "loss": number}))
    mesh.state.see_registry(infos, now)
    for place, each in enumerate(infos):
        values = {each.node_id[:200]: 1.0, "attempts": NUMBERS[place % len(NUMBERS)], "loop_lag_ms": float("nan")}
        mesh.state.see_heartbeat(Heartbeat(each.node_id, each.role, 1e308, each.node_id[:200], values), now)
    mesh.state.tick(now)
    url = await serve(None, mesh.run)
    page = await windows.open(url, size)
    windows.faults.expect("answer: 404|status of 404")
    found = {}
    nodes = [f"node/{quote(each.node_id, safe='')}" for each in infos]
    for path in [*(name for name, hidden in listed() if not hidden and name != "runs"), *nodes]:
        await windows.visit(page, f"/run/{quote(mesh.run.name, safe='')}/{path}")
        if wrong := [flaw for flaw in await flaws(page) if not flaw.startswith("problem: ")]:
            found[path[:100]] = wrong
    assert not found, told(found)


@pytest.mark.slow
async def test_a_page_survives_the_monitors_restart(page: Page, windows: Windows, runs_folder: Path) -> None:
    windows.faults.expect("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE")
    async with monitoring(Runs(runs_folder)) as url:
        await page.goto(f"{url}/run/made/overview")
        await windows.settled(page)
        await expect(page.get_by_role("status")).to_have_text("finished")
    await expect(page.get_by_role("status")).to_have_text("connection lost")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    async with monitoring(Runs(runs_folder), port=int(url.rpartition(":")[2])):
        await expect(page.get_by_role("status")).to_have_text("finished")
    assert await flaws(page) == []
