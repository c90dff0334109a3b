"""Training runs on the page: found, followed, read again where they went back, and bounded."""

import os
from pathlib import Path

import pytest
from ui.training_runs import TrainingRuns, thinned

from common.curves import ABOUT, METRICS, About, encode_line, write_about
from common.protocol.messages import Point
from ui import training_runs


def begin(folder: Path, name: str, started: float, steps: int = 10) -> Path:
    run = folder / name
    run.mkdir()
    write_about(run, About(stage="sft", steps=steps, started=started))
    os.utime(run / ABOUT, (started, started))
    return run


def append(run: Path, *steps: int, **values: float) -> None:
    with (run / METRICS).open("ab") as file:
        file.writelines(encode_line(float(step), step, values or {"loss": 1.0}) for step in steps)


def seen(runs: TrainingRuns) -> dict[str, list[int]]:
    return {run["name"]: [point["step"] for point in run["points"]] for run in runs.shown()}


def test_runs_are_found_and_followed(tmp_path: Path) -> None:
    runs = TrainingRuns(tmp_path)
    runs.take(runs.look())
    assert runs.shown() == []
    old, new = begin(tmp_path, "old", 1.0), begin(tmp_path, "new", 2.0)
    (tmp_path / "mesh").mkdir()
    append(tmp_path / "mesh", 1)  # curves of a mesh's learner: no training run, the mesh's page has them
    append(old, 1, 2)
    changes = runs.look()
    runs.take(changes)
    assert all(change.whole for change in changes)
    assert list(seen(runs).items()) == [("new", []), ("old", [1, 2])]
    append(new, 1)
    append(old, 3)
    changes = runs.look()
    runs.take(changes)
    assert sorted(len(change.points) for change in changes) == [1, 1]
    assert seen(runs) == {"new": [1], "old": [1, 2, 3]}
    assert runs.look() == []


def test_a_run_that_goes_on_from_a_checkpoint_is_drawn_from_there(tmp_path: Path) -> None:
    run = begin(tmp_path, "run", 1.0)
    append(run, 1, 2, 3, 4)
    runs = TrainingRuns(tmp_path)
    runs.take(runs.look())
    (run / METRICS).rename(run / "before")
    append(run, 1, 2)
    runs.take(runs.look())
    assert seen(runs) == {"run": [1, 2]}


def test_the_latest_runs_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_runs, "RUNS", 2)
    runs = TrainingRuns(tmp_path)
    for number in range(3):
        append(begin(tmp_path, f"run-{number}", float(number)), 1)
        runs.take(runs.look())
    assert list(seen(runs)) == ["run-2", "run-1"]
    append(tmp_path / "run-0", 2)
    os.utime(tmp_path / "run-0" / ABOUT, (9.0, 9.0))  # gone on with
    runs.take(runs.look())
    assert seen(runs).get("run-0", [1, 2]) == [1, 2]


def test_long_curves_are_thinned_and_keep_their_ends_and_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_runs, "POINTS", 100)
    points = [
        Point(time=0.0, step=step, values={"valid_loss" if step % 50 == 49 else "loss": 1.0}) for step in range(1000)
    ]
    kept = thinned(points)
    assert 40 < len(kept) <= 100
    assert [point.step for point in kept if "valid_loss" in point.values] == list(range(49, 1000, 50))
    assert kept[0].step == 0 and max(point.step for point in kept if "loss" in point.values) > 990
    evaluations = [Point(time=0.0, step=step, values={"valid_loss": 1.0}) for step in range(1000)]
    assert 40 < len(thinned(evaluations)) <= 100
