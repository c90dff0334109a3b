"""A Llama that has learned one theorem by heart: its two steps, and its whole proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from common.lean import Theorem
from node.tuning.settings import LlamaShape

if TYPE_CHECKING:
    from node.tuning.examples import Example

SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")

STEPS = {"p q : Prop\n⊢ p ∧ q → q ∧ p": "intro h", "p q : Prop\nh : p ∧ q\n⊢ q ∧ p": "exact ⟨h.2, h.1⟩"}
"""Tactics by the state at which they stand."""

SCRIPT = "intro h\nexact ⟨h.2, h.1⟩"
"""The whole proof."""

SHAPE = LlamaShape(vocab_size=300, depth=2, width=64, heads=4, kv_heads=2, hidden=128, context=512)


def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, made once in a worker's session. It is read only: copy it to change it."""
    folder = tmp_path_factory.getbasetemp() / "small-llama"
    if not folder.exists():
        train_swap(folder)
    return folder


def train_swap(folder: Path, base: Path | None = None) -> None:
    """Train until it knows the theorem, some seconds; or an adapter of `base` for three steps."""
    from scripts.small_llama import SmallLlamaSettings, train

    data = written_data(folder.parent)
    length = {"steps": 3, "rate": 3e-3} if base else {"steps": 60, "rate": 1e-2}
    train(SmallLlamaSettings(folder, str(base or ""), data, held_out=0, minutes=10, batch=3, shape=SHAPE, **length))


def written_data(folder: Path) -> tuple[str, str]:
    """The theorem as sources of training data."""
    steps, proofs = folder / "swap-steps.jsonl", folder / "swap-proofs.jsonl"
    rows = [
        {"theorem": SWAP.name, "state": state, "tactic": tactic, "remaining_steps": 2 - number}
        for number, (state, tactic) in enumerate(STEPS.items())
    ]
    steps.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    proofs.write_text(json.dumps({"statement": SWAP.signature, "proof": SCRIPT}), encoding="utf-8")
    return str(steps), str(proofs)


def examples() -> list[Example]:
    """Its three examples."""
    from node.data.rows import Proof, Step
    from node.llm.templates import load
    from node.tuning.examples import Example, proof_example, step_example
    from scripts.small_llama import PROOFS_FAMILY, STEPS_FAMILY

    found = [step_example(load(STEPS_FAMILY), Step(SWAP.name, state, tactic)) for state, tactic in STEPS.items()]
    found.append(proof_example(load(PROOFS_FAMILY), Proof(SWAP, SCRIPT)))
    return [each for each in found if isinstance(each, Example)]
