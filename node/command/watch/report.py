"""`proofmesh report runs/NAME`: one HTML page about a run, which fetches nothing.

It has curves, evaluations, what was slow and why, the hardest theorems, the shortest proofs, tactics, configuration;
also while the run goes on.
"""

from __future__ import annotations

import socket
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import tyro

from common import curves
from common.config import without_secrets
from common.curves import METRICS, Evaluated, Tail
from common.files import NOT_JSON, write_whole
from common.limits import Positive, Ratio
from common.output.command import Exit, UserError, command
from common.output.visible import say
from common.output.words import percent
from common.protocol.messages import Point
from common.records.lately import Cause, cause, lately
from common.records.readers import (
    Level,
    Order,
    RunProof,
    TacticRecord,
    TheoremRecord,
    read_attempts,
    read_levels,
    read_tactics,
    read_theorems,
    reading,
    shortest,
)
from common.records.rows import PARTS
from common.report.chart import COLOURS, Chart
from common.report.page import page
from common.report.table import Column, Table, right
from node.command.proofs.attempt import records_of
from node.command.watch.top import shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 2000
"""Most points of a curve: a page cannot show more."""

CURVES = {
    "losses": ("loss", "policy_loss", "valid_loss", "held_out"),
    "solve rate of training attempts": ("solve_rate",),
    "transitions": ("transitions", "proofs_verified"),
    "expansions per second": ("expansions_per_s",),
}
"""Charts over training steps, each with its values of metrics.jsonl."""

CONFIGURATION = ("mesh.toml", "config.toml")
"""The first of these that a run's folder has is shown."""

OWNER = "owner.json"
"""Names the learner's process while it runs."""

LONGEST = 2000
"""Most characters of a statement or a proof on the page."""


@dataclass
class ReportSettings:
    """Write a page about a run."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run directory, such as runs/demo."""

    out: Path | None = None
    """The file; default: report.html in the run directory."""

    minutes: Ratio = 10.0
    """The verdict on what is slow is about the last minutes of the run, as many as this."""

    rows: Positive = 20
    """Most rows of each table."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return command(ReportSettings, list(argv), _report, prog="proofmesh report", description=__doc__)


def _report(settings: ReportSettings) -> int:
    content = report(settings.run, minutes=settings.minutes, rows=settings.rows)
    out = settings.out or settings.run / "report.html"
    try:
        write_whole(out, content.encode())
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}; name another file with --out") from error
    say(str(out))
    return Exit.DONE


def verdict(folder: Path, minutes: float) -> Cause:
    """What made the run slow in its last minutes. Raises UnreadableRecords."""
    with reading(records_of(folder)) as db:
        return cause(lately(db, 60 * minutes), _stopped(folder, db))


def _stopped(folder: Path, db: sqlite3.Connection) -> float:
    """Seconds since the last record if the learner is a stopped process of this machine, else 0: otherwise silence
    tells nothing, since between records a learner trains, or waits for long searches."""
    import psutil

    try:
        owner = msgspec.json.decode((folder / OWNER).read_bytes(), type=dict[str, Any])
        here = owner["host"] == socket.gethostname()
        if not here or psutil.Process(owner["pid"]).status() != psutil.STATUS_STOPPED:
            return 0.0
    except (OSError, KeyError, TypeError, ValueError, psutil.Error, *NOT_JSON):
        return 0.0
    return max(0.0, time.time() - (db.execute("SELECT MAX(recorded) FROM results").fetchone()[0] or 0.0))


def report(folder: Path, *, minutes: float = 10.0, rows: int = 20) -> str:
    """The whole page. Raises UnreadableRecords."""
    # 1. What the folder has. A run may have begun a moment ago.
    records = records_of(folder)
    points = Tail(folder / METRICS).read().points
    evaluations = curves.read_evaluations(folder / curves.EVALUATIONS)
    with reading(records) as db:
        last, whole = lately(db, 60 * minutes), lately(db)
    levels, theorems = read_levels(records), read_theorems(records, rows, Order.HARDEST)
    proofs = sorted(shortest(records), key=lambda each: (_steps(each), len(each.script)))
    attempts = [each for each in read_attempts(records, 50 * rows) if each.total is not None]
    slowest = sorted(attempts, key=lambda each: -(each.total or 0.0))[:rows]
    # 2. Tables and charts; the template has the words around them.
    return page(
        Path(__file__).with_name("report.html"),
        f"run {folder.resolve().name}",
        verdict=verdict(folder, minutes),
        minutes=f"{minutes:g}",
        last=shares(last) if last.attempts else None,
        whole=shares(whole) if whole.attempts else None,
        summary=_summary(folder),
        charts=[*_evaluated(evaluations), *_charts(points)],
        evaluations=_evaluations(evaluations),
        levels=_levels(levels),
        hardest=_hardest(theorems),
        proofs=_proofs(proofs[:rows]),
        more_proofs=max(0, len(proofs) - rows),
        tactics=_tactics(_read_tactics(records, rows)),
        slowest=_slowest(slowest),
        configuration=_configuration(folder),
    )


def _read_tactics(records: Path, rows: int) -> list[TacticRecord]:
    from node.lean.text.lexing import first_word

    return read_tactics(records, rows, first_word=first_word)


def _summary(folder: Path) -> list[tuple[str, str]]:
    """The plain numbers of summary.json; none while the run goes on."""
    try:
        found = msgspec.json.decode((folder / "summary.json").read_bytes(), type=dict[str, Any])
    except (OSError, *NOT_JSON):
        return []
    return [(name.replace("_", " "), f"{each}") for name, each in found.items() if not isinstance(each, dict)]


def _configuration(folder: Path) -> str:
    """The run's configuration without passwords: a page is passed on. Empty if there is none that can be read."""
    import tomllib

    import tomli_w

    for name in CONFIGURATION:
        try:
            return tomli_w.dumps(without_secrets(tomllib.loads((folder / name).read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            continue
    return ""


# --- charts -----------------------------------------------------------------------------------------------------------


def _charts(points: Sequence[Point]) -> list[tuple[str, Chart]]:
    """The curves of a run, over training steps."""
    charts = []
    for title, names in CURVES.items():
        lines = {
            name: [(float(each.step), each.values[name]) for each in points if name in each.values] for name in names
        }
        if drawn := {name: _thinned(line) for name, line in lines.items() if len(line) > 1}:
            charts.append((title, Chart(title, [_curves(drawn)])))
    return charts


def _curves(lines: dict[str, list[tuple[float, float]]]) -> Any:
    def draw(axes: Axes) -> None:
        for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
            axes.plot(*zip(*line, strict=True), color=colour, linewidth=1.3, label=name.replace("_", " "))
        axes.set_xlabel("training step")
        axes.set_ylim(bottom=min(0.0, *(value for line in lines.values() for _, value in line)))
        if len(lines) > 1:
            axes.legend(frameon=False, fontsize=9)

    return draw


def _thinned(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MOST_POINTS of the points, the last one among them."""
    every = -(-len(line) // MOST_POINTS)
    return line[::-every][::-1]


def _evaluated(evaluations: Sequence[Evaluated]) -> list[tuple[str, Chart]]:
    """The solve rate of the evaluations, with 95% intervals."""
    from common.statistics import wilson

    if not evaluations:
        return []

    def draw(axes: Axes) -> None:
        rates = [each.solve_rate for each in evaluations]
        ends = [wilson(each.solved, each.statements - each.undecided) for each in evaluations]
        bars = [[rate - low for rate, (low, _) in zip(rates, ends, strict=True)]]
        bars.append([high - rate for rate, (_, high) in zip(rates, ends, strict=True)])
        axes.errorbar([each.step for each in evaluations], rates, yerr=bars, fmt="o", color=COLOURS[0], capsize=3)
        axes.set_xlabel("training step")
        axes.set_ylim(0, 1)

    return [("evaluations: share solved, with 95% intervals", Chart("evaluations", [draw]))]


# --- tables -----------------------------------------------------------------------------------------------------------


def _evaluations(evaluations: Sequence[Evaluated]) -> Table:
    columns = ("evaluation", right("step"), right("solved"), right("of"), right("share"), right("simulations"))
    return Table(columns).fill(
        (
            each.label,
            each.step,
            each.solved,
            each.statements - each.undecided,
            percent(each.solve_rate),
            each.simulations,
        )
        for each in evaluations
    )


def _levels(levels: Sequence[Level]) -> Table:
    names = ("level", "theorems", "tried", "proved", "disproved", "refused", "attempts", "failures", "expansions")
    return Table(tuple(map(right, names))).fill(tuple(getattr(each, name) for name in names) for each in levels)


def _hardest(theorems: Sequence[TheoremRecord]) -> Table:
    columns = ("theorem", "result", right("attempts"), right("failed"), right("expansions"), Column("statement"))
    return Table(columns).fill(
        (each.theorem_id, each.result, each.attempts, each.failures, each.expansions, _cut(each.conclusion))
        for each in theorems
    )


def _proofs(proofs: Sequence[RunProof]) -> Table:
    columns = ("theorem", Column("statement"), Column("proof", lines=True), right("times"))
    return Table(columns).fill(
        (each.theorem.name, _cut(each.theorem.conclusion), _cut(each.script.strip("\n")), each.proofs)
        for each in proofs
    )


def _steps(proof: RunProof) -> int:
    return sum(1 for line in proof.script.splitlines() if line.strip())


def _tactics(tactics: Sequence[TacticRecord]) -> Table:
    columns = ("tactic", right("uses"), right("theorems"), "most frequent")
    return Table(columns).fill((each.head, each.uses, each.theorems, _cut(each.example)) for each in tactics)


def _slowest(attempts: Sequence[Any]) -> Table:
    columns = ("attempt", "theorem", "purpose", "outcome", right("seconds"), "most of it")
    table = Table(columns)
    for each in attempts:
        most = each.largest
        told = f"{PARTS[most[0]].name}, {most[1]:.1f} s" if most is not None else ""
        table.add(each.attempt_id, each.theorem_id, each.purpose, each.outcome, f"{each.total:.1f}", told)
    return table


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
