"""A bank that `proofmesh bank import` made is trained and evaluated on, from a given network; real Lean and broker."""

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from common import curves
from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from node.bank import command
from node.model import checkpoint
from tests.node.learner.builders import TINY
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.node.prover.nodes import running

LIMIT = 120.0

PLAN = """
[learner.plan]
evaluate = true
minutes = 0.01
training_steps = 2
limit_minutes = 10

[learner.evaluation]
statements = 3
simulations = 4
every = 1
share = 1.0
beside_statements = 2
beside_simulations = 4
"""


def source(folder: Path) -> Path:
    """Statements of a dataset's form that core Lean can say: to train on, to be scored, and one that is wrong."""
    texts = [
        ("train", "theorem a (p q : Prop) : p ∧ q → q ∧ p := by"),
        ("train", "theorem b (n : Nat) : n + 0 = n := by"),
        ("train", "theorem c (p : Prop) (h : p) : p ∧ p := by"),
        ("train", "theorem d : 2 + 2 = 4 := by"),
        ("train", "theorem e : nonsense = 4 := by"),
        ("test", "theorem f (p : Prop) : p → p := by"),
        ("test", "theorem g : 3 + 1 = 4 := by"),
        ("test", "theorem h (p q : Prop) (h : p) : p ∨ q := by"),
    ]
    rows = [{"name": "", "header": "", "formal_statement": text, "split": split} for split, text in texts]
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
    (tmp_path / "mesh.toml").write_text(TINY.format(bank=bank) + PLAN, encoding="utf-8")
    at = ["--run", run_name, "--bus.url", broker.url]
    flags = ["--config", str(tmp_path / "mesh.toml"), "--directory", str(tmp_path / "runs")]
    program = [sys.executable, "-m", "node.command.cli"]
    env = {**os.environ, "PROOFMESH_CACHE": str(tmp_path / "cache")}
    learner = await spawn_child([*program, "learner", *flags, "--warm-start.checkpoint", str(given), *at], env=env)
    try:
        async with running(bus), asyncio.timeout(LIMIT):
            assert await learner.wait() == 0
    finally:
        await kill_group(learner, grace=0)
    summary = json.loads((tmp_path / "runs" / run_name / "summary.json").read_text())
    assert (summary["test_total"], summary["undecided_before"], summary["undecided_after"]) == (3, 0, 0)
    assert summary["solved_after"] > 0 and summary["records_sound"]
    assert summary["train_steps"] > 0 and summary["transitions"] > 0
    # None of these banks has transitions of a theorem that is held out: there is nothing to measure the network on.
    assert summary["warm_start"] == {"steps": 40, "seconds": 0.0, "cached": False, "valid_loss": None}
    assert summary["costs"]["eval"]["tactics_tried"] > 0 and summary["costs"]["eval"]["seconds_lean"] > 0
    lines = curves.read_evaluations(tmp_path / "runs" / run_name / curves.EVALUATIONS)
    beside = [each for each in lines if each.beside]
    assert [each.label for each in (lines[0], lines[-1])] == ["before", "after"] and len(beside) == len(lines) - 2 > 0
    assert beside[0].label == "step-40" and {each.statements for each in beside} == {2}
    assert (lines[0].solved, lines[-1].solved) == (summary["solved_before"], summary["solved_after"])
    assert summary["costs"]["eval"]["attempts"] == 6 and summary["costs"]["eval-beside"]["attempts"] >= 2
    with closing(sqlite3.connect(tmp_path / "runs" / run_name / "proofs.sqlite")) as db:
        attempted = set(db.execute("SELECT split, purpose FROM attempts JOIN theorems USING (theorem_id)"))
        ((noted,),) = db.execute("SELECT value FROM notes WHERE key = 'progress'")
    assert attempted <= {("train", "train"), ("train", "disprove"), ("test", "eval")}
    assert json.loads(noted)["steps"] == 0, "these are of the control, and there was none"
