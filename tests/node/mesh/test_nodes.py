"""`proofmesh status`, with and without a mesh."""

import asyncio
import json
import subprocess
import sys
import urllib.request

import pytest

from common.protocol.messages import BrokerFacts, NodeInfo
from tests.waiting import until

pytestmark = pytest.mark.process


def command(*arguments):
    return [sys.executable, "-m", "node.command.cli", "status", *map(str, arguments)]


async def status(*arguments):
    """Exit code and output of the command."""
    process = await asyncio.create_subprocess_exec(*command(*arguments), stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return process.returncode, output.decode()


async def test_a_mesh_shows_its_nodes_and_the_protections_of_its_lean_processes(bus, broker, run_name, lean_proxy):
    async def registered() -> bool:
        return any(info.facts for info in await bus.nodes())

    await until(registered, what="a lean-proxy in the registry")
    code, output = await status("--run", run_name, "--url", broker.url, "--json")
    told = json.loads(output)
    assert code == 0 and [node["role"] for node in told["nodes"]] == ["lean-proxy"]
    facts = told["nodes"][0]["facts"]
    assert facts["version"].startswith("4.") and facts["header"] == ""
    protections = {each["name"] for each in facts["protections"]}
    assert {"network", "files", "reads", "processes", "signals", "memory", "CPU time"} <= protections

    url = told["nodes"][0]["metrics_url"].replace("/metrics", "/healthz")
    with await asyncio.to_thread(urllib.request.urlopen, url) as answer:
        assert json.load(answer)["facts"] == facts

    code, output = await status("--run", run_name, "--url", broker.url)
    assert code == 0 and "lean-proxy" in output and "network" in output


async def test_a_node_that_is_unhealthy_says_why(bus, broker, run_name):
    problems = {"nats-server": "refuses writes: no space left on device"}
    facts = BrokerFacts(lost="r-todo had vanished")
    who = {"node_id": "broker-1", "role": "broker", "host": "h", "pid": 1, "version": "0", "started": 1.0}
    await bus.register(NodeInfo(**who, state="unhealthy", problems=problems, facts=facts))
    code, output = await status("--run", run_name, "--url", broker.url)
    assert code == 1 and "broker-1 is unhealthy" in output and "no space left on device" in output
    assert "r-todo had vanished" in output


async def test_a_run_without_nodes_is_not_healthy(bus, broker, run_name):
    code, output = await status("--run", run_name, "--url", broker.url)
    assert code == 1 and "no node of run" in output


def test_without_a_broker_it_says_what_protects_here():
    done = subprocess.run(
        command("--url", "nats://127.0.0.1:9", "--wait", 0.2), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "127.0.0.1:9" in done.stderr
    for word in ("network", "files", "processes", "memory"):
        assert word in done.stdout
