import json
import random
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.protocol.messages import LogRecord
from common.watch.nodes import FILE, NodeSample
from scripts.made_run import make_run
from tests.message_values import heartbeat, node_info
from tests.ui.monitors import ask, mesh
from ui.runs import Kind, Run
from ui.server import encode
from ui.views import BadQuery, asked
from ui.views.nodes import VIEWS


def names(found: dict[str, Any]) -> list[str]:
    return [row["id"] for row in found["rows"]]


def large_mesh(count: int = 1000) -> Run:
    """A mesh of so many nodes, of which every hundredth is unhealthy; each says all that it can."""
    chance, now = random.Random(0), time.time()
    roles = [chance.choice(("prover", "prover", "lean-proxy", "inference")) for _ in range(count)]
    infos = [
        node_info(
            f"{role}-host-{n % 50}-{1000 + n}-053aaab1be1c0ef2",
            role,
            host=f"host-{n % 50}.example.org",
            started=now - n,
            state="running" if n % 100 else "unhealthy",
            problems={} if n % 100 else {"lean": "no Lean worker starts: " + "x" * 500},
        )
        for n, role in enumerate(roles)
    ]
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
    assert ask(run, "nodes", text="no lean worker")["total"] == 10
    assert ask(run, "nodes", text="absent")["rows"] == []
    assert names(ask(run, "nodes", order="node", limit="9")) == sorted(
        names(ask(run, "nodes", order="node", limit="9"))
    )
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


def test_the_files_of_a_run_tell_which_nodes_it_had_and_until_when(tmp_path: Path) -> None:
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


def test_a_run_without_nodes_lists_none(tmp_path: Path) -> None:
    assert ask(Run("empty", Kind.EVALUATION, tmp_path), "nodes") == {"live": False, "roles": {}, "total": 0, "rows": []}
