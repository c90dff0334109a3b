"""Searches with a priority queue of states (the frontier): best-first search and random search.

Each state of the frontier is expanded once, as in GPT-f and ReProver. When no unexpanded state remains, expanded states
are sampled again in the same order, unless the policy is exhausted at them. (ReProver ends there; BFS-Prover starts
another pass with an empty tree.)

A state is useless while it or all states that need it are solved, and while all paths to it are dead. Such a state is
set aside until the tree has changed so that it may be useful again.
"""

from __future__ import annotations

import collections
import heapq
import random
from abc import abstractmethod
from collections.abc import Sequence

from common.lean import ProofTree
from node.prover.policies.policy import Proposal, log_probabilities
from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import Leaf, TreeSearch, count_leaf
from node.prover.search.tree import StateNode, Walk


class FrontierSearch(TreeSearch):
    """Expands the states with the fewest expansions first, and among them those of the smallest rank."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        super().__init__(root_state, parameters)
        self._frontier: list[tuple[int, float, int, StateNode]] = []
        """Heap of (expansions, rank, entry number, state)."""
        self._entries: dict[StateNode, int] = {}
        """The number of each state's latest entry. Earlier entries in the heap are ignored."""
        self._entered = 0
        self._aside: list[StateNode] = []
        """Useless states that were taken out of the frontier."""

    @abstractmethod
    def _rank(self, node: StateNode) -> float:
        """The state's priority among states with as many expansions: the smallest is expanded first."""

    @abstractmethod
    def _reach(self, parent: StateNode, child: StateNode, log_probability: float) -> bool:
        """Record that a tactic with this log-probability leads from parent to child. True if the child has to be
        entered into the frontier, because it is new or its rank improved."""

    def _took(self, expansions: int, rank: float) -> None:
        """Called when a state with this number of expansions and this rank leaves the frontier."""

    def _choose(self) -> Walk | None:
        first = min((walk.leaf.expansions for walk in self._walks.values()), default=None)
        while self._frontier:
            expansions, rank, entry, node = self._frontier[0]
            if first is not None and expansions > first:
                return None  # expansions in flight may add states with fewer expansions
            heapq.heappop(self._frontier)
            if entry != self._entries[node] or node.pending:
                continue
            self._took(expansions, rank)
            if is_useful(node, self.tree.root):
                return Walk([], node)
            self._aside.append(node)
        return None

    def _learn(self, walk: Walk, proposals: Sequence[Proposal], value: float) -> None:
        leaf = walk.leaf
        count_leaf(leaf, value)
        self._wait(leaf)
        may_be_useful = self.statistics.proofs_rejected > 0  # a forbidden action may have come back
        for proposal, log_probability in zip(proposals, log_probabilities(proposals), strict=True):
            action = leaf.tried.get(proposal.tactic)
            for child in action.children if action is not None else ():
                may_be_useful = may_be_useful or len(child.parents) > 1
                if self._reach(leaf, child, log_probability):
                    self._wait(child)
        if may_be_useful:
            self._return_aside()

    def abandon(self, leaf: Leaf) -> None:
        super().abandon(leaf)
        self._wait(leaf.node)

    def reject(self, proof: ProofTree) -> None:
        super().reject(proof)
        self._return_aside()

    def _begin_round(self) -> list[StateNode]:
        woken = super()._begin_round()
        for node in woken:
            self._wait(node)
        self._return_aside()
        return woken

    def _wait(self, node: StateNode) -> None:
        """Enter a state into the frontier. This replaces an earlier entry of the state."""
        if node.exhausted or node.resting:
            return
        self._entered += 1
        self._entries[node] = self._entered
        heapq.heappush(self._frontier, (node.expansions, self._rank(node), self._entered, node))

    def _return_aside(self) -> None:
        aside, self._aside = self._aside, []
        for node in aside:
            self._wait(node)


def is_useful(node: StateNode, root: StateNode) -> bool:
    """True if a proof of this state would help: a path of live actions and unsolved states leads to it from the
    root."""
    seen, todo = {node}, [node]
    while todo:
        state = todo.pop()
        if state.dead or state.steps is not None:
            continue
        if state is root:
            return True
        for action in state.parents:
            if not action.dead and action.parent not in seen:
                seen.add(action.parent)
                todo.append(action.parent)
    return False


# ----------------------------------------------------------------------------------------------------------------------
# Best-first search: expands the state whose path from the root is the most likely under the policy.
#
#     score(s) = Σ log p(tactic) over the L tactics of the path / L^α
#
# With α = 0 this is the order of GPT-f (arXiv 2009.03393, proof search) and of ReProver (arXiv 2306.15626). BFS-Prover
# (arXiv 2502.03438) divides by L^α, 0 <= α <= 1, so that deep paths have no disadvantage from their length alone.
# Values are not used.
#
# In these systems a node holds all goals of a proof, and its path has all tactics so far. Here independent branches are
# separate states, and the path of a branch has only the tactics above it, so proofs are read off the same AND-OR tree
# as in the Monte Carlo search. A state with several paths has the best score among its paths at the time of the
# parents' expansions.
#
# With several expansions in flight, the next best states are expanded together with the best one. The root's score is
# 0.


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


# ----------------------------------------------------------------------------------------------------------------------
# Random search: expands any waiting state with equal probability. The baseline for guided searches.
#
# The policy still chooses which tactics are tried at a state. Its probabilities and values are not used.


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
