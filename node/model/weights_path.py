"""Finds the weights for a path: a weights file, a checkpoint, a folder of checkpoints, or a run. Without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from node.model.checkpoint_folders import STATE, CheckpointError, check, complete, newest_whole, none_whole


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
