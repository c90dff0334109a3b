"""A learner in a process of its own: on damaged files, on a directory that has an owner, on an imported bank."""

import asyncio
import json
import multiprocessing
import os
import signal
import sqlite3
import sys
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from common import curves
from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from common.protocol.messages import WeightsState
from common.records.database import RunDirectoryError
from common.records.rows import WeightsRow
from common.records.store import Store
from node.bank import command
from node.command import cli
from node.learner.run import RunDirectory
from node.model import checkpoint, weights
from node.model.checkpoint import name_of_step
from node.model.checkpoint_folders import complete
from tests.background import RunOnBroker
from tests.commands import Called
from tests.files import truncate
from tests.node.learner.builders import tiny_learner, write_bank
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.node.prover.nodes import running
from tests.waiting import eventually

LIMIT = 120.0


@pytest.fixture
def directory(tmp_path: Path, run_name: str) -> Path:
    """A run in the middle of reinforcement learning: checkpoints of steps 2, 5 and 9, weights of step 9 published as
    version 7."""
    write_bank(tmp_path / "bank")
    (tmp_path / "mesh.toml").write_text(tiny_learner(tmp_path / "bank"), encoding="utf-8")
    directory = tmp_path / "runs" / run_name
    for step in (2, 5, 9):
        checkpoint.save(directory / "checkpoints" / name_of_step(step), tiny_model(), tiny_tokenizer(), step=step)
    (directory / "weights").mkdir()
    blake2b = weights.write(directory / "weights" / "weights-000007.safetensors", tiny_model(), tiny_tokenizer())
    store = Store(directory / "proofs.sqlite")
    store.note("progress", {"phase": "rl"})
    store.add_weights(WeightsRow(7, 9, blake2b, "weights-000007"), 0.0)
    store.close()
    return directory


async def start(directory: Path, broker: BusSettings, *flags: str) -> asyncio.subprocess.Process:
    folder = directory.parent.parent
    argv = [sys.executable, "-m", "node.command.cli", "learner", "--config", str(folder / "mesh.toml")]
    argv += ["--run", directory.name, "--bus.url", broker.url, "--directory", str(directory.parent), *flags]
    env = {**os.environ, "PROOFMESH_CACHE": str(folder / "cache")}
    with (folder / "stderr").open("wb") as stderr:
        return await spawn_child(argv, env=env, stderr=stderr)


@pytest.mark.slow
async def test_damaged_files_give_way_to_those_before_them(directory: Path, bus: Bus, broker: BusSettings) -> None:
    truncate(directory / "checkpoints" / "step-000009" / "model.safetensors")
    truncate(directory / "weights" / "weights-000007.safetensors")
    announced: list[WeightsState] = []
    await bus.watch_state("weights", WeightsState, lambda state: announced.append(state) if state else None)
    learner = await start(directory, broker)
    try:
        await eventually(lambda: bool(announced) or learner.returncode is not None, LIMIT, "the announcement")
        assert (announced[-1].version, announced[-1].step) == (8, 5)
        learner.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LIMIT):
            assert await learner.wait() == 0
    finally:
        await kill_group(learner, grace=0)
    said = (directory.parent.parent / "stderr").read_text()
    assert "step-000009/model.safetensors has" in said and "step-000009.damaged" in said
    assert "weights-000007.safetensors" in said
    assert [path.name for path in complete(directory / "checkpoints")][-1] == "step-000005"


def test_run_without_a_whole_checkpoint_is_refused(
    directory: Path, mesh_run: RunOnBroker, called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in complete(directory / "checkpoints"):
        truncate(path / "model.safetensors")
    folder = directory.parent.parent
    monkeypatch.setenv("PROOFMESH_CACHE", str(folder / "cache"))
    place = ("--run", mesh_run.name, "--bus.url", mesh_run.bus.url, "--directory", directory.parent)
    ended = called(cli.main, "learner", "--config", folder / "mesh.toml", *place)
    assert ended.code == 1
    assert "all checkpoints under" in ended.err and "step-000002/model.safetensors has" in ended.err
    assert len(complete(directory / "checkpoints")) == 3


@pytest.mark.process
def test_a_directory_has_one_owner_which_is_named_and_a_killed_one_does_not_block_the_next(tmp_path: Path) -> None:
    ours = RunDirectory(tmp_path, "demo")
    ours.open()

    def other(say: Connection) -> None:
        RunDirectory(tmp_path, "other").open()
        try:
            RunDirectory(tmp_path, "demo").open()
        except RunDirectoryError as error:
            say.send(str(error))
        os.kill(os.getpid(), signal.SIGKILL)

    heard, say = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=other, args=(say,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and f"in use by process {os.getpid()}" in heard.recv()
    ours.close()
    for name in ("demo", "other"):
        again = RunDirectory(tmp_path, name)
        again.open()
        again.close()


def test_a_folder_that_cannot_be_written_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    for folder in (Path("/proc/proofmesh-runs"), tmp_path / "runs"):
        with pytest.raises(RunDirectoryError, match=r"cannot be written.*--directory"):
            RunDirectory(folder, "demo").open()


# --- a bank that was imported -----------------------------------------------------------------------------------------
BESIDE = {"every": 1, "share": 1.0, "beside_statements": 2, "beside_simulations": 4}
PLAN: dict[str, dict[str, object]] = {
    "plan": {"evaluate": True, "minutes": 0.01, "training_steps": 2, "limit_minutes": 10},
    "evaluation": {"statements": 3, "simulations": 4, **BESIDE},
}


def source(folder: Path) -> Path:
    """Statements of a dataset's form that core Lean can say: to train on, to be scored, and one that is wrong."""
    train = ["a (p q : Prop) : p ∧ q → q ∧ p", "b (n : Nat) : n + 0 = n", "c (p : Prop) (h : p) : p ∧ p"]
    test = ["f (p : Prop) : p → p", "g : 3 + 1 = 4", "h (p q : Prop) (h : p) : p ∨ q"]
    texts = [("train", text) for text in (*train, "d : 2 + 2 = 4", "e : nonsense = 4")] + [
        ("test", text) for text in test
    ]
    plain = {"name": "", "header": ""}
    rows = [{**plain, "formal_statement": f"theorem {text} := by", "split": split} for split, text in texts]
    path = folder / "small.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


async def test_an_imported_bank_is_trained_and_evaluated_on_from_a_given_network(
    tmp_path: Path,
    bus: Bus,
    broker: BusSettings,
    run_name: str,
    lean_proxy: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("node.bank.elaboration.whitelists", lambda: tmp_path / "whitelists")
    bank = tmp_path / "bank"
    assert await asyncio.to_thread(command.main, ["import", str(source(tmp_path)), "--out", str(bank)]) == 0
    given = checkpoint.save(tmp_path / "given", tiny_model(), tiny_tokenizer(), step=40)
    (tmp_path / "mesh.toml").write_text(tiny_learner(bank, **PLAN), encoding="utf-8")
    run = tmp_path / "runs" / run_name
    learner = await start(run, broker, "--warm-start.checkpoint", str(given))
    try:
        async with running(bus), asyncio.timeout(LIMIT):
            assert await learner.wait() == 0
    finally:
        await kill_group(learner, grace=0)
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["test_total"], summary["undecided_before"], summary["undecided_after"]) == (3, 0, 0)
    found = [summary[name] for name in ("solved_after", "train_steps", "transitions")]
    assert summary["records_sound"] and min(found) > 0
    # None of these banks has transitions of a theorem that is held out: there is nothing to measure the network on.
    assert summary["warm_start"] == {"steps": 40, "seconds": 0.0, "cached": False, "valid_loss": None}
    assert summary["costs"]["eval"]["tactics_tried"] > 0 and summary["costs"]["eval"]["seconds_lean"] > 0
    lines = curves.read_evaluations(run / curves.EVALUATIONS)
    beside = [each for each in lines if each.beside]
    assert [each.label for each in (lines[0], lines[-1])] == ["before", "after"] and len(beside) == len(lines) - 2 > 0
    assert beside[0].label == "step-40" and {each.statements for each in beside} == {2}
    assert (lines[0].solved, lines[-1].solved) == (summary["solved_before"], summary["solved_after"])
    assert summary["costs"]["eval"]["attempts"] == 6 and summary["costs"]["eval-beside"]["attempts"] >= 2
    with closing(sqlite3.connect(run / "proofs.sqlite")) as db:
        attempted = set(db.execute("SELECT split, purpose FROM attempts JOIN theorems USING (theorem_id)"))
        ((noted,),) = db.execute("SELECT value FROM notes WHERE key = 'progress'")
    assert attempted <= {("train", "train"), ("train", "disprove"), ("test", "eval")}
    assert json.loads(noted)["steps"] == 0, "these are of the control, and there was none"
