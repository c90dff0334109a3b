"""Tiny models and data, made once."""

import json
import re
import shlex
from pathlib import Path

import pytest

STEPS = [
    ("swap", "p q : Prop\n⊢ p ∧ q → q ∧ p", "intro h"),
    ("swap", "p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "constructor"),
    ("swap", "p q : Prop\nh : p ∧ q\n⊢ q", "exact h.2"),
    ("same", "p : Prop\nh : p\n⊢ p", "exact h"),
    ("split", "p q : Prop\nh : p ∨ q\n⊢ q ∨ p", "cases h with\n| inl a => exact Or.inr a\n| inr b => exact Or.inl b"),
    ("add", "a b : Nat\n⊢ a + b = b + a", "rw [Nat.add_comm]"),
]


def write_steps(path: Path, weights: dict[str, float] | None = None) -> Path:
    rows = [
        {
            "theorem": name,
            "state": state,
            "tactic": tactic,
            "remaining_steps": 1,
            "weight": (weights or {}).get(name, 1.0),
        }
        for name, state, tactic in STEPS
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


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
