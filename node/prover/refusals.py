"""Proofs that final verification refused, and what a search gives up so as not to find them again.

A proof is refused as a whole: verification does not say which of its tactics is to blame. One tactic of the refused
proof is therefore forbidden at its state, as if it had failed there. Any tactic would do, since without it the proof
is not the same; the most suspicious one is taken:

1. the tactic that has stood in most refused proofs: what all of them share is what is wrong with them;
2. then one with a known alternative, so that another proof is at hand at once;
3. then one that closes its state, where automation ends and the kernel may disagree;
4. then the deepest: the least of the tree hangs on it.

What is kept: all other tactics, so every proof without the forbidden one, and everything below it in the tree. A tactic
with the very same result takes the forbidden one's place.
What is lost: every proof that needs the forbidden tactic at that state. When it was not the one to blame, such a proof
might have been accepted. And values that were backed up while the state counted as proved stay in the means.
"""

from __future__ import annotations

import collections

from common.lean import ProofTree
from node.prover.statistics import count_unsolved
from node.prover.tree import Action, StateNode, ancestors, bury, settle


class Refusals:
    """How often each tactic of one search has stood in a refused proof."""

    def __init__(self) -> None:
        self._counts: collections.Counter[tuple[StateNode, str]] = collections.Counter()

    def reject(self, root: StateNode, proof: ProofTree) -> None:
        """Forbid one tactic of a refused proof. Raises ValueError when the tree does not hold that proof."""
        actions = actions_of(root, proof)
        self._counts.update((action.parent, action.tactic) for action in actions)
        forbid(max(actions, key=self._suspicion))

    def _suspicion(self, action: Action) -> tuple[int, bool, bool, int]:
        count = self._counts[action.parent, action.tactic]
        return count, has_alternative(action), not action.children, action.parent.depth


def actions_of(root: StateNode, proof: ProofTree) -> list[Action]:
    """The actions that a proof takes, each once. Raises ValueError when the tree does not hold that proof."""
    found: dict[Action, None] = {}
    todo = [(root, proof)]
    while todo:
        node, part = todo.pop()
        action = node.tried.get(part.tactic)
        if action is None or action.tactic != part.tactic or len(action.children) != len(part.children):
            raise ValueError(f"not a proof of this search: {part.tactic[:80]!r} at {node.state[:80]!r}")
        if action not in found:
            found[action] = None
            todo += zip(action.children, part.children, strict=True)
    return list(found)


def has_alternative(action: Action) -> bool:
    """Is its state still solved without this tactic?"""
    return bool(action.others) or any(
        other is not action and other.steps is not None for other in action.parent.actions
    )


def forbid(action: Action) -> None:
    """Treat the action's tactic as if it had failed. Another tactic with the same result takes its place."""
    node = action.parent
    node.tried[action.tactic] = None
    if action.others:
        action.tactic = next(iter(action.others))
        action.layout = action.others.pop(action.tactic)
        return
    action.forbidden = action.dead = True
    node.live -= 1
    unsettle(node)


def unsettle(node: StateNode) -> None:
    """Find out anew which states are solved: this one and those above it, after it has lost an action."""
    above = sorted((state for state in ancestors(node) if state.steps is not None), key=lambda state: state.index)
    for state in above:
        state.steps = state.best = None
        count_unsolved(state)
    for state in above:
        for action in state.actions:
            settle(action)
    for state in above:
        bury(state)
