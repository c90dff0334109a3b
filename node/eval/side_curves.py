"""Curves of the sides of a comparison, on the statements that count on all of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from node.eval.comparing import Comparison
from node.eval.curves import Curve, curve_of
from node.eval.results import StatementResult
from node.eval.sides import Side


def side_curves(sides: Sequence[Side], comparisons: Sequence[Comparison], kind: str) -> list[Curve]:
    """A curve of each side against a kind of budget. Each comparison is of the first side and the next other one."""
    compared = [{each.name for each in comparison.pairing.pairs} for comparison in comparisons]
    shared = set.intersection(*compared)
    rows = [[each.first for each in comparisons[0].pairing.pairs if each.name in shared]]
    rows += [[each.second for each in found.pairing.pairs if each.name in shared] for found in comparisons]
    return [_curve(side, statements, kind) for side, statements in zip(sides, rows, strict=True)]


def _curve(side: Side, rows: Sequence[Sequence[StatementResult]], kind: str) -> Curve:
    """Attempts of all seeds count alike: with as many in each seed this is the mean over the seeds."""
    pooled = tuple(
        StatementResult(seeds[0].statement, tuple(attempt for row in seeds for attempt in row.attempts))
        for seeds in rows
    )
    return curve_of(replace(side.seeds[0], statements=pooled), kind, side.label)
