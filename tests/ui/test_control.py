from aiohttp import ClientSession

from common.bus import Bus
from common.life.node import NodeContext
from tests.background import RunOnBroker
from tests.ui.monitors import MAY, TOKEN, controlling, mesh, monitoring, posted
from tests.waiting import until
from ui.control import HEADER
from ui.runs import Runs


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
