"""Changes the tree after final verification refused a proof, so that the search does not find this proof again.

Verification refuses a proof as a whole; it does not name the wrong tactic. So one tactic of the refused proof is
forbidden at its state, as if it had failed there. Any choice excludes this proof. The most suspicious tactic is chosen:

1. the tactic that occurs in most refused proofs, because their common tactic is probably wrong;
2. then one with a known alternative, so that another proof is available at once;
3. then one that closes its state, because there the kernel may disagree with automation;
4. then the deepest one, because the smallest part of the tree depends on it.

If the proof passes through states that were merged up to names and order, the merge itself may be wrong: the text of a
tactic does not show how it depends on names and order. So in this case all merges of the refused proof are undone, and
nothing is forbidden. Their branches get separate states, which have to be proved again.

Kept: all other tactics, so every proof without the forbidden one, and the tree below it. Another tactic with the same
result takes the forbidden one's place.
Lost: every proof that needs the forbidden tactic at that state. If another tactic was the wrong one, such a proof might
have been accepted. Values that were backed up while the state counted as proved remain in the means.
"""

from __future__ import annotations

import collections
from typing import NamedTuple

from common.lean import ProofTree
from node.prover.search.proofs import Place, written
from node.prover.search.statistics import count_unsolved
from node.prover.search.tree import Action, LeadsBack, StateNode, Tree, ancestors, bury, settle, take_place


class UndoneMerge(NamedTuple):
    """A branch of an action that got a separate state."""

    former: StateNode
    """The node into which the branch's state was merged."""
    node: StateNode
    """The node of the branch now."""


class Refusals:
    """Counts how often each tactic of one search occurred in refused proofs."""

    def __init__(self) -> None:
        self._counts: collections.Counter[tuple[StateNode, str]] = collections.Counter()

    def reject(self, tree: Tree, proof: ProofTree) -> list[UndoneMerge]:
        """Undo the merges of a refused proof, or forbid one of its tactics if it has no merges. Returns the undone
        merges. Raises ValueError if the tree does not contain that proof."""
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
    """The distinct actions of a proof. Raises ValueError if the tree does not contain that proof."""
    actions: dict[Action, None] = {}
    todo = [(Place(root), proof)]
    while todo:
        place, part = todo.pop()
        action, below = _first_action(place, part)
        if action not in actions:
            actions[action] = None
            todo += zip(below, part.children, strict=True)
    return list(actions)


def _first_action(place: Place, part: ProofTree) -> tuple[Action, list[Place]]:
    """The first action of a part of a proof, and the places that it leads to. Raises ValueError."""
    node, names = place
    tried = node.tried.get(part.tactic)
    # At a place with other names the tactic's text differs from the action's, so all actions are candidates.
    for action in node.actions if names else [tried] if tried is not None else []:
        tactic, below = written(action, names)
        if tactic == part.tactic and len(below) == len(part.children) and not action.forbidden:
            return action, below
    raise ValueError(f"not a proof of this search: {part.tactic[:80]!r} at {node.state[:80]!r}")


def undo(tree: Tree, actions: list[Action]) -> list[UndoneMerge]:
    """Undo the merges of these actions: each merged branch gets a separate state. If that would make a cycle, the
    tactic is forbidden."""
    undone: list[UndoneMerge] = []
    for action in actions:
        action.others = None  # these tactics lead to the merged states
        try:
            for index in [index for index, alias in enumerate(action.aliases) if alias is not None]:
                former = action.children[index]
                undone.append(UndoneMerge(former, tree.part(action, index)))
        except LeadsBack:
            forbid(action)
        unsettle(action.parent)
    return undone


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
        plain = min(action.others, key=lambda result: bool(result.aliases))  # prefer a proof without renaming
        action.others.remove(plain)
        take_place(action, plain)
        return
    action.forbidden = action.dead = True
    node.live -= 1
    unsettle(node)


def unsettle(node: StateNode) -> None:
    """Recompute which states are solved, for this state and its ancestors, after it has lost an action."""
    above = sorted((state for state in ancestors(node) if state.steps is not None), key=lambda state: state.index)
    for state in above:
        state.steps = state.best = None
        count_unsolved(state)
    for state in above:
        for action in state.actions:
            settle(action)
    for state in above:
        bury(state)
