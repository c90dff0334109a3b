"""Whole proofs out of the bank's transitions, which are proofs in pre-order without their tree. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from common.lean import ProofTree
from node.bank.bank import BankTransition

_STARTS_ONE_GOAL = frozenset({"intro", "have", "left", "right"})
_STARTS_TWO_GOALS = frozenset({"constructor", "by_cases"})

_Parsed = tuple[ProofTree, int]
"""A tree, and the place behind its last transition."""


def proof_of(rows: Sequence[BankTransition]) -> ProofTree | None:
    """The proof that a theorem's transitions are, in their order; None where steps are missing or where the numbers of
    remaining steps, and what the tactics leave, allow more than one tree."""
    trees = (tree for tree, end in _trees(rows, 0) if end == len(rows))
    found = list(islice(trees, 2))
    return found[0] if len(found) == 1 else None


def branches(tactic: str) -> int | None:
    """How many goals a tactic of the bank's leaves that does not close its goal; None: its text does not say."""
    word = tactic.split()[0]
    if word == "rcases":
        return tactic.count("|") + 1
    if word in ("refine", "induction"):
        return tactic.count("?_")
    return 1 if word in _STARTS_ONE_GOAL else 2 if word in _STARTS_TWO_GOALS else None


def _trees(rows: Sequence[BankTransition], at: int) -> Iterator[_Parsed]:
    """The trees whose root is the transition at a place."""
    if at == len(rows):
        return
    row = rows[at]
    if row.remaining_steps == 1:
        yield ProofTree(row.tactic, (), ()), at + 1
        return
    for children, end, longest in _children(rows, at + 1, branches(row.tactic), row.remaining_steps - 1):
        if longest == row.remaining_steps - 1:
            layout = tuple((number,) for number in range(len(children)))
            yield ProofTree(row.tactic, layout, children), end


def _children(
    rows: Sequence[BankTransition], at: int, count: int | None, most: int
) -> Iterator[tuple[tuple[ProofTree, ...], int, int]]:
    """Subtrees that stand one behind the other: (trees, the place behind them, steps of the longest). `count`: so many
    of them; None: one or more."""
    if at == len(rows) or rows[at].remaining_steps > most:
        return
    height = rows[at].remaining_steps
    for first, end in _trees(rows, at):
        if count in (None, 1):
            yield (first,), end, height
        if count == 1:
            continue
        for others, last, longest in _children(rows, end, None if count is None else count - 1, most):
            yield (first, *others), last, max(height, longest)
