"""A learner goes on from a checkpoint of `proofmesh train` in place of its warm start, or says why it cannot."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from common.protocol.messages import WeightsState
from node.model import checkpoint
from node.model.checkpoint_folders import complete
from tests.node.learner.builders import write_bank
from tests.node.learner.world import TINY
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.waiting import eventually

LIMIT = 90.0


async def start(folder: Path, run: str, given: Path, broker: BusSettings) -> asyncio.subprocess.Process:
    write_bank(folder / "bank")
    (folder / "mesh.toml").write_text(TINY.format(bank=folder / "bank"), encoding="utf-8")
    argv = [sys.executable, "-m", "node.command.cli", "learner", "--config", str(folder / "mesh.toml"), "--run", run]
    argv += ["--bus.url", broker.url, "--directory", str(folder / "runs"), "--warm-start.checkpoint", str(given)]
    env = {**os.environ, "PROOFMESH_CACHE": str(folder / "cache")}
    with (folder / "stderr").open("wb") as stderr:
        return await spawn_child(argv, env=env, stderr=stderr)


@pytest.mark.slow
async def test_a_learner_starts_from_the_newest_checkpoint_of_an_earlier_run(
    tmp_path: Path, bus: Bus, broker: BusSettings, run_name: str
) -> None:
    earlier_run = tmp_path / "earlier"
    checkpoint.save(earlier_run / "checkpoints" / "step-000040", tiny_model(), tiny_tokenizer(), step=40)
    announced: list[WeightsState] = []
    await bus.watch_state("weights", WeightsState, lambda state: announced.append(state) if state else None)
    learner = await start(tmp_path, run_name, earlier_run, broker)
    try:
        await eventually(lambda: bool(announced) or learner.returncode is not None, LIMIT, "the announcement")
        assert announced[0].step == 40
    finally:
        await kill_group(learner, grace=0)
    assert complete(tmp_path / "runs" / run_name / "checkpoints")[0].name == "step-000040"
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
async def test_a_given_checkpoint_that_is_not_there_ends_the_learner_with_the_reason(
    tmp_path: Path, bus: Bus, broker: BusSettings, run_name: str
) -> None:
    learner = await start(tmp_path, run_name, tmp_path / "nowhere", broker)
    try:
        async with asyncio.timeout(LIMIT):
            assert await learner.wait() == 2
    finally:
        await kill_group(learner, grace=0)
    said = (tmp_path / "stderr").read_text()
    assert "warm_start.checkpoint:" in said
    assert "Traceback" not in said
