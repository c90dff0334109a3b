"""The formulas of tree search: PUCT selection at OR and AND nodes, Q-values, progressive sampling, leaf values.

They follow AlphaProof (Nature 2025, pseudocode), and only read the tree. A value V is minus the number of remaining
tactics on the longest branch (<= -1 for an open state). During selection N counts visits and simulations in flight. A
simulation in flight counts as a loss (virtual loss), so that concurrent simulations select different leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from node.prover.search.parameters import SearchParameters
    from node.prover.search.tree import Action, StateNode


def q_value(value: float, parameters: SearchParameters) -> float:
    """Q = γ^(-1-V), in (0, 1] for V <= -1. An action that closes its state has Q = 1."""
    return math.pow(parameters.discount, -1.0 - value)


def unvisited_q(parent_value: float, parameters: SearchParameters) -> float:
    """Q of an unvisited child: from V(parent) minus a penalty in steps, or 0 with `unvisited_zero`."""
    return 0.0 if parameters.unvisited_zero else q_value(parent_value - parameters.unvisited_penalty, parameters)


def exploration(total: int, parameters: SearchParameters) -> float:
    """c · sqrt(ΣN), with c = c_init + log((ΣN + c_base + 1) / c_base). The caller multiplies by P / (1 + N)."""
    growth = math.log((total + parameters.c_base + 1.0) / parameters.c_base)
    return (parameters.c_init + growth) * math.sqrt(total)


def few_tactics(visits: int, parameters: SearchParameters) -> float:
    """c · N^exponent: a state with N visits and at most this many tactics is sampled again."""
    return parameters.progressive_c * math.pow(visits, parameters.progressive_exponent)


class ByCount(dict[int, float]):
    """A cache of a formula's values by count. A search needs the same counts again and again, at every level."""

    def __init__(self, formula: Callable[[int, SearchParameters], float], parameters: SearchParameters) -> None:
        super().__init__()
        self._formula = formula
        self._parameters = parameters

    def __missing__(self, count: int) -> float:
        value = self[count] = self._formula(count, self._parameters)
        return value


def wants_tactics(node: StateNode, parameters: SearchParameters) -> bool:
    """Progressive sampling: expand a state while n_actions <= c · N^exponent. A new state has 0 <= 0, so it is
    expanded."""
    return node.live <= parameters.few_tactics[node.visits] and not (node.exhausted or node.pending)


def is_blocked(action: Action) -> bool:
    """True when no branch is open: all unsolved branches wait for their first expansion, which is in flight."""
    for child in action.children:  # noqa: SIM110 - a generator is slower, and this runs at every level
        if child.steps is None and (child.live > 0 or not child.pending):  # `is_open`, inlined for speed
            return False
    return True


def is_open(child: StateNode) -> bool:
    """True for an unsolved branch that a simulation can enter: it has live actions, or no expansion is in flight."""
    return child.steps is None and (child.live > 0 or not child.pending)


def best_action(node: StateNode, parameters: SearchParameters) -> Action | None:
    """OR node: argmax of Q + c · P · sqrt(ΣN) / (1 + N) over the actions. Ties go to the larger prior. None if no
    action can be selected now."""
    best = _argmax_action(node, node.actions, parameters)
    if best is not None and is_blocked(best):  # rare, so only the best action is checked first
        return _argmax_action(node, [action for action in node.actions if not is_blocked(action)], parameters)
    return best


def _argmax_action(node: StateNode, actions: list[Action], parameters: SearchParameters) -> Action | None:
    # ΣN: all visits that took an action, which are those that did not end here.
    total = node.visits - node.expansions + node.in_flight - node.pending
    weight = parameters.exploration[total] / node.mass if node.mass else 0.0
    fresh_q = None
    best, best_score = None, -math.inf
    for action in actions:
        if action.dead:
            continue
        passages = visits = action.visits
        if visits:
            score = action.q
        else:
            if fresh_q is None:
                fresh_q = unvisited_q(node.value, parameters)
            score = fresh_q
        if action.in_flight:
            passages += action.in_flight
            score *= visits / passages
        score += weight * action.mass / (1 + passages)
        if score > best_score:
            best, best_score = action, score
    return best


def hardest_branch(action: Action, parameters: SearchParameters) -> StateNode:
    """AND node: argmax of (1 - Q) + c_AND · c · (1 / n) · sqrt(ΣN) / (1 + N) over the n branches, without solved ones.

    So unvisited branches come first, then the hardest branch, because the value of an action is that of its worst
    branch. Raises ValueError if the action is blocked.
    """
    children = action.children
    total = 0
    for child in children:
        total += child.visits + child.in_flight
    weight = parameters.c_and * parameters.exploration[total] / len(children)
    best, best_score = None, -math.inf
    for child in children:
        if not is_open(child):
            continue
        passages = visits = child.visits
        loss = 1.0 - (q_value(child.value, parameters) if visits else unvisited_q(product_value(action), parameters))
        if child.in_flight:
            passages += child.in_flight
            loss *= visits / passages
        score = loss + weight / (1 + passages)
        if score > best_score:
            best, best_score = child, score
    if best is None:
        raise ValueError("no branch is open")
    return best


def product_value(action: Action) -> float:
    """V of an AND node: the minimum over its solved and visited branches. The parent state's value if there are
    none."""
    least = None
    for child in action.children:
        if (child.visits or child.steps is not None) and (least is None or child.value < least):
            least = child.value
    return action.parent.value if least is None else least


def leaf_value(leaf: StateNode, value: float, parameters: SearchParameters, *, lost: bool) -> float:
    """V that a simulation backs up from its leaf.

    The exact value if the leaf is solved, `no_tactic_value` (-40) if it has no legal tactic, otherwise the policy's V
    (or -1 without `parameters.values`). An open state needs at least one tactic, so V is at most -1. `lost`: outcomes
    were lost, so a leaf without actions may still have a legal tactic.
    """
    if leaf.steps is not None:
        return -float(leaf.steps)
    if not leaf.actions and not lost:
        return parameters.no_tactic_value
    return min(value, -1.0) if parameters.values else -1.0
