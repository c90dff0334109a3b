"""Measures the trainer's weights on held-out transitions and decides whether to publish them
(`node.learner.learning.gate`)."""

from __future__ import annotations

from common.life.metrics import counter
from common.records.store import Store
from node.learner.choosing.data import sampled
from node.learner.learning.gate import chance, compare
from node.learner.replay.replay import Ref
from node.learner.run.run import Run
from node.learner.trainer.messages import by_segment
from node.learner.trainer.resilient import ResilientTrainer

HELD_BACK = counter("learner_weights_held_back", "Training phases whose weights were not published")

BEST = "best-chances"
"""Key of a note in the run database: `Gatekeeper._best`, by segment: [segment, [[position, chance], ...]]."""


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
        self._best = {(base, position): value for base, values in noted for position, value in values}

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
        segments = by_segment(self._best)
        noted = [
            (base, [(place, round(self._best[base, place], 6)) for place in positions]) for base, positions in segments
        ]
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
