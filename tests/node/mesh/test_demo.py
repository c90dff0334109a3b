"""The demo: its configuration, and whole runs with a tiny network on a tiny bank: real broker, Lean, training."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from common.life.process import kill_group, spawn_child
from node.command import demo
from node.command.demo import plan_for
from tests.node.learner.builders import write_bank

WANTED = (
    "lean_version test_total simulations solved_before solved_after both_solved ci_low ci_high roots_solved"
    " proofs_verified proofs_rejected attempts transitions train_steps expansions_per_s pause_fraction wall_s"
)


def recipe(folder: Path) -> Path:
    learner: dict[str, object] = {"bank": str(write_bank(folder / "bank"))}
    learner["plan"] = {"evaluate": True, "minutes": 0.5}
    sizes = {"vocab_size": 400, "depth": 1, "width": 32, "heads": 2, "kv_heads": 2, "hidden": 64, "context": 128}
    learner["model"] = sizes
    learner["evaluation"] = {"statements": 6, "simulations": 4}
    learner["matchmaker"] = {"budget": 4, "disprove_chance": 0.2}
    learner["schedule"] = {"fresh": 4, "patience": 2.0, "training_budget": 0.5}
    learner["trainer"] = {"batch": 16, "threads": 1}
    learner["warm_start"] = {"steps": 60, "every": 30, "validation": 32}
    file = folder / "tiny.toml"
    rest = {"up": {"ui": 1}, "prover": {"searches": 4}, "lean_proxy": {"workers": 1}}
    file.write_text(tomli_w.dumps(rest | {"learner": learner}), encoding="utf-8")
    return file


async def start(folder: Path, *flags: str, env: dict[str, str] | None = None) -> asyncio.subprocess.Process:
    argv = [
        sys.executable,
        "-m",
        "node.command.cli",
        "demo",
        "--directory",
        str(folder / "runs"),
        "--port",
        "0",
        *flags,
    ]
    variables = {**os.environ, "PROOFMESH_CACHE_DIR": "", "PROOFMESH_CACHE": str(folder / "cache"), **(env or {})}
    return await spawn_child(argv, env=variables, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)


async def finish(process: asyncio.subprocess.Process, seconds: float) -> tuple[str, str]:
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    finally:
        await kill_group(process, grace=5)
    return out.decode(), err.decode()


def check(summary: dict[str, Any]) -> None:
    """Check the output of a finished run."""
    assert set(WANTED.split()) <= summary.keys()
    assert summary["test_total"] == 6 and summary["records_sound"]
    assert summary["both_solved"] <= min(summary["solved_before"], summary["solved_after"])
    assert summary["ci_low"] <= summary["difference"] <= summary["ci_high"]
    # Counted by three different processes: the provers' word, the lean-proxies' verdicts, the learner's records.
    # A verification that an interruption cut off is asked for again, so verified may pass solved then.
    assert summary["recorded_proofs"] <= summary["proofs_verified"]
    assert summary["recorded_proofs"] <= summary["roots_solved"]
    assert summary["attempts"] + summary["attempts_outstanding"] == summary["attempts_dispatched"]
    assert 0 <= summary["pause_fraction"] < 1


@pytest.mark.slow
async def test_a_demo_that_was_interrupted_goes_on_where_it_was_and_has_a_control(tmp_path: Path) -> None:
    flags = ["--recipe", str(recipe(tmp_path)), "--repeat"]
    database = tmp_path / "runs" / "demo" / "proofs.sqlite"
    process = await start(tmp_path, *flags)
    reading = asyncio.create_task(finish(process, 600))
    async with asyncio.timeout(400):
        while not (database.exists() and _recorded(database, "train")):
            assert process.returncode is None
            await asyncio.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = await reading
    assert process.returncode == 130 and "resumes the run" in err
    before = _ids(database)

    process = await start(tmp_path, *flags)
    _, err = await finish(process, 600)
    assert process.returncode == 0, err
    assert "unfinished run" in err
    summary = json.loads((tmp_path / "runs" / "demo" / "summary.json").read_text())
    check(summary)
    assert before <= _ids(database) and summary["before_again"]["solved"] <= 6
    assert summary["train_steps"] > 0 and 25 < summary["learning_s"] < 60

    process = await start(tmp_path, *flags[:2], "--control")
    _, err = await finish(process, 600)
    assert process.returncode == 0, err
    control = json.loads((tmp_path / "runs" / "demo-control" / "summary.json").read_text())
    check(control)
    assert control["kind"] == "control" and control["train_steps"] == summary["train_steps"]
    assert control["transitions"] == 0 and control["warm_start"]["cached"]
    assert control["attempts"] == 12
    assert control["solved_before"] == summary["solved_before"]


def _recorded(database: Path, purpose: str) -> int:
    import sqlite3

    try:
        query = "SELECT COUNT(*) FROM results JOIN attempts USING (attempt_id) WHERE purpose = ?"
        return int(sqlite3.connect(database).execute(query, (purpose,)).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def _ids(database: Path) -> set[str]:
    import sqlite3

    return {row[0] for row in sqlite3.connect(database).execute("SELECT attempt_id FROM results")}


# --- configuration ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["abc", "-1", "0", "nan"])
def test_minutes_that_are_none_are_refused(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(demo.MINUTES_VARIABLE, text)
    assert demo.main([]) == 2
    assert "positive number of minutes" in capsys.readouterr().err


def test_a_recipe_without_evaluations_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text("[learner.plan]\nminutes = 1.0\n")
    assert demo.main(["--recipe", str(recipe), "--directory", str(tmp_path)]) == 2
    assert "mine.toml: [learner.plan] evaluate is not true" in capsys.readouterr().err


def test_a_finished_run_is_put_aside_and_an_unfinished_one_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "proofs.sqlite").touch()
    demo._put_aside(folder)
    assert folder.exists()
    (folder / "summary.json").write_text("{}")
    demo._put_aside(folder)
    assert not folder.exists()
    assert len(list(tmp_path.glob("demo-*/summary.json"))) == 1


# --- the plan and its message on machines of different speed ---------------------------------------------------------

PLANNED = {"learner": {"plan": {"minutes": 7.0, "limit_minutes": 28.0}, "evaluation": {"simulations": 16}}}


def test_a_machine_is_told_how_long_it_takes_and_evaluates_alike_as_long_as_that_fits() -> None:
    fast, slow = plan_for(1.0, 2, PLANNED), plan_for(0.4, 1, PLANNED)
    assert fast.simulations == slow.simulations == 16 and "about 12 minutes" in fast.words
    assert "about 17 minutes, at most 29" in slow.words and "1 core with 40%" in slow.words
