"""The output of `proofmesh eval show`: a table of evaluations, or the results of one, for people or as JSON."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from common.output.terminal import Console
from common.output.visible import escaped_json, visible
from common.output.words import number_of
from node.command.heartbeat_view import duration
from node.eval.folder import Evaluation
from node.eval.outputs import summary_lines
from node.eval.overview import Row, row_of, same_statements
from node.eval.results import results_of
from node.eval.results_file import results_file

WIDEST_NAME = 20
"""Longest name of an evaluation that fits on one line with its numbers, in 80 columns."""


def rows_as_json(rows: Sequence[Row]) -> str:
    """One JSON document: a list of evaluations. Unknown values are null."""
    return escaped_json(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())


def show_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the evaluations grouped by statements, the best first: a line of numbers each, and a description below
    it."""
    console = console or Console(highlight=False)
    names = _names(rows)
    for number, (_, group) in enumerate(itertools.groupby(rows, key=same_statements)):
        if number:
            console.print()
        _show_group(console, list(group), names)


def _names(rows: Sequence[Row]) -> dict[str, str]:
    """The name of each folder in the table: its path relative to the common parent folder."""
    parents = [str(Path(row.folder).absolute().parent) for row in rows]
    common = os.path.commonpath(parents)
    return {row.folder: visible(os.path.relpath(Path(row.folder).absolute(), common)) for row in rows}


def _show_group(console: Console, rows: Sequence[Row], names: Mapping[str, str]) -> None:
    benchmarks = " = ".join(sorted({row.benchmark for row in rows}))
    unread = f", {number_of(rows[0].unread, 'row')} not read" if rows[0].unread else ""
    title = f"{benchmarks} ({number_of(rows[0].statements, 'statement')}{unread}, digest {rows[0].digest[:8]})"
    console.print(Text(visible(title), style="bold"))
    width = min(WIDEST_NAME, max(len(names[row.folder]) for row in rows))
    heading = f"{'evaluation':<{width}} {'solved of':>14} {'rate [95% interval]':>20} {'Lean attempts':>14} {'time':>7}"
    console.print(Text(heading, style="dim"))
    for row in rows:
        name = names[row.folder]
        solved = f"{_number(row.solved)} of {row.counted}"
        rate = f"{_percent(row.rate)} [{_range(row.low, row.high)}]"
        numbers = f" {solved:>14} {rate:>20} {row.lean_attempts:>14,} {duration(row.wall_seconds):>7}"
        fits = len(name) <= width
        console.print(Text(f"{name:<{width}}{numbers if fits else ''}"), soft_wrap=True)
        if not fits:
            console.print(Text(f"{'':<{width}}{numbers}"))
        console.print(Padding(_about(row), (0, 0, 0, 2), expand=False))


def _about(row: Row) -> Text:
    """The description of an evaluation, with the facts that only some evaluations have."""
    passes = f", {row.passes} passes" if row.passes > 1 else ""
    library = "" if row.library == "none" else f" ({row.library})"
    parts = [
        Text(visible(f"{row.policy}, {row.method}, {row.budgets}{passes}"), style="dim"),
        Text(visible(f"Lean {row.lean}{library}, {_day(row.date)}"), style="dim"),
    ]
    if row.passes > 1:
        parts.append(Text(f"any pass: {row.any}"))
    if not math.isnan(row.rate_without_flawed):
        parts.append(Text(f"without flawed ones: {_percent(row.rate_without_flawed)}"))
    return Text("; ", style="dim").join([*parts, *_not_counted(row)])


def _not_counted(row: Row) -> list[Text]:
    parts = [
        (f"not elaborated: {row.not_elaborated}", "", row.not_elaborated),
        (f"undecided: {row.undecided}", "yellow", row.undecided),
        (f"not finished: {number_of(row.missing, 'attempt')} missing", "yellow", row.missing),
    ]
    return [Text(text, style=style) for text, style, count in parts if count]


def show_detail(evaluation: Evaluation, console: Console | None = None) -> None:
    """Print the results of one evaluation, and its benchmark, policy and Lean."""
    console = console or Console(highlight=False)
    row = row_of(evaluation)
    unread = f", {number_of(row.unread, 'row')} not read" if row.unread else ""
    console.print(summary_lines(results_of(evaluation)))
    console.print()
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, fact in (
        ("folder", row.folder),
        ("benchmark", f"{number_of(row.statements, 'statement')} evaluated{unread}, digest of all {row.digest}"),
        ("policy", f"{row.policy}, {row.method}, {row.budgets} for each attempt, seed {row.seed}"),
        ("Lean", f"{row.lean}{'' if row.library == 'none' else f', {row.library}'}"),
        ("last attempt", _day(row.date)),
    ):
        table.add_row(Text(name, style="dim"), Text(visible(fact)))
    console.print(table)


def detail_as_json(evaluation: Evaluation) -> str:
    """The results of one evaluation, as in `results.json`."""
    return escaped_json(
        msgspec.json.format(msgspec.json.encode(results_file(results_of(evaluation))), indent=2).decode()
    )


def _number(value: float) -> str:
    """A number of solved statements. With several passes it may have a fraction."""
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def _range(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{100 * low:.1f}, {100 * high:.1f}"


def _day(date: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(date)) if date else "not begun"
