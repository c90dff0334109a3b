"""Finished proofs, read off the tree of a search."""

from __future__ import annotations

from common.lean import ProofTree
from node.prover.tree import StateNode


class NotSolved(ValueError):
    """The search has found no proof."""


def extract(root: StateNode) -> ProofTree:
    """The shortest known proof of a state: shortest in tactics on the longest branch. Raises NotSolved.

    Without recursion, so that depth is no limit. States that were merged are proved wherever they occur.
    """
    if root.best is None:
        raise NotSolved(f"no proof is known for: {root.state[:80]}")
    proofs: dict[StateNode, ProofTree] = {}
    todo = [root]
    while todo:
        node = todo[-1]
        action = node.best
        assert action is not None  # the best action of a solved state leads to solved states
        missing = [child for child in action.children if child not in proofs]
        if missing:
            todo += missing
            continue
        todo.pop()
        below = tuple(proofs[child] for child in action.children)
        proofs[node] = ProofTree(action.tactic, action.layout, below, node.state, node.sources.get(action.tactic, ""))
    return proofs[root]
