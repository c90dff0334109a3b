"""Solve-rate curves: the share of statements solved within each budget, computed from when each proof was found, and
their pictures. matplotlib is imported with the first picture.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.report.chart import COLOURS, Chart, short
from common.statistics import wilson
from node.eval.results import Results, StatementResult, exact_until, solved_at, spent_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KINDS = {"simulations": "simulations", "lean_attempts": "Lean attempts", "seconds": "seconds"}
"""The kinds of budget, each with the label of its axis."""

MOST_POINTS = 2000
"""Most points of a curve. A picture cannot show more, and a curve of 100,000 proofs would have 100,000 points."""


@dataclass(frozen=True)
class Curve:
    """Share solved against budget: a step function with a step at each point, constant after the last one."""

    label: str
    points: Sequence[tuple[float, float]]
    """(budget, share solved within it), by increasing budget. The curve ends at the last point."""
    low: Sequence[float]
    """Ends of the 95% interval at each point."""
    high: Sequence[float]
    complete_until: float = math.inf
    """Every unsolved attempt had at least this budget. Beyond it the curve is a lower bound."""


def curve_of(results: Results, kind: str, label: str = "") -> Curve:
    """The curve of an evaluation for one of KINDS; it has no points if no statement counts."""
    counted = [row for row in results.statements if row.counts]
    steps = sorted(_steps(counted, kind))
    given = float(getattr(results.plan.budgets, kind))
    spent = (float(spent_of(each, kind)) for row in counted for each in row.decided)
    end = given or max(itertools.chain(spent, (budget for budget, _ in steps)), default=0.0)
    points: list[tuple[float, float]] = []
    for budget, solved in _summed(steps):
        points.append((budget, solved / len(counted)))
    points = _thinned(points)
    if counted and end > (points[-1][0] if points else 0.0):
        points.append((end, points[-1][1] if points else 0.0))
    intervals = [wilson(share * len(counted), len(counted)) for _, share in points]
    return Curve(
        label or results.plan.label,
        points,
        [low for low, _ in intervals],
        [high for _, high in intervals],
        exact_until(counted, results.plan, kind),
    )


def curves_of(results: Results) -> dict[str, Curve]:
    """The curves of an evaluation, by kind."""
    return {kind: curve_of(results, kind) for kind in KINDS}


def _steps(counted: Sequence[StatementResult], kind: str) -> Iterator[tuple[float, float]]:
    """(budget, score that a proof found with this budget adds to the sum of scores)."""
    for row in counted:
        for attempt in row.solved:
            yield solved_at(attempt)[kind], 1 / len(row.decided)


def _summed(steps: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """(budget, sum of the scores within it)."""
    total = 0.0
    for budget, group in itertools.groupby(steps, key=lambda step: step[0]):
        total = math.fsum([total, *(added for _, added in group)])
        yield budget, total


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MOST_POINTS of the points, including the first and the last."""
    if len(points) <= MOST_POINTS:
        return points
    return [points[round(index * (len(points) - 1) / (MOST_POINTS - 1))] for index in range(MOST_POINTS)]


# --- their pictures ---------------------------------------------------------------------------------------------------

_DECADE = 10.0


def chart(panels: Sequence[tuple[str, Sequence[Curve]]]) -> Chart:
    """Panels side by side, one for each kind of budget (KINDS). A curve is dashed where it is a lower bound."""
    curves = [curve for _, shown in panels for curve in shown]
    top = max((share for curve in curves for share in curve.high), default=1.0)
    bound = any(budget > curve.complete_until for curve in curves for budget, _ in curve.points)

    def panel(place: int) -> Callable[[Axes], None]:
        kind, shown = panels[place]

        def draw(axes: Axes) -> None:
            # 1. The curves: a second round of colours has another line.
            for number, curve in enumerate(shown):
                style = "dashdot" if number >= len(COLOURS) else "solid"
                _draw(axes, curve, COLOURS[number % len(COLOURS)], style)
            # 2. The axes. All panels share the scale of shares, which the first one names.
            _scale(axes, shown, kind)
            axes.set_ylim(0, min(1.02, top * 1.08) if top > 0 else 1.0)
            if place == 0:
                axes.set_ylabel("statements solved")
            if place == len(panels) - 1 and len(panels[0][1]) > 1:
                axes.legend(loc="best", frameon=False, fontsize=10)

        return draw

    note = "Shaded: 95% interval (Wilson, over statements)." + (" Dashed: at least this many." if bound else "")
    return Chart("".join(kind for kind, _ in panels), [panel(place) for place in range(len(panels))], note)


def _draw(axes: Axes, curve: Curve, colour: str, style: str) -> None:
    if not curve.points:
        axes.plot([], [], color=colour, label=curve.label)
        return
    x = [budget for budget, _ in curve.points]
    exact = [(budget, share) for budget, share in curve.points if budget <= curve.complete_until]
    bound = [(budget, share) for budget, share in curve.points if budget > curve.complete_until]
    if bound and exact:  # the solid line reaches to the budget where the bound begins
        exact.append((curve.complete_until, exact[-1][1]))
    if bound:
        bound = [exact[-1] if exact else curve.points[0], *bound]
    axes.step(*_columns(exact), where="post", color=colour, linewidth=2, linestyle=style, label=curve.label)
    axes.step(*_columns(bound), where="post", color=colour, linewidth=2, linestyle=(0, (3, 2)))
    axes.fill_between(x, curve.low, curve.high, step="post", color=colour, alpha=0.13, linewidth=0)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _scale(axes: Axes, curves: Sequence[Curve], kind: str) -> None:
    """Sets scale, ticks and label of the budgets: logarithmic where they differ by more than a decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

    budgets = [budget for curve in curves for budget, _ in curve.points if budget > 0]
    if budgets and max(budgets) > _DECADE * min(budgets):
        axes.set_xscale("log")
        decades = math.log10(max(budgets) / min(budgets))
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if decades < 3 else (1.0,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel(f"budget: {KINDS[kind]}")
