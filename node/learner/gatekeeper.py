"""Measures the trainer's weights on held-out transitions: may they be published? (`node.learner.gate`)"""

from __future__ import annotations

from common.metrics import counter
from node.learner.data import sampled
from node.learner.gate import chance, compare
from node.learner.replay.replay import Ref
from node.learner.run.run import Run
from node.learner.trainer.resilient import ResilientTrainer

HELD_BACK = counter("learner_weights_held_back", "Training phases whose weights were not published")


class Gatekeeper:
    """One for all training phases of a run: it knows what the best weights so far were worth.

    A learner that is started again takes the weights that it goes on with for those that act.
    """

    def __init__(self, run: Run, trainer: ResilientTrainer) -> None:
        self._run = run
        self._trainer = trainer
        self._settings = run.settings.gate
        self._validation = sampled(run.data.validation, self._settings.transitions, run.settings.seed)
        self._best: dict[Ref, float] = {}
        """Chances under the best weights that were published: many small losses are not to add up."""
        self.holds_back = False
        """The latest weights were not published."""
        self.metrics: dict[str, float] = {}
        """Of the latest comparison, for curves."""

    async def before_training(self) -> None:
        """Measure the weights that act on what has been found since. Not while weights that were held back are trained
        on: then those that act are no longer at hand."""
        if self._settings.transitions and not self.holds_back:
            new = [ref for kind in self._kinds() for ref in kind if ref not in self._best]
            self._best |= await self._measured(new)

    async def passes(self) -> bool:
        """Whether the weights of now may be published. Raises LearnerError."""
        if not self._settings.transitions:
            return True
        kinds = self._kinds()
        candidate = await self._measured([ref for kind in kinds for ref in kind])
        found = compare(self._best, candidate, kinds, self._settings.least)
        self.holds_back = found is not None and found.is_damage(self._settings.loss)
        self.metrics = {} if found is None else {"held_out": found.candidate, "held_out_best": found.best}
        if self.holds_back:
            HELD_BACK.inc()
            self._run.log.info(
                "weights held back: they know much less than earlier ones; training goes on", **self.metrics
            )
        elif found is None or found.candidate >= found.best:
            self._best = candidate
        else:
            self._best = candidate | {ref: self._best[ref] for ref in candidate if ref in self._best}
        return not self.holds_back

    def _kinds(self) -> list[list[Ref]]:
        """Held-out transitions of the warm start, and the newest that search has found."""
        return [self._validation, self._run.replay.held_out()[-self._settings.transitions :]]

    async def _measured(self, refs: list[Ref]) -> dict[Ref, float]:
        if not refs:
            return {}
        found = await self._trainer.log_probabilities(refs)
        return {ref: chance(value, self._run.settings.samples) for ref, value in found.items()}
