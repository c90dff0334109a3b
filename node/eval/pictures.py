"""Draws solve-rate curves as PNG files, and as SVG for a page. matplotlib is imported with the first picture."""

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
"""The palette of Okabe and Ito, which people with any kind of colour blindness can tell apart (Wong, Nature Methods 8,
2011). Black and yellow are left out: they are hard to see on a dark or on a light page."""

_INK = "#010203"
"""Placeholder for the text colour: `svg` replaces it with the page's text colour."""

_DECADE = 10.0


def draw_curves(curves: Sequence[Curve], kind: str, path: Path) -> None:
    """Draws curves against a kind of budget (`curves.KINDS`) into a PNG or SVG file, by the suffix of `path`.

    A curve is dashed where it is a lower bound. Raises OSError.
    """
    write_whole(path, _written([(kind, curves)], path.suffix.removeprefix(".") or "png"))


def draw_panels(panels: Sequence[tuple[str, Sequence[Curve]]], path: Path) -> None:
    """Draws panels side by side, one for each kind of budget, with a common y scale. Raises OSError."""
    write_whole(path, _written(panels, path.suffix.removeprefix(".") or "png"))


def svg(curves: Sequence[Curve], kind: str) -> str:
    """An SVG element for a page. Its text and first curve use the page's colours (`--accent`)."""
    text = _written([(kind, curves)], "svg", inline=True).decode()
    text = text[text.index("<svg") :].replace(_INK, "currentColor").strip()
    return text.replace(COLOURS[0].lower(), f"var(--accent, {COLOURS[0]})")


def _written(panels: Sequence[tuple[str, Sequence[Curve]]], format: str, inline: bool = False) -> bytes:
    """The bytes of the picture. `inline`: smaller and without the note, for a page that explains shading and dashes."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text, not paths
        "svg.hashsalt": "".join(kind for kind, _ in panels),  # the same picture gives the same file
        "font.family": "sans-serif",
        "font.size": 11,
        "text.parse_math": False,  # labels come from users: `$` must not start a formula
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
    """Draws all panels. Returns True if a part of a curve is a lower bound."""
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
    """Draws a curve. Returns True if a part of it is a lower bound."""
    if not curve.points:
        axes.plot([], [], color=colour, label=curve.label)
        return False
    x = [budget for budget, _ in curve.points]
    y = [share for _, share in curve.points]
    exact = [(budget, share) for budget, share in curve.points if budget <= curve.complete_until]
    bound = [(budget, share) for budget, share in curve.points if budget > curve.complete_until]
    if bound and exact:  # the solid line reaches to the budget where the bound begins
        exact.append((curve.complete_until, exact[-1][1]))
    if bound:
        bound = [exact[-1] if exact else (x[0], y[0]), *bound]
    style = "dashdot" if second_round else "solid"
    axes.step(*_columns(exact), where="post", color=colour, linewidth=2, linestyle=style, label=curve.label)
    axes.step(*_columns(bound), where="post", color=colour, linewidth=2, linestyle=(0, (3, 2)))
    axes.fill_between(x, curve.low, curve.high, step="post", color=colour, alpha=0.13, linewidth=0)
    return bool(bound)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _scale(axes: Axes, curves: Sequence[Curve], kind: str) -> None:
    """Sets scale, ticks and labels of an axes."""
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
