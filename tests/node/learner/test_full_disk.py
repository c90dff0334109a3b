"""A disk that is full: nothing recorded is lost, the learner says so and ends, and goes on when there is room again.

A limit on the size of files stands for the full disk: EFBIG where that gives ENOSPC.
"""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest
import structlog

from common.records import transitions
from common.records.database import RunDirectoryError
from common.records.store import Store
from node.learner.replay.replay import Replay, ReplaySettings
from node.learner.run import Run, now
from node.learner.settings import TrainerSettings
from node.learner.trainer.group import ResilientTrainer
from node.model import checkpoint
from node.model.checkpoint_folders import complete
from tests.files import limit_files, limited_files
from tests.node.learner.builders import examples, planned, proved, result
from tests.node.learner.world import DEADLINE, World, cache, recorded, results, world
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.waiting import eventually

__all__ = ["cache", "world"]


async def test_replay_needs_no_disk_of_its_own_and_is_filled_again_from_the_records(run: Run) -> None:
    for number in range(1, 7):
        plan = planned(number)
        await run.store.call(Store.dispatch, [plan], now())
        await run.store.call(Store.record, result(plan.attempt), proved(first=10 * number), now())
        if number == 3:
            assert await run.fill_replay() == 6
    with limited_files(100):
        assert await run.fill_replay() == 6
    again = Run(**{**vars(run), "replay": Replay(run.directory.database, ReplaySettings())})
    await again.fill_replay()
    assert len(again.replay) == 12 and again.replay.last_id == 12 and again.replay.refs() == run.replay.refs()


@pytest.mark.slow
async def test_checkpoint_that_does_not_fit_ends_the_trainer_without_starting_it_again(tmp_path: Path) -> None:
    refs = transitions.write(tmp_path / "transitions.sqlite", examples(16))
    root = tmp_path / "checkpoints"
    checkpoint.save(root / "step-000000", tiny_model(), tiny_tokenizer(), step=0)
    trainer = ResilientTrainer(TrainerSettings(threads=1), root, tmp_path / "logs", 3, structlog.get_logger())
    await trainer.start()
    await trainer.step(refs)
    limit_files(trainer.group.pids[0], 50_000)
    with pytest.raises(RunDirectoryError, match="free some space"):
        await trainer.save()
    assert trainer.group.starts == 1 and not trainer.group.running
    assert [path.name for path in root.iterdir()] == ["step-000000"]
    await trainer.start()
    await trainer.step(refs)
    await trainer.save()
    await trainer.stop()
    assert [path.name for path in complete(root)] == ["step-000000", "step-000001"]


@pytest.mark.slow
async def test_learner_on_a_full_disk_ends_with_a_clear_message_and_goes_on_when_there_is_room(world: World) -> None:
    learner = await world.learner()
    metrics = world.directory / "metrics.jsonl"
    await eventually(lambda: metrics.exists() and metrics.stat().st_size > 3_000, DEADLINE, "some points")
    limit_files(learner.pid, 1_000)
    async with asyncio.timeout(DEADLINE):
        assert await learner.wait() == 1
    store = world.store
    assert store.audit().sound
    dispatched, before = store.ids()[0], results(world)
    again = await world.learner()
    await recorded(world, dispatched, again)
    again.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        assert await again.wait() == 0
    assert world.store.audit().sound
    after = results(world)
    assert {attempt_id: after[attempt_id] for attempt_id in before} == before
    assert all(json.loads(line)["values"] for line in metrics.read_text().splitlines())
