"""What the pages of studies have in common: tables in Markdown, and curves."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from node.eval.comparing import Comparison, Difference, compare
from node.eval.known import LEAN_ATTEMPTS, SIMULATIONS, share_open, share_within
from node.eval.pictures import draw_panels
from node.eval.results import Results
from node.eval.side_curves import side_curves
from node.eval.sides import Side


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column to the left, the others to the right."""
    lines = [heading, ["---", *("---:" for _ in heading[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: Sequence[float]) -> str:
    """Mean of the seeds in percent, and their standard deviation."""
    mean = f"{100 * statistics.fmean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean


def within(results: Results, kind: str, limit: float) -> float | None:
    """Share solved within a budget; None where that is not known of every statement."""
    if any(share_open(row, results.plan, kind, limit) for row in results.statements if row.counts):
        return None
    return at_least(results, kind, limit)


def at_least(results: Results, kind: str, limit: float) -> float:
    """Share solved within a budget as far as is known."""
    return statistics.fmean(share_within(row, kind, limit) for row in results.statements if row.counts)


def cell(side: Side, value: Callable[[Results], float | None]) -> str:
    """A value over the seeds; a dash where it is not known for one of them."""
    found = [value(each) for each in side.seeds]
    known = [each for each in found if each is not None]
    return spread(known) if len(known) == len(found) else "–"


def difference(found: Difference) -> list[str]:
    points = [f"{100 * value:+.1f}" for value in (found.difference, found.low, found.high)]
    p = "< 0.001" if found.p < 0.001 else f"{found.p:.3f}"
    return [f"{points[0]} [{points[1]}, {points[2]}]", p]


def spent(comparison: Comparison) -> list[str]:
    """Statements that one side alone solved, and what Lean tried for an attempt on each."""
    first, second = comparison.first.spent, comparison.second.spent
    only = f"{comparison.total.only_second} / {comparison.total.only_first}"
    return [only, f"{second.lean_attempts:.0f} / {first.lean_attempts:.0f}"]


def draw(sides: Sequence[Side], path: Path, kinds: Sequence[str] = (LEAN_ATTEMPTS, SIMULATIONS)) -> None:
    """Curves of solved statements by what they cost."""
    comparisons = compare(sides)
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_panels([(kind, side_curves(sides, comparisons, kind)) for kind in kinds], path)
