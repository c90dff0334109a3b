"""A run as its directory tells it: each thing once, also while it grows."""

import json
from pathlib import Path

import pytest
from ui.run_files import SUMMARY, RunFiles, is_run, run_folders

from common import curves
from common.curves import METRICS, Evaluated, Part, encode_line
from common.records.readers import DATABASE
from common.records.store import Store
from tests.node.learner.builders import PROVED, planned, result, row


def evaluated(label: str, **changes: int) -> Evaluated:
    part = Part(statements=4, solved=1, undecided=1, share=0.3333)
    numbers = {"step": 7, "weights": 3, "statements": 4, "solved": 1, "undecided": 1, "simulations": 16} | changes
    return Evaluated(
        label=label, beside=True, time=2.5, simulations_used=31, lean_attempts=99, levels={"1": part}, **numbers
    )


def make_run(folder: Path) -> Store:
    """A run directory with one point, one evaluation and one proof; its records stay open."""
    folder.mkdir()
    store = Store(folder / DATABASE)
    store.add_theorems([row("t")])
    store.dispatch([planned(1)], 1.0)
    store.record(result(planned(1).attempt), PROVED, 2.0)
    (folder / METRICS).write_bytes(encode_line(1.0, 1, {"loss": 2.0}))
    (folder / curves.EVALUATIONS).write_bytes(curves.evaluation_line(evaluated("step-7")))
    return store


def test_a_look_brings_what_is_new(tmp_path: Path) -> None:
    store = make_run(tmp_path / "run")
    files = RunFiles(tmp_path / "run")
    first = files.look()
    assert [point.step for point in first.points] == [1] and [each.label for each in first.evaluations] == ["step-7"]
    assert [proof.theorem_id for proof in first.proofs] == ["t"] and first.summary is None
    assert files.shown() == {"finished": False, "folder": str(tmp_path / "run"), "problem": ""}
    nothing = files.look()
    assert not (nothing.points or nothing.evaluations or nothing.proofs or nothing.summary)
    store.dispatch([planned(2)], 3.0)
    store.record(result(planned(2).attempt), PROVED, 4.0)
    store.close()
    with (tmp_path / "run" / curves.EVALUATIONS).open("ab") as file:
        file.write(curves.evaluation_line(evaluated("after")))
    (tmp_path / "run" / SUMMARY).write_text(json.dumps({"solved_after": 3}))
    last = files.look()
    assert [proof.attempt_id for proof in last.proofs] == ["run-2"]
    assert [each.label for each in last.evaluations] == ["after"] and last.summary == {"solved_after": 3}
    assert files.shown()["finished"] and files.look().summary is None


@pytest.mark.parametrize("name", [SUMMARY, DATABASE])
def test_a_damaged_file_is_named_on_the_page_and_hides_nothing_else(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "run").close()
    (tmp_path / "run" / name).write_text("damaged " * 1000)
    files = RunFiles(tmp_path / "run")
    assert len(files.look().evaluations) == 1
    assert name in files.shown()["problem"]


def test_the_logs_of_all_nodes_come_by_time_and_each_record_once(tmp_path: Path) -> None:
    def line(time: float, event: str) -> str:
        return json.dumps({"time": time, "level": "info", "event": event, "node": "n-1"}) + "\n"

    logs = tmp_path / "run" / "logs"
    make_run(tmp_path / "run").close()
    logs.mkdir()
    (logs / "learner.log").write_text(line(1.0, "a") + "a plain line\n" + line(4.0, "d"))
    (logs / "prover-1.log").write_text(line(3.0, "c") + '{"time": 5.0, "event": "to')
    files = RunFiles(tmp_path / "run")
    first = files.look().logs
    assert [(each.time, each.event) for each in first] == [(1.0, "a"), (1.0, "a plain line"), (3.0, "c"), (4.0, "d")]
    assert (first[0].role, first[0].node_id, first[1].level) == ("learner", "n-1", "text")
    with (logs / "prover-1.log").open("a") as file:
        file.write('rn", "level": "info"}\n')
    (logs / "learner.log").write_text(line(6.0, "rotated"))
    assert [each.event for each in files.look().logs] == ["torn", "rotated"]


def test_runs_of_a_mesh_are_told_from_training_runs(tmp_path: Path) -> None:
    make_run(tmp_path / "run").close()
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "training.json").write_text("{}")
    assert list(run_folders(tmp_path)) == ["run"] and not is_run(tmp_path / "trained")
    assert list(run_folders(tmp_path / "absent")) == []
