"""Finds the checkpoint that a policy names, without importing torch. Turns errors into BadPolicy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from node.model import weights_path
from node.model.checkpoint_folders import CheckpointError
from node.prover.policies.names import BadPolicy

__all__ = ["DEMO_RUN", "BadPolicy", "of_the_demo", "weights_at"]

DEMO_RUN = Path("runs/demo")
"""The run whose checkpoint is used if no policy is named."""


def weights_at(path: Path, note: Callable[[str], None]) -> Path:
    """The weights file or checkpoint folder for a path. `note` is called for damaged checkpoints, which are skipped.

    Raises BadPolicy.
    """
    try:
        return weights_path.weights_at(path, note)
    except CheckpointError as error:
        raise BadPolicy(str(error)) from error


def of_the_demo(note: Callable[[str], None]) -> Path | None:
    """The newest intact checkpoint of the demo's run, or None. `note` is called for damaged ones."""
    try:
        return weights_path.newest(DEMO_RUN / "checkpoints", note)
    except CheckpointError as error:
        note(f"warning: {error}")
        return None
