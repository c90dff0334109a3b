"""Weights to sample from, of a weights file or of a checkpoint's folder."""

from __future__ import annotations

from pathlib import Path

import torch

from node.model import checkpoint, weights
from node.model.trained import proofs_note
from node.model.weights import Weights


def read_weights(path: Path, device: torch.device | str = "cpu") -> Weights:
    """Weights of a file, or of a checkpoint's folder: the version of these is the training step.

    Raises WeightsError, CheckpointError.
    """
    if not path.is_dir():
        return weights.read(path, device)
    loaded = checkpoint.load(path, optimizer=False)
    model = loaded.model.to(device).eval().requires_grad_(False)
    information = {"version": str(loaded.step), "step": str(loaded.step)} | proofs_note(loaded.config)
    return Weights(model, loaded.tokenizer, information)


def weights_digest(path: Path) -> str:
    """What these weights are known by: the digest of the file, or of the one that names a checkpoint's files with
    theirs. Raises OSError."""
    return weights.digest(path / checkpoint.STATE if path.is_dir() else path)
