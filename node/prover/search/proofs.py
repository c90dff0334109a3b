"""Extracts finished proofs from the tree of a search, and takes refused ones out of it."""

from __future__ import annotations

import collections

from common.lean import ProofTree
from node.prover.search.tree import Action, StateNode, ancestors, bury, settle, take_place


class NotSolved(ValueError):
    """The search has found no proof."""


def extract(root: StateNode) -> ProofTree:
    """The shortest known proof of a state: shortest in tactics on the longest branch. Raises NotSolved.

    Uses no recursion, so any depth is fine.
    """
    if root.best is None:
        raise NotSolved(f"no proof is known for: {root.state[:80]}")
    proofs: dict[StateNode, ProofTree] = {}
    todo = [root]
    while todo:
        node, action = todo[-1], todo[-1].best
        assert action is not None  # the best action of a solved state leads to solved states
        missing = [child for child in action.children if child not in proofs]
        if missing:
            todo += missing
            continue
        todo.pop()
        children = tuple(proofs[child] for child in action.children)
        source = node.sources.get(action.tactic, "")
        proofs[node] = ProofTree(action.tactic, action.layout, children, node.state, source)
    return proofs[root]


# ----------------------------------------------------------------------------------------------------------------------
# Changes the tree after final verification refused a proof, so that the search does not find this proof again.
#
# Verification refuses a proof as a whole; it does not name the wrong tactic. So one tactic of the refused proof is
# forbidden at its state, as if it had failed there. Any choice excludes this proof. The most suspicious tactic is
# chosen:
#
# 1. the tactic that occurs in most refused proofs, because their common tactic is probably wrong;
# 2. then one with a known alternative, so that another proof is available at once;
# 3. then one that closes its state, because there the kernel may disagree with automation;
# 4. then the deepest one, because the smallest part of the tree depends on it.
#
# Kept: all other tactics, so every proof without the forbidden one, and the tree below it. Another tactic with the same
# result takes the forbidden one's place. Lost: every proof that needs the forbidden tactic at that state. If another
# tactic was the wrong one, such a proof might have been accepted. Values that were backed up while the state counted as
# proved remain in the means.


class Refusals:
    """Counts how often each tactic of one search occurred in refused proofs."""

    def __init__(self) -> None:
        self._counts: collections.Counter[tuple[StateNode, str]] = collections.Counter()

    def reject(self, root: StateNode, proof: ProofTree) -> None:
        """Forbid one of the tactics of a refused proof. Raises ValueError if the tree does not contain that proof."""
        actions = actions_of(root, proof)
        self._counts.update((action.parent, action.tactic) for action in actions)
        forbid(max(actions, key=self._suspicion))

    def _suspicion(self, action: Action) -> tuple[int, bool, bool, int]:
        count = self._counts[action.parent, action.tactic]
        return count, has_alternative(action), not action.children, action.parent.depth


def actions_of(root: StateNode, proof: ProofTree) -> list[Action]:
    """The distinct actions of a proof. Raises ValueError if the tree does not contain that proof."""
    actions: dict[Action, None] = {}
    todo = [(root, proof)]
    while todo:
        node, part = todo.pop()
        action = node.tried.get(part.tactic)
        if (
            action is None
            or action.forbidden
            or action.tactic != part.tactic
            or len(action.children) != len(part.children)
        ):
            raise ValueError(f"not a proof of this search: {part.tactic[:80]!r} at {node.state[:80]!r}")
        if action not in actions:
            actions[action] = None
            todo += zip(action.children, part.children, strict=True)
    return list(actions)


def has_alternative(action: Action) -> bool:
    """True if the state is still solved without this tactic."""
    return bool(action.others) or any(
        other is not action and other.steps is not None for other in action.parent.actions
    )


def forbid(action: Action) -> None:
    """Treat the action's tactic as if it had failed. Another tactic with the same result takes its place."""
    node = action.parent
    node.tried[action.tactic] = None
    if action.others:
        take_place(action, action.others.pop(0))
        return
    action.forbidden = action.dead = True
    node.live -= 1
    unsettle(node)


def unsettle(node: StateNode) -> None:
    """Recompute which states are solved, for this state and its ancestors, after it has lost an action."""
    above = sorted((state for state in ancestors(node) if state.steps is not None), key=lambda state: state.index)
    for state in above:
        state.steps = state.best = None
        state.value = state.value_sum / state.visits if state.visits else 0.0  # the mean again
    for state in above:
        for action in state.actions:
            settle(action)
    for state in above:
        bury(state)
