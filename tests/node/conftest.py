"""Real Lean in this process, which the session shares, and a checkpoint small enough for tests."""

from pathlib import Path

import pytest

from node.lean.opened import OpenedLean
from tests.background import SharedLean


@pytest.fixture
def opened_lean(warm_lean: SharedLean) -> OpenedLean:
    """The session's warm Lean, as code of this process opens it: nothing starts for the test."""
    return warm_lean.opened()


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run with two whole checkpoints, steps 3 and 7."""
    from node.model import checkpoint
    from tests.node.model.tiny import tiny_model, tiny_tokenizer

    for step in (3, 7):
        checkpoint.save(tmp_path / f"checkpoints/step-{step:06d}", tiny_model(step), tiny_tokenizer(), step=step)
    return tmp_path
