"""Runs of self-play whose nodes are killed in each stage of their rounds, and started again by the run."""

import asyncio
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from common.life.process import kill_group, spawn_child
from node.stp.records import FILE, Stage
from tests.node.stp.tiny_run import counts_of, finished, tiny_recipe
from tests.waiting import eventually

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]

STAGES = {
    "making": (Stage.SEEDED, Stage.CONJECTURED),
    "proving": (Stage.ELABORATED, Stage.ATTEMPTED),
    "training": (Stage.VERIFIED, Stage.SELECTED, Stage.TRAINED),
}
"""By what a round does then, the stages that it has reached when a node is killed. Not all in one run: a node that dies
six times in two minutes is not started again."""

ROLES = ("inference", "lean-proxy", "prover", "broker")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The counts of a run that nothing disturbs."""
    return counts_of(asyncio.run(finished(tmp_path_factory.mktemp("calm"))))


def nodes(run: int, role: str) -> list[psutil.Process]:
    """The processes of a role that a run has started."""
    return list(_nodes(run, role))


def _nodes(run: int, role: str) -> Iterator[psutil.Process]:
    for each in psutil.Process(run).children(recursive=True):
        try:
            if each.cmdline()[1:4] == ["-m", "node.command.cli", role]:
                yield each
        except psutil.Error:
            continue


def reached(directory: Path, round: int, stage: Stage) -> bool:
    """Whether a round is at a stage or beyond it, as far as it is recorded."""
    if not (directory / FILE).exists():
        return False
    with closing(sqlite3.connect(f"file:{directory / FILE}?mode=ro", uri=True)) as database:
        try:
            row = database.execute("SELECT stage FROM rounds WHERE number = ?", (round,)).fetchone()
        except sqlite3.OperationalError:  # the run is just making its tables
            return False
    return row is not None and list(Stage).index(Stage(row[0])) >= list(Stage).index(stage)


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("role", ROLES)
async def test_counts_are_those_of_an_undisturbed_run_when_nodes_die(
    tmp_path: Path, undisturbed: dict[str, Any], role: str, stages: str
) -> None:
    recipe = tiny_recipe(tmp_path)
    with (tmp_path / "output.txt").open("wb") as output:
        command = [sys.executable, "-m", "node.command.cli", "stp", "run", recipe]
        run = await spawn_child(command, stdout=output, stderr=output)
        try:
            kills = await _kill_after(run, role, tmp_path / "runs/tiny", STAGES[stages])
            assert await run.wait() == 0, (tmp_path / "output.txt").read_text()
        finally:
            await kill_group(run, 20)
    assert kills, f"no {role} node was there to be killed"
    assert counts_of(tmp_path / "runs/tiny") == undisturbed


async def _kill_after(run: asyncio.subprocess.Process, role: str, directory: Path, stages: Sequence[Stage]) -> int:
    """Kill a node of the role as soon as each of the two rounds reaches each stage; returns how many were killed."""
    kills = 0
    for round in (1, 2):
        for stage in stages:

            def is_there(round: int = round, stage: Stage = stage) -> bool:
                return reached(directory, round, stage) or run.returncode is not None

            await eventually(is_there, timeout=240.0, what=f"{stage} of round {round}")
            if run.returncode is not None:
                return kills
            for node in nodes(run.pid, role)[:1]:
                node.kill()
                kills += 1
    return kills
