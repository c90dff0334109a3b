"""A Llama that has learned one theorem by heart: its two steps, and its whole proof."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from common.lean import Theorem

SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")

STEPS = {
    "p q : Prop\n⊢ p ∧ q → q ∧ p": "intro h",
    "p q : Prop\nh : p ∧ q\n⊢ q ∧ p": "exact ⟨h.2, h.1⟩",
}
"""Tactics by the state at which they stand."""

SCRIPT = "intro h\nexact ⟨h.2, h.1⟩"
"""The whole proof."""


def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, made once in a worker's session. It is read only: copy it to change it."""
    folder = tmp_path_factory.getbasetemp() / "small-llama"
    if not folder.exists():
        train_swap(folder)
    return folder


def trained_adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a LoRA adapter of `trained_folder`, likewise."""
    folder = tmp_path_factory.getbasetemp() / "small-llama-lora"
    if not folder.exists():
        from scripts.models.llama_training import Training, train_adapter

        train_adapter(examples(), trained_folder(tmp_path_factory), folder, Training(steps=3, batch=3))
    return folder


def train_swap(folder: Path) -> None:
    """Train until it knows the theorem: about two seconds."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch

    from scripts.models.llama_training import Training, train
    from scripts.models.shape import LlamaShape

    torch.set_num_threads(1)
    shape = LlamaShape(vocab_size=300, depth=2, width=64, heads=4, kv_heads=2, hidden=128, context=512)
    train(examples(), folder, Training(steps=60, batch=3, rate=1e-2), shape)


def examples() -> list:
    """Its three examples."""
    from scripts.models.examples import proof_example, step_example

    return [*(step_example(state, tactic) for state, tactic in STEPS.items()), proof_example(SWAP, SCRIPT)]
