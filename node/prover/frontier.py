"""Searches that expand one waiting state after another, in an order of their own: best-first, random.

States that wait to be expanded form the frontier. Each is expanded once, as in GPT-f and ReProver; only when no
unexpanded state is left, and the policy has not said that it has no further tactic, are expanded states sampled again,
in the same order. (ReProver ends there, BFS-Prover begins another pass with an empty tree.)

A state waits in vain while a proof of it, or of what it is needed for, is known, and while all ways to it are dead: it
is set aside until the tree has changed in such a way that it may be wanted again.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Sequence

from common.lean import ProofTree
from node.prover.parameters import SearchParameters
from node.prover.prior import Proposal, log_probabilities
from node.prover.statistics import count_leaf
from node.prover.tree import StateNode, Walk
from node.prover.tree_search import TreeSearch


class FrontierSearch(TreeSearch):
    """Least expanded states first, among them those of the smallest rank."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        super().__init__(root_state, parameters)
        self._frontier: list[tuple[int, float, int, StateNode]] = []
        """Heap of (expansions, rank, entry number, state)."""
        self._entries: dict[StateNode, int] = {}
        """The number of each state's latest entry: earlier ones do not count."""
        self._entered = 0
        self._aside: list[StateNode] = []

    @abstractmethod
    def _rank(self, node: StateNode) -> float:
        """The state's place among those that were expanded as often: the smallest first."""

    @abstractmethod
    def _reach(self, parent: StateNode, child: StateNode, log_probability: float) -> bool:
        """A tactic of this log-probability leads from one state to the other. Has the child to wait anew?"""

    def _took(self, expansions: int, rank: float) -> None:
        """A state of this rank, among those that were expanded as often, has left the frontier."""

    def _choose(self) -> Walk | None:
        first = min((walk.leaf.expansions for walk in self._walks.values()), default=None)
        while self._frontier:
            expansions, rank, entry, node = self._frontier[0]
            if first is not None and expansions > first:
                return None  # what is in flight may bring states that were expanded less often
            heapq.heappop(self._frontier)
            if entry != self._entries[node] or node.pending:
                continue
            self._took(expansions, rank)
            if is_wanted(node, self.tree.root):
                return Walk([], node)
            self._aside.append(node)
        return None

    def _learn(self, walk: Walk, proposals: Sequence[Proposal], value: float) -> None:
        leaf = walk.leaf
        count_leaf(leaf, value)
        self._wait(leaf)
        wanted_anew = self.statistics.proofs_rejected > 0  # a forbidden action may have come back
        for proposal, log_probability in zip(proposals, log_probabilities(proposals), strict=True):
            action = leaf.tried.get(proposal.tactic)
            for child in action.children if action is not None else ():
                wanted_anew = wanted_anew or len(child.parents) > 1
                if self._reach(leaf, child, log_probability):
                    self._wait(child)
        if wanted_anew:
            self._return_aside()

    def abandon(self, node_id: int) -> None:
        leaf = self._walks[node_id].leaf
        super().abandon(node_id)
        self._wait(leaf)

    def reject(self, proof: ProofTree) -> None:
        super().reject(proof)
        self._return_aside()

    def _parted(self, former: StateNode, node: StateNode) -> None:
        if node not in self._entries:
            self._wait(node)

    def _wait(self, node: StateNode) -> None:
        """Enter a state into the frontier. An earlier entry of it counts no more."""
        if node.exhausted:
            return
        self._entered += 1
        self._entries[node] = self._entered
        heapq.heappush(self._frontier, (node.expansions, self._rank(node), self._entered, node))

    def _return_aside(self) -> None:
        aside, self._aside = self._aside, []
        for node in aside:
            self._wait(node)


def is_wanted(node: StateNode, root: StateNode) -> bool:
    """Would a proof of this state help: is there a way to it from the root, through live actions and unsolved
    states?"""
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
