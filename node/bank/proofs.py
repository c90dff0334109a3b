"""Reconstructs whole proofs of the bank's train split from its transitions, without the file that has the proofs.

The transitions of a theorem are those of its proof in pre-order. Each has the number of remaining tactics on its
longest branch. For nine of ten theorems, only one tree fits these numbers. For the others, the number of goals that
each tactic leaves is compared with tactics of the same form in the unambiguous proofs, and the tree that agrees most is
taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from common.lean import ProofTree, Theorem
from node.bank.bank import DIRECTORY, BankTransition, load_statements, load_transitions, manifest_of
from node.lean.text.script import proof_lines

NEGATION = "_neg"
"""Suffix of a theorem's name if its negation is proved."""

MOST_TREES = 64
"""Most trees for the transitions of one proof. A proof with more is left out."""

_SIGNS = re.compile(r"\?_|\|")
"""Holes and alternatives of a tactic, which indicate the number of goals that it leaves."""

Forms = Counter[tuple[str, int]]
"""Counts of (form of a tactic, number of goals that it leaves)."""


class BankProof(msgspec.Struct, frozen=True):
    """A theorem of the bank, or its negation, with a proof that Lean accepted."""

    theorem: Theorem
    level: int
    family: str
    script: str
    """The tactic block after `:= by`, starting at column 0."""


def load_proofs(directory: Path = DIRECTORY, *, warm_start: bool = False) -> list[BankProof]:
    """Proofs of the train split, in the order of its transitions. `warm_start`: only proofs whose transitions all
    belong to the warm start. Empty for a bank without transitions. Raises BankError."""
    rule = manifest_of(directory).warm_start if warm_start else None
    rows = load_transitions(directory)
    proofs = {name: list(steps) for name, steps in groupby(rows, key=lambda row: row.theorem)}
    trees = {name: list(_trees(steps)) for name, steps in proofs.items()}
    forms = _forms(candidates[0] for candidates in trees.values() if len(candidates) == 1)
    theorems = {each.theorem.name: each.theorem for each in load_statements("train", directory)} if rows else {}
    return [
        BankProof(theorem, steps[0].level, steps[0].family, "\n".join(proof_lines(tree, "")))
        for name, steps in proofs.items()
        if (rule is None or all(rule.takes(step.level, step.tactic) for step in steps))
        and (tree := _likeliest(trees[name], forms)) is not None
        and (theorem := _theorem(name, theorems)) is not None
    ]


def _theorem(name: str, theorems: Mapping[str, Theorem]) -> Theorem | None:
    if name in theorems:
        return theorems[name]
    refuted = theorems.get(name.removesuffix(NEGATION))
    return refuted.negation() if refuted else None


def _trees(steps: Sequence[BankTransition]) -> Iterator[ProofTree]:
    """The proof trees with these steps in pre-order; none if there are more than MOST_TREES."""
    trees = [tree for end, tree in _from(steps, 0) if end == len(steps)]
    yield from trees if len(trees) <= MOST_TREES else []


def _from(steps: Sequence[BankTransition], start: int) -> list[tuple[int, ProofTree]]:
    """The trees that can start with a step, each with the index of the step after its end."""
    endings: list[tuple[int, ProofTree]] = []
    step = steps[start]

    def grow(end: int, children: tuple[ProofTree, ...], longest: int) -> None:
        if longest == step.remaining_steps - 1:
            layout = tuple((goal,) for goal in range(len(children)))
            endings.append((end, ProofTree(step.tactic, layout, children, step.state)))
        if end < len(steps) and steps[end].remaining_steps < step.remaining_steps and len(endings) <= MOST_TREES:
            for after, child in _from(steps, end):
                grow(after, (*children, child), max(longest, steps[end].remaining_steps))

    grow(start + 1, (), 0)
    return endings


def _likeliest(trees: Sequence[ProofTree], forms: Forms) -> ProofTree | None:
    """The tree whose tactics leave the usual numbers of goals for their forms; None if there is no single best one."""
    if len(trees) == 1:
        return trees[0]
    scores = [sum(forms[form] > 0 for form in _forms([tree]).elements()) for tree in trees]
    best = [tree for tree, score in zip(trees, scores, strict=True) if score == max(scores)]
    return best[0] if len(best) == 1 else None


def _forms(trees: Iterator[ProofTree] | Sequence[ProofTree]) -> Forms:
    forms: Forms = Counter()
    todo = list(trees)
    while todo:
        node = todo.pop()
        todo += node.children
        forms[form_of(node.tactic), len(node.children)] += 1
    return forms


def form_of(tactic: str) -> str:
    """A tactic's first word, and its holes and alternatives."""
    return " ".join([tactic.split(maxsplit=1)[0] if tactic.strip() else "", *_SIGNS.findall(tactic)])
