"""A trainer that survives crashes of its ranks: it restarts a failed group from the last checkpoint."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from common.life import faults
from common.records.database import explained
from common.records.transitions import Ref
from node.learner.errors import LearnerError, TrainerFailed
from node.learner.run.journal import FAILURES
from node.learner.settings import TrainerSettings
from node.learner.trainer.group import TrainerGroup
from node.model.checkpoint_folders import complete, newest_whole, none_whole, set_aside

R = TypeVar("R")


class ResilientTrainer:
    """Trains from the newest checkpoint in a folder. After a restart, `step_number` is the step of that checkpoint."""

    def __init__(self, settings: TrainerSettings, root: Path, logs: Path, keep: int, log: Any) -> None:
        self.settings = settings
        self.root = root
        self.group = TrainerGroup(settings, logs)
        self._keep = keep
        self._log = log
        self._failures = 0

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
