"""What a finished search did with its expansions: dead ends, choices, depth, values, tactics (`SearchShape`). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from common.lean import ProofTree
from common.protocol.attempts import MOST_HEADS, SearchShape, value_bin
from node.lean.text.lexing import NAME
from node.prover.search.tree import StateNode, Tree

_HEAD = re.compile(rf"{NAME}(?:\.{NAME})*")

OTHERS = "…"
"""The name under which rare heads, and tactics without one, are counted."""


def head_of(tactic: str) -> str:
    """The first word of a tactic, without brackets and bullets before it: `rw` of `(rw [h] at k)`."""
    match = _HEAD.search(tactic)
    return match.group() if match else OTHERS


def shape_of(trees: Iterable[Tree], proof: ProofTree | None = None) -> SearchShape:
    """The counts over all trees of an attempt. `proof`: the proof that the attempt reports, if it has one."""
    # 1. The states of the proof: those that its best actions lead to.
    nodes, on_proof = [], set[StateNode]()
    for tree in trees:
        nodes += [node for node in tree.nodes if node.expansions]
        if proof is not None and tree.root.steps is not None:
            on_proof |= states_of(tree.root)
    dead = [node for node in nodes if node.steps is None and not node.live]
    # 2. The network's values, where it gave one: how far off they are, and whether they tell solved from unsolved.
    valued = [(node, node.estimate) for node in nodes if node.estimate is not None]
    errors: tuple[list[float], list[float]] = ([], [])
    solved, unsolved = Counter[int](), Counter[int]()
    for node, estimate in valued:
        if node.steps is not None:
            errors[node in on_proof].append(abs(estimate + node.steps))
        if node not in on_proof:
            (unsolved if node.steps is None else solved)[value_bin(estimate)] += 1
    # 3. All of it.
    return SearchShape(
        expanded=len(nodes),
        expansions=sum(node.expansions for node in nodes),
        dead=len(dead),
        dead_expansions=sum(node.expansions for node in dead),
        choices=sum(sum(action.visits > 0 for action in node.actions) > 1 for node in nodes),
        depth=max((node.depth for node in nodes), default=0),
        depths=sum(node.depth * node.expansions for node in nodes),
        proof_steps=proof.remaining_steps if proof is not None else 0,
        on_proof=len(errors[True]),
        error_on_proof=round(sum(errors[True]), 3),
        off_proof=len(errors[False]),
        error_off_proof=round(sum(errors[False]), 3),
        solved=listed(solved),
        unsolved=listed(unsolved),
        **heads_of(nodes, proof),
    )


def listed(counts: Counter[int]) -> tuple[int, ...]:
    """The counts by place, up to the last that is not 0."""
    return tuple(counts[place] for place in range(1 + max(counts, default=-1)))


def states_of(root: StateNode) -> set[StateNode]:
    """The states of the shortest known proof of a state."""
    found, todo = {root}, [root]
    while todo:
        best = todo.pop().best
        for child in best.children if best is not None else ():
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def heads_of(nodes: Iterable[StateNode], proof: ProofTree | None) -> dict[str, dict[str, int]]:
    """By first word, how many tactics were `tried`, were `legal`, and are `used` in the proof."""
    # 1. Tactics that failed, or led nowhere new, have no action.
    tried, legal, used = Counter[str](), Counter[str](), Counter[str]()
    for node in nodes:
        for tactic, action in node.tried.items():
            head = head_of(tactic)
            tried[head] += 1
            legal[head] += action is not None
    todo = [proof] if proof is not None else []
    while todo:
        step = todo.pop()
        used[head_of(step.tactic)] += 1
        todo += step.children
    # 2. Heads of the proof are kept, then the most frequent ones; what is rarer counts together.
    order = sorted({*tried, *used} - {OTHERS}, key=lambda head: (-used[head], -tried[head], head))
    rare = set(order[MOST_HEADS:])
    counts = {"tried": tried, "legal": legal, "used": used}
    for each in counts.values():
        each[OTHERS] += sum(each.pop(head, 0) for head in rare)
    return {name: {head: each[head] for head in (*order, OTHERS) if each[head]} for name, each in counts.items()}
