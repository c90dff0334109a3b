"""The search keeps the trees of the formulas as they are written in the paper: here without anything that saves time.

What is fast in `node.prover.search.simulation` and `search` is left out: formulas remembered by count,
statistics kept up to date, calls that are written out. The reference chooses with its own scores and counts into the
same tree.
"""

from __future__ import annotations

import math

import pytest

from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from node.prover.search.tree import Action, StateNode, Walk
from tests.node.prover.toys import play, random_environment


class ReferenceSearch(Search):
    """The search, its walk and its values written down anew."""

    def _choose(self) -> Walk | None:
        return self._walk_from(self.tree.root)

    def _walk_from(self, node: StateNode) -> Walk | None:
        """Depth first: the best action whose best branch leads to a state that wants tactics."""
        if self._samples_again(node):
            return Walk([], node)
        choices = [action for action in node.actions if not action.dead]
        for action in sorted(choices, key=self._action_score, reverse=True):
            branches = [child for child in action.children if child.steps is None]
            for child in sorted(branches, key=lambda child: self._branch_score(action, child), reverse=True):
                walk = self._walk_from(child)
                if walk is not None:
                    return Walk([action, *walk.actions], walk.leaf)
        return None

    def _learn(self, walk: Walk, proposals: object, value: float) -> None:
        leaf = walk.leaf
        leaf.expansions += 1
        self._visit(leaf, value)
        for action in reversed(walk.actions):
            if len(action.children) > 1:
                value = self._worst(action)
            value -= 1
            action.visits += 1
            action.value_sum += value
            self._visit(action.parent, value)

    def _samples_again(self, node: StateNode) -> bool:
        if node.exhausted or node.pending:
            return False
        parameters = self.parameters
        few = parameters.progressive_c * math.pow(node.visits, parameters.progressive_exponent)
        return not node.live or node.expansions <= few

    def _action_score(self, action: Action) -> float:
        node = action.parent
        total = node.visits - node.expansions + node.in_flight - node.pending
        q = self._q(action.value) if action.visits else self._fresh_q(node.value)
        if any(map(self._is_dead_end, action.children)):
            q = 0.0
        passages = action.visits + action.in_flight
        if action.in_flight:
            q *= action.visits / passages
        return q + self._exploration(total) / node.mass * action.mass / (1 + passages)

    def _branch_score(self, action: Action, child: StateNode) -> float:
        total = sum(each.visits + each.in_flight for each in action.children)
        q = self._q(child.value) if child.visits else self._fresh_q(self._worst(action))
        passages = child.visits + child.in_flight
        loss = 1 - q
        if child.in_flight:
            loss *= child.visits / passages
        return loss + self.parameters.c_and * self._exploration(total) / len(action.children) / (1 + passages)

    def _exploration(self, total: int) -> float:
        base = self.parameters.c_base
        return (self.parameters.c_init + math.log((total + base + 1) / base)) * math.sqrt(total)

    def _fresh_q(self, value: float) -> float:
        return 0.0 if self.parameters.unvisited_zero else self._q(value - self.parameters.unvisited_penalty)

    def _q(self, value: float) -> float:
        return math.pow(self.parameters.discount, -1 - value)

    def _worst(self, action: Action) -> float:
        known = [child.value for child in action.children if child.visits or child.steps is not None]
        return min(known, default=action.parent.value)

    def _is_dead_end(self, child: StateNode) -> bool:
        return child.steps is None and not child.live and child.expansions > 0

    def _visit(self, node: StateNode, value: float) -> None:
        node.visits += 1
        node.value_sum += value
        if node.steps is None:
            node.value = node.value_sum / node.visits


PARAMETERS = [
    SearchParameters(),
    SearchParameters(unvisited_penalty=1.0),
    SearchParameters(unvisited_zero=True),
    SearchParameters(progressive_c=0.3, max_depth=12),
]


@pytest.mark.parametrize("seed", range(24))
def test_the_tree_is_that_of_the_plain_formulas(seed: int) -> None:
    trees = []
    for kind in (Search, ReferenceSearch):
        search = kind("s0", PARAMETERS[seed % 4])
        environment = random_environment(seed, (30, 200, 2000)[seed % 3], closing=50)
        expanded = play(search, environment, seed=seed, simulations=120, leaves=1 + seed % 5)
        nodes = [
            (
                node.state,
                node.visits,
                node.value,
                node.in_flight,
                [(a.tactic, a.visits, a.value_sum) for a in node.actions],
            )
            for node in search.tree.nodes
        ]
        trees.append((expanded, nodes, search.statistics))
    assert trees[0] == trees[1]
