"""Expert iteration (Polu et al., arXiv 2202.01344; Anthony et al., arXiv 1705.08439): search, keep what was proved, and
learn to imitate it.

It searches best-first, with the probability of the path and without a value. It draws theorems, budgets, disproofs and
exploration as AlphaProof does, from the same settings: `[learner.matchmaker]`. With `disprove_chance = 0`, `growth = 1`
and `explore_chance = 0` it is the plain form of the papers. The value head is trained as ever and not used, so that a
run can go on with a method that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.protocol.attempts import Method, Purpose
from node.learner.algorithms.algorithm import Algorithm, Asked, Choice, Found, Losses
from node.learner.choosing.matchmaker import Matchmaker, budget


class ExpertIteration(Algorithm):
    """Best-first search, and every proof as training data."""

    def choose(self, theorems: Matchmaker, number: int) -> Choice | None:
        """A theorem by its weight, with the budget that its failures call for."""
        matching = self.settings.matchmaker
        drawn = theorems.draw(number)
        if drawn is None:
            return None
        standing = drawn.standing
        # Negations are statements like others here: what is proved of them is imitated, too.
        open_still = not (standing.proved or standing.disproved)
        disproof = open_still and drawn.happens(matching.disprove_chance)
        explore = matching.explore_candidates if drawn.happens(matching.explore_chance) else 0
        return Choice(drawn.theorem_id, disproof, budget(standing, matching), explore)

    def attempt(self, purpose: Purpose, explore: int) -> Asked:
        """The most probable path first."""
        return Asked(Method.BEST_FIRST, self.settings.samples, explore, self.failed(purpose))

    def examples(self, found: Found) -> Sequence[float]:
        """Every step of every proof counts the same: that is the filter of expert iteration."""
        return [1.0] * len(found.transitions)

    def loss(self) -> Losses:
        """The policy loss counts; the small value loss keeps the value head usable."""
        trainer = self.settings.trainer
        return Losses(value=trainer.value_weight, unlikelihood=trainer.unlikelihood)
