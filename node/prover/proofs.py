"""Finished proofs and their training examples, read off the tree of a search."""

from __future__ import annotations

from common.lean import ProofTree
from common.messages import Transition
from node.prover.tree import StateNode


class NotSolved(ValueError):
    """The search has found no proof."""


def extract(node: StateNode) -> ProofTree:
    """The shortest known proof of a state: shortest in tactics on the longest branch. Raises NotSolved."""
    if node.best is None:
        raise NotSolved(f"no proof is known for: {node.state[:80]}")
    return ProofTree(node.best.tactic, node.best.layout, tuple(extract(child) for child in node.best.children))


def transitions(node: StateNode, proof: ProofTree) -> list[Transition]:
    """(state, tactic, remaining steps) of every step of a proof, from the root; a state that recurs is listed once."""
    found: dict[tuple[str, str], Transition] = {}

    def walk(node: StateNode, proof: ProofTree) -> None:
        found.setdefault((node.state, proof.tactic), Transition(node.state, proof.tactic, proof.remaining_steps))
        action = next(action for action in node.actions if action.tactic == proof.tactic)
        for child, rest in zip(action.children, proof.children, strict=True):
            walk(child, rest)

    walk(node, proof)
    return list(found.values())
