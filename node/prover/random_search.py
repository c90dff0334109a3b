"""Random search: expand any of the waiting states, each with equal probability. What a guided search has to beat.

Which tactics are tried at a state is still the policy's choice; their probabilities and the values are not looked at.
"""

from __future__ import annotations

import collections
import random

from node.prover.frontier import FrontierSearch
from node.prover.parameters import SearchParameters
from node.prover.tree import StateNode


class RandomSearch(FrontierSearch):
    """Random search for one proof.

    Every state that begins to wait winds up a clock, which rings after a time of exponential distribution; the next to
    ring is expanded. Such a clock does not remember how long it has run, so each waiting state is the next one with
    equal probability, the old and the new alike.
    """

    def __init__(self, root_state: str, parameters: SearchParameters | None = None, *, seed: int = 0) -> None:
        super().__init__(root_state, parameters)
        self._random = random.Random(seed)
        self._now: collections.defaultdict[int, float] = collections.defaultdict(float)
        """By number of expansions: when the last clock rang."""
        self._wait(self.tree.root)

    def _rank(self, node: StateNode) -> float:
        return self._now[node.expansions] + self._random.expovariate(1.0)

    def _took(self, expansions: int, rank: float) -> None:
        self._now[expansions] = rank

    def _reach(self, parent: StateNode, child: StateNode, log_probability: float) -> bool:
        return child not in self._entries
