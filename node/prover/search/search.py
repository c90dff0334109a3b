"""Monte Carlo tree search over AND-OR trees of proof states (AlphaProof, Nature 2025), with PUCT selection.

One simulation selects a leaf, expands it with the policy's tactics, and backs the leaf's value up:

    while not search.finished:
        leaf = search.select()
        proposals, value = policy(leaf)
        search.feed(leaf, proposals, value, lean(leaf, proposals))

An expansion needs replies from the policy and from Lean, so a simulation has two halves (`simulation.py`).
`Search.select` walks down to a leaf and returns it. `Search.feed` takes the replies, adds the leaf's actions to the
tree and backs the value up. Several simulations may be in flight; each puts a virtual loss on its walk until it is fed
or abandoned. This code is pure and synchronous: it does not wait, measure time or draw random numbers,
so equal replies in equal order give equal trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.prover.policies.policy import Proposal
from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import (
    Numbers,
    TreeSearch,
    best_action,
    count_leaf,
    count_passage,
    hardest_branch,
    product_value,
    wants_tactics,
)
from node.prover.search.tree import Action, StateNode, Tree, Walk


def select(tree: Tree, numbers: Numbers) -> Walk | None:
    """Walk down from the root to a state that needs more tactics. None if all walks lead to expansions in flight.

    OR node: the action with the largest Q(a) + c · P(a) · sqrt(ΣN) / (1 + N(a)).
    AND node: the branch with the largest (1 - Q(b)) + c_AND · c · (1 / n) · sqrt(ΣN) / (1 + N(b)).
    c = c_init + log((ΣN + c_base + 1) / c_base) (AlphaProof, pseudocode).
    """
    actions: list[Action] = []
    closed: set[StateNode] = set()
    node = tree.root
    while not wants_tactics(node, numbers):
        action = best_action(node, numbers, closed)
        if action is None:  # everything below is in flight: go back up, and on with another subtree
            if not actions:
                return None
            closed.add(node)
            node = actions.pop().parent
            continue
        actions.append(action)
        children = action.children
        node = children[0] if len(children) == 1 else hardest_branch(action, numbers, closed)
    return Walk(actions, node)


def back_up(walk: Walk, value: float, parameters: SearchParameters) -> None:
    """Back the value of a leaf up its walk to the root.

    V(action) = -1 + min over its branches of V(branch); the -1 is the reward of one tactic. V(state) is the mean over
    the simulations that passed. Q(action) = γ^(-1 - mean V(action)) (AlphaProof, environment and pseudocode).
    """
    count_leaf(walk.leaf, value)
    for action in reversed(walk.actions):
        if len(action.children) > 1:
            value = product_value(action)
        value -= 1.0
        count_passage(action, value, parameters)


class Search(TreeSearch):
    """Monte Carlo tree search for one proof. The module's docstring shows the loop around it."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        super().__init__(root_state, parameters)
        self._numbers = Numbers(self.parameters)

    def _choose(self) -> Walk | None:
        return select(self.tree, self._numbers)

    def _learn(self, walk: Walk, proposals: Sequence[Proposal], value: float) -> None:
        back_up(walk, value, self.parameters)
