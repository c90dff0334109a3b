"""Expert iteration (Polu et al., arXiv 2202.01344; Anthony et al., arXiv 1705.08439): search, keep what was proved, and
learn to imitate it.

It searches best-first, with the probability of the path and without a value. What else it decides is AlphaProof's, from
the same settings, so that the two can be compared:

- Theorems, budgets, disproofs and exploration. With `disprove_chance = 0`, `growth = 1` and `explore_chance = 0` in
  `[learner.matchmaker]` it is the plain form of the papers.
- Examples: every step of every proof counts the same. That it was proved is the filter of expert iteration.
- Losses: the value head is trained, too, and not used, so that a run can go on with a search that uses it.
"""

from __future__ import annotations

from common.protocol.attempts import Method, Purpose
from node.learner.algorithms.algorithm import Asked
from node.learner.algorithms.alphaproof import AlphaProof


class ExpertIteration(AlphaProof):
    """AlphaProof's choices and examples with best-first search."""

    def attempt(self, purpose: Purpose, explore: int) -> Asked:
        """The most probable path first."""
        return Asked(Method.BEST_FIRST, self.settings.samples, explore)
