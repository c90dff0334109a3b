import json
from pathlib import Path

import pytest

from common.lean import OutcomeKind, outcome_values
from common.protocol.messages import BrokerFacts, LogRecord
from common.watch import logs as log_files
from common.watch.nodes import NodeHistory, NodeSample
from tests.message_values import heartbeat, node_info
from tests.ui.monitors import make_run, mesh
from ui.runs import Runs
from ui.views.roles import BUCKETS, LogsQuery, RoleQuery, curves, logs, role


def sample(at: float, node: str, **values: float) -> NodeSample:
    return NodeSample(at, node, "lean-proxy", "running", values)


def test_curves_sum_over_nodes_and_count_what_grows_by_the_second() -> None:
    first = [sample(float(at), "a", candidates=10.0 * at, queue=2.0) for at in range(0, 120, 5)]
    second = [sample(float(at), "b", candidates=2.0 * at, queue=1.0) for at in range(60, 120, 5)]
    found = curves([first, second], ["candidates"])
    assert len(found["time"]) == BUCKETS and found["time"] == sorted(found["time"])
    early, late = BUCKETS // 4, 3 * BUCKETS // 4
    assert found["values"]["queue"][early] == 2.0 and found["values"]["queue"][late] == 3.0
    assert found["values"]["candidates"][early] == pytest.approx(10.0)
    assert found["values"]["candidates"][late] == pytest.approx(12.0)
    assert curves([first[:1]], []) == {"time": [], "values": {}}
    # A node that started anew counts nothing negative; of many samples the last one stays.
    restarted = [sample(at, "a", candidates=count) for at, count in ((0.0, 100.0), (5.0, 0.0), (10.0, 5.0))]
    values = curves([restarted], ["candidates"])["values"]["candidates"]
    assert min(value for value in values if value is not None) == 0.0 and values[-1] == 1.0
    values = curves([[sample(float(n), "a", queue=float(n)) for n in range(25_000)]], [])["values"]["queue"]
    assert values[-1] == 24_999.0 and None not in values


def test_a_finished_run_shows_its_nodes_and_how_tactics_ended(tmp_path: Path) -> None:
    make_run(tmp_path / "run").close()
    history = NodeHistory(tmp_path / "run", clock=lambda: 0.0)
    history._next = -1.0
    counts = outcome_values({OutcomeKind.ERROR: 3})
    for name, role_name in (("lean-proxy-1", "lean-proxy"), ("prover-1", "prover")):
        history.hear(heartbeat(name, role_name, 5.0, **counts, queue=4.0))
        history._next = -1.0
    found = role(Runs(tmp_path).get("run"), RoleQuery("lean-proxy"))
    assert [node["id"] for node in found["nodes"]] == ["lean-proxy-1"] and found["totals"]["queue"] == 4.0
    assert found["outcomes"]["lean-proxy"]["error"] == 3.0 == found["outcomes"]["prover"]["error"]
    assert found["slowest"] == []


def test_a_mesh_shows_its_nodes_now_and_who_misbehaves() -> None:
    run = mesh("demo", node_info("broker-1", "broker", facts=BrokerFacts(offenders=("x floods",))))
    run.mesh.see_heartbeat(heartbeat("broker-1", "broker", 2.0, leased=3.0))
    found = role(run, RoleQuery("broker"))
    assert found["totals"] == {"leased": 3.0} and found["troubles"] == ["misbehaves: x floods"]
    assert role(run, RoleQuery("nobody"))["nodes"] == []


def test_the_curves_of_a_mesh_whose_files_are_elsewhere_are_what_the_monitor_has_heard() -> None:
    run = mesh("demo", node_info("lean-proxy-1", "lean-proxy"))
    for at in (10.0, 20.0, 30.0):
        run.mesh.see_heartbeat(heartbeat("lean-proxy-1", "lean-proxy", at, candidates=3 * at, queue=at), at)
    found = role(run, RoleQuery("lean-proxy"))
    assert len(found["time"]) == BUCKETS
    assert found["values"]["candidates"][-1] == pytest.approx(3.0) and found["values"]["queue"][-1] == 30.0


def write_log(folder: Path, name: str, count: int) -> None:
    """A log of a node, a line a second, of which every tenth is a warning."""
    (folder / "logs").mkdir(exist_ok=True)
    with (folder / "logs" / f"{name}.log").open("w") as file:
        for n in range(count):
            level = "warning" if n % 10 == 0 else "info"
            line = {"time": float(n), "level": level, "event": f"event {n}", "node": name, "x": "y" * 50}
            file.write(json.dumps(line) + "\n")


def test_logs_are_read_from_their_ends_and_as_far_as_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "FIRST_BYTES", 2000)
    make_run(tmp_path / "run").close()
    for name in ("prover-1", "learner-1"):
        write_log(tmp_path / "run", name, 2000)
    run = Runs(tmp_path).get("run")
    found = logs(run, LogsQuery(limit=10))
    assert [record.time for record in found["records"]] == sorted([1995.0, 1996.0, 1997.0, 1998.0, 1999.0] * 2)
    assert found["more"]
    warnings = logs(run, LogsQuery(level="warning", node="prover", limit=100))
    assert [record.time for record in warnings["records"]] == [float(n) for n in range(1000, 2000, 10)]
    assert [each.event for each in logs(run, LogsQuery(text="EVENT 77", node="learner", limit=500))["records"]][:2] == [
        "event 77",
        "event 770",
    ]
    older = logs(run, LogsQuery(before=5.0, limit=4))
    assert [record.time for record in older["records"]] == [3.0, 3.0, 4.0, 4.0] and older["more"]
    assert not logs(run, LogsQuery(before=1.0, limit=4))["more"]


def test_rotated_logs_are_reached_and_a_quiet_node_says_nothing_of_a_time_that_was_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "FIRST_BYTES", 2000)
    monkeypatch.setattr(log_files, "LEAST_BYTES", 1000)
    make_run(tmp_path / "run").close()
    folder = tmp_path / "run" / "logs"
    write_log(tmp_path / "run", "busy", 1000)
    lines = (folder / "busy.log").read_text().splitlines(keepends=True)
    (folder / "busy.log.1").write_text("".join(lines[:900]))
    (folder / "busy.log").write_text("a plain line\n" + "".join(lines[900:]))
    write_log(tmp_path / "run", "quiet", 1000)
    (folder / "quiet.log").write_text("".join((folder / "quiet.log").read_text().splitlines(keepends=True)[::200]))
    run = Runs(tmp_path).get("run")
    latest = logs(run, LogsQuery(limit=5))["records"]
    assert [(record.node_id, record.time) for record in latest] == [("busy", float(n)) for n in range(995, 1000)]
    everything = logs(run, LogsQuery(limit=500, before=400.0))["records"]
    assert [record.time for record in everything] == sorted([*map(float, range(400)), 0.0, 200.0])
    assert [record.time for record in logs(run, LogsQuery(node="quiet", limit=3))["records"]] == [400.0, 600.0, 800.0]


def test_logs_of_a_run_elsewhere_are_those_that_were_heard() -> None:
    run = mesh()
    for number in range(5):
        run.mesh.see_log(LogRecord(node_id="a", role="prover", time=float(number), level="info", event=f"e{number}"))
    found = logs(run, LogsQuery(limit=2))
    assert [record.event for record in found["records"]] == ["e3", "e4"] and found["more"] and not found["files"]
