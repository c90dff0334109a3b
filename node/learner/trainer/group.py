"""The learner's side of the trainer: starts the ranks, sends commands to the first one, and survives their crashes.

Ranks are child processes that end with the learner. A step keeps an interpreter busy for long, and a collective can
hang. Neither blocks the learner, because it waits for answers with timeouts. With several machines, the child of this
process is torchrun, which starts the ranks; the other machines run `proofmesh join-trainer`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from common.life import faults
from common.life.process import kill_group
from common.records.database import explained
from common.records.transitions import Ref
from node.learner.errors import LearnerError, TrainerFailed
from node.learner.run import FAILURES
from node.learner.settings import TrainerSettings
from node.learner.trainer.messages import (
    RANK_MODULE,
    ComputeConfig,
    CreateConfig,
    Operation,
    RankAnswer,
    RankCommand,
    StartConfig,
    by_file,
)
from node.model.checkpoint_folders import complete, newest_whole, none_whole, set_aside
from node.model.config import ModelConfig
from node.training.launch import rank_environment, start_rank, torchrun
from node.training.settings import LossSettings

LINE_LIMIT = 1 << 20
"""Longest answer in bytes."""

TAIL_LINES = 6
"""Lines from the end of a crashed rank's standard error that go into the error message."""

LAST_WORDS = 1.0
"""Seconds to wait, after a rank has ended, for its last answer and for the other ranks to end."""


class TrainerGroup:
    """The ranks of one trainer. After TrainerFailed they have ended; `start` starts new ones."""

    def __init__(self, settings: TrainerSettings, logs: Path, loss: LossSettings | None = None) -> None:
        """`logs`: folder for the ranks' standard error. `loss`: what the steps minimize."""
        self.settings = settings
        self._loss = loss or LossSettings()
        self.step_number = 0
        self.starts = 0
        self.left_out = 0
        """Transitions left out of training so far, because their tactic is too long for the network."""
        self.gpus: tuple[str, ...] = ()
        """Ids of the GPUs that the ranks train on; empty: CPUs."""
        self.alone = False
        """Nothing else works on this machine at the moment (`RankCommand.alone`)."""
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
            await self._write(msgspec.json.encode(start_config(self.settings, self._loss, checkpoint)))
            answer = await self._answer(self.settings.start_timeout, "start")
            self.gpus = tuple(answer.gpus)
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
        """One optimizer step; returns the metrics of the batch. `average`: from now on, write the moving average of the
        weights to files, not the latest weights. Raises TrainerFailed."""
        return (await self._command("step", refs, factor=factor, average=average)).metrics

    async def evaluate(self, refs: Sequence[Ref]) -> dict[str, float]:
        """Metrics without a step. Raises TrainerFailed."""
        return (await self._command("evaluate", refs)).metrics

    async def log_probabilities(self, refs: Sequence[Ref]) -> dict[Ref, float]:
        """log p of each transition's tactic, in nats, under the weights that would be published, without those whose
        tactic is too long. Raises TrainerFailed."""
        values = (await self._command("log-probabilities", refs)).values
        order = [(file, number) for file, numbers in by_file(refs) for number in numbers]
        return {ref: value for ref, value in zip(order, values, strict=True) if value is not None}

    async def restore(self, path: Path) -> None:
        """Replace the trained weights by those of a file. Raises TrainerFailed."""
        await self._command("restore", path=str(path))

    async def checkpoint(self, directory: Path) -> None:
        """Write a checkpoint. Raises TrainerFailed."""
        await self._command("checkpoint", path=str(directory))

    async def write_weights(self, path: Path, information: dict[str, str]) -> str:
        """Write a weights file; returns its digest. Raises TrainerFailed."""
        return (await self._command("weights", path=str(path), information=information)).digest

    async def create(self, checkpoint: Path, model: ModelConfig, seed: int, refs: Sequence[Ref]) -> None:
        """Write a checkpoint of a fresh network, in a separate process. Raises TrainerFailed."""
        config = CreateConfig(str(checkpoint), dataclasses.asdict(model), seed, by_file(refs))
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
        # A fault that a test injects happens in the first start only.
        without_faults = {faults.VARIABLE: ""} if self.starts > 1 and faults.VARIABLE in os.environ else {}
        with self._log(f"rank-{len(self._processes)}").open("ab") as log:
            process = await start_rank(
                command,
                {**environment, **without_faults},
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
            command = RankCommand(
                op, self._commands, by_file(refs), factor, average, path, information or {}, alone=self.alone
            )
            await self._write(msgspec.json.encode(command))
            return await self._answer(self.settings.timeout, op)

    async def _write(self, line: bytes) -> None:
        stdin = self._processes[0].stdin
        assert stdin is not None
        try:
            stdin.write(line + b"\n")
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the rank has ended; `_answer` reports why

    async def _answer(self, timeout: float, op: str) -> RankAnswer:
        """The first rank's answer. A rank that ends, an error or a timeout ends the group. Raises TrainerFailed."""
        reading = asyncio.create_task(self._read())
        deaths = [asyncio.create_task(process.wait()) for process in self._processes]
        try:
            ended, _ = await asyncio.wait({reading, *deaths}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not ended:
                raise TrainerFailed(f"{op}: no answer within {timeout:g} s; the group was ended")
            # Read the answer even if its rank has ended: it may say why.
            if reading not in ended:
                await asyncio.wait({reading}, timeout=LAST_WORDS)
            if not reading.done() or not reading.result():
                raise await self._died(deaths)
            answer = msgspec.json.decode(reading.result(), type=RankAnswer)
            if answer.error:
                raise TrainerFailed(answer.error, answer.errno)
        except BaseException:
            # Also when cancelled: the pending answer would be read as the answer to the next command.
            await self.stop()
            raise
        finally:
            for task in (reading, *deaths):
                task.cancel()
            await asyncio.gather(reading, *deaths, return_exceptions=True)
        self.step_number, self.left_out = answer.step, answer.left_out
        return answer

    async def _read(self) -> bytes:
        """A line of the first rank's output; empty at the end."""
        stdout = self._processes[0].stdout
        assert stdout is not None
        return await stdout.readline()

    async def _died(self, deaths: Sequence[asyncio.Task[int]]) -> TrainerFailed:
        """An error that names the crashed rank, with the end of its log. If a signal killed a rank, it is the cause:
        the others failed because of it."""
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
        return " / ".join(lines[-TAIL_LINES:]) or "its log is empty"


def compute_config(settings: TrainerSettings) -> ComputeConfig:
    """Where and how the ranks compute, from the settings."""
    return ComputeConfig(settings.device, settings.bf16, settings.threads, settings.timeout)


def start_config(settings: TrainerSettings, loss: LossSettings, checkpoint: Path) -> StartConfig:
    """What the ranks train and how, from the settings."""
    return StartConfig(
        checkpoint=str(checkpoint),
        compile=settings.compile,
        token_budget=settings.token_budget,
        matrix_rate=settings.matrix_rate,
        rate=settings.rate,
        warmup=settings.warmup,
        loss=loss,
        average_steps=settings.average_steps,
    )


# ----------------------------------------------------------------------------------------------------------------------
# A trainer that survives crashes of its ranks: it restarts a failed group from the last checkpoint.

R = TypeVar("R")


class ResilientTrainer:
    """Trains from the newest checkpoint in a folder. After a restart, `step_number` is the step of that checkpoint."""

    def __init__(
        self,
        settings: TrainerSettings,
        root: Path,
        logs: Path,
        keep: int,
        log: Any,
        loss: LossSettings | None = None,
    ) -> None:
        self.settings = settings
        self.root = root
        self.group = TrainerGroup(settings, logs, loss)
        self._keep = keep
        self._log = log
        self._failures = 0
        self._left_out = 0
        """How many were left out when the log last said so."""

    @property
    def step_number(self) -> int:
        return self.group.step_number

    async def start(self) -> None:
        """Start the ranks from the newest checkpoint, unless they are running. Raises LearnerError."""
        if not self.group.running:
            await self._again(self._begin)

    async def step(self, refs: Sequence[Ref], factor: float = 1.0, *, average: bool = False) -> dict[str, float] | None:
        """One step (`TrainerGroup.step`). Returns None if the group failed and was restarted; `step_number` may then be
        lower.

        Raises LearnerError.
        """
        try:
            metrics = await self.group.step(refs, factor, average=average)
        except TrainerFailed as error:
            await self._failed(error)
            return None
        self._failures = 0
        return metrics

    def say_left_out(self) -> None:
        """Log how many transitions training leaves out, if they have become more."""
        if self.group.left_out > self._left_out:
            self._log.info(
                "transitions left out of training: their tactic is longer than the network's tactic_tokens, or than "
                "half of its context",
                transitions=self.group.left_out,
            )
        self._left_out = self.group.left_out

    async def evaluate(self, refs: Sequence[Ref]) -> dict[str, float]:
        """Metrics without a step. Raises LearnerError."""
        return await self._again(lambda: self.group.evaluate(refs))

    async def log_probabilities(self, refs: Sequence[Ref]) -> dict[Ref, float]:
        """log p of each transition's tactic, in nats, under the weights that would be published. Raises
        LearnerError."""
        return await self._again(lambda: self.group.log_probabilities(refs))

    async def restore(self, path: Path) -> None:
        """Replace the trained weights by those of a file. Raises LearnerError."""
        await self._again(lambda: self.group.restore(path))

    async def save(self, *, replace: bool = False) -> Path:
        """Write a checkpoint, and delete the oldest ones. `replace`: overwrite a checkpoint of the same step.

        Raises LearnerError; without a retry if the disk is full."""

        async def save() -> Path:
            path = self._checkpoint()
            faults.reach("learner:before-checkpoint")
            if replace or not path.exists():
                await self.group.checkpoint(path)
            return path

        path = await self._again(save)
        self._prune()
        return path

    def _checkpoint(self) -> Path:
        """The folder of a checkpoint of the current step."""
        return self.root / f"step-{self.group.step_number:06d}"

    async def write_weights(self, path: Path, version: int) -> str:
        """Write a weights file; returns its digest. Raises LearnerError."""

        async def write() -> str:
            information = {"version": str(version), "step": str(self.step_number)}
            return await self.group.write_weights(path, information)

        return await self._again(write)

    async def stop(self) -> None:
        """End the ranks."""
        await self.group.stop()

    async def _begin(self) -> None:
        await self.group.start(await asyncio.to_thread(self._newest))

    def _newest(self) -> Path:
        """The newest whole checkpoint. Damaged ones that are newer are set aside, with a warning."""
        newest, problems = newest_whole(self.root)
        if newest is None:
            raise LearnerError(none_whole(self.root, problems))
        for path, problem in problems.items():
            with explained(path):
                aside = set_aside(path)
            self._log.warning(
                "damaged checkpoint set aside; training goes on from an older one",
                problem=problem,
                goes_on_from=str(newest),
                kept_as=aside.name,
            )
        return newest

    async def _again(self, work: Callable[[], Awaitable[R]]) -> R:
        """Run `work`; if the group fails, restart it and try again."""
        while True:
            try:
                return await work()
            except TrainerFailed as error:
                await self._failed(error, restart=work != self._begin)

    async def _failed(self, error: TrainerFailed, restart: bool = True) -> None:
        if error.errno:
            with explained(self.root):  # no retry: a full disk stays full
                raise OSError(error.errno, os.strerror(error.errno)) from error
        self._failures += 1
        FAILURES.inc()
        if self._failures > self.settings.restarts:
            raise LearnerError(
                f"the trainer failed {self._failures} times in a row, the last time with: {error}; see the learner's "
                "log for all of them; the same command continues from the last checkpoint"
            ) from error
        self._log.warning("trainer failed; restarting it from the last checkpoint", reason=str(error))
        if restart:
            await self._again(self._begin)

    def _prune(self) -> None:
        """Delete all but the newest checkpoints, and the remains of interrupted writes."""
        with explained(self.root):
            for path in [*complete(self.root)[: -self._keep], *self.root.glob(".step-*")]:
                shutil.rmtree(path, ignore_errors=True)
