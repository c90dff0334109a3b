import json
import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from common import curves
from common.curves import METRICS, About, encode_line, write_about
from common.protocol.messages import Point
from common.records.readers import DATABASE
from common.watch.nodes import NodeHistory
from tests.message_values import heartbeat, node_info
from tests.node.learner.builders import PROVED, planned, result
from tests.ui.monitors import evaluated, mesh, small_run
from ui import runs
from ui.playback import RECORDING, playing
from ui.runs import SUMMARY, Kind, NotHere, Runs, thinned
from ui.views import NoQuery
from ui.views.learning import overview


def test_all_runs_of_a_folder_are_found_and_told_apart(tmp_path: Path) -> None:
    small_run(tmp_path / "learned").close()
    (tmp_path / "trained").mkdir()
    write_about(tmp_path / "trained", About(stage="sft", steps=3))
    (tmp_path / "other").mkdir()
    found = Runs(tmp_path)
    assert sorted(found.names()) == ["learned", "trained"]
    assert [found.get(name).kind for name in ("learned", "trained")] == [Kind.LEARNER, Kind.TRAINING]
    assert found.get("learned") is found.get("learned"), "its curves are read once"
    for bad in ("other", "absent", "..", "../learned", ""):
        with pytest.raises(NotHere):
            found.get(bad)
    assert Runs(tmp_path / "absent").names() == [] and Runs(None).names() == []
    with pytest.raises(NotHere, match="no attempts: it is a training run"):
        _ = found.get("trained").records


def test_what_changed_has_another_version_and_nothing_else(tmp_path: Path) -> None:
    store = small_run(tmp_path / "run")
    run = Runs(tmp_path).get("run")
    before = run.versions()
    assert run.versions() == before
    with (tmp_path / "run" / METRICS).open("ab") as file:
        file.write(encode_line(2.0, 2, {"loss": 1.0}))
    after = run.versions()
    assert {name for name in before if after[name] != before[name]} == {"points"}
    assert [point.step for point in run.points()] == [1, 2]
    store.dispatch([planned(2)], 3.0)
    store.record(result(planned(2).attempt), PROVED, 4.0)
    assert run.versions()["records"] != after["records"]
    store.close()
    with (tmp_path / "run" / curves.EVALUATIONS).open("ab") as file:
        file.write(curves.evaluation_line(evaluated("after")))
    assert [each["label"] for each in run.evaluations()] == ["step-7", "after"] and run.summary() is None
    (tmp_path / "run" / SUMMARY).write_text(json.dumps({"solved_after": 3}))
    assert run.summary() == {"solved_after": 3}
    # A run that goes on from a checkpoint begins its curves again.
    (tmp_path / "run" / METRICS).rename(tmp_path / "before")
    (tmp_path / "run" / METRICS).write_bytes(encode_line(1.0, 1, {"loss": 1.0}))
    assert [point.step for point in run.points()] == [1]


@pytest.mark.parametrize("name", [SUMMARY, METRICS, curves.EVALUATIONS, "nodes.jsonl"])
def test_a_damaged_file_hides_nothing_else(tmp_path: Path, name: str) -> None:
    small_run(tmp_path / "run").close()
    (tmp_path / "run" / name).write_text("damaged " * 1000)
    run = Runs(tmp_path).get("run")
    seen = [run.summary() is None, len(run.points()) == 1, len(run.evaluations()) == 1, run.node_history() == {}]
    assert sum(seen) >= 3 and seen[0] and seen[3]


def test_long_curves_are_thinned_and_keep_their_ends_and_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "POINTS", 100)
    kept = thinned([Point(0.0, step, {"valid_loss" if step % 50 == 49 else "loss": 1.0}) for step in range(1000)])
    assert 40 < len(kept) <= 100
    assert [point.step for point in kept if "valid_loss" in point.values] == list(range(49, 1000, 50))
    assert kept[0].step == 0 and max(point.step for point in kept if "loss" in point.values) > 990
    assert 40 < len(thinned([Point(time=0.0, step=step, values={"valid_loss": 1.0}) for step in range(1000)])) <= 100


def test_the_history_of_nodes_is_kept_as_often_as_its_size_allows(tmp_path: Path) -> None:
    now = 100.0
    history = NodeHistory(tmp_path, clock=lambda: now)
    for step in range(40):
        now = 100.0 + step
        for number in range(1 if step < 20 else 1000):
            history.hear(heartbeat(f"prover-{number}", time=now, expansions=float(step), bad=float("nan")))
    small_run(tmp_path / "r").close()
    (tmp_path / "nodes.jsonl").rename(tmp_path / "r" / "nodes.jsonl")
    found = Runs(tmp_path).get("r").node_history()
    assert [sample.time for sample in found["prover-0"]][:4] == [100.0, 105.0, 110.0, 115.0]
    assert found["prover-0"][0].values == {"expansions": 0.0}
    assert len(found["prover-999"]) == 1, "a thousand nodes have a line rarely"


def test_only_a_folder_of_the_meshs_own_learner_is_taken_for_its_run(tmp_path: Path) -> None:
    learner = node_info("learner-1", "learner", host=socket.gethostname(), pid=os.getpid())
    watched = mesh()
    small_run(tmp_path / "demo").close()
    found = Runs(tmp_path, watched)
    assert found.get("demo").folder is None and found.names()[0] == "demo"
    with pytest.raises(NotHere, match="on the machine of its learner"):
        _ = found.get("demo").records
    (tmp_path / "demo" / "owner.json").write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
    watched.mesh.see_registry([learner], 1.0)
    assert found.get("demo").folder == tmp_path / "demo" and found.get("demo").records.name == DATABASE


def test_a_name_that_leads_elsewhere_is_no_run(tmp_path: Path) -> None:
    small_run(tmp_path / "runs").close()  # the folder of runs is itself one, and so is its neighbour
    small_run(tmp_path / "outside").close()
    for _ in range(2):
        for name in ("", ".", "..", "../outside", "inside/..", "a\0b"):
            with pytest.raises(NotHere):
                Runs(tmp_path / "runs").get(name)
        (tmp_path / DATABASE).touch()  # and so is the folder above


def counted(folder: Path, table: str) -> int:
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        return int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def test_a_recording_grows_and_ends_like_its_run() -> None:
    assert RECORDING.stat().st_size < 1_500_000
    with playing() as player:
        run = Runs(player.folder.parent).get(player.folder.name)
        shown = []
        for share in (0.0, 0.3, 0.6, 0.6, 1.0):
            ended = player.play(player.begin + share * (player.end - player.begin))
            found = overview(run, NoQuery())
            shown.append((counted(player.folder, "results"), len(found["evaluations"]), len(run.node_history()), ended))
        counts = [results for results, *_ in shown]
        assert counts == sorted(counts) and counts[2] == counts[3] < counts[4] > 100
        assert [evaluations for _, evaluations, *_ in shown][::4] == [0, 2]
        assert shown[-1][3] and not shown[0][3] and shown[-1][2] >= 5
        assert found["summary"]["solved_after"] > found["summary"]["solved_before"] and found["proofs"]
        with closing(sqlite3.connect(player.folder / DATABASE)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            tried = db.execute("SELECT COUNT(DISTINCT theorem_id) FROM attempts WHERE purpose IN ('train', 'disprove')")
            assert counted(player.folder, "theorem_statistics") == tried.fetchone()[0]
    assert not player.folder.exists()
