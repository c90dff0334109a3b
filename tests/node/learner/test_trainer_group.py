"""The trainer group with real ranks on gloo: two agree with one, and what dies is started again from a checkpoint."""

import asyncio
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import structlog
import torch

from common.files import file_digest
from common.life import faults
from common.life.process import kill_group, spawn_child
from common.machine import listenable
from common.records import transitions
from common.records.database import RunDirectoryError
from common.records.transitions import Ref
from node.learner.errors import TrainerFailed
from node.learner.settings import TrainerSettings
from node.learner.trainer.group import ResilientTrainer, TrainerGroup
from node.model import checkpoint, weights
from node.model.checkpoint_folders import complete
from node.model.config import ModelConfig
from tests.files import limit_files
from tests.node.learner.builders import examples

TINY = ModelConfig(vocab_size=320, depth=1, width=16, heads=2, kv_heads=2, hidden=32, context=64)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux only"),
]


def settings(ranks: int = 1, timeout: float = 60.0) -> TrainerSettings:
    return TrainerSettings(ranks=ranks, threads=1, token_budget=256, timeout=timeout, warmup=1, average_steps=8)


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory) -> list[Ref]:
    return transitions.write(tmp_path_factory.mktemp("data") / "supervised.sqlite", examples(60))


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory, refs: list[Ref]) -> Path:
    """A checkpoint of a fresh tiny network."""
    folder = tmp_path_factory.mktemp("fresh")
    asyncio.run(TrainerGroup(settings(), folder).create(folder / "step-000000", TINY, 1, refs))
    return folder / "step-000000"


def batch(refs: list[Ref], number: int) -> list[Ref]:
    return [refs[(number * 7 + index * 3) % len(refs)] for index in range(13)]


async def losses(group: TrainerGroup, refs: list[Ref], numbers: range) -> list[float]:
    return [(await group.step(batch(refs, number)))["loss"] for number in numbers]


@pytest.fixture(scope="module")
def alone(fresh: Path, refs: list[Ref], tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """Losses of six steps with one rank, and the policy loss after them."""

    async def train() -> list[float]:
        group = TrainerGroup(settings(), tmp_path_factory.mktemp("logs"))
        await group.start(fresh)
        found = await losses(group, refs, range(6))
        found.append((await group.evaluate(refs))["policy_loss"])
        await group.stop()
        return found

    return asyncio.run(train())


async def test_files_hold_the_average_and_a_restart_goes_on(fresh: Path, refs: list[Ref], tmp_path: Path) -> None:
    """Two groups take the same steps, one of them in two parts: losses and both networks are the same."""
    group = TrainerGroup(settings(), tmp_path / "logs")
    await group.start(fresh)
    await group.step(batch(refs, 0))  # not averaged: as in the warm start
    losses = [(await group.step(batch(refs, number), average=True))["loss"] for number in range(1, 5)]
    await group.write_weights(tmp_path / "whole.safetensors", {})
    await group.stop()

    again = TrainerGroup(settings(), tmp_path / "logs-2")
    await again.start(fresh)
    await again.step(batch(refs, 0))
    parts = [(await again.step(batch(refs, number), average=True))["loss"] for number in range(1, 3)]
    await again.checkpoint(tmp_path / "step-000003")
    await again.stop()
    await again.start(tmp_path / "step-000003")
    parts += [(await again.step(batch(refs, number), average=True))["loss"] for number in range(3, 5)]
    await again.write_weights(tmp_path / "parts.safetensors", {})
    await again.stop()

    assert parts == pytest.approx(losses, abs=1e-6)
    whole, found = weights.read(tmp_path / "whole.safetensors"), weights.read(tmp_path / "parts.safetensors")
    for (name, one), other in zip(whole.model.named_parameters(), found.model.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-6), name
    acting = checkpoint.load(tmp_path / "step-000003")
    assert acting.optimizer is not None
    latest = acting.optimizer["latest"]
    assert any(not torch.equal(each, latest[name]) for name, each in acting.model.named_parameters())


async def test_two_ranks_train_as_one_does(tmp_path: Path, fresh: Path, refs: list[Ref], alone: list[float]) -> None:
    group = TrainerGroup(settings(2), tmp_path)
    await group.start(fresh)
    found = await losses(group, refs, range(6))
    found.append((await group.evaluate(refs))["policy_loss"])
    assert group.step_number == 6
    assert found == pytest.approx(alone, rel=1e-4)
    nats = await group.log_probabilities(refs)
    one = await group.log_probabilities(refs[:1])  # fewer transitions than ranks
    assert set(nats) == set(refs) and one[refs[0]] == pytest.approx(nats[refs[0]], abs=1e-4)
    assert alone[5] < alone[0] - 0.1
    digest = await group.write_weights(tmp_path / "w.safetensors", {"version": "3"})
    await group.stop()
    assert digest == file_digest(tmp_path / "w.safetensors")
    assert weights.read(tmp_path / "w.safetensors").information == {"version": "3"}


async def test_a_rank_killed_in_a_step_ends_the_group_and_a_new_one_goes_on_from_the_checkpoint(
    tmp_path: Path, fresh: Path, refs: list[Ref], alone: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(faults.VARIABLE, "trainer-1:in-step#4")
    group = TrainerGroup(settings(2), tmp_path / "logs")
    await group.start(fresh)
    seen = await losses(group, refs, range(2))
    await group.checkpoint(tmp_path / "step-000002")
    await group.step(batch(refs, 2))
    ranks = group.pids
    with pytest.raises(TrainerFailed, match=r"rank 1 died \(exit code -9\)"):
        await group.step(batch(refs, 3))
    assert not group.running
    assert all(not Path(f"/proc/{pid}").exists() for pid in ranks)
    with pytest.raises(TrainerFailed, match="not running"):
        await group.step(batch(refs, 3))

    await group.start(tmp_path / "step-000002")
    assert group.step_number == 2
    seen += await losses(group, refs, range(2, 5))
    assert seen == pytest.approx(alone[:5], rel=1e-4)
    await group.stop()


async def test_a_checkpoint_cut_short_by_a_kill_is_absent_and_a_rank_that_hangs_is_noticed(
    tmp_path: Path, fresh: Path, refs: list[Ref], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(faults.VARIABLE, "checkpoint:before-rename#2")
    group = TrainerGroup(settings(), tmp_path / "logs")
    await group.start(fresh)
    await group.step(batch(refs, 0))
    await group.checkpoint(tmp_path / "checkpoints" / "step-000001")
    await group.step(batch(refs, 1))
    with pytest.raises(TrainerFailed, match="rank 0 died"):
        await group.checkpoint(tmp_path / "checkpoints" / "step-000002")
    newest = checkpoint.latest(tmp_path / "checkpoints")
    assert newest is not None and newest.name == "step-000001" and checkpoint.load(newest).step == 1
    await group.start(newest)
    await group.step(batch(refs, 1))
    await group.checkpoint(tmp_path / "checkpoints" / "step-000002")
    assert checkpoint.load(tmp_path / "checkpoints" / "step-000002").step == 2

    os.kill(group.pids[0], signal.SIGSTOP)
    group.settings.timeout = 1.0
    with pytest.raises(TrainerFailed, match="no answer within 1 s"):
        await group.step(batch(refs, 0))
    assert not group.running


async def test_ranks_wait_longer_for_commands(tmp_path: Path, fresh: Path, refs: list[Ref], alone: list[float]) -> None:
    group = TrainerGroup(settings(2, timeout=8.0), tmp_path)
    await group.start(fresh)
    found = await losses(group, refs, range(2))
    # Collecting takes minutes: the first rank tells the others that it is there.
    await asyncio.sleep(12.0)
    found += await losses(group, refs, range(2, 4))
    await group.stop()
    assert found == pytest.approx(alone[:4], rel=1e-4)


async def test_ranks_of_several_machines_join(tmp_path: Path, fresh: Path, refs: list[Ref], alone: list[float]) -> None:
    """Two torchruns on this machine; the second has no access to checkpoint and data."""
    where = f"127.0.0.1:{listenable('127.0.0.1', 0)}"
    first = replace(settings(1), machines=2, rendezvous=where)
    group = TrainerGroup(first, tmp_path)
    arguments = ["--rendezvous", where, "--machines", "2", "--machine", "1", "--threads", "1", "--timeout", "60"]
    other = await spawn_child([sys.executable, "-m", "node.command.cli", "join-trainer", *arguments])
    try:
        await group.start(fresh)
        port, connections = int(where.rpartition(":")[2]), psutil.net_connections("tcp")
        listening = [each.laddr for each in connections if each.status == psutil.CONN_LISTEN]
        open_to = {address.ip for address in listening if address.port == port}
        assert open_to == {"127.0.0.1"}, "the rendezvous is open on the address that is named, and nowhere else"
        found = await losses(group, refs, range(2))
        await group.checkpoint(tmp_path / "step-000002")
        await group.step(batch(refs, 2))
        await group.stop()  # as after a failure: the other machine's ranks come back by themselves
        await group.start(tmp_path / "step-000002")
        assert group.step_number == 2
        found += await losses(group, refs, range(2, 4))
        assert found == pytest.approx(alone[:4], rel=1e-4)
        await group.stop()
    finally:
        assert await kill_group(other, grace=20.0) == 0


async def test_a_checkpoint_that_does_not_fit_ends_the_trainer(tmp_path: Path, fresh: Path, refs: list[Ref]) -> None:
    root = tmp_path / "checkpoints"
    shutil.copytree(fresh, root / "step-000000")
    trainer = ResilientTrainer(TrainerSettings(threads=1), root, tmp_path / "logs", 3, structlog.get_logger())
    await trainer.start()
    await trainer.step(batch(refs, 0))
    limit_files(trainer.group.pids[0], 50_000)  # EFBIG, where a full disk gives ENOSPC
    with pytest.raises(RunDirectoryError, match="free some space"):
        await trainer.save()
    assert trainer.group.starts == 1 and not trainer.group.running
    assert [path.name for path in root.iterdir()] == ["step-000000"]
    await trainer.start()
    await trainer.step(batch(refs, 0))
    await trainer.save()
    await trainer.stop()
    assert [path.name for path in complete(root)] == ["step-000000", "step-000001"]
