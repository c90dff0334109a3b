"""Which weights a path means: a weights file, a checkpoint, a folder of checkpoints, a run's folder. Without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from node.model.checkpoint_folders import STATE, CheckpointError, check, complete, newest_whole, none_whole

DEMO_RUN = Path("runs/demo")
"""Where a model is looked for when none is named."""


class BadPolicy(ValueError):
    """What was asked for as a policy cannot be had; the text says why, and what to do."""


def weights_at(path: Path, note: Callable[[str], None]) -> Path:
    """The weights file or checkpoint folder that a path means. `note` hears of damaged ones that are passed over.

    Raises BadPolicy.
    """
    if path.is_file():
        # A file of a checkpoint stands for all of it: it holds no tokenizer.
        return checked(path.parent) if (path.parent / STATE).exists() else path
    if not path.is_dir():
        raise BadPolicy(f"there is no checkpoint, weights file or run's folder {path}")
    if (path / STATE).exists():
        return checked(path)
    for root in (path / "checkpoints", path):
        if found := _newest(root, note):
            return found
    raise BadPolicy(f"there is no checkpoint in {path}, nor in {path / 'checkpoints'}")


def checked(folder: Path) -> Path:
    """A checkpoint's folder, every file of which is what was written. Raises BadPolicy."""
    try:
        check(folder)
    except CheckpointError as error:
        raise BadPolicy(f"damaged checkpoint: {error}") from error
    return folder


def of_the_demo(note: Callable[[str], None]) -> Path | None:
    """The newest whole checkpoint of the demo's run, None if there is none: with a note if there are damaged ones."""
    try:
        return _newest(DEMO_RUN / "checkpoints", note)
    except BadPolicy as error:
        note(f"warning: {error}")
        return None


def _newest(root: Path, note: Callable[[str], None]) -> Path | None:
    """None when there is no checkpoint at all. Raises BadPolicy: there are some, and none is whole."""
    if not complete(root):
        return None
    newest, problems = newest_whole(root)
    if newest is None:
        raise BadPolicy(none_whole(root, problems))
    for problem in problems.values():
        note(f"warning: damaged checkpoint, {newest} is used in its place: {problem}")
    return newest
