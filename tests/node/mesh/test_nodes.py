"""`proofmesh status`, with and without a mesh."""

import json
import urllib.request
from functools import partial

import pytest

from node.command import status as command


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
