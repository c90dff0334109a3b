"""Prints the table of self-play and expert iteration (`scripts.studies.stp_pocket`), and draws its picture.

python -m scripts.studies.stp_pocket_page stp=runs/stp-pocket-0 ei=runs/ei-pocket-0 [--picture FILE]
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from node.eval.pictures import COLOURS
from node.stp.readers import RunSummary, open_run, summarise
from scripts.studies.tables import markdown

PARTS = 8
"""Numbers of sampled proofs at which the table compares the runs."""


@dataclass
class PageSettings:
    """Runs to compare, as LABEL=FOLDER."""

    runs: Annotated[list[str], tyro.conf.Positional]
    picture: Path = Path("docs/pictures/stp-pocket.png")


def solved_within(run: RunSummary, samples: int) -> int:
    """Number of statements solved with a number of sampled proofs."""
    return run.curve[bisect_right([point for point, _ in run.curve], samples) - 1][1]


def table(runs: dict[str, RunSummary]) -> str:
    """Solved statements at equal numbers of sampled proofs, up to the shortest run."""
    least = min(run.curve[-1][0] for run in runs.values())
    limits = [least * part // PARTS for part in range(1, PARTS + 1)]
    rows = [[label, *(str(solved_within(run, limit)) for limit in limits)] for label, run in runs.items()]
    return markdown(["solved within ... sampled proofs", *(f"{limit:,}" for limit in limits)], rows)


def draw(runs: dict[str, RunSummary], path: Path) -> None:
    """Solved statements by sampled proofs."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for (label, run), colour in zip(runs.items(), COLOURS, strict=False):
        axes.step(*zip(*run.curve, strict=True), where="post", color=colour, linewidth=2, label=label)
    axes.set(xlabel="sampled proofs, for statements and conjectures", ylabel="train statements solved", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> int:
    settings = tyro.cli(PageSettings, description=__doc__)
    runs = {}
    for each in settings.runs:
        label, _, folder = each.partition("=")
        store = open_run(Path(folder))
        try:
            runs[label] = summarise(store)
        finally:
            store.close()
    print(table(runs))
    draw(runs, settings.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
