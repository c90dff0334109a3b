"""`proofmesh targets`: what Prometheus' service discovery is told about a mesh."""

import json
import re
import socket
import urllib.request
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from common.life.context import NodeContext
from common.life.metrics import METRICS
from common.protocol.messages import NodeInfo
from common.settings import NodeSettings
from node.command.watch.targets import NODE_LABEL, Found, groups, main
from tests.background import Background, RunOnBroker
from tests.commands import Run


def node(number: int) -> NodeInfo:
    """The prover that starts as the `number`-th on a machine."""
    url = f"http://10.0.0.1:{9000 + number}/metrics"
    where = {"host": "first", "pid": 1, "version": "0", "started": number, "metrics_url": url}
    return NodeInfo(node_id=f"prover-first-{number}", role="prover", **where)  # type: ignore[arg-type]


def places(shown: list[dict[str, dict[str, str]]]) -> dict[str, str]:
    return {each["labels"][NODE_LABEL]: each["labels"]["instance"] for each in shown}


def test_the_nodes_of_a_mesh_are_listed_with_addresses_that_answer(
    called: Run, mesh_run: RunOnBroker, lean_proxy: object
) -> None:
    answer = called(main, *mesh_run.flags)
    (target,) = json.loads(answer.out)
    labels = target["labels"]
    assert (answer.code, labels["run"], labels["role"]) == (0, mesh_run.name, "lean-proxy")
    with urllib.request.urlopen(f"{labels['__scheme__']}://{target['targets'][0]}{labels['__metrics_path__']}") as page:
        assert b"proofmesh_bus_wait_seconds_bucket" in page.read()
    assert called(main, *mesh_run.flags, "--url", "nats://127.0.0.1:1", "--wait", 0.1).code == 3


def test_many_lives_of_a_node_have_one_place_and_the_same_series(background: Background, mesh_run: RunOnBroker) -> None:
    async def work(ctx: NodeContext) -> None:
        ctx.health("lean", "gone")
        ctx.health("lean", None)
        await ctx.stopping.wait()

    shown, series = [], set()
    with background.node("learner", mesh_run.node, work):
        for life in range(20):
            with background.node("prover", mesh_run.node, work) as ctx:
                if life % 5:
                    continue
                shown = groups(mesh_run.name, background.run(ctx.bus.nodes()), places(shown))
                page = METRICS.render().decode()
                assert ctx.id in places(shown) and ctx.id not in page
                assert f'target_info{{role="prover",run="{mesh_run.name}",version=' in page
                series.add((len(page.splitlines()), *sorted(places(shown).values())))
    host = re.sub("[^A-Za-z0-9.-]+", "-", socket.gethostname())
    ((_, *instances),) = series
    assert instances == [f"learner-{host}-1", f"prover-{host}-1"]


async def test_a_node_keeps_its_place_while_others_come_and_go_in_file_and_server_and_after_a_new_start(
    tmp_path: Path,
) -> None:
    shown = groups("demo", [node(1), node(2)], {})
    shown = groups("demo", [node(3), node(2)], places(shown))
    assert places(shown) == {"prover-first-3": "prover-first-1", "prover-first-2": "prover-first-2"}
    file = tmp_path / "targets.json"
    found = Found(file)
    found.update("demo", [node(1), node(2)])
    found.update("demo", [node(2)])
    async with AsyncExitStack() as stack:
        runner = await found.serve(stack, NodeSettings(token="secret"), 0)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/targets"
        assert (await session.get(url)).status == 401
        answer = await session.get(url, headers={"Authorization": "Bearer secret"})
        assert answer.content_type == "application/json", "Prometheus takes nothing else"
        assert await answer.json() == json.loads(file.read_text())
    again = Found(file)
    again.update("demo", [node(2), node(3)])
    told = places(json.loads(file.read_text()))
    assert told == {"prover-first-2": "prover-first-2", "prover-first-3": "prover-first-1"}


@pytest.mark.parametrize("url", ["", "ftp://10.0.0.1/metrics", "http://", "http://user:word@10.0.0.1/", "http://[::"])
def test_a_node_without_an_address_is_left_out(url: str) -> None:
    strange = NodeInfo(node_id="x", role="prover", host="first", pid=1, version="0", started=0, metrics_url=url)
    assert [each["targets"] for each in groups("demo", [strange, node(1)], {})] == [["10.0.0.1:9001"]]
