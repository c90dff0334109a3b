"""Finds, checks and prunes checkpoint folders, and sets damaged ones aside; finds the weights for a path; and tells
what a network was trained on. Without torch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import file_digest
from node.model.config import FileMismatch, ModelConfig, config_from_dict

if TYPE_CHECKING:
    from node.model.tokenizer import Tokenizer

SCHEMA_VERSION = 1
"""Incremented when the files or their meaning change."""

STATE = "state.json"
"""Lists every other file of the checkpoint with its size and digest."""

WEIGHTS = "model.safetensors"
"""The weights of a checkpoint."""

TOKENIZER = "tokenizer.json"
"""The tokenizer of a checkpoint."""

DIGITS = 16
"""Hex digits of the short digests for users and evaluations."""


class CheckpointError(ValueError):
    """A checkpoint that is missing, incomplete, truncated, of another schema, or inconsistent; the text names the
    file."""


def short_digest(path: Path) -> str:
    """A short digest of the weights of a file or checkpoint folder, for users and comparisons. Raises OSError."""
    return file_digest(path / WEIGHTS if path.is_dir() else path)[:DIGITS]


def fingerprint(path: Path) -> dict[str, Any]:
    """A file's entry in state.json."""
    return {"bytes": path.stat().st_size, "blake2b": file_digest(path)}


def check(directory: Path) -> dict[str, Any]:
    """The content of state.json, after checking every file against it. Raises CheckpointError."""
    state = _read_state(directory)
    try:
        for name, expected in state["files"].items():
            _check_file(directory / name, expected["bytes"], expected["blake2b"])
    except (AttributeError, KeyError, TypeError) as error:
        raise CheckpointError(f"{directory / STATE} is damaged: it does not list the checkpoint's files") from error
    return state


def load_reading(directory: Path) -> tuple[Tokenizer, ModelConfig, int]:
    """How a checkpoint's network reads text, without its weights: tokenizer, configuration and step. Raises
    CheckpointError."""
    from node.model.tokenizer import Tokenizer, TokenizerError

    state = check(directory)
    try:
        return Tokenizer.load(directory / TOKENIZER), config_from_dict(state["model"]), state["step"]
    except (FileMismatch, TokenizerError, OSError) as error:
        raise CheckpointError(f"checkpoint {directory}: {error}") from error


def _read_state(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        raise CheckpointError(f"there is no checkpoint at {directory}")
    try:
        state: dict[str, Any] = json.loads((directory / STATE).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{directory} is not a complete checkpoint: it has no {STATE}") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{directory / STATE} cannot be read: {error}") from error
    if not isinstance(state, dict) or state.get("schema") != SCHEMA_VERSION:
        schema = state.get("schema") if isinstance(state, dict) else "none"
        raise CheckpointError(f"{directory} has schema {schema}; this version reads schema {SCHEMA_VERSION}")
    missing = {"step", "model", "config", "extra", "files"} - state.keys()
    if missing:
        raise CheckpointError(f"{directory / STATE} lacks {', '.join(sorted(missing))}")
    return state


def _check_file(path: Path, size: int, blake2b: str) -> None:
    try:
        actual = path.stat().st_size
        if actual != size:
            raise CheckpointError(f"{path} has {actual} bytes, but it was written with {size}: truncated?")
        if file_digest(path) != blake2b:
            raise CheckpointError(f"{path} was changed after it was written: its digest differs")
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}; the checkpoint is not complete") from error


def complete(root: Path) -> list[Path]:
    """Checkpoints under `root` that have been renamed into place, oldest step first."""
    if not root.is_dir():
        return []
    checkpoints = [path for path in root.glob("step-*") if path.is_dir() and path.name[5:].isdigit()]
    return sorted(checkpoints, key=lambda path: int(path.name[5:]))


def latest(root: Path) -> Path | None:
    """The newest checkpoint under `root`, or None."""
    checkpoints = complete(root)
    return checkpoints[-1] if checkpoints else None


def newest_whole(root: Path) -> tuple[Path | None, dict[Path, str]]:
    """The newest undamaged checkpoint, and the problems of newer damaged ones.

    (None, {}) if there is no checkpoint; (None, problems) if all are damaged.
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
    """Why no checkpoint under `root` can be used, as a message for the user."""
    if not problems:
        return f"there is no checkpoint under {root}"
    listed = "; ".join(problems.values())
    return (
        f"all checkpoints under {root} are damaged: {listed}; restore one from a copy, or begin a run of another name"
    )


def set_aside(directory: Path) -> Path:
    """Rename a damaged checkpoint, so that it is not counted and a new one can use its name; returns the new path. An
    earlier one that was set aside under that name is deleted. Raises OSError."""
    aside = directory.with_name(f"{directory.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    directory.rename(aside)
    return aside


def prune(root: Path, keep: int) -> None:
    """Delete all but the `keep` newest checkpoints, and the remains of interrupted writes."""
    for path in complete(root)[: -keep or None]:
        shutil.rmtree(path)
    for leftover in root.glob(".step-*.*"):
        shutil.rmtree(leftover, ignore_errors=True)


# --- the weights for a path -------------------------------------------------------------------------------------------


def weights_at(path: Path, note: Callable[[str], None]) -> Path:
    """The weights file or checkpoint folder for a path. `note` receives warnings about damaged ones that are skipped.

    Raises CheckpointError.
    """
    if path.is_file():
        # A file of a checkpoint means the whole checkpoint, because the file alone has no tokenizer.
        return _checked(path.parent) if (path.parent / STATE).exists() else path
    if not path.is_dir():
        raise CheckpointError(f"{path}: there is no such checkpoint, weights file or run's folder; check the path")
    if (path / STATE).exists():
        return _checked(path)
    for root in (path / "checkpoints", path):
        if checkpoint := newest(root, note):
            return checkpoint
    raise CheckpointError(f"there is no checkpoint in {path}, nor in {path / 'checkpoints'}")


def newest(root: Path, note: Callable[[str], None]) -> Path | None:
    """The newest complete checkpoint of a folder; None if it has no checkpoints. `note` receives warnings about newer
    damaged ones.

    Raises CheckpointError if all checkpoints are damaged.
    """
    if not complete(root):
        return None
    checkpoint, problems = newest_whole(root)
    if checkpoint is None:
        raise CheckpointError(none_whole(root, problems))
    for problem in problems.values():
        note(f"warning: damaged checkpoint, using {checkpoint} instead: {problem}")
    return checkpoint


def _checked(folder: Path) -> Path:
    """Check all files of a checkpoint folder, and return it. Raises CheckpointError."""
    try:
        check(folder)
    except CheckpointError as error:
        raise CheckpointError(f"damaged checkpoint: {error}") from error
    return folder


# --- what a network was trained on ------------------------------------------------------------------------------------

PROOFS_KEY = "proofs"
"""Key in a checkpoint's configuration and in a weights file's information. Older files do not have it."""

NO_PROOFS = (
    "this network was not trained on whole proofs; train one with `proofmesh train sft --start PATH --data.sources "
    "transitions:bank proofs:bank`"
)
NO_ROLES = (
    "this network cannot write whole proofs: its tokenizer has no marks of roles, which tell statements from states; "
    "train one with `proofmesh train sft --data.sources transitions:bank proofs:bank`"
)

CONJECTURES_KEY = "conjectures"
"""Like PROOFS_KEY, for conjectures."""

NO_CONJECTURES = (
    "this network was not trained on conjectures; train one with `proofmesh train sft --start PATH --data.sources "
    "conjectures:FILE proofs:FILE`, files as `proofmesh stp prepare` makes them"
)
NO_CONJECTURE_ROLES = (
    "this network cannot write conjectures: its tokenizer has no marks of roles, which tell their prompts from states; "
    "train one with `proofmesh train sft --data.sources conjectures:FILE proofs:FILE`, files as `proofmesh stp "
    "prepare` makes them"
)


def proofs_note(config: Mapping[str, Any]) -> dict[str, str]:
    """The proofs and conjectures keys of a checkpoint's configuration, in the form of a weights file's information."""
    return {key: "yes" for key in (PROOFS_KEY, CONJECTURES_KEY) if config.get(key)}


def why_no_proofs(path: Path) -> str:
    """Why the network of a weights file or checkpoint folder cannot write whole proofs; empty if it can, as far as its
    metadata show."""
    from node.model.tokenizer import LEAN, ROLES

    tokenizer, proofs = _of_folder(path) if path.is_dir() else _of_file(path)
    tokens = {token.get("id"): token.get("content") for token in tokenizer.get("added_tokens", ())}
    if tokens.get(LEAN) != ROLES[-1]:
        return NO_ROLES
    return "" if proofs else NO_PROOFS


def _of_folder(path: Path) -> tuple[dict[str, Any], bool]:
    """The tokenizer, and whether the network was trained on proofs. Damaged folders raise no error before loading."""
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        tokenizer = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, False
    return tokenizer, bool(state.get("config", {}).get(PROOFS_KEY))


def _of_file(path: Path) -> tuple[dict[str, Any], bool]:
    import safetensors

    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        return json.loads(metadata["tokenizer"]), PROOFS_KEY in json.loads(metadata["information"])
    except (OSError, KeyError, ValueError, safetensors.SafetensorError):
        return {}, False
