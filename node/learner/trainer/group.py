"""The learner's side of the trainer: starts the ranks, commands the first one, and ends them all when one fails.

Ranks are child processes that die with the learner. A step holds an interpreter for long and a collective can hang;
neither is noticed here, where nothing waits without a time limit. With several machines the children of this process
are torchrun and its ranks; the other machines run `proofmesh join-trainer`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from common import faults
from common.process import kill_group
from node.learner.errors import TrainerFailed
from node.learner.replay.replay import Ref
from node.learner.run.directory import explained
from node.learner.settings import TrainerSettings
from node.learner.trainer.messages import (
    ComputeConfig,
    CreateConfig,
    Operation,
    RankAnswer,
    RankCommand,
    StartConfig,
    by_segment,
)
from node.model.config import ModelConfig
from node.training.launch import rank_environment, start_rank, torchrun

LINE_LIMIT = 1 << 20
"""Bytes of an answer at most."""

TAIL_LINES = 6
"""Lines of a dead rank's standard error that go into the error message."""

RANK_MODULE = "node.learner.trainer.rank"

LAST_WORDS = 1.0
"""Seconds in which a dead rank's answer may still come, and the others of a group that lost one may end."""


class TrainerGroup:
    """One start of the ranks. After TrainerFailed it is over; `start` begins a new one."""

    def __init__(self, settings: TrainerSettings, logs: Path) -> None:
        """`logs`: folder for the ranks' standard error."""
        self.settings = settings
        self.step_number = 0
        self.starts = 0
        self._logs = logs
        self._processes: list[asyncio.subprocess.Process] = []
        """The ranks of this machine, the first one first; or torchrun, which starts them."""
        self._commands = 0
        self._lock = asyncio.Lock()

    @property
    def running(self) -> bool:
        return bool(self._processes)

    @property
    def pids(self) -> list[int]:
        """Process ids of the ranks (with several machines: of torchrun)."""
        return [process.pid for process in self._processes]

    async def start(self, checkpoint: Path) -> None:
        """Start all ranks from a checkpoint. Raises TrainerFailed."""
        await self.stop()
        self.starts += 1
        folder = Path(tempfile.mkdtemp(prefix="proofmesh-ranks-"))
        with explained(self._logs):
            self._logs.mkdir(parents=True, exist_ok=True)
        try:
            await self._start_processes(folder / "rendezvous")
            await self._write(msgspec.json.encode(start_config(self.settings, checkpoint)))
            await self._answer(self.settings.start_timeout, "start")
        except BaseException:
            await self.stop()
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def stop(self) -> None:
        """End all ranks."""
        processes, self._processes = self._processes, []
        await asyncio.gather(*(kill_group(process, grace=0) for process in processes))

    async def step(self, refs: Sequence[Ref], factor: float = 1.0, *, average: bool = False) -> dict[str, float]:
        """One optimizer step; returns the metrics of the batch. `average`: from now on the average of the weights is
        written, not the latest. Raises TrainerFailed."""
        return (await self._command("step", refs, factor=factor, average=average)).metrics

    async def evaluate(self, refs: Sequence[Ref]) -> dict[str, float]:
        """Metrics without a step. Raises TrainerFailed."""
        return (await self._command("evaluate", refs)).metrics

    async def log_probabilities(self, refs: Sequence[Ref]) -> dict[Ref, float]:
        """log p of each transition's tactic under the weights that act, in nats. Raises TrainerFailed."""
        values = (await self._command("log-probabilities", refs)).values
        order = [(base, position) for base, positions in by_segment(refs) for position in positions]
        return dict(zip(order, values, strict=True))

    async def restore(self, path: Path) -> None:
        """Take the weights of this file in place of those that were trained. Raises TrainerFailed."""
        await self._command("restore", path=str(path))

    async def checkpoint(self, directory: Path) -> None:
        """Write a checkpoint. Raises TrainerFailed."""
        await self._command("checkpoint", path=str(directory))

    async def write_weights(self, path: Path, information: dict[str, str]) -> str:
        """Write a weights file; returns its digest. Raises TrainerFailed."""
        return (await self._command("weights", path=str(path), information=information)).digest

    async def create(self, checkpoint: Path, model: ModelConfig, seed: int, refs: Sequence[Ref]) -> None:
        """Write a checkpoint of a fresh network, in a process of its own. Raises TrainerFailed."""
        config = CreateConfig(str(checkpoint), dataclasses.asdict(model), seed, by_segment(refs))
        with explained(self._logs):
            self._logs.mkdir(parents=True, exist_ok=True)
        with self._log("create").open("ab") as log:
            process = await start_rank(
                ["-m", RANK_MODULE, "create"], {}, stdin=asyncio.subprocess.PIPE, stdout=log, stderr=log
            )
        try:
            async with asyncio.timeout(self.settings.start_timeout):
                await process.communicate(msgspec.json.encode(config))
        finally:
            code = await kill_group(process, grace=0)
        if code != 0:
            raise TrainerFailed(f"creating the network failed (exit code {code}): {self._tail('create')}")

    # --- the ranks --------------------------------------------------------------------------------------------------

    async def _start_processes(self, rendezvous: Path) -> None:
        settings = self.settings
        ranks = settings.resolved_ranks()
        compute = msgspec.json.encode(compute_config(settings)).decode()
        if settings.machines > 1:
            where = settings.rendezvous
            command = torchrun(RANK_MODULE, [compute], machines=settings.machines, machine=0, ranks=ranks, where=where)
            await self._spawn(command, {}, first=True)
            return
        for rank in range(ranks):
            environment = rank_environment(rank, ranks, settings.threads, rendezvous)
            await self._spawn(["-m", RANK_MODULE, compute], environment, first=rank == 0)

    async def _spawn(self, command: Sequence[str], environment: dict[str, str], *, first: bool) -> None:
        # A fault that a test asked for strikes once.
        strikes_again = {faults.VARIABLE: ""} if self.starts > 1 and faults.VARIABLE in os.environ else {}
        with self._log(f"rank-{len(self._processes)}").open("ab") as log:
            process = await start_rank(
                command,
                {**environment, **strikes_again},
                stdin=asyncio.subprocess.PIPE if first else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE if first else log,
                stderr=log,
                limit=LINE_LIMIT,
            )
        self._processes.append(process)

    async def _command(
        self,
        op: Operation,
        refs: Sequence[Ref] = (),
        *,
        factor: float = 1.0,
        average: bool = False,
        path: str = "",
        information: dict[str, str] | None = None,
    ) -> RankAnswer:
        async with self._lock:
            if not self._processes:
                raise TrainerFailed("the trainer group is not running")
            self._commands += 1
            command = RankCommand(op, self._commands, by_segment(refs), factor, average, path, information or {})
            await self._write(msgspec.json.encode(command))
            return await self._answer(self.settings.timeout, op)

    async def _write(self, line: bytes) -> None:
        stdin = self._processes[0].stdin
        assert stdin is not None
        try:
            stdin.write(line + b"\n")
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the rank is dead; waiting for its answer says why

    async def _answer(self, timeout: float, op: str) -> RankAnswer:
        """The first rank's answer. Any rank's death, an error or silence ends the group. Raises TrainerFailed."""
        reading = asyncio.create_task(self._read())
        deaths = [asyncio.create_task(process.wait()) for process in self._processes]
        try:
            done, _ = await asyncio.wait({reading, *deaths}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise TrainerFailed(f"{op}: no answer within {timeout:g} s; the group was ended")
            # An answer counts also when its rank has ended behind it: then it says why.
            if reading not in done:
                await asyncio.wait({reading}, timeout=LAST_WORDS)
            if not reading.done() or not reading.result():
                raise await self._died(deaths)
            answer = msgspec.json.decode(reading.result(), type=RankAnswer)
            if answer.error:
                raise TrainerFailed(answer.error, answer.errno)
        except BaseException:
            # Also when cancelled: an answer is on its way that nobody will read, so this group cannot go on.
            await self.stop()
            raise
        finally:
            for task in (reading, *deaths):
                task.cancel()
            await asyncio.gather(reading, *deaths, return_exceptions=True)
        self.step_number = answer.step
        return answer

    async def _read(self) -> bytes:
        """A line of the first rank; empty at the end."""
        stdout = self._processes[0].stdout
        assert stdout is not None
        return await stdout.readline()

    async def _died(self, deaths: Sequence[asyncio.Task[int]]) -> TrainerFailed:
        """Which rank died, and its last words. One that a signal killed takes others with it: it is the cause."""
        await asyncio.wait(deaths, timeout=LAST_WORDS)
        codes = {number: death.result() for number, death in enumerate(deaths) if death.done()}
        killed = [number for number, code in codes.items() if code < 0]
        cause = (killed or list(codes) or [0])[0]
        return TrainerFailed(f"rank {cause} died (exit code {codes.get(cause)}): {self._tail(f'rank-{cause}')}")

    def _log(self, name: str) -> Path:
        return self._logs / f"trainer-{name}.log"

    def _tail(self, name: str) -> str:
        """The end of a rank's standard error."""
        try:
            lines = self._log(name).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return "no log"
        return " / ".join(lines[-TAIL_LINES:]) or "it said nothing"


def compute_config(settings: TrainerSettings) -> ComputeConfig:
    """What the settings say of where ranks compute."""
    return ComputeConfig(settings.device, settings.bf16, settings.threads, settings.timeout)


def start_config(settings: TrainerSettings, checkpoint: Path) -> StartConfig:
    """What the settings say of the training."""
    return StartConfig(
        checkpoint=str(checkpoint),
        compile=settings.compile,
        token_budget=settings.token_budget,
        matrix_rate=settings.matrix_rate,
        rate=settings.rate,
        warmup=settings.warmup,
        value_weight=settings.value_weight,
        average_steps=settings.average_steps,
    )
