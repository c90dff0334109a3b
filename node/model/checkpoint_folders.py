"""Folders of checkpoints, without torch: which are there, which are whole, and what is done with those that are not."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
"""Raised when the files or their meaning change."""

STATE = "state.json"
"""Names every other file of the checkpoint with its size and digest."""

WEIGHTS = "model.safetensors"
"""The weights of a checkpoint."""

DIGITS = 16
"""Of a digest that people read and that evaluations keep."""

CHUNK = 1 << 20
"""Bytes read at a time when a file is digested."""


class CheckpointError(ValueError):
    """A checkpoint that is missing, incomplete, truncated, of another schema, or inconsistent; the text names the
    file."""


def digest(path: Path) -> str:
    """blake2b of a file, hex: the name by which weights are checked everywhere."""
    state = hashlib.blake2b()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            state.update(chunk)
    return state.hexdigest()


def short_digest(path: Path) -> str:
    """Names the weights of a file or a checkpoint folder, for people and for comparisons. Raises OSError."""
    return digest(path / WEIGHTS if path.is_dir() else path)[:DIGITS]


def fingerprint(path: Path) -> dict[str, Any]:
    """What state.json says of a file."""
    return {"bytes": path.stat().st_size, "blake2b": digest(path)}


def check(directory: Path) -> dict[str, Any]:
    """The content of state.json, when every file is what was written. Raises CheckpointError."""
    state = _read_state(directory)
    try:
        for name, expected in state["files"].items():
            _check_file(directory / name, expected["bytes"], expected["blake2b"])
    except (AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{directory / STATE} is damaged: it does not say which files there are") from error
    return state


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


def _check_file(path: Path, size: int, blake2b: str) -> None:
    try:
        found = path.stat().st_size
        if found != size:
            raise CheckpointError(f"{path} has {found} bytes, it was written with {size}: truncated?")
        if digest(path) != blake2b:
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


def newest_whole(root: Path) -> tuple[Path | None, dict[Path, str]]:
    """The newest checkpoint whose files are all what was written, and what is wrong with those that are newer.

    (None, {}) when there is no checkpoint at all; (None, problems) when none is whole.
    """
    problems: dict[Path, str] = {}
    for path in reversed(complete(root)):
        try:
            check(path)
        except CheckpointError as error:
            problems[path] = str(error)
        else:
            return path, problems
    return None, problems


def none_whole(root: Path, problems: dict[Path, str]) -> str:
    """Why nothing under `root` can be used, for the person who reads it."""
    if not problems:
        return f"there is no checkpoint under {root}"
    listed = "; ".join(problems.values())
    return f"no checkpoint under {root} is whole: {listed}. Restore one from a copy, or begin a run of another name"


def set_aside(directory: Path) -> Path:
    """Rename a damaged checkpoint, so that it is neither counted nor in the way of a new one of its step; its new
    name. One that was set aside before under this name is deleted. Raises OSError."""
    aside = directory.with_name(f"{directory.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    directory.rename(aside)
    return aside


def prune(root: Path, keep: int) -> None:
    """Delete all but the `keep` newest checkpoints, and what interrupted writes left behind."""
    for path in complete(root)[: -keep or None]:
        shutil.rmtree(path)
    for leftover in root.glob(".step-*.*"):
        shutil.rmtree(leftover, ignore_errors=True)
