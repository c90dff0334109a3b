import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession

from common.bus import Bus
from common.life.node import NodeContext, NodeSettings
from common.life.process import kill_group, spawn_child
from common.life.serving import Access
from common.output.command import Exit
from common.settings import WebSettings
from tests.background import RunOnBroker
from tests.common.test_node import PROGRAM, registered
from tests.ui.monitors import mesh, monitoring
from tests.waiting import until
from ui.control import HEADER, Control
from ui.runs import Runs

TOKEN = "abcdefgh" * 4
MAY = {"Authorization": f"Bearer {TOKEN}", HEADER: "1"}


@asynccontextmanager
async def controlling(run: RunOnBroker) -> AsyncIterator[str]:
    control = Control(NodeSettings(run=run.name, bus=run.bus))
    access = Access(WebSettings(), TOKEN)
    async with monitoring(Runs(None, mesh(run.name)), access=access, control=control) as url:
        yield f"{url}/api/control"
    await control.close()


async def posted(url: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    async with ClientSession() as session, session.post(url, json=body, headers=headers or MAY) as response:
        text = await response.text()
        return response.status, await response.json() if text.startswith(("{", "[")) else text


@pytest.mark.process
async def test_a_node_is_asked_and_leaves(mesh_run: RunOnBroker, bus: Bus) -> None:
    node = await spawn_child([sys.executable, PROGRAM, "serve", mesh_run.bus.url, mesh_run.name])
    try:
        await registered(bus, "phase-one")
        async with controlling(mesh_run) as url:
            level = {"what": "level", "node": "tester", "level": "debug", "seconds": 1}
            status, found = await posted(f"{url}/ask", level)
            assert status == 200 and found["silent"] == []
            assert [each["fields"]["logs"] for each in found["answers"]] == ["debug"]
            status, found = await posted(f"{url}/ask", {"what": "pause", "node": "tester"})
            assert "a tester cannot pause" in found["answers"][0]["fields"]["failed"]
            status, found = await posted(f"{url}/ask", {"what": "stacks", "node": "nobody"})
            assert status == 400 and "no node nobody" in found["error"]
            await posted(f"{url}/ask", {"what": "drain", "node": "tester"})
            assert await asyncio.wait_for(node.wait(), 60) == Exit.DRAINED
    finally:
        await kill_group(node, grace=0)


async def test_nobody_acts_without_the_token_the_header_or_a_whole_request(mesh_run: RunOnBroker, bus: Bus) -> None:
    ask = {"what": "drain", "node": "tester"}
    async with controlling(mesh_run) as url:
        assert (await posted(f"{url}/ask", ask, {HEADER: "1"}))[0] == 401
        assert (await posted(f"{url}/ask", ask, {"Authorization": f"Bearer {TOKEN}"}))[0] == 400
        assert (await posted(f"{url}/ask", ask, MAY | {"Origin": "https://evil.example"}))[0] == 403
        for bad in ({"what": "drain"}, {"what": "rm", "node": "a"}, ask | {"node": ""}, ask | {"more": 1}, []):
            assert (await posted(f"{url}/ask", bad))[0] == 400
        assert (await posted(f"{url}/submit", {"statement": ""}))[0] == 400
        assert (await posted(f"{url}/submit", {"statement": "theorem t : True", "seconds": 1e9}))[0] == 400
    async with monitoring(Runs(None, mesh(mesh_run.name))) as url:
        status, _ = await posted(f"{url}/api/control/ask", ask)
        assert status in (404, 405), "a monitor without --allow-control cannot act at all"


async def test_a_submitted_statement_says_what_became_of_it(
    mesh_run: RunOnBroker, bus: Bus, lean_proxy: NodeContext
) -> None:
    async with controlling(mesh_run) as url:
        status, found = await posted(f"{url}/submit", {"statement": "theorem t (p : Prop) : p → p", "seconds": 60})
        assert status == 200 and found["outcome"] == "searching"

        async def over() -> bool:
            async with ClientSession() as session, session.get(f"{url}/submitted", headers=MAY) as response:
                found.update((await response.json())[0])
            return bool(found["outcome"] != "searching")

        await until(over)
        assert found["outcome"] == "proved", found
        assert found["lean"].startswith("theorem t (p : Prop) : p → p := by")
