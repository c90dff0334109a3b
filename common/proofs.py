"""What a finished proof teaches: its transitions, read off the tree.

Nothing here recurses: a proof may be deeper than Python's calls may nest.
"""

from __future__ import annotations

from collections.abc import Iterator

from common.attempts import Transition
from common.lean import ProofTree


def transitions_of(proof: ProofTree) -> tuple[Transition, ...]:
    """(state, tactic, remaining steps) of every step of a proof, from the root; each (state, tactic) once.

    The remaining steps are computed here: 1 + the largest number below, minus the return of the state (AlphaProof,
    environment). A step whose state nobody has recorded teaches nothing and is left out.
    """
    found: dict[tuple[str, str], Transition] = {}
    for node, steps in _with_steps(proof):
        if node.state:
            found.setdefault((node.state, node.tactic), Transition(node.state, node.tactic, steps))
    return tuple(found.values())


def _with_steps(proof: ProofTree) -> Iterator[tuple[ProofTree, int]]:
    """Every node with the number of tactics on its longest branch, itself included; parents before children."""
    nodes: list[ProofTree] = [proof]
    children: list[range] = []
    for node in nodes:  # which grows while it is walked: every node behind its parent
        children.append(range(len(nodes), len(nodes) + len(node.children)))
        nodes += node.children
    steps = [0] * len(nodes)
    for place in reversed(range(len(nodes))):
        steps[place] = 1 + max((steps[child] for child in children[place]), default=0)
    return zip(nodes, steps, strict=True)
