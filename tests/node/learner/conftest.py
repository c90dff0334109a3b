"""A run without a trainer, on a real broker: what dispatcher, collector and holder work with."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from common.bus import Bus
from common.life.node import NodeContext, NodeSettings
from common.records.store import Store, StoreThread
from node.learner.algorithms.algorithm import named
from node.learner.choosing.data import Data
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.replay.replay import Replay
from node.learner.run import LearnerJournal, Run, RunDirectory
from node.learner.settings import LearnerSettings
from tests.node.learner.builders import row


@pytest.fixture
async def run(bus: Bus, run_name: str, tmp_path: Path) -> AsyncIterator[Run]:
    """Theorems `t` and `u` to train on, `v` and `w` to score."""
    settings = LearnerSettings(verify_timeout=20.0, verify_patience=30.0, verify_gather=0.0)
    directory = RunDirectory(tmp_path, run_name)
    directory.open()
    ctx = NodeContext("learner", NodeSettings(run=run_name))
    ctx.bus = bus
    data = Data("digest", [row("t"), row("u")], [row("v", "test"), row("w", "test")], [], [])
    store = await StoreThread.open(directory.database)
    await store.call(Store.add_theorems, [*data.train, *data.test])
    matchmaker = Matchmaker(["t", "u"], settings.matchmaker, seed=1)
    replay, journal = Replay(directory.database, settings.replay), LearnerJournal(ctx, directory.metrics)
    yield Run(ctx, settings, directory, store, data, matchmaker, replay, journal, named(settings))
    await ctx.cancel_tasks()
    await store.close()
    directory.close()
