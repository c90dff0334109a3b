"""The loop of reinforcement learning: collect transitions, train, publish weights that pass the gate. Also its control,
which takes supervised steps instead.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import numpy as np

from common.bus import BusError
from common.files import write_whole
from common.life.metrics import counter, gauge
from common.records.database import explained
from common.records.store import Store
from common.records.transitions import Ref
from common.seeds import derive_seed
from node.learner.choosing.data import sampled
from node.learner.learning.compute_hold import ComputeHolder
from node.learner.learning.gate import chance, compare
from node.learner.learning.phases import PlanSettings, Progress, longest_left, share_done
from node.learner.learning.publisher import Publisher
from node.learner.learning.schedule import TrainingTime, rate_factor, steps_due, steps_owed
from node.learner.replay.replay import USES, epochs, read_uses, sample
from node.learner.run import Run
from node.learner.trainer.group import ResilientTrainer
from node.learner.trainer.messages import by_file

TRAINED = "trained"
"""Key of a note in the run database: the training time so far, so that a restarted learner keeps to its budgets."""

POINTS = ("loss", "policy_loss", "value_loss", "held_out", "held_out_best")
"""Training metrics that become points of curves."""


LOOK_EVERY = 5.0
"""Seconds between looks at where inference computes: its nodes come and go, and each look reads the registry."""


class Learning:
    """Trains whenever enough new transitions are collected. Collecting goes on during training unless inference must
    pause for it."""

    def __init__(
        self, run: Run, plan: PlanSettings, trainer: ResilientTrainer, publisher: Publisher, holder: ComputeHolder
    ) -> None:
        self._run = run
        self._plan = plan
        self._trainer = trainer
        self._publisher = publisher
        self._holder = holder
        self._gatekeeper = Gatekeeper(run, trainer)
        self.warm_steps = 0
        """Training steps of the network before reinforcement learning. Later steps are counted from the trainer's step
        number, so steps that a crash has undone are due again."""
        self._last = time.monotonic()
        self._saved_at = 0
        self._usage = Usage(run.directory.replay / USES, run.replay.source)
        self._shares = False
        """Whether inference nodes compute on a GPU of the trainer."""
        self._looked = float("-inf")
        self.time = TrainingTime()

    async def restore(self, progress: Progress) -> None:
        """Continue from the notes of an earlier process."""
        noted = await self._run.store.call(Store.noted, TRAINED, {})
        await self._gatekeeper.restore()
        paused = float(noted.get("paused", 0.0))
        self.time = TrainingTime(float(noted.get("worked", paused)), paused, progress.learned)
        self._run.journal.paused(self.time.paused_share)
        self._saved_at = self._trainer.step_number

    def begin(self) -> None:
        """The phase begins: the wait for transitions is measured from here."""
        self._last = time.monotonic()

    async def turn(self, progress: Progress) -> None:
        """Train if a training phase is due; otherwise wait a moment for more results."""
        self.time.total = progress.learned
        self._run.journal.paused(self.time.paused_share)
        await self._look()
        due = self._in_time(self._due(time.monotonic() - self._last), progress)
        if due:
            await self._cycle(due, self._factor(progress))
        else:
            await self._run.wait(0.5)

    async def last_turn(self, progress: Progress) -> None:
        """The phase ends: train on the remaining new transitions and save. If the gate rejects the result, restore the
        published weights: the run must end with the weights in use."""
        await self._look()
        due = self._due(self._run.settings.schedule.patience)
        if due and not self._run.stopping:
            await self._cycle(due, self._factor(progress))
        acting = self._publisher.latest_step
        gated = self._run.settings.gate.transitions > 0 and not self._run.stopping
        rejected = gated and acting not in (None, self._trainer.step_number)
        if rejected:
            await self._trainer.restore(self._publisher.latest_file)
        await self.save(replace=rejected)

    async def _look(self) -> None:
        """Look whether inference computes on a GPU of the trainer, for `pause = "auto"`."""
        gpus = self._trainer.group.gpus
        if self._run.settings.schedule.pause != "auto" or time.monotonic() - self._looked < LOOK_EVERY:
            return
        try:
            self._shares = bool(gpus) and await self._holder.shared(gpus)
            self._looked = time.monotonic()
        except BusError as error:
            self._run.log.warning("not known where inference computes", reason=str(error))

    def _due(self, waited: float) -> int:
        schedule, batch = self._run.settings.schedule, self._run.settings.trainer.learning_batch()
        budget = schedule.pause_budget if schedule.pause == "always" else schedule.training_budget
        owed = steps_owed(schedule, batch, self._run.replay.last_id, self.steps)
        if owed and not self._run.data.supervised and not self._run.replay.trains:
            return 0  # all that was found is held out
        return steps_due(schedule, batch, owed, waited, self.time, budget)

    @property
    def _pauses(self) -> bool:
        """Whether inference pauses in the next training phase."""
        schedule = self._run.settings.schedule
        if schedule.pause == "auto":  # beyond the budget both work at once: a trainer that waits learns nothing
            return self._shares and self.time.paused_share < schedule.pause_budget
        return schedule.pause == "always"

    @property
    def steps(self) -> int:
        """Training steps of reinforcement learning, or of its control, over all processes of the run."""
        return max(0, self._trainer.step_number - self.warm_steps)

    def _in_time(self, steps: int, progress: Progress) -> int:
        """`steps`, or fewer if only fewer fit into the remaining time of reinforcement learning."""
        left = longest_left(progress, self._plan)
        return steps if left is None or not self.time.per_step else min(steps, int(left / self.time.per_step))

    def _factor(self, progress: Progress) -> float:
        return rate_factor(self._run.settings.trainer.rl_factor, share_done(progress, self._plan))

    async def _cycle(self, steps: int, factor: float) -> None:
        """Train `steps` steps on the replay buffer, then publish the weights if they pass the gate."""
        # 1. The window stays as it is during the phase; what is found meanwhile trains in the next one.
        started, pauses = time.monotonic(), self._pauses
        window = self._run.replay.refs()
        weights = self._run.replay.weights(window)
        self._usage.add(await self._run.store.call(Store.steps_found, self._usage.new_after(window)), window)
        metrics: dict[str, float] = {}
        # 2. Steps while the compute is ours, then the measurement of the gate.
        async with self._compute(pauses) as ours:
            await self._gatekeeper.before_training(self._publisher.latest_step)
            first, began = self._trainer.step_number, time.monotonic()
            while self._trainer.step_number < first + steps and ours() and not self._run.stopping:
                batch = self._batch(window, weights)
                metrics = await self._trainer.step(batch, factor, average=True) or metrics
            taken, stepping = self._trainer.step_number - first, time.monotonic() - began
            passes = await self._gatekeeper.passes()
        seconds = time.monotonic() - started
        self.time.saw(seconds, stepping, taken, paused=pauses)
        self._run.journal.paused(self.time.paused_share)
        # 3. Publish, save, note the time, so that a restarted learner keeps to its budgets.
        if passes:
            await self._publisher.publish()
        if self._trainer.step_number - self._saved_at >= self._run.settings.schedule.checkpoint_every:
            await self.save()
        self._last = time.monotonic()
        noted = {"paused": self.time.paused, "worked": self.time.worked}
        await self._run.store.call(Store.note, TRAINED, noted)
        self._run.log.info(
            "trained", steps=taken, transitions=len(window), seconds=round(seconds, 2), loss=metrics.get("loss")
        )
        self._trainer.say_left_out()
        await self._point(metrics | self._gatekeeper.metrics)

    def _compute(self, pauses: bool) -> AbstractAsyncContextManager[Callable[[], bool]]:
        """The trainer may use the compute inside this context. Yields a function that returns whether it still may."""
        if not pauses:
            return nullcontext(lambda: True)
        return self._holder.held(self._trainer.group.gpus if self._run.settings.schedule.pause == "auto" else ())

    def _batch(self, window: Sequence[Ref], weights: Sequence[float] | None) -> list[Ref]:
        settings = self._run.settings
        seed = derive_seed(settings.seed, "batch", self._trainer.step_number)
        share = settings.replay.supervised_share
        batch = sample(self._run.data.supervised, window, settings.trainer.learning_batch(), share, seed, weights)
        return self._usage.seen(batch, self._trainer.step_number)

    async def save(self, *, replace: bool = False) -> None:
        """Write a checkpoint. `replace`: overwrite a checkpoint of the same step, which has other weights."""
        await self._trainer.save(replace=replace)
        with explained(self._run.directory.replay):
            await asyncio.to_thread(self._usage.save)
        self._saved_at = self._trainer.step_number

    async def control_turn(self, progress: Progress, steps: int) -> None:
        """Train supervised steps in place of reinforcement learning, without a pause of inference."""
        settings = self._run.settings
        first = self._trainer.step_number
        metrics: dict[str, float] = {}
        size = settings.trainer.learning_batch()
        while self._trainer.step_number < first + steps and not self._run.stopping:
            refs = epochs(self._run.data.supervised, size, settings.seed, self._trainer.step_number)
            metrics = await self._trainer.step(refs, self._factor(progress), average=True) or metrics
        self._trainer.say_left_out()
        await self._point(metrics)

    async def _point(self, metrics: dict[str, float]) -> None:
        counts = await self._run.store.call(Store.counts)
        values = {key: value for key, value in metrics.items() if key in POINTS}
        values |= self._usage.values() | {
            "solve_rate": self._run.journal.solve_rate(),
            "proofs_verified": counts["proofs"],
            "transitions": counts["transitions"],
            "expansions": await self._run.store.call(Store.learning_expansions),
            "expansions_per_s": self._run.journal.speed(),
            "pause_fraction": self.time.paused_share,
        }
        await self._run.journal.point(self._trainer.step_number, values)


# ----------------------------------------------------------------------------------------------------------------------
# Measures the trainer's weights on held-out transitions and decides whether to publish them
# (`node.learner.learning.gate`).

HELD_BACK = counter("learner_weights_held_back", "Training phases whose weights were not published")

BEST = "best-chances"
"""Key of a note in the run database: `Gatekeeper._best`, by file: [file, [[number, chance], ...]]."""


class Gatekeeper:
    """Compares the weights after each training phase with the best published weights of the run.

    The measurements of the best weights are stored in the run database, so a restarted learner compares with the same.
    """

    def __init__(self, run: Run, trainer: ResilientTrainer) -> None:
        self._run = run
        self._trainer = trainer
        self._settings = run.settings.gate
        self._validation = sampled(run.data.validation, self._settings.transitions, run.settings.seed)
        self._best: dict[Ref, float] = {}
        """Chances under the best published weights, not the latest: many small losses must not add up."""
        self.metrics: dict[str, float] = {}
        """Metrics of the latest comparison, for curves."""

    async def restore(self) -> None:
        """Read the measurements of an earlier process."""
        noted = await self._run.store.call(Store.noted, BEST, [])
        self._best = {(file, number): value for file, values in noted for number, value in values}

    async def before_training(self, acting: int | None) -> None:
        """Measure the published weights on transitions that were found since their publication. `acting`: their
        training step; None: nothing is published yet.

        Does nothing if the trainer holds other weights: weights that failed the gate, or those of a checkpoint that it
        restored after a failure."""
        if not self._settings.transitions or self._trainer.step_number != acting:
            return
        new = [ref for kind in self._kinds() for ref in kind if ref not in self._best]
        chances = await self._measured(new)
        # If the trainer failed meanwhile, it has restored a checkpoint, and these are the chances of other weights.
        if self._trainer.step_number == acting:
            self._best |= chances

    async def passes(self) -> bool:
        """True if the trainer's current weights may be published. Raises LearnerError."""
        if not self._settings.transitions:
            return True
        kinds = self._kinds()
        candidate = await self._measured([ref for kind in kinds for ref in kind])
        comparison = compare(self._best, candidate, kinds, self._settings.least)
        self.metrics = {}
        if comparison is not None:
            self.metrics = {"held_out": comparison.candidate, "held_out_best": comparison.best}
        if comparison is not None and comparison.is_damage(self._settings.loss):
            HELD_BACK.inc()
            self._run.log.info(
                "weights not published: much worse than earlier ones on held-out transitions; training goes on",
                transitions=comparison.compared,
                **self.metrics,
            )
            return False
        if comparison is None or comparison.candidate >= comparison.best:
            self._best = candidate
        else:
            self._best = candidate | {ref: self._best[ref] for ref in candidate if ref in self._best}
        files = by_file(self._best)
        noted = [(file, [(place, round(self._best[file, place], 6)) for place in numbers]) for file, numbers in files]
        await self._run.store.call(Store.note, BEST, noted)
        return True

    def _kinds(self) -> list[list[Ref]]:
        """Held-out transitions of the warm start, and the newest held-out ones that search has found."""
        return [self._validation, self._run.replay.held_out()[-self._settings.transitions :]]

    async def _measured(self, refs: list[Ref]) -> dict[Ref, float]:
        if not refs:
            return {}
        values = await self._trainer.log_probabilities(refs)
        return {ref: chance(value, self._run.settings.samples) for ref, value in values.items()}


# ----------------------------------------------------------------------------------------------------------------------
# Metrics of replay transitions in training batches. Age: training steps between the weights whose search found a
# transition and the step that trains on it. Uses: how often a transition has been trained on, with this batch.

AGE = gauge("learner_replay_age_steps", "Steps since the weights that found a transition of the batch, mean")
MEAN_USES = gauge("learner_replay_uses_mean", "Times that a transition of the batch has been trained on, mean")
MOST_USES = gauge("learner_replay_uses_max", "Times that a transition of the batch has been trained on, largest")

NOT_KNOWN = -1
"""Step of a transition that was found without weights, or by a version with an unknown step: it has no age."""


class Usage:
    """Counts how training batches use one replay buffer. Supervised transitions do not count."""

    def __init__(self, file: Path, source: str) -> None:
        """Load the saved counts. If the file cannot be read, counting starts at 0: these are only metrics. `source`:
        the file of the buffer's references (`Replay.source`)."""
        self._file = file
        self._source = source
        self._uses = read_uses(file)
        self._found_at: dict[int, int] = {}
        """By number, for transitions in the window: the training step of the weights that found it."""
        self._batches: list[tuple[float | None, float, int]] = []
        self._last_id = 0
        self._step = -1

    def new_after(self, window: Sequence[Ref]) -> int:
        """The number after which the transitions of the window have not been added with `add`."""
        return max(self._last_id, min((number for _, number in window), default=0) - 1)

    def add(self, rows: Iterable[tuple[int, int | None]], window: Sequence[Ref]) -> None:
        """Add new transitions, as (number, training step of the weights that found it) (`Store.steps_found`), and
        remove those that have left the window."""
        for number, step in rows:
            self._found_at[number] = NOT_KNOWN if step is None else step
            self._last_id = number
        # What was found while the window was read has higher numbers, and is in the next one.
        kept = {number for _, number in window}
        newest = max(kept, default=0)
        for counts in (self._found_at, self._uses):
            for number in [number for number in counts if number <= newest and number not in kept]:
                del counts[number]

    def seen(self, batch: list[Ref], step: int) -> list[Ref]:
        """Count the batch as trained on at this step, and return it. A step that is repeated after a crash counts
        once."""
        if step <= self._step:
            return batch
        self._step = step
        replayed = [number for file, number in batch if file == self._source]
        for number in replayed:
            self._uses[number] = self._uses.get(number, 0) + 1
        if replayed:
            uses = [self._uses[number] for number in replayed]
            found_at = [self._found_at.get(number, NOT_KNOWN) for number in replayed]
            ages = [max(0, step - each) for each in found_at if each != NOT_KNOWN]
            self._batches.append((sum(ages) / len(ages) if ages else None, sum(uses) / len(uses), max(uses)))
        return batch

    def values(self) -> dict[str, float]:
        """Mean age in steps, and mean and largest number of uses, over the batches since the last call. Empty if they
        had no replay transitions."""
        batches, self._batches = self._batches, []
        if not batches:
            return {}
        values = {
            "replay_uses_mean": sum(mean for _, mean, _ in batches) / len(batches),
            "replay_uses_max": float(max(most for _, _, most in batches)),
        }
        MEAN_USES.set(values["replay_uses_mean"])
        MOST_USES.set(values["replay_uses_max"])
        if ages := [age for age, _, _ in batches if age is not None]:
            values["replay_age_steps"] = sum(ages) / len(ages)
            AGE.set(values["replay_age_steps"])
        return values

    def save(self) -> None:
        """Write the counts for the next process. Raises OSError."""
        content = io.BytesIO()
        numbers, uses = np.array([*self._uses], np.int64), np.array([*self._uses.values()], np.int64)
        np.savez_compressed(content, numbers=numbers, uses=uses)
        write_whole(self._file, content.getvalue())
