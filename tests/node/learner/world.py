"""Learners as processes of their own with a tiny network, and what they need around them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from common.bus import Bus, BusSettings
from common.life import faults
from common.life.process import kill_group, spawn_child
from common.records.store import Store
from tests.node.learner.builders import write_bank

TINY = """
[learner]
bank = "{bank}"
ahead = 2.0
verify_gather = 0.2
keep_checkpoints = 2

[learner.model]
vocab_size = 320
depth = 1
width = 16
heads = 2
kv_heads = 2
hidden = 32
context = 64

[learner.matchmaker]
budget = 8
disprove_chance = 0.2

[learner.schedule]
fresh = 2
patience = 1.0
steps_limit = 2
training_budget = 0.9
checkpoint_every = 1

[learner.trainer]
batch = 8
threads = 1

[learner.warm_start]
steps = 4
every = 2
validation = 16
decay = 0.0
"""

DEADLINE = 90.0

ENOUGH = 5
"""Results to wait for, so that the learner that was started again is seen at work."""


@dataclass
class World:
    """What a learner needs around it."""

    bus: Bus
    broker: BusSettings
    folder: Path
    cache: Path
    run: str

    @property
    def directory(self) -> Path:
        return self.folder / "runs" / self.run

    @property
    def store(self) -> Store:
        return Store(self.directory / "proofs.sqlite")

    async def learner(self, fault: str = "", *flags: str) -> asyncio.subprocess.Process:
        file = self.folder / "mesh.toml"
        file.write_text(TINY.format(bank=self.folder / "bank"), encoding="utf-8")
        env = {**os.environ, "PROOFMESH_CACHE": str(self.cache), faults.VARIABLE: fault}
        argv = ["--config", str(file), "--run", self.run, "--bus.url", self.broker.url]
        argv += ["--directory", str(self.folder / "runs"), *flags]
        return await spawn_child([sys.executable, "-m", "node.command.cli", "learner", *argv], env=env)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Warm starts of these tests: the first makes it, the others take it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
async def world(
    cache: Path, tmp_path: Path, bus: Bus, broker: BusSettings, run_name: str, lean_proxy: object
) -> AsyncIterator[World]:
    write_bank(tmp_path / "bank")
    argv = ["prover", "--policy", "fixed", "--searches", "2", "--run", run_name, "--bus.url", broker.url]
    prover = await spawn_child([sys.executable, "-m", "node.command.cli", *argv])
    yield World(bus, broker, tmp_path, cache, run_name)
    await kill_group(prover, grace=10)


async def recorded(world: World, wanted: set[str], process: asyncio.subprocess.Process) -> None:
    """Wait until all these attempts have results, and there are some."""
    deadline = asyncio.get_running_loop().time() + DEADLINE
    while True:
        done = world.store.ids()[2]
        if wanted <= done and len(done) >= ENOUGH:
            return
        assert process.returncode is None, f"the learner ended with {process.returncode}"
        assert asyncio.get_running_loop().time() < deadline, f"no result of {wanted - done}, {len(done)} in all"
        await asyncio.sleep(0.1)


async def children_until_death(process: asyncio.subprocess.Process) -> set[int]:
    """Process ids of all children that it was seen to have."""
    seen: set[int] = set()
    async with asyncio.timeout(DEADLINE):
        while process.returncode is None:
            with contextlib.suppress(psutil.NoSuchProcess):
                seen |= {child.pid for child in psutil.Process(process.pid).children()}
            await asyncio.sleep(0.05)
    return seen


def results(world: World) -> dict[str, tuple[str, float]]:
    rows = sqlite3.connect(world.directory / "proofs.sqlite").execute(
        "SELECT attempt_id, outcome, recorded FROM results"
    )
    return {attempt_id: (outcome, when) for attempt_id, outcome, when in rows}
