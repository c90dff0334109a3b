"""Pictures of solve-rate curves: PNG files, and SVG for a page. matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import write_whole
from node.eval.curves import KINDS, Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
"""Okabe and Ito's, which people with each kind of colour blindness tell apart (Wong, Nature Methods 8, 2011); without
black and yellow, which are lost on a dark page or on a light one."""

_INK = "#010203"
"""In place of the page's own colour of text, which takes its place in an SVG."""

_DECADE = 10.0


def draw_curves(curves: Sequence[Curve], kind: str, path: Path) -> None:
    """Draw curves on one axes against a kind of budget (`curves.KINDS`): a PNG or SVG file, as the name ends.

    Where a curve is a lower bound it is dashed. Raises OSError.
    """
    write_whole(path, _written([(kind, curves)], path.suffix.removeprefix(".") or "png"))


def draw_panels(panels: Sequence[tuple[str, Sequence[Curve]]], path: Path) -> None:
    """Draw one axes for each kind of budget beside each other, with one scale of shares. Raises OSError."""
    write_whole(path, _written(panels, path.suffix.removeprefix(".") or "png"))


def svg(curves: Sequence[Curve], kind: str) -> str:
    """A picture as an element of a page: its text and its first curve have the page's colours (`--accent`)."""
    text = _written([(kind, curves)], "svg", inline=True).decode()
    text = text[text.index("<svg") :].replace(_INK, "currentColor").strip()
    return text.replace(COLOURS[0].lower(), f"var(--accent, {COLOURS[0]})")


def _written(panels: Sequence[tuple[str, Sequence[Curve]]], format: str, inline: bool = False) -> bytes:
    """The picture as a file. `inline`: small, for a page that says itself what is shaded and dashed."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "".join(kind for kind, _ in panels),  # the same picture gives the same file
        "font.family": "sans-serif",
        "font.size": 11,
        "text.parse_math": False,  # labels are foreign text
        "axes.edgecolor": _INK,
        "axes.labelcolor": _INK,
        "text.color": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
    }
    scale = 0.8 if inline else 1.0
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(scale * (0.6 + 4.6 * len(panels)), scale * 3.7), layout="constrained")
        FigureCanvasAgg(figure)
        bound = _fill(figure, panels)
        if not inline:
            note = "Shaded: 95% interval (Wilson, over statements)."
            figure.supxlabel(note + (" Dashed: at least this many." if bound else ""), fontsize=9)
        out = io.BytesIO()
        metadata = {"Date": None} if format == "svg" else {"Software": None}
        figure.savefig(out, format=format, dpi=160, transparent=format == "svg", metadata=metadata)
    return out.getvalue()


def _fill(figure: Figure, panels: Sequence[tuple[str, Sequence[Curve]]]) -> bool:
    """Draw all of it; says whether a part of a curve is a lower bound."""
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    top = max((share for _, curves in panels for each in curves for share in each.high), default=1.0)
    bound = False
    for each, (kind, curves) in zip(axes, panels, strict=True):
        for number, curve in enumerate(curves):
            bound |= _draw(each, curve, COLOURS[number % len(COLOURS)], second_round=number >= len(COLOURS))
        _scale(each, curves, kind)
    axes[0].set_ylim(0, min(1.02, top * 1.08) if top > 0 else 1.0)
    axes[0].set_ylabel("statements solved")
    if len(panels[0][1]) > 1:
        axes[-1].legend(loc="best", frameon=False, fontsize=10)
    return bound


def _draw(axes: Axes, curve: Curve, colour: str, *, second_round: bool) -> bool:
    """Draw a curve; says whether a part of it is a lower bound."""
    if not curve.points:
        axes.plot([], [], color=colour, label=curve.label)
        return False
    x = [budget for budget, _ in curve.points]
    y = [share for _, share in curve.points]
    exact = [(budget, share) for budget, share in curve.points if budget <= curve.complete_until]
    behind = [(budget, share) for budget, share in curve.points if budget > curve.complete_until]
    if behind and exact:  # the level reaches to the place from which on it is a bound
        exact.append((curve.complete_until, exact[-1][1]))
    if behind:
        behind = [exact[-1] if exact else (x[0], y[0]), *behind]
    style = "dashdot" if second_round else "solid"
    axes.step(*_columns(exact), where="post", color=colour, linewidth=2, linestyle=style, label=curve.label)
    axes.step(*_columns(behind), where="post", color=colour, linewidth=2, linestyle=(0, (3, 2)))
    axes.fill_between(x, curve.low, curve.high, step="post", color=colour, alpha=0.13, linewidth=0)
    return bool(behind)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _scale(axes: Axes, curves: Sequence[Curve], kind: str) -> None:
    """Ticks and names of an axes."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

    budgets = [budget for curve in curves for budget, _ in curve.points if budget > 0]
    if budgets and max(budgets) > _DECADE * min(budgets):
        axes.set_xscale("log")
        decades = math.log10(max(budgets) / min(budgets))
        subs = (1.0, 2.0, 5.0) if decades < 3 else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel(f"budget: {KINDS[kind]}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=_INK, alpha=0.12, linewidth=0.8)
    axes.set_axisbelow(True)


def _short(value: float) -> str:
    """A number on an axis: 0.5, 20, 5k."""
    if value >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:g}"
