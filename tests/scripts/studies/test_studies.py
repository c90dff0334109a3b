import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import tomli_w

from common import config
from common.files import recipe
from common.records.readers import outstanding, results
from common.records.store import Store
from node.learner.settings import LearnerSettings
from node.prover.settings import ProverSettings
from scripts.studies import __main__ as studies
from scripts.studies.__main__ import HERE, StudyError, changed, filled, main, read
from scripts.studies.kills_of_roles import tallied
from tests.node.learner.builders import FAILED, PROVED, planned, result, row

STUDIES = sorted(file.stem for file in HERE.glob("*.toml"))


def finished_run(folder: Path) -> Path:
    for step in ("step-000004", "step-000009"):
        (folder / "checkpoints" / step).mkdir(parents=True)
    (folder / "summary.json").write_text('{"warm_start": {"steps": 4}, "train_steps": 5}')
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_every_cell_of_every_study_is_a_command_with_a_name_of_its_own(name: str, tmp_path: Path) -> None:
    for run in ("whole", "pocket-rl", "pocket-control", "pocket-expert"):
        finished_run(tmp_path / f"rl-{run}-0")
    for run in ("rl", "no-values", "expert"):
        finished_run(tmp_path / f"depth-puzzles-{run}-0")
    own = {"methods": ["--runs", f"{tmp_path}/rl-whole-0"], "models": ["--entries", "a, b=tactics", "c=whole:hf:m"]}
    study, _, _ = read([name, *own.get(name, ["--runs", str(tmp_path)])])
    cells = list(study.cells())
    names = [cell for cell, _, _ in cells]
    assert names and len(names) == len(set(names))
    for _, values, table in cells:
        command = filled(table["command"], {**values, "recipe": "r.toml"})
        assert command[0] in ("eval", "demo", "stp")
        assert not any("{" in str(part) or part == "" for part in command)


STUDY = """
[settings]
out = "OUT"
tries = [1, 2, 3]

[[cell]]
name = "try-{each}"
for = { each = "tries" }
command = ["eval", "--seed", "{each}"]
"""


def test_a_study_stops_at_a_failed_cell_and_goes_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, calls, codes = tmp_path / "study.toml", [], {"2": 3}
    file.write_text(STUDY.replace("OUT", str(tmp_path / "out")) + f'done = "{tmp_path}/done-{{each}}"\n')

    def run(command: list[str], _: object) -> int:
        calls.append(command[-1])
        code = codes.get(command[-1], 0)
        if not code:
            (tmp_path / f"done-{command[-1]}").touch()
        return code

    monkeypatch.setattr(studies, "carry_out", run)
    assert main([str(file)]) == 3
    row = json.loads((tmp_path / "out" / "cells" / "try-2.json").read_text())
    assert (row["exit"], row["command"]) == (3, ["eval", "--seed", "2"])
    codes.clear()
    assert main([str(file)]) == 0
    assert calls == ["1", "2", "2", "3"], "a finished cell is not played again"
    assert main([str(file), "--only", "try-1"]) == 0


@pytest.mark.process
def test_a_study_that_is_stopped_with_ctrl_c_lets_its_command_end_in_its_own_way(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    cell = {"name": "watch", "command": ["ui", "--port", "0", "--bus.url", "nats://127.0.0.1:1", "--patience", "None"]}
    file.write_text(tomli_w.dumps({"settings": {"out": str(tmp_path / "out")}, "cell": [cell]}))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    study = subprocess.Popen([sys.executable, "-m", "scripts.studies", str(file)], start_new_session=True, **pipes)
    assert study.stdout is not None
    while "broker not reached" not in study.stdout.readline():
        assert study.poll() is None
    os.killpg(study.pid, signal.SIGINT)
    study.communicate()
    assert json.loads((tmp_path / "out" / "cells" / "watch.json").read_text())["exit"] == 0, "stopped, and not killed"
    assert study.returncode == 0


def test_the_banks_of_the_study_of_depth_have_folders_of_their_own() -> None:
    folders = {read(["depth", "--bank", bank])[0].settings["out"] for bank in ("words", "puzzles")}
    assert folders == {"evals/depth-words", "evals/depth-puzzles"}


def test_what_a_file_names_and_is_not_there_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["nothing"]) == 2
    assert "nothing: no such file; there are depth, methods, models" in capsys.readouterr().err
    assert main(["rl-ablations", "--runs", str(tmp_path), "--out", str(tmp_path / "out"), "--only", "control"]) == 2
    assert "rl-whole-0: no finished run" in capsys.readouterr().err
    with pytest.raises(StudyError, match="there is no word"):
        filled("a {word}", {})


def test_every_part_of_reinforcement_learning_is_left_out_by_keys_that_the_roles_know(tmp_path: Path) -> None:
    finished_run(tmp_path / "rl-whole-0")
    study, _, _ = read(["rl-ablations", "--runs", str(tmp_path)])
    recipe_content = config.read(recipe("demo"))
    for name, values, table in study.cells():
        changes = filled(table["changes"], values)
        content = changed(recipe_content, changes)
        common = ("learner.evaluation", "learner.warm_start")
        parts = {path: keys for path, keys in changes.items() if path not in common}
        assert (changed(recipe_content, parts) != recipe_content) == (name != "whole-0"), name
        if name != "whole-0":
            warm = str(tmp_path / "rl-whole-0" / "checkpoints" / "step-000004")
            assert content["learner"]["warm_start"]["checkpoint"] == warm
        file = tmp_path / f"{name}.toml"
        file.write_text(tomli_w.dumps(content), encoding="utf-8")
        config.load(LearnerSettings, file, "learner")
        config.load(ProverSettings, file, "prover")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Five attempts: one proved, two failed, two outstanding."""
    path = tmp_path / "proofs.sqlite"
    plans = [planned(number) for number in range(1, 6)]
    store = Store(path)
    store.add_theorems([row("t")])
    store.dispatch(plans, now=1.0)
    for plan, verdict in zip(plans[:3], (PROVED, FAILED, FAILED), strict=True):
        assert store.record(result(plan.attempt), verdict, now=2.0)
    store.close()
    return path


def test_sound_records_are_counted(database: Path) -> None:
    tally = tallied(database, results(database))
    assert tally.sound and (tally.dispatched, tally.outstanding, tally.recorded, tally.proofs) == (5, 2, 3, 1)
    assert tally.outcomes == {"proved": 1, "failed": 2} and outstanding(database) == {"run-4", "run-5"}


@pytest.mark.parametrize(
    ("statement", "field"),
    [
        ("DELETE FROM outbox WHERE attempt_id = 'run-4'", "neither"),
        ("DELETE FROM results WHERE attempt_id = 'run-2'", "changed"),
        ("UPDATE results SET outcome = 'error' WHERE attempt_id = 'run-2'", "changed"),
        ("INSERT INTO outbox (attempt_id, payload) VALUES ('run-1', x'00')", "both"),
        ("UPDATE results SET attempt_id = 'other' WHERE attempt_id = 'run-3'", "strays"),
    ],
)
def test_every_loss_is_seen(database: Path, statement: str, field: str) -> None:
    before = results(database)
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        db.execute(statement)
    tally = tallied(database, before)
    assert not tally.sound and msgspec.to_builtins(tally)[field] == 1
