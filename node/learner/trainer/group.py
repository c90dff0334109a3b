"""The agent's side of the trainer: starts the ranks, tells them what to do, and ends them all when one fails.

Ranks are child processes that die with the agent. A step holds an interpreter for long and a collective can hang;
neither is noticed here, where nothing waits without a time limit.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from common import faults
from common.process import kill_group, spawn_child
from common.sizing import read_machine, thread_environment
from node.learner.errors import TrainerFailed
from node.learner.replay.replay import Ref
from node.learner.run.directory import explained
from node.learner.settings import TrainerSettings
from node.learner.trainer.messages import CreateConfig, RankAnswer, RankCommand, RankConfig, by_segment
from node.model.config import ModelConfig

LINE_LIMIT = 1 << 20
"""Bytes of an answer at most."""

TAIL_LINES = 6
"""Lines of a dead rank's standard error that go into the error message."""


class TrainerGroup:
    """One start of the ranks. After TrainerFailed it is over; `start` begins a new one."""

    def __init__(self, settings: TrainerSettings, logs: Path) -> None:
        """`logs`: folder for the ranks' standard error."""
        self.settings = settings
        self.step_number = 0
        self.starts = 0
        self._logs = logs
        self._ranks: list[asyncio.subprocess.Process] = []
        self._commands = 0
        self._lock = asyncio.Lock()

    @property
    def running(self) -> bool:
        return bool(self._ranks)

    @property
    def pids(self) -> list[int]:
        """Process ids of the ranks."""
        return [rank.pid for rank in self._ranks]

    async def start(self, checkpoint: Path) -> None:
        """Start all ranks from a checkpoint. Raises TrainerFailed."""
        await self.stop()
        self.starts += 1
        folder = Path(tempfile.mkdtemp(prefix="proofmesh-ranks-"))
        with explained(self._logs):
            self._logs.mkdir(parents=True, exist_ok=True)
        try:
            for rank in range(self.settings.ranks):
                config = rank_config(self.settings, rank, folder / "rendezvous", checkpoint)
                self._ranks.append(await self._spawn([msgspec.json.encode(config).decode()], f"rank-{rank}"))
            await self._gather(self.settings.start_timeout, "start")
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def stop(self) -> None:
        """End all ranks."""
        ranks, self._ranks = self._ranks, []
        await asyncio.gather(*(kill_group(rank, grace=0) for rank in ranks))

    async def step(self, refs: Sequence[Ref], factor: float = 1.0) -> dict[str, float]:
        """One optimizer step; returns the metrics of the batch. Raises TrainerFailed."""
        answers = await self._tell("step", refs, factor=factor)
        return answers[0].metrics

    async def evaluate(self, refs: Sequence[Ref]) -> dict[str, float]:
        """Metrics without a step. Raises TrainerFailed."""
        answers = await self._tell("evaluate", refs)
        return answers[0].metrics

    async def checkpoint(self, directory: Path) -> None:
        """Write a checkpoint. Raises TrainerFailed."""
        await self._tell("checkpoint", path=str(directory))

    async def write_weights(self, path: Path, information: dict[str, str]) -> str:
        """Write a weights file; returns its digest. Raises TrainerFailed."""
        answers = await self._tell("weights", path=str(path), information=information)
        return answers[0].digest

    async def create(self, checkpoint: Path, model: ModelConfig, seed: int, refs: Sequence[Ref]) -> None:
        """Write a checkpoint of a fresh network, in a process of its own. Raises TrainerFailed."""
        config = CreateConfig(str(checkpoint), dataclasses.asdict(model), seed, by_segment(refs))
        with explained(self._logs):
            self._logs.mkdir(parents=True, exist_ok=True)
        process = await self._spawn(["create"], "create")
        try:
            async with asyncio.timeout(self.settings.start_timeout):
                await process.communicate(msgspec.json.encode(config))
        finally:
            code = await kill_group(process, grace=0)
        if code != 0:
            raise TrainerFailed(f"creating the network failed (exit code {code}): {self._tail('create')}")

    # --- the ranks --------------------------------------------------------------------------------------------------

    async def _spawn(self, arguments: list[str], name: str) -> asyncio.subprocess.Process:
        env = os.environ | thread_environment(threads_per_rank(self.settings))
        if self.starts > 1:
            env.pop(faults.VARIABLE, None)  # a fault that a test asked for strikes once
        with self._log(name).open("ab") as log:
            return await spawn_child(
                [sys.executable, "-m", "node.learner.trainer.rank", *arguments],
                env=env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=LINE_LIMIT,
            )

    async def _tell(
        self,
        op: str,
        refs: Sequence[Ref] = (),
        *,
        factor: float = 1.0,
        path: str = "",
        information: dict[str, str] | None = None,
    ) -> list[RankAnswer]:
        async with self._lock:
            if not self._ranks:
                raise TrainerFailed("the trainer group is not running")
            self._commands += 1
            command = RankCommand(op, self._commands, by_segment(refs), factor, path, information or {})
            line = msgspec.json.encode(command) + b"\n"
            try:
                for rank in self._ranks:
                    assert rank.stdin is not None
                    rank.stdin.write(line)
                    await rank.stdin.drain()
            except (BrokenPipeError, ConnectionResetError):
                pass  # the rank is dead; reading its answer says why
            return await self._gather(self.settings.timeout, op)

    async def _gather(self, timeout: float, op: str) -> list[RankAnswer]:
        """One answer of each rank. Any failure ends the group."""
        reads = [asyncio.ensure_future(self._read(number)) for number in range(len(self._ranks))]
        try:
            async with asyncio.timeout(timeout):
                answers = await asyncio.gather(*reads)
        except TimeoutError as error:
            await self._abandon(reads)
            raise TrainerFailed(f"{op}: no answer within {timeout:g} s; the group was ended") from error
        except BaseException:
            # Also when cancelled: an answer is on its way that nobody will read, so this group cannot go on.
            await self._abandon(reads)
            raise
        self.step_number = answers[0].step
        return answers

    async def _abandon(self, reads: Sequence[asyncio.Future[RankAnswer]]) -> None:
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        await self.stop()

    async def _read(self, number: int) -> RankAnswer:
        rank = self._ranks[number]
        assert rank.stdout is not None
        line = await rank.stdout.readline()
        if not line:
            code = await rank.wait()
            raise TrainerFailed(f"rank {number} died (exit code {code}): {self._tail(f'rank-{number}')}")
        answer = msgspec.json.decode(line, type=RankAnswer)
        if answer.error:
            raise TrainerFailed(f"rank {number}: {answer.error}", answer.errno)
        return answer

    def _log(self, name: str) -> Path:
        return self._logs / f"trainer-{name}.log"

    def _tail(self, name: str) -> str:
        """The end of a rank's standard error."""
        try:
            lines = self._log(name).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return "no log"
        return " / ".join(lines[-TAIL_LINES:]) or "it said nothing"


def threads_per_rank(settings: TrainerSettings) -> int:
    """Threads of one rank: as set, or all cores divided among the ranks."""
    if settings.threads > 0:
        return settings.threads
    return max(1, read_machine().cores // settings.ranks)


def rank_config(settings: TrainerSettings, rank: int, rendezvous: Path, checkpoint: Path) -> RankConfig:
    return RankConfig(
        rank=rank,
        ranks=settings.ranks,
        rendezvous=str(rendezvous),
        checkpoint=str(checkpoint),
        device=settings.device,
        threads=threads_per_rank(settings),
        token_budget=settings.token_budget,
        matrix_rate=settings.matrix_rate,
        rate=settings.rate,
        warmup=settings.warmup,
        value_weight=settings.value_weight,
        timeout=settings.timeout,
    )
