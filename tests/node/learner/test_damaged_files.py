"""A learner started on a run whose newest files are damaged goes on from those before them, and says so; a directory
has one owner."""

import asyncio
import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.life.process import kill_group, spawn_child
from common.protocol.messages import WeightsState
from common.records.database import RunDirectoryError
from common.records.rows import WeightsRow
from common.records.store import Store
from node.command import cli
from node.learner.run import RunDirectory
from node.model import checkpoint, weights
from node.model.checkpoint import name_of_step
from node.model.checkpoint_folders import complete
from tests.background import RunOnBroker
from tests.commands import Called
from tests.files import truncate
from tests.node.learner.builders import TINY, write_bank
from tests.node.model.tiny import tiny_model, tiny_tokenizer
from tests.waiting import eventually

LIMIT = 90.0


@pytest.fixture
def directory(tmp_path: Path, run_name: str) -> Path:
    """A run in the middle of reinforcement learning: checkpoints of steps 2, 5 and 9, weights of step 9 published as
    version 7."""
    write_bank(tmp_path / "bank")
    (tmp_path / "mesh.toml").write_text(TINY.format(bank=tmp_path / "bank"), encoding="utf-8")
    directory = tmp_path / "runs" / run_name
    for step in (2, 5, 9):
        checkpoint.save(directory / "checkpoints" / name_of_step(step), tiny_model(), tiny_tokenizer(), step=step)
    (directory / "weights").mkdir()
    blake2b = weights.write(directory / "weights" / "weights-000007.safetensors", tiny_model(), tiny_tokenizer())
    store = Store(directory / "proofs.sqlite")
    store.note("progress", {"phase": "rl"})
    store.add_weights(WeightsRow(7, 9, blake2b, "weights-000007"), 0.0)
    store.close()
    return directory


async def start(directory: Path, broker: BusSettings) -> asyncio.subprocess.Process:
    folder = directory.parent.parent
    argv = [sys.executable, "-m", "node.command.cli", "learner", "--config", str(folder / "mesh.toml")]
    argv += ["--run", directory.name, "--bus.url", broker.url, "--directory", str(directory.parent)]
    env = {**os.environ, "PROOFMESH_CACHE": str(folder / "cache")}
    with (folder / "stderr").open("wb") as stderr:
        return await spawn_child(argv, env=env, stderr=stderr)


@pytest.mark.slow
async def test_damaged_newest_checkpoint_and_weights_give_way_to_those_before_them(
    directory: Path, bus: Bus, broker: BusSettings
) -> None:
    truncate(directory / "checkpoints" / "step-000009" / "model.safetensors")
    truncate(directory / "weights" / "weights-000007.safetensors")
    announced: list[WeightsState] = []
    await bus.watch_state("weights", WeightsState, lambda state: announced.append(state) if state else None)
    learner = await start(directory, broker)
    try:
        await eventually(lambda: bool(announced) or learner.returncode is not None, LIMIT, "the announcement")
        assert (announced[-1].version, announced[-1].step) == (8, 5)
        learner.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LIMIT):
            assert await learner.wait() == 0
    finally:
        await kill_group(learner, grace=0)
    said = (directory.parent.parent / "stderr").read_text()
    assert "step-000009/model.safetensors has" in said and "step-000009.damaged" in said
    assert "weights-000007.safetensors" in said
    assert [path.name for path in complete(directory / "checkpoints")][-1] == "step-000005"


def test_run_without_a_whole_checkpoint_is_refused(
    directory: Path, mesh_run: RunOnBroker, called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in complete(directory / "checkpoints"):
        truncate(path / "model.safetensors")
    folder = directory.parent.parent
    monkeypatch.setenv("PROOFMESH_CACHE", str(folder / "cache"))
    place = ("--run", mesh_run.name, "--bus.url", mesh_run.bus.url, "--directory", directory.parent)
    ended = called(cli.main, "learner", "--config", folder / "mesh.toml", *place)
    assert ended.code == 1
    assert "all checkpoints under" in ended.err and "step-000002/model.safetensors has" in ended.err
    assert len(complete(directory / "checkpoints")) == 3


@pytest.mark.process
def test_a_directory_has_one_owner_which_is_named_and_a_killed_one_does_not_block_the_next(tmp_path: Path) -> None:
    ours = RunDirectory(tmp_path, "demo")
    ours.open()

    def other(say: Connection) -> None:
        RunDirectory(tmp_path, "other").open()
        try:
            RunDirectory(tmp_path, "demo").open()
        except RunDirectoryError as error:
            say.send(str(error))
        os.kill(os.getpid(), signal.SIGKILL)

    heard, say = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=other, args=(say,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL and f"in use by process {os.getpid()}" in heard.recv()
    ours.close()
    for name in ("demo", "other"):
        again = RunDirectory(tmp_path, name)
        again.open()
        again.close()


def test_a_folder_that_cannot_be_written_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    for folder in (Path("/proc/proofmesh-runs"), tmp_path / "runs"):
        with pytest.raises(RunDirectoryError, match=r"cannot be written.*--directory"):
            RunDirectory(folder, "demo").open()
