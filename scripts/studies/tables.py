"""Shared code of the pages of studies: tables in Markdown, and curves."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from node.eval.comparing import Comparison, Difference, compare
from node.eval.folder import Evaluation, FolderError, read
from node.eval.known import LEAN_ATTEMPTS, SIMULATIONS, share_open, share_within
from node.eval.pictures import draw_panels
from node.eval.results import Results, results_of
from node.eval.side_curves import side_curves
from node.eval.sides import Side

K = TypeVar("K", bound=Hashable)


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with the first column aligned left and the others right."""
    lines = [heading, ["---", *("---:" for _ in heading[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: Sequence[float]) -> str:
    """Mean of the seeds in percent, and their standard deviation."""
    mean = f"{100 * statistics.fmean(values):.1f}"
    return f"{mean} ± {100 * statistics.stdev(values):.1f}" if len(values) > 1 else mean


def within(results: Results, kind: str, limit: float) -> float | None:
    """Share solved within a budget; None unless it is known for every statement."""
    if any(share_open(row, results.plan, kind, limit) for row in results.statements if row.counts):
        return None
    return at_least(results, kind, limit)


def at_least(results: Results, kind: str, limit: float) -> float:
    """A lower bound of the share solved within a budget."""
    return statistics.fmean(share_within(row, kind, limit) for row in results.statements if row.counts)


def cell(side: Side, value: Callable[[Results], float | None]) -> str:
    """A value over the seeds; a dash if it is unknown for one of them."""
    found = [value(each) for each in side.seeds]
    known = [each for each in found if each is not None]
    return spread(known) if len(known) == len(found) else "–"


def finished(label: str, folders: Iterable[Path]) -> Side | None:
    """One side from the evaluations in these folders, one for each seed. Unfinished ones are reported and skipped.
    None: no evaluation is finished."""
    found: list[tuple[Evaluation, Results]] = []
    for folder in folders:
        try:
            evaluation = read(folder)
        except FolderError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        results = results_of(evaluation)
        if results.missing:
            print(f"left out: {folder}: {results.missing} attempts are missing", file=sys.stderr)
            continue
        found.append((evaluation, results))
    return Side(label, tuple(each for each, _ in found), tuple(each for _, each in found)) if found else None


def by_budget(sides: Mapping[str, Side], kind: str, limits: Sequence[int]) -> str:
    """The table of the shares that each side solves within several budgets."""

    def solved(side: Side, limit: int) -> str:
        return cell(side, lambda results: within(results, kind, limit))

    rows = [[label, *(solved(side, limit) for limit in limits)] for label, side in sides.items()]
    return markdown([f"% solved within ... {kind.replace('_', ' ')}", *map(str, limits)], rows)


def differences(sides: Mapping[K, Side], pairs: Iterable[tuple[K, K]]) -> str:
    """The table of differences of the pairs whose sides both exist."""
    heading = ["second − first", "points [95%]", "p", "only one solved", "Lean attempts"]
    rows = []
    for one, other in pairs:
        if one in sides and other in sides:
            first, second = sides[one], sides[other]
            (comparison,) = compare([first, second])
            rows.append([f"{second.label} − {first.label}", *_difference(comparison.total), *_spent(comparison)])
    return markdown(heading, rows)


def points(difference: float, low: float, high: float) -> str:
    """A difference of shares and its interval, in points."""
    return f"{100 * difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def p_value(p: float) -> str:
    """A p-value with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _difference(found: Difference) -> list[str]:
    return [points(found.difference, found.low, found.high), p_value(found.p)]


def _spent(comparison: Comparison) -> list[str]:
    """Statements that only one side solved, and the mean Lean attempts of each side."""
    first, second = comparison.first.spent, comparison.second.spent
    only = f"{comparison.total.only_second} / {comparison.total.only_first}"
    return [only, f"{second.lean_attempts:.0f} / {first.lean_attempts:.0f}"]


def draw(sides: Sequence[Side], path: Path) -> None:
    """Draw solved statements over Lean attempts and over simulations."""
    comparisons = compare(sides)
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_panels([(kind, side_curves(sides, comparisons, kind)) for kind in (LEAN_ATTEMPTS, SIMULATIONS)], path)
