"""Measures the trainer's weights on held-out transitions: may they be published? (`node.learner.gate`)"""

from __future__ import annotations

from common.metrics import counter
from node.learner.data import sampled
from node.learner.gate import chance, compare
from node.learner.replay.replay import Ref
from node.learner.run.run import Run
from node.learner.store.store import Store
from node.learner.trainer.messages import by_segment
from node.learner.trainer.resilient import ResilientTrainer

HELD_BACK = counter("learner_weights_held_back", "Training phases whose weights were not published")

BEST = "best-chances"
"""Note: `Gatekeeper._best`, by segment: [segment, [[position, chance], ...]]."""


class Gatekeeper:
    """One for all training phases of a run: it knows what the best weights so far were worth.

    It is noted in the records, so a learner that is started again measures against the same.
    """

    def __init__(self, run: Run, trainer: ResilientTrainer) -> None:
        self._run = run
        self._trainer = trainer
        self._settings = run.settings.gate
        self._validation = sampled(run.data.validation, self._settings.transitions, run.settings.seed)
        self._best: dict[Ref, float] = {}
        """Chances under the best weights that were published: many small losses are not to add up."""
        self.metrics: dict[str, float] = {}
        """Of the latest comparison, for curves."""

    async def restore(self) -> None:
        """Know what an earlier process knew."""
        noted = await self._run.store.call(Store.noted, BEST, [])
        self._best = {(base, position): value for base, values in noted for position, value in values}

    async def before_training(self, acting: int | None) -> None:
        """Measure the weights that act on transitions that were found since they were published. `acting`: their
        training step; None: nothing is published yet.

        Nothing is measured while the trainer holds other weights: ones that were held back, or those of a checkpoint
        that it went back to after a failure."""
        if not self._settings.transitions or self._trainer.step_number != acting:
            return
        new = [ref for kind in self._kinds() for ref in kind if ref not in self._best]
        found = await self._measured(new)
        if self._trainer.step_number == acting:  # else the trainer failed meanwhile, and was measured after that
            self._best |= found

    async def passes(self) -> bool:
        """Whether the weights of now may be published. Raises LearnerError."""
        if not self._settings.transitions:
            return True
        kinds = self._kinds()
        candidate = await self._measured([ref for kind in kinds for ref in kind])
        found = compare(self._best, candidate, kinds, self._settings.least)
        self.metrics = {} if found is None else {"held_out": found.candidate, "held_out_best": found.best}
        if found is not None and found.is_damage(self._settings.loss):
            HELD_BACK.inc()
            self._run.log.info(
                "weights held back: they know much less than earlier ones; training goes on",
                transitions=found.compared,
                **self.metrics,
            )
            return False
        if found is None or found.candidate >= found.best:
            self._best = candidate
        else:
            self._best = candidate | {ref: self._best[ref] for ref in candidate if ref in self._best}
        segments = by_segment(self._best)
        noted = [(base, [(each, round(self._best[base, each], 6)) for each in found]) for base, found in segments]
        await self._run.store.call(Store.note, BEST, noted)
        return True

    def _kinds(self) -> list[list[Ref]]:
        """Held-out transitions of the warm start, and the newest that search has found."""
        return [self._validation, self._run.replay.held_out()[-self._settings.transitions :]]

    async def _measured(self, refs: list[Ref]) -> dict[Ref, float]:
        if not refs:
            return {}
        found = await self._trainer.log_probabilities(refs)
        return {ref: chance(value, self._run.settings.samples) for ref, value in found.items()}
