"""Updates of node statistics: visit counts, values, virtual losses, prior masses. No other module writes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from node.prover.search.parameters import SearchParameters

if TYPE_CHECKING:
    from node.prover.search.tree import Action, StateNode, Walk


def enter(walk: Walk) -> None:
    """Add the virtual loss of a simulation in flight to every node and action of its walk."""
    walk.leaf.pending = True
    walk.leaf.in_flight += 1
    for action in walk.actions:
        action.in_flight += 1
        action.parent.in_flight += 1


def leave(walk: Walk) -> None:
    """Remove the virtual loss of a simulation."""
    walk.leaf.pending = False
    walk.leaf.in_flight -= 1
    for action in walk.actions:
        action.in_flight -= 1
        action.parent.in_flight -= 1


def count_leaf(leaf: StateNode, value: float) -> None:
    """Count a simulation that ended in this state, with its value."""
    leaf.expansions += 1
    leaf.visits += 1
    leaf.value_sum += value
    if leaf.steps is None:
        leaf.value = leaf.value_sum / leaf.visits


def count_passage(action: Action, value: float, parameters: SearchParameters) -> None:
    """Count a simulation that passed through this action and its parent state, with its value."""
    action.visits += 1
    action.value_sum += value
    action.q = math.pow(parameters.discount, -1.0 - action.value_sum / action.visits)  # `q_value`, inlined for speed
    node = action.parent
    node.visits += 1
    node.value_sum += value
    if node.steps is None:
        node.value = node.value_sum / node.visits


def count_solved(node: StateNode, steps: int) -> None:
    """Set the exact value of a state whose proof is known."""
    node.value = -float(steps)


def count_unsolved(node: StateNode) -> None:
    """Set the value back to the mean, after the only known proof was refused."""
    node.value = node.value_sum / node.visits if node.visits else 0.0


def add_mass(action: Action, mass: float) -> None:
    """Add prior mass to an action."""
    action.mass += mass
    action.parent.mass += mass
