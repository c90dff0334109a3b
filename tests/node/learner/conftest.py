"""A run without a trainer, on a real broker: what dispatcher, collector and holder work with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from common.bus import Bus
from common.life.node import NodeContext, NodeSettings
from node.learner.run import Run
from node.learner.settings import LearnerSettings
from tests.node.learner.works import begun


@pytest.fixture
async def run(bus: Bus, run_name: str, tmp_path: Path) -> AsyncIterator[Run]:
    """Theorems `t` and `u` to train on, `v` and `w` to score."""
    ctx = NodeContext("learner", NodeSettings(run=run_name))
    ctx.bus = bus
    settings = LearnerSettings(verify_timeout=20.0, verify_patience=30.0, verify_gather=0.0)
    run = await begun(ctx, tmp_path, settings, ["t", "u"])
    yield run
    await ctx.cancel_tasks()
    await run.store.close()
    run.directory.close()
