"""One node: what it says about itself, its values over time, its log."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.protocol.messages import LeanProxyFacts, LogRecord, Protection
from common.watch.nodes import FILE, NodeSample
from scripts.made_run import make_run
from tests.message_values import heartbeat, node_info
from tests.ui.monitors import ask, mesh
from ui.runs import Kind, NotHere, Run
from ui.views.nodes import LONGEST_LIST, LONGEST_TEXT, POINTS


def with_node(**facts: Any) -> Run:
    """A mesh with a lean-proxy."""
    proxy = node_info("lean-1", "lean-proxy", started=time.time(), capacity={"workers": 4})
    facts = {"facts": LeanProxyFacts(version="4.35.0", **facts), "problems": {"lean": "no worker starts"}}
    return mesh("demo", msgspec.structs.replace(proxy, **facts), now=time.time())


def test_a_node_shows_its_facts_problems_values_and_log() -> None:
    protections = (Protection("network", True, "namespace"), Protection("reads", False, "no Landlock"))
    run = with_node(header="import Std", protections=protections)
    run.mesh.see_heartbeat(heartbeat("lean-1", "lean-proxy", workers=4.0), time.time())
    for n in range(60):
        record = LogRecord(node_id="lean-1", role="lean-proxy", time=float(n), level="error", event=f"event {n}")
        run.mesh.see_log(record)
    found = ask(run, "node", id="lean-1")
    assert found["facts"]["version"] == "4.35.0" and found["facts"]["header"] == "import Std"
    assert [each["works"] for each in found["facts"]["protections"]] == [True, False]
    assert found["why"] == ["lean: no worker starts"] and found["about"]["capacity"] == {"workers": 4}
    assert found["values"] == {"workers": 4.0} and found["row"]["error"] == "event 59"
    assert [each["event"] for each in found["log"]] == [f"event {n}" for n in range(59, 9, -1)]


def test_a_node_that_says_too_much_makes_no_large_page() -> None:
    run = with_node(header="x" * 100_000, options=("y" * 100_000,) * 1000)
    found = ask(run, "node", id="lean-1")
    assert len(found["facts"]["header"]) == LONGEST_TEXT and len(found["facts"]["options"]) == LONGEST_LIST


def test_the_values_of_a_live_node_are_remembered_and_counters_are_rates() -> None:
    run = with_node()
    for second in range(0, 100, 10):
        values = {"candidates": 30.0 * second if second < 50 else 2.0 * second, "queue": float(second)}
        run.mesh.see_heartbeat(heartbeat("lean-1", "lean-proxy", **values), 1000.0 + second)
    found = ask(run, "node_course", id="lean-1", names="candidates,queue,absent")
    assert found["time"] == [1000.0 + second for second in range(0, 100, 10)] and found["rates"] == ["candidates"]
    assert found["values"]["candidates"] == [None, 30.0, 30.0, 30.0, 30.0, None, 2.0, 2.0, 2.0, 2.0]
    assert found["values"]["queue"][-1] == 90.0 and set(found["values"]["absent"]) == {None}
    assert found["names"] == ["candidates", "queue"]


def test_the_values_of_a_node_are_in_the_files_of_its_run(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    make_run(folder, theorems=4, attempts=4)
    with (folder / FILE).open("ab") as file:
        for n in range(900):
            file.write(
                msgspec.json.encode(NodeSample(1e9 + n, "p", "prover", "running", {"searches": 1.0 * n})) + b"\n"
            )
    run = Run("made", Kind.LEARNER, folder)
    found = ask(run, "node_course", id="p", names="searches")
    assert len(found["time"]) <= POINTS and found["values"]["searches"] == [time - 1e9 for time in found["time"]]
    prover = ask(run, "node", id="prover-made-1")
    assert not prover["live"] and prover["row"]["role"] == "prover" and prover["values"]["memory_mb"] == 359
    assert len(prover["log"]) == 12 and prover["log"][0]["time"] > prover["log"][-1]["time"]
    assert prover["log"][0]["fields"] == {"count": "11"}


def test_a_node_that_is_not_known_is_said_to_be_so(tmp_path: Path) -> None:
    for run in (mesh(), Run("empty", Kind.TRAINING, tmp_path)):
        for view in ("node", "node_course"):
            with pytest.raises(NotHere, match="has no node x"):
                ask(run, view, id="x")
