"""One chart for all results: matplotlib draws it into a PNG or SVG file, or into a page.

    chart = Chart("solved", [draw])                # draw(axes) draws one panel
    chart.save(Path("solved.png"))
    {{ chart }}                                    # in a template of `common.report.page`; it takes the page's colours

matplotlib is imported with the first drawing; that takes half a second.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
"""The palette of Okabe and Ito, which people with any kind of colour blindness can tell apart (Wong, Nature Methods 8,
2011). Black and yellow are left out: they are hard to see on a dark or on a light page."""

INK = "#010203"
"""Placeholder for the text colour: in a page it becomes the page's text colour."""

INLINE = 0.8
"""Size of a chart in a page, relative to its file: its text is as large as the page's then."""


@dataclass(frozen=True)
class Chart:
    """Panels side by side, with a common y axis."""

    name: str
    """The same name and content give the same SVG file."""
    panels: Sequence[Callable[[Axes], None]]
    note: str = ""
    """A sentence below the panels of a file. A page has text of its own."""
    size: tuple[float, float] = (5.2, 3.7)
    """Width and height in inches: of one panel; each further one adds its width without the labels of the y axis."""

    def save(self, path: Path) -> None:
        """Write a .png or .svg file, whole or not at all. Raises OSError."""
        write_whole(path, self.written(path.suffix.removeprefix(".") or "png"))

    def __html__(self) -> str:
        """An SVG element. Its text and its first colour follow the page."""
        svg = self.written("svg", inline=True).decode()
        svg = svg[svg.index("<svg") :].replace(INK, "currentColor").strip()
        return svg.replace(COLOURS[0].lower(), f"var(--accent, {COLOURS[0]})")

    def written(self, format: str, *, inline: bool = False) -> bytes:
        """The bytes of a file of this format. `inline`: smaller and without the note."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        settings: dict[Any, Any] = {
            "svg.fonttype": "none",  # text stays text, not paths
            "svg.hashsalt": self.name,  # otherwise ids are random, and the same chart gives another file
            "font.family": "sans-serif",
            "font.size": 11,
            "text.parse_math": False,  # labels come from users: `$` must not start a formula
            **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
        }
        scale, (width, height) = INLINE if inline else 1.0, self.size
        with matplotlib.rc_context(settings):
            # 1. Draw each panel, in one look.
            size = (scale * (width + (width - 0.6) * (len(self.panels) - 1)), scale * height)
            figure = Figure(figsize=size, layout="constrained")
            FigureCanvasAgg(figure)
            all_axes = figure.subplots(1, len(self.panels), sharey=True, squeeze=False)[0]
            for axes, draw in zip(all_axes, self.panels, strict=True):
                draw(axes)
                axes.spines[["top", "right"]].set_visible(False)
                axes.grid(axis="y", color=INK, alpha=0.12, linewidth=0.8)
                axes.set_axisbelow(True)
            if self.note and not inline:
                figure.supxlabel(self.note, fontsize=9)
            # 2. Write it without the date and the version of matplotlib, so that the same chart gives the same file.
            out = io.BytesIO()
            metadata = {"Date": None} if format == "svg" else {"Software": None}
            figure.savefig(out, format=format, dpi=160, transparent=format == "svg", metadata=metadata)
        return out.getvalue()


def short(value: float) -> str:
    """A number on an axis: 0.5, 20, 5k, 1.5M."""
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{name}"
    return f"{value:g}"
