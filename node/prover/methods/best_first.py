"""Best-first search: expands the state whose path from the root is the most likely under the policy.

    score(s) = Σ log p(tactic) over the L tactics of the path / L^α

With α = 0 this is the order of GPT-f (arXiv 2009.03393, proof search) and of ReProver (arXiv 2306.15626). BFS-Prover
(arXiv 2502.03438) divides by L^α, 0 <= α <= 1, so that deep paths have no disadvantage from their length alone. Values
are not used.

In these systems a node holds all goals of a proof, and its path has all tactics so far. Here independent branches are
separate states, and the path of a branch has only the tactics above it, so proofs are read off the same AND-OR tree as
in the Monte Carlo search. A state with several paths has the best score among its paths at the time of the parents'
expansions.

With several expansions in flight, the next best states are expanded together with the best one. The root's score is 0.
"""

from __future__ import annotations

from node.prover.methods.frontier import FrontierSearch
from node.prover.search.parameters import SearchParameters
from node.prover.search.tree import StateNode


class BestFirstSearch(FrontierSearch):
    """Best-first search for one proof."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        self._paths: dict[StateNode, tuple[float, int]] = {}
        """By state: log-probability and length of its best path."""
        super().__init__(root_state, parameters)
        root = self.tree.root
        self._paths[root] = (0.0, 0)
        self._wait(root)

    def score(self, node: StateNode) -> float:
        """Σ log p / L^α of the state's best known path."""
        return self._score(*self._paths[node])

    def _score(self, log_probability: float, length: int) -> float:
        return log_probability / length**self.parameters.length_exponent if length else 0.0

    def _rank(self, node: StateNode) -> float:
        return -self.score(node)

    def _reach(self, parent: StateNode, child: StateNode, log_probability: float) -> bool:
        above, length = self._paths[parent]
        path = (above + log_probability, length + 1)
        if child in self._paths and self._score(*path) <= self.score(child):
            return False
        self._paths[child] = path
        return True

    def _parted(self, former: StateNode, node: StateNode) -> None:
        self._paths.setdefault(node, self._paths[former])  # an approximation: its own path may score lower
        super()._parted(former, node)
