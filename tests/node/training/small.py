"""Stages small enough for tests."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from node.model.config import ModelConfig
from node.training.settings import STAGES, RateSettings, StageSettings
from tests.node.bank.stand_ins import lines as write_jsonl

torch.set_num_threads(1)  # tests share the machine

SHAPE = ModelConfig(vocab_size=420, depth=2, width=32, heads=2, kv_heads=1, hidden=64, context=96)


def rows(count: int = 60) -> list[dict[str, Any]]:
    """Transitions of made-up theorems, in the bank's format."""
    found = []
    for number in range(count):
        a, b = "pqrst"[number % 5], "uvwxyz"[number % 6]
        state = f"{a} {b} : Prop\nh{number % 7} : {a} ∧ {b}\n⊢ {b} ∧ {a} ∨ {number} = 0"
        tactic = f"exact ⟨h{number % 7}.2, h{number % 7}.1⟩" if number % 2 else "constructor"
        row = {"theorem": f"t{number // 2}", "state": state, "tactic": tactic, "remaining_steps": 1 + number % 3}
        found.append(row)
    return found


def small(folder: Path, stage: str = "sft", **changes: Any) -> StageSettings:
    """A stage that takes a fraction of a second; data from a file in `folder`."""
    data = changes.pop("data", None)
    if data is None:
        file = folder / "transitions.jsonl"
        if not file.exists():
            write_jsonl(file, rows())
        data = replace(STAGES[stage].data, sources=(f"transitions:{file}",), held_out=5)
    data = replace(data, cache=str(folder / "cache"), window=4, valid_tokens=300)
    size = {"vocab_size": 420, "model": SHAPE, "steps": 6, "length": 96, "batch_tokens": 192, "micro_tokens": 96}
    often = {"evaluate_every": 3, "save_every": 3, "log_every": 1, "rates": RateSettings(warmup=2)}
    given = size | often | {"run": "run", "directory": str(folder / "runs"), "threads": 1, "device": "cpu"} | changes
    return StageSettings(data=data, **given)


def curve(folder: Path, name: str = "loss", run: str = "run") -> dict[int, float]:
    """Step to value, from metrics.jsonl."""
    lines = (folder / "runs" / run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["step"]: line["values"][name] for line in map(json.loads, lines) if name in line["values"]}
