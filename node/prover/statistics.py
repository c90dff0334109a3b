"""The statistics of the nodes: visits, values, simulations in flight, prior masses. Nothing else writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from node.prover.parameters import SearchParameters

if TYPE_CHECKING:
    from node.prover.tree import Action, StateNode, Walk


def enter(walk: Walk) -> None:
    """A simulation is in flight: put a virtual loss on everything between the root and its leaf."""
    walk.leaf.pending = True
    walk.leaf.in_flight += 1
    for action in walk.actions:
        action.in_flight += 1
        action.parent.in_flight += 1


def leave(walk: Walk) -> None:
    """It is not in flight any more: take the virtual loss away."""
    walk.leaf.pending = False
    walk.leaf.in_flight -= 1
    for action in walk.actions:
        action.in_flight -= 1
        action.parent.in_flight -= 1


def count_leaf(leaf: StateNode, value: float) -> None:
    """Count a simulation of this value that ended in a state."""
    leaf.expansions += 1
    leaf.visits += 1
    leaf.value_sum += value
    if leaf.steps is None:
        leaf.value = leaf.value_sum / leaf.visits


def count_passage(action: Action, value: float, parameters: SearchParameters) -> None:
    """Count a simulation of this value that passed through an action, and so through its state."""
    action.visits += 1
    action.value_sum += value
    action.q = math.pow(parameters.discount, -1.0 - action.value_sum / action.visits)  # `q_value`, without a call
    node = action.parent
    node.visits += 1
    node.value_sum += value
    if node.steps is None:
        node.value = node.value_sum / node.visits


def count_solved(node: StateNode, steps: int) -> None:
    """A proof is known: from now on the value is exact."""
    node.value = -float(steps)


def count_unsolved(node: StateNode) -> None:
    """The known proof was refused, and there is no other: the value is a mean again."""
    node.value = node.value_sum / node.visits if node.visits else 0.0


def add_mass(action: Action, mass: float) -> None:
    """Add prior mass to an action."""
    action.mass += mass
    action.parent.mass += mass
