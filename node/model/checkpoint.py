"""Checkpoints of training: a folder that is complete or absent.

`step-N/` holds model.safetensors, optimizer.pt, tokenizer.json and state.json. The folder is written beside its
place, flushed, and renamed into it; state.json names every file with its size and digest, so a truncated one is found
before it is used.
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

from common import faults
from node.model.files import FileMismatch, build_model, config_from_dict, config_to_dict, digest, state_tensors, sync
from node.model.tokenizer import Tokenizer, TokenizerError
from node.model.transformer import Transformer

SCHEMA_VERSION = 1
"""Raised when the files or their meaning change."""

MODEL, OPTIMIZER, TOKENIZER, STATE = "model.safetensors", "optimizer.pt", "tokenizer.json", "state.json"


class CheckpointError(ValueError):
    """A checkpoint that is missing, incomplete, truncated, of another schema, or inconsistent; the text names the
    file."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds."""

    model: Transformer
    """On the CPU, in training mode."""
    tokenizer: Tokenizer
    step: int
    optimizer: dict[str, Any] | None = None
    """For Optimizer.load_state_dict."""
    config: dict[str, Any] = field(default_factory=dict)
    """The whole configuration of the run, as it was saved."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What else the trainer keeps: positions in the data, weights version, best loss, ..."""


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
    """Write the checkpoint folder `directory` and return it; one that stood there is replaced.

    `config` and `extra` must be JSON values. Raises OSError (disk full, read-only), after which `directory` is what
    it was.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    temporary = directory.with_name(f".{directory.name}.{os.getpid()}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        save_file(state_tensors(model), temporary / MODEL)
        tokenizer.save(temporary / TOKENIZER)
        if optimizer is not None:
            torch.save(optimizer, temporary / OPTIMIZER)
        files = {path.name: _fingerprint(path) for path in sorted(temporary.iterdir())}
        state = {
            "schema": SCHEMA_VERSION,
            "step": step,
            "model": config_to_dict(model.config),
            "config": config or {},
            "extra": extra or {},
            "files": files,
        }
        (temporary / STATE).write_text(json.dumps(state, indent=2), encoding="utf-8")
        for path in temporary.iterdir():
            sync(path)
        sync(temporary)
        faults.reach("checkpoint:before-rename")
        _replace(temporary, directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return directory


def _fingerprint(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "blake2b": digest(path)}


def _replace(temporary: Path, directory: Path) -> None:
    """Rename into place. A folder cannot be renamed over another one, so an old checkpoint of this name goes first."""
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
    """Read a checkpoint. `optimizer=False` leaves the optimizer's state out. Raises CheckpointError."""
    state = _read_state(directory)
    for name, fingerprint in state["files"].items():
        _check_file(directory / name, fingerprint)
    try:
        tokenizer = Tokenizer.load(directory / TOKENIZER)
        tensors = load_file(directory / MODEL)
        model = build_model(config_from_dict(state["model"]), tensors, tokenizer)
        kept = None
        if optimizer and OPTIMIZER in state["files"]:
            kept = torch.load(directory / OPTIMIZER, map_location="cpu", weights_only=True)
    except (FileMismatch, TokenizerError, safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(f"checkpoint {directory}: {error}") from error
    return Checkpoint(model, tokenizer, state["step"], kept, state["config"], state["extra"])


def _read_state(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        raise CheckpointError(f"there is no checkpoint at {directory}")
    try:
        state: dict[str, Any] = json.loads((directory / STATE).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{directory} is no complete checkpoint: it has no {STATE}") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{directory / STATE} cannot be read: {error}") from error
    if not isinstance(state, dict) or state.get("schema") != SCHEMA_VERSION:
        found = state.get("schema") if isinstance(state, dict) else "none"
        raise CheckpointError(f"{directory} is of schema {found}; this version reads schema {SCHEMA_VERSION}")
    missing = {"step", "model", "config", "extra", "files"} - state.keys()
    if missing:
        raise CheckpointError(f"{directory / STATE} lacks {', '.join(sorted(missing))}")
    return state


def _check_file(path: Path, fingerprint: dict[str, Any]) -> None:
    try:
        size = path.stat().st_size
        if size != fingerprint["bytes"]:
            raise CheckpointError(f"{path} has {size} bytes, it was written with {fingerprint['bytes']}: truncated?")
        if digest(path) != fingerprint["blake2b"]:
            raise CheckpointError(f"{path} is not what was written: its digest differs")
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}; the checkpoint is not complete") from error


def complete(root: Path) -> list[Path]:
    """Checkpoints under `root` that have been renamed into place, oldest step first."""
    if not root.is_dir():
        return []
    found = [path for path in root.glob("step-*") if path.is_dir() and path.name[5:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[5:]))


def latest(root: Path) -> Path | None:
    """The newest checkpoint under `root`, or None."""
    found = complete(root)
    return found[-1] if found else None


def prune(root: Path, keep: int) -> None:
    """Delete all but the `keep` newest checkpoints, and what interrupted writes left behind."""
    for path in complete(root)[: -keep or None]:
        shutil.rmtree(path)
    for leftover in root.glob(".step-*.*"):
        shutil.rmtree(leftover, ignore_errors=True)
