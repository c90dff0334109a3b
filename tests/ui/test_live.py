"""A page follows a run while it goes on, and keeps its place: what is new appears, a node dies and returns, the monitor
goes and comes back, addresses can be shared."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from common import curves
from common.protocol.messages import Heartbeat, NodeInfo
from scripts.bench.made_run import make_run
from tests.ui.browser import Serve, Windows, expect, flaws
from ui.mesh_state import MeshState
from ui.runs import Kind, Run

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.process, pytest.mark.asyncio(loop_scope="session")]


class Mesh:
    """A watched run whose nodes are told by hand."""

    def __init__(self, folder: Path | None) -> None:
        self.state = MeshState()
        self.run = Run("made", Kind.LEARNER if folder else Kind.MESH, folder, self.state, connected=True)

    def has(self, *names: str, **values: float) -> None:
        """The registry has these nodes, and each has sent a heartbeat with these values."""
        now = time.time()
        self.state.see_registry([info(name) for name in names], now)
        for name in names:
            beat = Heartbeat(node_id=name, role=role(name), time=now, state="running", values=values)
            self.state.see_heartbeat(beat, now)
        self.state.tick(now)


def role(name: str) -> str:
    return name.rpartition("-")[0]


def info(name: str) -> NodeInfo:
    return NodeInfo(node_id=name, role=role(name), host="host-a", pid=1, version="1", started=time.time())


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
