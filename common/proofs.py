"""The transitions (training examples) of a finished proof tree.

No recursion is used, because a proof may be deeper than Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from common.lean import ProofTree
from common.protocol.attempts import Transition


def transitions_of(proof: ProofTree) -> tuple[Transition, ...]:
    """(state, tactic, remaining steps) of every step of a proof, from the root; each (state, tactic) once, with the
    fewest steps that it has in the proof.

    The remaining steps are 1 + the largest number of a child. The return of the state is minus this number, as in
    AlphaProof's environment. Steps without a recorded state are left out.
    """
    transitions: dict[tuple[str, str], Transition] = {}
    for node, steps in _with_steps(proof):
        if node.state:
            step = Transition(node.state, node.tactic, steps)
            known = transitions.setdefault((node.state, node.tactic), step)
            if steps < known.remaining_steps:
                transitions[node.state, node.tactic] = step
    return tuple(transitions.values())


def _with_steps(proof: ProofTree) -> Iterator[tuple[ProofTree, int]]:
    """Every node with the number of tactics on its longest branch, itself included; parents before children."""
    nodes: list[ProofTree] = [proof]
    children: list[range] = []
    for node in nodes:  # the list grows during the loop: every node comes after its parent
        children.append(range(len(nodes), len(nodes) + len(node.children)))
        nodes += node.children
    steps = [0] * len(nodes)
    for place in reversed(range(len(nodes))):
        steps[place] = 1 + max((steps[child] for child in children[place]), default=0)
    return zip(nodes, steps, strict=True)
