"""Tiny models and data, made once."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from node.tuning.settings import KeepingSettings, LengthSettings, OptimizerSettings, PlaceSettings
from tests.node.bank.stand_ins import lines

STEPS = [
    ("swap", "p q : Prop\n⊢ p ∧ q → q ∧ p", "intro h"),
    ("swap", "p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "constructor"),
    ("swap", "p q : Prop\nh : p ∧ q\n⊢ q", "exact h.2"),
    ("same", "p : Prop\nh : p\n⊢ p", "exact h"),
    ("split", "p q : Prop\nh : p ∨ q\n⊢ q ∨ p", "cases h with\n| inl a => exact Or.inr a\n| inr b => exact Or.inl b"),
    ("add", "a b : Nat\n⊢ a + b = b + a", "rw [Nat.add_comm]"),
]


def write_steps(path: Path, weights: dict[str, float] | None = None) -> Path:
    names = ("theorem", "state", "tactic", "remaining_steps", "weight")
    rows = [dict(zip(names, (*step, 1, (weights or {}).get(step[0], 1.0)), strict=True)) for step in STEPS]
    return lines(path, rows)


def short(steps: int, rate: float, cooldown: float = 0.0) -> dict[str, Any]:
    """Settings of a training of few steps on the CPU, which saves every second one."""
    return {
        "keep_out": (), "place": PlaceSettings(device="cpu"), "length": LengthSettings(steps=steps),
        "optimizer": OptimizerSettings(rate=rate, warmup=0.0, cooldown=cooldown),
        "keeping": KeepingSettings(save_every=2, log_every=1),
    }  # fmt: skip


def command_of_card(model: Path) -> list[str]:
    """The flags of the `proofmesh` command that the model's card prints."""
    (line,) = re.findall(r"Use: `proofmesh ([^`]+)`", (model / "README.md").read_text())
    return shlex.split(line)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.node.tuning.models import raw_model

    return raw_model(tmp_path_factory.mktemp("tuning") / "tiny")


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.node.tuning.models import chat_model

    return chat_model(tmp_path_factory.mktemp("tuning") / "chat")


@pytest.fixture(scope="session")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_steps(tmp_path_factory.mktemp("tuning-data") / "steps.jsonl")
