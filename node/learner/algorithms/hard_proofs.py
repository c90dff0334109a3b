"""AlphaProof that learns more from rare proofs: a transition is drawn more often if its theorem had failed before.

Most proofs of a run are of easy theorems, and a batch that is drawn uniformly shows the network mostly what it can do.
A proof after n failures is evidence about a rarer event, so its transitions get the weight sqrt(1 + n), at most `MOST`.
A proof of a theorem that is proved again and again gets less each time, 1 / (1 + proofs), so that the first ways count.
The idea is that of prioritized replay (Schaul et al., arXiv 1511.05952), with failures in place of errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from node.learner.algorithms.algorithm import Found
from node.learner.algorithms.alphaproof import AlphaProof

MOST = 4.0
"""Largest weight: a proof after 15 failures. More would let a few proofs fill the batches."""


def weight(failures: int, proofs: int) -> float:
    """Weight of the transitions of a proof, of a theorem with so many failures and proofs before it."""
    return min(MOST, math.sqrt(1.0 + failures)) / (1.0 + proofs)


class HardProofs(AlphaProof):
    """Attempts, search and losses are AlphaProof's; only the examples differ."""

    def examples(self, found: Found) -> Sequence[float]:
        """The same weight for all steps of a proof."""
        standing = found.standing
        return [weight(standing.failures, standing.proofs)] * len(found.transitions)
