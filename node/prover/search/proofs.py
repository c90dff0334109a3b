"""Extracts finished proofs from the tree of a search, and takes refused ones out of it.

A node's tactics use the names of the state for which the node was made. Where another state was merged into the node
(`node.prover.search.tree`), its proof has to use that state's names. A *place* is a node together with such names.
So a node has one proof for each naming of its hypotheses that occurs in the whole proof.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import NamedTuple

from common.lean import ProofTree
from node.lean.text.canonical import hypothesis_names
from node.lean.text.lexing import locals_of, renamed
from node.prover.search.tree import Action, LeadsBack, StateNode, Tree, ancestors, bury, settle, take_place

Names = tuple[tuple[str, str], ...]
"""From each name of a node's context to the name at a place; empty if the names are the node's own."""


class NotSolved(ValueError):
    """The search has found no proof."""


class Place(NamedTuple):
    """A node with the names that its hypotheses have at one place of the proof."""

    node: StateNode
    names: Names = ()


def extract(root: StateNode) -> ProofTree:
    """The shortest known proof of a state: shortest in tactics on the longest branch. Raises NotSolved.

    Uses no recursion, so any depth is fine. A merged state gets a proof at each place where it occurs.
    """
    if root.best is None:
        raise NotSolved(f"no proof is known for: {root.state[:80]}")
    proofs: dict[Place, ProofTree] = {}
    start = Place(root)
    todo = [start]
    while todo:
        place = todo[-1]
        node, action = place.node, place.node.best
        assert action is not None  # the best action of a solved state leads to solved states
        tactic, below = written(action, place.names)
        missing = [child for child in below if child not in proofs]
        if missing:
            todo += missing
            continue
        todo.pop()
        children = tuple(proofs[child] for child in below)
        source = node.sources.get(action.tactic, "")
        proofs[place] = ProofTree(tactic, action.layout, children, state_at(place), source)
    return proofs[start]


LEAST_INNER_STEPS = 2
"""Steps of an inner proof. Most have a single one, such as `contradiction` in a branch of a case distinction that led
nowhere, and say what the policy already knows (LOG.md)."""


def inner_proofs(tree: Tree, most: int) -> tuple[ProofTree, ...]:
    """Proofs of solved states of a tree whose root is not solved, at most `most`, the longest ones first.

    A state that is a part of another one's proof is left out, and so is a state with several goals. Such states are the
    solved branches of a tactic that left several: without branches, a solved state solves the root.
    """
    solved = [
        node
        for node in tree.nodes
        if (node.steps or 0) >= LEAST_INNER_STEPS
        and "\n\n" not in node.state
        and all(action.parent.steps is None for action in node.parents)
    ]
    solved.sort(key=lambda node: (-(node.steps or 0), node.index))
    return tuple(extract(node) for node in solved[:most])


def state_at(place: Place) -> str:
    """The state with the names of a place; empty if a bound variable would be captured."""
    node, names = place
    if not names:
        return node.state
    here = dict(names)
    taken = set(here.values())
    if any(word in taken and word not in here for word in locals_of(node.state)):
        return ""
    return renamed(node.state, here)


def written(action: Action, names: Names) -> tuple[str, list[Place]]:
    """An action's tactic written with the names of a place, and the places that it leads to.

    A name that the tactic introduces is changed if it is taken at the place: for example `intro h`, where another
    hypothesis of the place is called `h` and the node does not mention it.
    """
    if not names and not action.aliases:
        return action.tactic, [Place(child) for child in action.children]
    here = dict(names)
    if here:
        here |= _fresh(action, here)
    tactic = renamed(action.tactic, here) if here else action.tactic
    return tactic, [_below(action, index, here) for index in range(len(action.children))]


def _below(action: Action, index: int, here: Mapping[str, str]) -> Place:
    """The place of a branch: composes the child's alias with the names of the parent's place."""
    child = action.children[index]
    alias = action.aliases[index] if action.aliases else None
    if alias is None and not here:
        return Place(child)
    names = alias.names if alias else {name: name for name in hypothesis_names(child.state)}
    place = {name: here.get(alias_name, alias_name) for name, alias_name in names.items()}
    return Place(child, tuple(place.items()) if any(name != new_name for name, new_name in place.items()) else ())


def _fresh(action: Action, here: Mapping[str, str]) -> dict[str, str]:
    """New names for names that a tactic introduces and that are taken at the place."""
    taken = set(here.values())
    words = locals_of(action.tactic)
    used = taken.union(here, words)
    fresh: dict[str, str] = {}
    for word in words:
        if word in taken and word not in here:
            number = 1
            while (name := f"{word}_{number}") in used:
                number += 1
            fresh[word] = name
            used.add(name)
    return fresh


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
# If the proof passes through states that were merged up to names and order, the merge itself may be wrong: the text of
# a tactic does not show how it depends on names and order. So in this case all merges of the refused proof are undone,
# and nothing is forbidden. Their branches get separate states, which have to be proved again.
#
# Kept: all other tactics, so every proof without the forbidden one, and the tree below it. Another tactic with the same
# result takes the forbidden one's place. Lost: every proof that needs the forbidden tactic at that state. If another
# tactic was the wrong one, such a proof might have been accepted. Values that were backed up while the state counted as
# proved remain in the means.


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
        state.value = state.value_sum / state.visits if state.visits else 0.0  # the mean again
    for state in above:
        for action in state.actions:
            settle(action)
    for state in above:
        bury(state)
