"""Networks of people who prove: where they are, in the words of policies. Without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from node.model import weights_path
from node.model.checkpoint_folders import CheckpointError
from node.prover.policy_names import BadPolicy

__all__ = ["DEMO_RUN", "BadPolicy", "of_the_demo", "weights_at"]

DEMO_RUN = Path("runs/demo")
"""Where a model is looked for when none is named."""


def weights_at(path: Path, note: Callable[[str], None]) -> Path:
    """The weights file or checkpoint folder that a path means. `note` hears of damaged ones that are passed over.

    Raises BadPolicy.
    """
    try:
        return weights_path.weights_at(path, note)
    except CheckpointError as error:
        raise BadPolicy(str(error)) from error


def of_the_demo(note: Callable[[str], None]) -> Path | None:
    """The newest whole checkpoint of the demo's run, None if there is none: with a note if there are damaged ones."""
    try:
        return weights_path.newest(DEMO_RUN / "checkpoints", note)
    except CheckpointError as error:
        note(f"warning: {error}")
        return None
