"""Writes and reads training checkpoints, and reads weights for sampling from either kind. A checkpoint folder is either
complete or absent.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file, save_file

from common.files import file_digest, sync
from common.life import faults
from node.model import weights
from node.model.checkpoint_folders import (
    SCHEMA_VERSION,
    STATE,
    TOKENIZER,
    CheckpointError,
    check,
    complete,
    fingerprint,
    latest,
    proofs_note,
    prune,
)
from node.model.config import FileMismatch, config_from_dict
from node.model.tokenizer import Tokenizer, TokenizerError
from node.model.transformer import Transformer
from node.model.weights import Weights, build_model, state_tensors, written

__all__ = ["SCHEMA_VERSION", "STATE", "Checkpoint", "CheckpointError", "complete", "latest", "load", "prune", "save"]

MODEL, OPTIMIZER = "model.safetensors", "optimizer.pt"


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint."""

    model: Transformer
    """On the CPU, in training mode."""
    tokenizer: Tokenizer
    step: int
    optimizer: dict[str, Any] | None = None
    """Argument for Optimizer.load_state_dict."""
    config: dict[str, Any] = field(default_factory=dict)
    """The run's whole configuration at the time of saving."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further state of the trainer: positions in the data, weights version, best loss, ..."""


def name_of_step(step: int) -> str:
    return f"step-{step:06d}"


def save(
    directory: Path,
    model: Transformer,
    tokenizer: Tokenizer,
    *,
    step: int,
    optimizer: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    extra: dict[str, Any] | None = None,
) -> Path:
    """Write the checkpoint folder `directory`, replacing an existing one, and return it.

    `config` and `extra` must be JSON values. Raises OSError (disk full, read-only); `directory` is then unchanged.
    """
    # 1. Everything goes into a folder beside it, with a name that no reader takes for a checkpoint.
    directory.parent.mkdir(parents=True, exist_ok=True)
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        # 2. The tensors and the tokenizer.
        with written(temporary / MODEL) as path:
            save_file(state_tensors(model), path)
        tokenizer.save(temporary / TOKENIZER)
        if optimizer is not None:
            with written(temporary / OPTIMIZER) as path, path.open("wb") as file:
                torch.save(optimizer, file)
        # 3. The state comes last, with a fingerprint of each file: a reader sees a damaged file at once.
        files = {path.name: fingerprint(path) for path in sorted(temporary.iterdir())}
        state = {
            "schema": SCHEMA_VERSION,
            "step": step,
            "model": model.config.as_dict(),
            "config": config or {},
            "extra": extra or {},
            "files": files,
        }
        (temporary / STATE).write_text(json.dumps(state, indent=2), encoding="utf-8")
        # 4. On disk before the rename, or a power cut could leave a complete name with empty files.
        for path in temporary.iterdir():
            sync(path)
        sync(temporary)
        # 5. The rename makes it visible, complete or not at all.
        faults.reach("checkpoint:before-rename")
        _replace(temporary, directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return directory


def _replace(temporary: Path, directory: Path) -> None:
    """Rename into place. A folder cannot be renamed over another, so an old checkpoint is renamed away first."""
    if directory.exists():
        old = directory.with_name(f".{directory.name}.{os.getpid()}.old")
        shutil.rmtree(old, ignore_errors=True)
        directory.rename(old)
        temporary.rename(directory)
        shutil.rmtree(old, ignore_errors=True)
    else:
        temporary.rename(directory)
    sync(directory.parent)


def load(directory: Path, *, optimizer: bool = True) -> Checkpoint:
    """Read a checkpoint; with `optimizer=False`, without the optimizer's state. Raises CheckpointError."""
    state = check(directory)
    try:
        tokenizer = Tokenizer.load(directory / TOKENIZER)
        tensors = load_file(directory / MODEL)
        model = build_model(config_from_dict(state["model"]), tensors, tokenizer)
        optimizer_state = None
        if optimizer and OPTIMIZER in state["files"]:
            optimizer_state = torch.load(directory / OPTIMIZER, map_location="cpu", weights_only=True)
    except (FileMismatch, TokenizerError, safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"checkpoint {directory}: {error}") from error
    return Checkpoint(model, tokenizer, state["step"], optimizer_state, state["config"], state["extra"])


# --- weights of a file or of a checkpoint -----------------------------------------------------------------------------


def read_weights(path: Path, device: torch.device | str = "cpu") -> Weights:
    """Read the weights of a file or a checkpoint folder. The version of a checkpoint is its training step.

    Raises WeightsError, CheckpointError.
    """
    if not path.is_dir():
        return weights.read(path, device)
    loaded = load(path, optimizer=False)
    model = loaded.model.to(device).eval().requires_grad_(False)
    information = {"version": str(loaded.step), "step": str(loaded.step)} | proofs_note(loaded.config)
    return Weights(model, loaded.tokenizer, information)


def weights_digest(path: Path) -> str:
    """The digest that identifies the weights: of the file, or of a checkpoint's state.json, which has the digests of
    the checkpoint's files. Raises OSError."""
    return file_digest(path / STATE if path.is_dir() else path)
