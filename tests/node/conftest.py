"""Real Lean in this process, and a checkpoint small enough for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.lean.opened import OpenedLean, open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.find import find


@pytest.fixture
async def own_lean() -> AsyncIterator[OpenedLean]:
    """Pocket Lean with one worker; tests that use it are marked `lean`."""
    settings = LeanProcessSettings(workers=1)
    async with open_lean(settings, find(settings.lean)) as started:
        yield started


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run with two whole checkpoints, steps 3 and 7."""
    from node.model import checkpoint
    from tests.node.model.tiny import tiny_model, tiny_tokenizer

    for step in (3, 7):
        checkpoint.save(tmp_path / f"checkpoints/step-{step:06d}", tiny_model(step), tiny_tokenizer(), step=step)
    return tmp_path
