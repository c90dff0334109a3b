"""Reinforcement learning: collect until enough is new, hold the compute, train, let go, publish. And its control."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from common.seeds import derive_seed
from node.learner.compute_hold import ComputeHolder
from node.learner.phases import Progress, RunPlan, share_done
from node.learner.publisher import Publisher
from node.learner.replay.replay import Ref, epochs, sample
from node.learner.replay.usage import Usage
from node.learner.run.directory import explained
from node.learner.run.run import Run
from node.learner.schedule import Pauses, rate_factor, steps_due
from node.learner.store.store import Store
from node.learner.trainer.resilient import ResilientTrainer

TRAINED = "trained"
"""Note: transitions that training has seen, so that a learner that is started again does not count them as fresh."""


class Learning:
    """Alternates collecting with training."""

    def __init__(
        self, run: Run, plan: RunPlan, trainer: ResilientTrainer, publisher: Publisher, holder: ComputeHolder
    ) -> None:
        self._run = run
        self._plan = plan
        self._trainer = trainer
        self._publisher = publisher
        self._holder = holder
        self._trained = 0
        self._last = time.monotonic()
        self._saved_at = 0
        self._usage = Usage(run.replay.folder)
        self.pauses = Pauses()

    async def restore(self, progress: Progress) -> None:
        """Go on where an earlier process was."""
        noted = await self._run.store.call(Store.noted, TRAINED, {})
        self._trained = int(noted.get("transitions", 0))
        self.pauses = Pauses(float(noted.get("paused", 0.0)), progress.learned)
        self._run.journal.paused(self.pauses.fraction)
        self._saved_at = self._trainer.step_number

    def begin(self) -> None:
        """The phase begins: waiting for transitions counts from here."""
        self._last = time.monotonic()

    async def turn(self, progress: Progress) -> None:
        """Train if it is due, else wait a moment for more results."""
        settings = self._run.settings
        self.pauses.total = progress.learned
        self._run.journal.paused(self.pauses.fraction)
        fresh = self._run.replay.last_id - self._trained
        waited = time.monotonic() - self._last
        due = steps_due(settings.schedule, settings.trainer.batch, fresh, waited, self.pauses)
        if due:
            await self._cycle(due, fresh, self._factor(progress))
        else:
            await self._run.wait(0.5)

    async def last_turn(self, progress: Progress) -> None:
        """The phase ends: train on what is still fresh, and keep the result."""
        settings = self._run.settings
        fresh = self._run.replay.last_id - self._trained
        due = steps_due(settings.schedule, settings.trainer.batch, fresh, settings.schedule.patience, self.pauses)
        if due and not self._run.stopping:
            await self._cycle(due, fresh, self._factor(progress))
        await self.save()

    def _factor(self, progress: Progress) -> float:
        return rate_factor(self._run.settings.trainer.rl_factor, share_done(progress, self._plan))

    async def _cycle(self, steps: int, fresh: int, factor: float) -> None:
        """One pause: `steps` steps on what has been collected, then new weights for everybody."""
        started = time.monotonic()
        taken = self._run.replay.last_id
        window = self._run.replay.refs()
        self._usage.told(await self._run.store.call(Store.steps_found, self._usage.asks(window)), window)
        metrics: dict[str, float] = {}
        async with self._holder.held() as ours:
            first = self._trainer.step_number
            while self._trainer.step_number < first + steps and ours() and not self._run.stopping:
                metrics = await self._trainer.step(self._batch(window), factor, average=True) or metrics
            done = self._trainer.step_number - first
        paused = time.monotonic() - started
        self.pauses.saw(paused, done)
        self._run.journal.paused(self.pauses.fraction)
        await self._publisher.publish()
        if self._trainer.step_number - self._saved_at >= self._run.settings.schedule.checkpoint_every:
            await self.save()
        self._trained = taken if done >= steps else self._trained
        self._last = time.monotonic()
        noted = {"transitions": self._trained, "paused": self.pauses.paused}
        await self._run.store.call(Store.note, TRAINED, noted)
        self._run.log.info("trained", steps=done, fresh=fresh, paused=round(paused, 2), loss=metrics.get("loss"))
        await self._point(metrics)

    def _batch(self, window: Sequence[Ref]) -> list[Ref]:
        settings = self._run.settings
        seed = derive_seed(settings.seed, "batch", self._trainer.step_number)
        share = settings.replay.supervised_share
        batch = sample(self._run.data.supervised, window, settings.trainer.batch, share, seed)
        return self._usage.seen(batch, self._trainer.step_number)

    async def save(self) -> None:
        """Write a checkpoint."""
        await self._trainer.save()
        with explained(self._run.replay.folder):
            await asyncio.to_thread(self._usage.save)
        self._saved_at = self._trainer.step_number

    async def control_turn(self, progress: Progress, steps: int) -> int:
        """Some supervised steps in place of reinforcement learning; returns how many. Nobody waits, nothing pauses."""
        settings = self._run.settings
        first = self._trainer.step_number
        metrics: dict[str, float] = {}
        while self._trainer.step_number < first + steps and not self._run.stopping:
            refs = epochs(self._run.data.supervised, settings.trainer.batch, settings.seed, self._trainer.step_number)
            metrics = await self._trainer.step(refs, self._factor(progress), average=True) or metrics
        await self._point(metrics)
        return self._trainer.step_number - first

    async def _point(self, metrics: dict[str, float]) -> None:
        counts = await self._run.store.call(Store.counts)
        values = {key: value for key, value in metrics.items() if key in ("loss", "policy_loss", "value_loss")}
        values |= self._usage.values() | {
            "solve_rate": self._run.journal.solve_rate(),
            "proofs_verified": counts["proofs"],
            "transitions": counts["transitions"],
            "expansions_per_s": self._run.journal.speed(),
            "pause_fraction": self.pauses.fraction,
        }
        await self._run.journal.point(self._trainer.step_number, values)
