"""Random search: expands any waiting state with equal probability. The baseline for guided searches.

The policy still chooses which tactics are tried at a state. Its probabilities and values are not used.
"""

from __future__ import annotations

import collections
import random

from node.prover.methods.frontier import FrontierSearch
from node.prover.search.parameters import SearchParameters
from node.prover.search.tree import StateNode


class RandomSearch(FrontierSearch):
    """Random search for one proof.

    Each state that starts to wait draws a time from an exponential distribution, and the state with the earliest time
    is expanded next. The exponential distribution has no memory, so all waiting states, old and new, are next with
    equal probability.
    """

    def __init__(self, root_state: str, parameters: SearchParameters | None = None, *, seed: int = 0) -> None:
        super().__init__(root_state, parameters)
        self._random = random.Random(seed)
        self._now: collections.defaultdict[int, float] = collections.defaultdict(float)
        """By number of expansions: the time of the last expanded state."""
        self._wait(self.tree.root)

    def _rank(self, node: StateNode) -> float:
        return self._now[node.expansions] + self._random.expovariate(1.0)

    def _took(self, expansions: int, rank: float) -> None:
        self._now[expansions] = rank

    def _reach(self, parent: StateNode, child: StateNode, log_probability: float) -> bool:
        return child not in self._entries
