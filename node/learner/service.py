"""Starts the learner as a node of the mesh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from common.settings import NodeSettings
from node.learner.settings import LearnerSettings

if TYPE_CHECKING:
    from common.life.node import NodeContext
    from node.learner.run import RunDirectory

LOCK_WAIT = 10.0
"""Seconds to wait for the lock of the run directory: a killed learner may hold it for a moment after a restart."""


def main(settings: LearnerSettings, node: NodeSettings) -> int:
    """Run a learner until its plan is done or it is stopped; returns the exit code."""
    from common.life.metrics import show_gpus
    from common.life.node import run_node

    async def work(ctx: NodeContext) -> None:
        show_gpus()
        await _work(ctx, settings, node)

    return run_node("learner", node, work, capacity={"trainer_ranks": settings.trainer.resolved_ranks()})


async def _work(ctx: NodeContext, settings: LearnerSettings, node: NodeSettings) -> None:
    from common.life.node import NodeFailure
    from common.output.command import UserError
    from common.records.database import RunDirectoryError
    from node.learner.errors import DataError, LearnerError
    from node.learner.run import RunDirectory

    directory = RunDirectory(Path(settings.directory).absolute(), node.run)
    try:
        directory.open(LOCK_WAIT)
        try:
            await _in_directory(ctx, settings, node, directory)
        finally:
            directory.close()
    except (DataError, UserError) as error:
        raise NodeFailure(str(error), exit_code=2) from error
    except (LearnerError, RunDirectoryError) as error:
        raise NodeFailure(str(error)) from error
    if ctx.crash is not None and isinstance(ctx.crash, (LearnerError, RunDirectoryError)):
        raise NodeFailure(str(ctx.crash)) from ctx.crash


async def _in_directory(
    ctx: NodeContext, settings: LearnerSettings, node: NodeSettings, directory: RunDirectory
) -> None:
    import asyncio
    import dataclasses

    from common import config
    from common.records.database import explained
    from common.records.store import Store, StoreThread
    from common.watch.tracking import Tracked
    from node.learner.algorithms.algorithm import named
    from node.learner.choosing import data
    from node.learner.choosing.matchmaker import Matchmaker, groups_of
    from node.learner.learner import Learner
    from node.learner.replay.replay import Replay, clear
    from node.learner.run import LearnerJournal, Run
    from node.learner.trainer.group import ResilientTrainer

    # 1. Configuration and data.
    with explained(directory.config):
        directory.config.write_text(config.dump({"node": node, "learner": settings}), encoding="utf-8")
    with explained(directory.replay):
        clear(directory.replay)
    with explained(directory.path / "supervised"):
        loaded = await asyncio.to_thread(data.load, settings, directory.path / "supervised")
    about = dataclasses.asdict(settings)
    tracked = await asyncio.to_thread(Tracked, settings.tracker, directory.path, about)
    # 2. The algorithm, and the trainer with its losses.
    algorithm = named(settings)
    store = await StoreThread.open(directory.database)
    trainer = ResilientTrainer(
        settings.trainer,
        directory.checkpoints,
        directory.logs,
        settings.keep_checkpoints,
        ctx.log,
        algorithm.loss(),
    )
    try:
        # 3. What earlier processes of this run recorded.
        await store.call(Store.add_theorems, [*loaded.train, *loaded.scored])
        for note in loaded.notes:
            ctx.log.info(note)
        names = [row.theorem.name for row in loaded.train]
        groups = groups_of(loaded.train)
        matchmaker = Matchmaker(names, settings.matchmaker, settings.seed, loaded.factors, groups)
        ctx.log.info("matchmaker", statements=len(names), **dataclasses.asdict(matchmaker.rules))
        matchmaker.restore(
            await store.call(Store.standings),
            await store.call(Store.outstanding_theorems),
            await store.call(Store.recent, settings.matchmaker.curriculum.window),
        )
        replay = Replay(directory.database, settings.replay)
        # All transitions are read, so this is done in the store's thread, before anything else uses the buffer.
        await store.call(lambda opened: replay.fill(opened.examples))
        journal = LearnerJournal(ctx, directory.metrics, tracked)
        run = Run(ctx, settings, directory, store, loaded, matchmaker, replay, journal, algorithm)
        await Learner(run, trainer).work()
    finally:
        await trainer.stop()
        await ctx.cancel_tasks()
        await store.close()
        await asyncio.to_thread(tracked.close)
