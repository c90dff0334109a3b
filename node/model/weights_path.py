"""Which weights a path means: a weights file, a checkpoint, a folder of checkpoints, a run's folder. Without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from node.model.checkpoint_folders import STATE, CheckpointError, check, complete, newest_whole, none_whole


def weights_at(path: Path, note: Callable[[str], None]) -> Path:
    """The weights file or checkpoint folder that a path means. `note` hears of damaged ones that are passed over.

    Raises CheckpointError.
    """
    if path.is_file():
        # A file of a checkpoint stands for all of it: it holds no tokenizer.
        return _checked(path.parent) if (path.parent / STATE).exists() else path
    if not path.is_dir():
        raise CheckpointError(f"there is no checkpoint, weights file or run's folder {path}")
    if (path / STATE).exists():
        return _checked(path)
    for root in (path / "checkpoints", path):
        if found := newest(root, note):
            return found
    raise CheckpointError(f"there is no checkpoint in {path}, nor in {path / 'checkpoints'}")


def newest(root: Path, note: Callable[[str], None]) -> Path | None:
    """The newest whole checkpoint of a folder; None when there is none at all. `note` hears of newer damaged ones.

    Raises CheckpointError: there are some, and none is whole.
    """
    if not complete(root):
        return None
    found, problems = newest_whole(root)
    if found is None:
        raise CheckpointError(none_whole(root, problems))
    for problem in problems.values():
        note(f"warning: damaged checkpoint, {found} is used in its place: {problem}")
    return found


def _checked(folder: Path) -> Path:
    """A checkpoint's folder, every file of which is what was written. Raises CheckpointError."""
    try:
        check(folder)
    except CheckpointError as error:
        raise CheckpointError(f"damaged checkpoint: {error}") from error
    return folder
