"""`proofmesh status` and `proofmesh runs`: the nodes of a mesh, what a broker keeps, and how to get rid of it."""

import asyncio
import json
import re
import urllib.request
from functools import partial

import pytest

from broker import streams
from common.bus import Bus, BusSettings, names
from common.bus.stored import api
from common.protocol.subjects import todo
from node.command import runs, status as command
from tests.message_values import attempt, named, node_info


@pytest.fixture
def status(called, mesh_run):
    """The command, about the test's run."""
    return partial(called, command.main, *mesh_run.flags)


def test_a_mesh_shows_its_nodes_and_the_protections_of_its_lean_processes(status, lean_proxy):
    code, output, _ = status("--json")
    told = json.loads(output)
    assert code == 0 and [node["role"] for node in told["nodes"]] == ["lean-proxy"]
    facts = told["nodes"][0]["facts"]
    assert facts["version"].startswith("4.") and facts["header"] == ""
    protections = {each["name"] for each in facts["protections"]}
    assert {"network", "files", "reads", "processes", "signals", "memory", "CPU time"} <= protections

    url = told["nodes"][0]["metrics_url"].replace("/metrics", "/healthz")
    with urllib.request.urlopen(url) as answer:
        assert json.load(answer)["facts"] == facts

    code, output, _ = status()
    assert code == 0 and "lean-proxy" in output and "network" in output


@pytest.fixture
async def kept(broker: BusSettings, bus: Bus) -> Bus:
    """The run of `bus`, with one attempt in its queue."""
    await bus.publish_durable(todo("train"), attempt("a1"), message_id="a1")
    return bus


async def call(broker: BusSettings, *arguments: str) -> int:
    return await asyncio.to_thread(runs.main, [*arguments, "--url", broker.url])


PROVER = named("prover-1")


async def test_runs_are_listed_in_full(broker: BusSettings, kept: Bus, capsys: pytest.CaptureFixture[str]) -> None:
    await kept.register(node_info(PROVER))
    foreign = {"name": "shop-results", "subjects": ["sales.>"], "storage": "memory"}
    await api(kept._replies, "STREAM.CREATE.shop-results", foreign)
    try:
        assert await call(broker, "list", "--json") == 0
        listed = {run["run"]: run for run in json.loads(capsys.readouterr().out)["runs"]}
        assert await call(broker, "list") == 0
    finally:
        await api(kept._replies, "STREAM.DELETE.shop-results")
    assert "shop" not in listed
    run = listed[kept.run]
    assert run["nodes"] == [PROVER]
    (queue,) = [stream for stream in run["streams"] if stream["name"] == names.todo_stream(kept.run)]
    assert queue["messages"] == 1 and 0 < queue["bytes"] < queue["max_bytes"] and queue["last"].startswith("20")
    table = capsys.readouterr().out
    assert "todo: 1," in table and "nodes: 1," in table


async def test_a_run_at_work_is_not_removed(broker: BusSettings, kept: Bus, capsys: pytest.CaptureFixture[str]) -> None:
    await kept.register(node_info(PROVER))
    assert await call(broker, "remove", kept.run, "--yes") == 1
    assert "1 node of run" in (said := capsys.readouterr().err) and PROVER in said
    await kept.unregister("prover", PROVER)
    assert await call(broker, "remove", kept.run) == 1, "nobody was there to be asked"
    assert "--yes" in capsys.readouterr().err
    assert (await kept.backlog())["todo-train"] == 1
    assert await call(broker, "remove", kept.run, "--yes") == 0
    assert re.search(rf"removed run {kept.run}: [1-9] messages?, 0\.\d MiB", capsys.readouterr().out)
    assert kept.run not in await kept.runs()
    await streams.ensure(kept)
