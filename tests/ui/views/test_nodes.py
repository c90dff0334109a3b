import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.lean import OutcomeKind, outcome_values
from common.protocol.messages import BrokerFacts, LeanProxyFacts, LogRecord, Protection
from common.watch import logs as log_files
from common.watch.nodes import BYTES_PER_SECOND, EVERY_SECONDS, FILE, NodeHistory, NodeSample
from scripts.made_run import make_run
from tests.message_values import heartbeat, node_info
from tests.ui.monitors import ask, mesh, small_run
from ui.runs import Kind, NotHere, Run, Runs
from ui.server import encode
from ui.views import BadQuery, asked
from ui.views.nodes import LONGEST_LIST, LONGEST_TEXT, POINTS, VIEWS
from ui.views.roles import BUCKETS, LogsQuery, RoleQuery, curves, logs, role


def names(found: dict[str, Any]) -> list[str]:
    return [row["id"] for row in found["rows"]]


def large_mesh(count: int = 1000) -> Run:
    """A mesh of so many nodes, of which every hundredth is unhealthy; each says all that it can."""
    chance, now = random.Random(0), time.time()
    roles = [chance.choice(("prover", "prover", "lean-proxy", "inference")) for _ in range(count)]
    sick = {"state": "unhealthy", "problems": {"lean": "no Lean worker starts: " + "x" * 500}}
    infos = []
    for n, kind in enumerate(roles):
        name, host = f"{kind}-host-{n % 50}-{1000 + n}-053aaab1be1c0ef2", f"host-{n % 50}.example.org"
        state = {"state": "running"} if n % 100 else sick
        infos.append(node_info(name, kind, host=host, started=now - n, **state))
    run = mesh("demo", *infos, now=now)
    for n, each in enumerate(infos):
        values = {"cpu_share": n / 1000, "memory_mb": 100.0 + n, "gpu_share": 0.5, "gpu_memory_share": 0.25}
        values |= {"loop_lag_ms": chance.uniform(0, 99), "worker_restarts": float(n % 7), "searches": 8.0}
        values |= {"searches_max": 8.0, "expansions": 1e5, "queue": 3.0, "workers": 4.0, "verify_queue": 0.0}
        beat = msgspec.structs.replace(heartbeat(each.node_id, each.role, now, **values), state=each.state)
        run.mesh.see_heartbeat(beat, now)
        run.mesh.see_log(LogRecord(node_id=each.node_id, role="", time=now, level="error", event="e" * 1000))
    return run


def test_a_page_of_a_thousand_nodes_is_small_and_has_the_sick_ones_first() -> None:
    run = large_mesh()
    found = ask(run, "nodes", limit="100")
    assert found["total"] == 1000 and len(found["rows"]) == 100
    assert [bool(row.get("why")) for row in found["rows"]] == [True] * 10 + [False] * 90
    assert sum(counted.get("sick", 0) for counted in found["roles"].values()) == 10
    assert sum(n for counted in found["roles"].values() for state, n in counted.items() if state != "sick") == 1000
    assert len(encode(VIEWS["nodes"].answer(run, asked(VIEWS["nodes"], {})))) < 50_000
    row = next(row for row in found["rows"] if row["role"] == "prover")
    assert row["does"] == {"searches": 8.0, "searches_max": 8.0, "expansions": 1e5}
    assert row["cpu"] is not None and row["memory"] >= 100e6 and row["gpu"] == 0.5 and abs(row["ahead"]) < 1


def test_nodes_are_filtered_sorted_and_cut_on_the_server() -> None:
    run = large_mesh()
    found = ask(run, "nodes", role="prover", order="cpu", limit="5")
    shares = [row["cpu"] for row in found["rows"]]
    assert shares == sorted(shares, reverse=True) and {row["role"] for row in found["rows"]} == {"prover"}
    following = ask(run, "nodes", role="prover", order="cpu", limit="5", from_=5)
    assert not set(names(found)) & set(names(following)) and found["total"] == following["total"]
    assert ask(run, "nodes", state="sick")["total"] == 10 == ask(run, "nodes", state="unhealthy")["total"]
    assert ask(run, "nodes", text="HOST-7.example")["total"] == 20
    assert ask(run, "nodes", text="no lean worker")["total"] == 10 and ask(run, "nodes", text="absent")["rows"] == []
    by_name = names(ask(run, "nodes", order="node", limit="9"))
    assert by_name == sorted(by_name)
    for bad in ({"limit": "101"}, {"limit": "0"}, {"from": "-1"}, {"other": "1"}):
        with pytest.raises(BadQuery):
            ask(run, "nodes", **bad)


def test_a_node_that_is_silent_or_gone_says_so() -> None:
    now = time.time()
    infos = [node_info(name, started=now) for name in "abc"]
    run = mesh("demo", *infos, now=now)
    state = run.mesh
    state.see_heartbeat(heartbeat("a", time=now), now - 30)
    state.see_heartbeat(heartbeat("c", time=now), now)
    state.see_registry(infos[::2], now)
    rows = {row["id"]: row for row in ask(run, "nodes")["rows"]}
    assert rows["a"]["silent"] == 30 and rows["a"]["why"] == "silent for 30 s"
    assert rows["b"]["state"] == "gone" and ask(run, "nodes", state="gone")["total"] == 1
    assert "silent" not in rows["c"] and "why" not in rows["c"]


def test_the_files_of_a_run_tell_which_nodes_it_had_until_when_and_their_values(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    make_run(folder, theorems=4, attempts=4)
    with (folder / FILE).open("ab") as file:
        early = NodeSample(1.0, "prover-early-1", "prover", "running", {"cpu_share": 1e300})
        file.write(msgspec.json.encode(early) + b"\nno line\n")
    with (folder / "logs" / "prover-0.log").open("a") as log:
        log.write(json.dumps({"time": 9e9, "level": "error", "event": "broke", "reason": "disk", "node": "x"}) + "\n")
    run = Run("made", Kind.LEARNER, folder)
    found = ask(run, "nodes")
    assert not found["live"] and found["total"] == 6 and set(found["roles"]) >= {"learner", "prover", "lean-proxy"}
    rows = {row["id"]: row for row in found["rows"]}
    assert rows["prover-early-1"]["state"] == "left" and rows["prover-early-1"].get("cpu") is None
    prover = rows["prover-made-0"]
    assert prover["state"] == "running" and prover["heard"] > prover["since"]
    assert prover["error"].startswith("prover did its part") and prover["memory"] == 359e6
    assert run.errors()["x"].fields["reason"] == "disk"
    # Their values are there, too.
    with (folder / FILE).open("ab") as file:
        for n in range(900):
            each = NodeSample(1e9 + n, "p", "prover", "running", {"searches": 1.0 * n})
            file.write(msgspec.json.encode(each) + b"\n")
    run = Run("made", Kind.LEARNER, folder)
    found = ask(run, "node_course", id="p", names="searches")
    assert len(found["time"]) <= POINTS and found["values"]["searches"] == [time - 1e9 for time in found["time"]]
    prover = ask(run, "node", id="prover-made-1")
    assert not prover["live"] and prover["row"]["role"] == "prover" and prover["values"]["memory_mb"] == 359
    assert len(prover["log"]) == 12 and prover["log"][0]["time"] > prover["log"][-1]["time"]
    assert prover["log"][0]["fields"] == {"count": "11"}


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
    large = ask(with_node(header="x" * 100_000, options=("y" * 100_000,) * 1000), "node", id="lean-1")["facts"]
    assert len(large["header"]) == LONGEST_TEXT and len(large["options"]) == LONGEST_LIST, "no large page"


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


def test_a_node_that_is_not_known_is_said_to_be_so_and_a_run_without_nodes_lists_none(tmp_path: Path) -> None:
    empty = Run("empty", Kind.TRAINING, tmp_path)
    for run in (mesh(), empty):
        for view in ("node", "node_course"):
            with pytest.raises(NotHere, match="has no node x"):
                ask(run, view, id="x")
    assert ask(empty, "nodes") == {"live": False, "roles": {}, "total": 0, "rows": []}


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
    small_run(tmp_path / "run").close()
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


def test_the_history_of_many_nodes_takes_no_more_than_its_bytes_a_second(tmp_path: Path) -> None:
    now = 0.0
    history = NodeHistory(tmp_path, clock=lambda: now)
    beats = [heartbeat(f"prover-{number}", "prover", 5.0, searches=8.0) for number in range(300)]
    for beat in beats:  # the first is written at once, and the others after some seconds
        history.hear(beat)
    before, now = (tmp_path / FILE).stat().st_size, EVERY_SECONDS
    history.hear(beats[0])
    written = (tmp_path / FILE).stat().st_size - before
    assert written > EVERY_SECONDS * BYTES_PER_SECOND, "otherwise the test tells nothing"
    for wait, lines in ((written / BYTES_PER_SECOND - 0.01, 301), (written / BYTES_PER_SECOND, 302)):
        now = EVERY_SECONDS + wait
        history.hear(beats[0])
        assert len((tmp_path / FILE).read_text(encoding="utf-8").splitlines()) == lines


def test_a_mesh_whose_files_are_elsewhere_shows_what_the_monitor_has_heard() -> None:
    broker = node_info("broker-1", "broker", facts=BrokerFacts(offenders=("x floods",)))
    run = mesh("demo", broker, node_info("lean-proxy-1", "lean-proxy"))
    run.mesh.see_heartbeat(heartbeat("broker-1", "broker", 2.0, leased=3.0))
    found = role(run, RoleQuery("broker"))
    assert found["totals"] == {"leased": 3.0} and found["troubles"] == ["misbehaves: x floods"]
    assert role(run, RoleQuery("nobody"))["nodes"] == []
    for at in (10.0, 20.0, 30.0):
        run.mesh.see_heartbeat(heartbeat("lean-proxy-1", "lean-proxy", at, candidates=3 * at, queue=at), at)
    found = role(run, RoleQuery("lean-proxy"))
    assert len(found["time"]) == BUCKETS
    assert found["values"]["candidates"][-1] == pytest.approx(3.0) and found["values"]["queue"][-1] == 30.0
    for n in range(5):
        run.mesh.see_log(LogRecord(node_id="a", role="prover", time=float(n), level="info", event=f"e{n}"))
    heard = logs(run, LogsQuery(limit=2))
    assert [record.event for record in heard["records"]] == ["e3", "e4"] and heard["more"] and not heard["files"]


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
    small_run(tmp_path / "run").close()
    for name in ("prover-1", "learner-1"):
        write_log(tmp_path / "run", name, 2000)
    run = Runs(tmp_path).get("run")
    found = logs(run, LogsQuery(limit=10))
    assert [record.time for record in found["records"]] == sorted([1995.0, 1996.0, 1997.0, 1998.0, 1999.0] * 2)
    assert found["more"]
    warnings = logs(run, LogsQuery(level="warning", node="prover", limit=100))
    assert [record.time for record in warnings["records"]] == [float(n) for n in range(1000, 2000, 10)]
    named = logs(run, LogsQuery(text="EVENT 77", node="learner", limit=500))["records"]
    assert [each.event for each in named][:2] == ["event 77", "event 770"]
    older = logs(run, LogsQuery(before=5.0, limit=4))
    assert [record.time for record in older["records"]] == [3.0, 3.0, 4.0, 4.0] and older["more"]
    assert not logs(run, LogsQuery(before=1.0, limit=4))["more"]


def test_rotated_logs_are_reached_and_quiet_nodes_hide_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "FIRST_BYTES", 2000)
    monkeypatch.setattr(log_files, "LEAST_BYTES", 1000)
    small_run(tmp_path / "run").close()
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
