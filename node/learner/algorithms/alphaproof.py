"""AlphaProof (Hubert et al., Nature 2025): reinforcement learning from tree search with a value, on statements and on
their negations.

Its parameters are `[learner.matchmaker]` (theorems, budgets, disproof, exploration), `[learner] samples`, and the
weights of the losses in `[learner.trainer]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.protocol.attempts import Method, Purpose
from node.learner.algorithms.algorithm import Algorithm, Asked, Choice, Found
from node.learner.choosing.matchmaker import Matchmaker, budget
from node.training.settings import LossSettings


class AlphaProof(Algorithm):
    """The matchmaker of the paper's pseudocode, Monte Carlo tree search, and every proof as training data."""

    def choose(self, theorems: Matchmaker, number: int) -> Choice | None:
        """A theorem by its weight, more simulations after each failure, and half of the attempts on open theorems to
        disprove them."""
        matching = self.settings.matchmaker
        # 1. A theorem that is neither learned nor hopeless, with the probability of its weight.
        drawn = theorems.draw(number)
        if drawn is None:
            return None
        standing = drawn.standing
        # 2. What is proved needs no disproof, and what is disproved is not drawn any more.
        open_still = not (standing.proved or standing.disproved)
        disproof = open_still and drawn.happens(matching.disprove_chance)
        # 3. Some attempts explore: a network never finds a tactic that it never samples.
        explore = matching.explore_candidates if drawn.happens(matching.explore_chance) else 0
        return Choice(drawn.theorem_id, disproof, budget(standing, matching, theorems.rules), explore)

    def attempt(self, purpose: Purpose, explore: int) -> Asked:
        """Tree search. `[learner] method = "random"` takes random open states in its place, to measure what it does."""
        method = Method.RANDOM if self.settings.method == "random" else Method.MCTS
        return Asked(method, self.settings.samples, explore)

    def examples(self, found: Found) -> Sequence[float]:
        """Every step of every proof, of disproofs, too."""
        return [1.0] * len(found.transitions)

    def loss(self) -> LossSettings:
        """Policy and value."""
        return LossSettings(value_weight=self.settings.trainer.value_weight)
