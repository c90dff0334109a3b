"""Reads weights for sampling from a weights file or a checkpoint folder."""

from __future__ import annotations

from pathlib import Path

import torch

from node.model import checkpoint, weights
from node.model.trained import proofs_note
from node.model.weights import Weights


def read_weights(path: Path, device: torch.device | str = "cpu") -> Weights:
    """Read the weights of a file or a checkpoint folder. The version of a checkpoint is its training step.

    Raises WeightsError, CheckpointError.
    """
    if not path.is_dir():
        return weights.read(path, device)
    loaded = checkpoint.load(path, optimizer=False)
    model = loaded.model.to(device).eval().requires_grad_(False)
    information = {"version": str(loaded.step), "step": str(loaded.step)} | proofs_note(loaded.config)
    return Weights(model, loaded.tokenizer, information)


def weights_digest(path: Path) -> str:
    """The digest that identifies the weights: of the file, or of a checkpoint's state.json, which has the digests of
    the checkpoint's files. Raises OSError."""
    return weights.digest(path / checkpoint.STATE if path.is_dir() else path)
