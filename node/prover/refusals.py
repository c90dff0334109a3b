"""Proofs that final verification refused, and what a search gives up so as not to find them again.

A proof is refused as a whole: verification does not say which of its tactics is to blame. One tactic of the refused
proof is therefore forbidden at its state, as if it had failed there. Any tactic would do, since without it the proof
is not the same; the most suspicious one is taken:

1. the tactic that has stood in most refused proofs: what all of them share is what is wrong with them;
2. then one with a known alternative, so that another proof is at hand at once;
3. then one that closes its state, where automation ends and the kernel may disagree;
4. then the deepest: the least of the tree hangs on it.

But where states were merged up to names and order, the tactics of the proof may only be wrong for these: what a tactic
does with names and order cannot be known from its text. So such merges are undone first, all that the refused proof has
gone through: those branches get states of their own, which have to be proved anew, and nothing is forbidden.

What is kept: all other tactics, so every proof without the forbidden one, and everything below it in the tree. A tactic
with the very same result takes the forbidden one's place.
What is lost: every proof that needs the forbidden tactic at that state. When it was not the one to blame, such a proof
might have been accepted. And values that were backed up while the state counted as proved stay in the means.
"""

from __future__ import annotations

import collections
from typing import NamedTuple

from common.lean import ProofTree
from node.prover.proofs import Place, written
from node.prover.statistics import count_unsolved
from node.prover.tree import Action, LeadsBack, StateNode, Tree, ancestors, bury, settle, take_place


class Parted(NamedTuple):
    """A merge that was undone."""

    former: StateNode
    node: StateNode
    """What leads there now."""


class Refusals:
    """How often each tactic of one search has stood in a refused proof."""

    def __init__(self) -> None:
        self._counts: collections.Counter[tuple[StateNode, str]] = collections.Counter()

    def reject(self, tree: Tree, proof: ProofTree) -> list[Parted]:
        """Undo the merges of a refused proof, or else forbid one of its tactics. Returns the merges that were undone.
        Raises ValueError when the tree does not hold that proof."""
        actions = actions_of(tree.root, proof)
        merges = [action for action in actions if action.aliases]
        if merges:
            return undo(tree, merges)
        self._counts.update((action.parent, action.tactic) for action in actions)
        forbid(max(actions, key=self._suspicion))
        return []

    def _suspicion(self, action: Action) -> tuple[int, bool, bool, int]:
        count = self._counts[action.parent, action.tactic]
        return count, has_alternative(action), not action.children, action.parent.depth


def actions_of(root: StateNode, proof: ProofTree) -> list[Action]:
    """The actions that a proof takes, each once. Raises ValueError when the tree does not hold that proof."""
    found: dict[Action, None] = {}
    todo = [(Place(root), proof)]
    while todo:
        place, part = todo.pop()
        action, below = _taken(place, part)
        if action not in found:
            found[action] = None
            todo += zip(below, part.children, strict=True)
    return list(found)


def _taken(place: Place, part: ProofTree) -> tuple[Action, list[Place]]:
    """The action that a part of a proof begins with, and where it leads. Raises ValueError."""
    node, names = place
    known = node.tried.get(part.tactic)
    for action in node.actions if names else [known] if known is not None else []:
        tactic, below = written(action, names)
        if tactic == part.tactic and len(below) == len(part.children) and not action.forbidden:
            return action, below
    raise ValueError(f"not a proof of this search: {part.tactic[:80]!r} at {node.state[:80]!r}")


def undo(tree: Tree, actions: list[Action]) -> list[Parted]:
    """Rid actions of merges: each such branch gets a state of its own. Where that would lead back, the tactic is
    forbidden."""
    parted: list[Parted] = []
    for action in actions:
        action.others = None  # they lead to what was merged
        try:
            for index in [index for index, alias in enumerate(action.aliases) if alias is not None]:
                former = action.children[index]
                parted.append(Parted(former, tree.part(action, index)))
        except LeadsBack:
            forbid(action)
        unsettle(action.parent)
    return parted


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
        plain = min(action.others, key=lambda result: bool(result.aliases))  # a proof that need not be renamed
        action.others.remove(plain)
        take_place(action, plain)
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
