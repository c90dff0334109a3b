"""Solve-rate curves of the sides of a comparison, on the statements that count on all sides. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from node.eval.comparing import Comparison
from node.eval.curves import Curve, curve_of
from node.eval.results import StatementResult
from node.eval.sides import Side


def side_curves(sides: Sequence[Side], comparisons: Sequence[Comparison], kind: str) -> list[Curve]:
    """A curve of each side against a kind of budget. The comparisons are those of the first side with each other one,
    in order."""
    compared = [{each.name for each in comparison.pairing.pairs} for comparison in comparisons]
    shared = set.intersection(*compared)
    rows = [[each.first for each in comparisons[0].pairing.pairs if each.name in shared]]
    rows += [[each.second for each in comparison.pairing.pairs if each.name in shared] for comparison in comparisons]
    return [_curve(side, statements, kind) for side, statements in zip(sides, rows, strict=True)]


def _curve(side: Side, rows: Sequence[Sequence[StatementResult]], kind: str) -> Curve:
    """Pools the attempts of all seeds; if the seeds have equally many attempts, this is the mean over the seeds."""
    pooled = tuple(
        StatementResult(seeds[0].statement, tuple(attempt for row in seeds for attempt in row.attempts))
        for seeds in rows
    )
    return curve_of(replace(side.seeds[0], statements=pooled), kind, side.label)
