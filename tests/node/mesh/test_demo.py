"""The demo: its configuration, and whole runs with a tiny network on a tiny bank: real broker, Lean, training."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from common import config
from common.life.process import kill_group, spawn_child
from node.command import demo
from node.command.demo import plan_for
from tests.commands import Called
from tests.message_values import heartbeat
from tests.node.learner.builders import write_bank

WANTED = (
    "lean_version test_total simulations solved_before solved_after both_solved ci_low ci_high roots_solved"
    " proofs_verified proofs_rejected attempts transitions train_steps expansions_per_s pause_fraction wall_s"
)


def recipe(folder: Path) -> Path:
    learner = {
        "bank": str(write_bank(folder / "bank")),
        "plan": {"evaluate": True, "minutes": 0.5},
        "model": {"vocab_size": 400, "depth": 1, "width": 32, "heads": 2, "kv_heads": 2, "hidden": 64, "context": 128},
        "evaluation": {"statements": 6, "simulations": 4},
        "matchmaker": {"budget": 4, "disprove_chance": 0.2},
        "schedule": {"fresh": 4, "patience": 2.0, "training_budget": 0.5},
        "trainer": {"batch": 16, "threads": 1},
        "warm_start": {"steps": 60, "every": 30, "validation": 32},
    }
    rest = {"up": {"ui": 1}, "prover": {"searches": 4}, "lean_proxy": {"workers": 1}}
    (folder / "tiny.toml").write_text(tomli_w.dumps(rest | {"learner": learner}), encoding="utf-8")
    return folder / "tiny.toml"


async def start(folder: Path, *flags: str) -> asyncio.subprocess.Process:
    argv = [sys.executable, "-m", "node.command.cli", "demo", "--directory", str(folder / "runs"), "--port", "0"]
    variables = {**os.environ, "PROOFMESH_CACHE_DIR": "", "PROOFMESH_CACHE": str(folder / "cache")}
    pipe = asyncio.subprocess.PIPE
    return await spawn_child([*argv, *flags], env=variables, stderr=pipe, stdout=pipe)


async def finish(process: asyncio.subprocess.Process, seconds: float) -> tuple[str, str]:
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    finally:
        await kill_group(process, grace=5)
    return out.decode(), err.decode()


def check(summary: dict[str, Any]) -> None:
    assert set(WANTED.split()) <= summary.keys() and summary["test_total"] == 6 and summary["records_sound"]
    assert summary["both_solved"] <= min(summary["solved_before"], summary["solved_after"])
    assert summary["ci_low"] <= summary["difference"] <= summary["ci_high"]
    # Counted by three different processes: the provers' word, the lean-proxies' verdicts, the learner's records.
    # A verification that an interruption cut off is asked for again, so verified may pass solved then.
    assert summary["recorded_proofs"] <= summary["proofs_verified"]
    assert summary["recorded_proofs"] <= summary["roots_solved"]
    assert summary["attempts"] + summary["attempts_outstanding"] == summary["attempts_dispatched"]
    assert 0 <= summary["pause_fraction"] < 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_a_demo_that_was_interrupted_goes_on_where_it_was_and_has_a_control(tmp_path: Path) -> None:
    flags = ["--recipe", str(recipe(tmp_path)), "--repeat"]
    database = tmp_path / "runs" / "demo" / "proofs.sqlite"
    process = await start(tmp_path, *flags)
    reading = asyncio.create_task(finish(process, 600))
    async with asyncio.timeout(400):
        while not (database.exists() and _ids(database, "train")):
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
    assert before and before <= _ids(database) and summary["before_again"]["solved"] <= 6
    assert summary["train_steps"] > 0 and 25 < summary["learning_s"] < 60

    process = await start(tmp_path, *flags[:2], "--control")
    _, err = await finish(process, 600)
    assert process.returncode == 0, err
    control = json.loads((tmp_path / "runs" / "demo-control" / "summary.json").read_text())
    check(control)
    assert all(control[name] == summary[name] for name in ("train_steps", "solved_before"))
    assert (control["kind"], control["transitions"], control["attempts"]) == ("control", 0, 12)
    assert control["warm_start"]["cached"]


def _ids(database: Path, purpose: str = "") -> set[str]:
    """The recorded attempts, of one purpose if it is named."""
    query = "SELECT attempt_id, purpose FROM results JOIN attempts USING (attempt_id)"
    try:
        return {name for name, kind in sqlite3.connect(database).execute(query) if purpose in ("", kind)}
    except sqlite3.OperationalError:
        return set()


def test_the_table_of_a_run_on_several_banks_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {"undecided_before": 0, "undecided_after": 0, "difference": 0.25, "ci_low": 0.2, "ci_high": 0.3}
    one = numbers | {"test_total": 9, "solved_before": 1, "solved_after": 5}
    plain: dict[str, Any] = dict.fromkeys((key for _, key in demo.ROWS), 1) | numbers | {"run": "r", "kind": "rl"}
    demo.show_summary(plain | {"solved_by": {}, "banks": {"puzzles": one}, "budget_factors": ["puzzles*4"]})
    words = capsys.readouterr().out
    assert "1 -> 5 of 9, +25.0 (+20.0 to +30.0)" in words and "puzzles*4" in words
    demo.show_summary(plain | {"solved_by": {}})
    assert "puzzles" not in capsys.readouterr().out


def test_the_numbers_of_a_learner_that_was_killed_are_not_added_to_those_of_the_next(tmp_path: Path) -> None:
    view = demo.View(tmp_path, demo.DemoSettings())
    nodes = [("learner", "a", 5.0), ("prover", "b", 5.0), ("prover", "c", 5.0), ("learner", "d", 6.0)]
    for role, node, value in nodes:
        view._hear("", heartbeat(node, role, n=value))
    assert view.totals() == {"learner.n": 6.0, "prover.n": 10.0}


# --- configuration ----------------------------------------------------------------------------------------------------


def test_minutes_that_are_none_and_a_recipe_without_evaluations_are_refused(called: Called, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[learner.plan]\nminutes = 1.0\n")
    code, _, err = called(demo.main, "--recipe", "mine.toml", "--directory", tmp_path)
    assert code == 2 and "mine.toml: [learner.plan] evaluate is not true" in err
    for text in ("abc", "-1", "0", "nan"):
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(demo.MINUTES_VARIABLE, text)
            code, _, err = called(demo.main)
        assert code == 2 and "positive number of minutes" in err, text


def test_a_finished_run_is_put_aside_and_an_unfinished_one_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    for name, stays in (("proofs.sqlite", True), ("summary.json", False)):
        (folder / name).touch()
        demo._put_aside(folder)
        assert folder.exists() is stays
    assert len(list(tmp_path.glob("demo-*/summary.json"))) == 1


# --- the plan and its message on machines of different speed ---------------------------------------------------------

PLANNED = config.read(demo.RECIPE)


def test_a_machine_is_told_how_long_it_takes_and_evaluates_alike_as_long_as_that_fits() -> None:
    fast, slow = plan_for(1.0, 2, PLANNED), plan_for(0.5, 1, PLANNED)
    assert fast.simulations == slow.simulations == 16 and "about 13 minutes" in fast.words
    assert "about 23 minutes, at most 29" in slow.words and "1 core with 50%" in slow.words
