"""`proofmesh eval show [FOLDER ...]`: shows the results of evaluations.

For the folder of one evaluation it shows details. For a folder of several evaluations, or several folders, it shows a
table with one row each.

Exit code: 0 shown, 2 there are no evaluations, or at least one of them cannot be read.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.output.command import Exit, command, refuse
from common.output.visible import visible
from common.output.words import duration, number_of, percent
from common.report.table import Table, as_document
from common.statistics import wilson
from node.eval.folder import PLAN, Evaluation, FolderError, Standing, budgets_in_words, library_in_words, read
from node.eval.results import results_of

if TYPE_CHECKING:
    from rich.text import Text

    from common.output.terminal import Console

PROG = "proofmesh eval show"

WIDEST_NAME = 20
"""Longest name of an evaluation that fits on one line with its numbers, in 80 columns."""


@dataclass
class ShowSettings:
    """Show results of evaluations."""

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional] = (Path("evals"),)
    """Evaluations, and folders of evaluations."""

    json: bool = False
    """Print one JSON document instead of tables."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return command(ShowSettings, list(argv), _show, prog=PROG, description=__doc__)


def _show(settings: ShowSettings) -> int:
    folders = settings.folders or (Path("evals"),)
    # 1. Read all evaluations. Those that cannot be read are told, and the others shown.
    evaluations: dict[Path, Evaluation] = {}
    code = Exit.DONE
    for path in _paths(folders):
        try:
            if isinstance(path, FolderError):
                raise path
            evaluations.setdefault(path.resolve(), read(path))
        except FolderError as error:
            refuse(PROG, error)
            code = Exit.UNUSABLE
    # 2. One that was named alone in detail, several as rows.
    found = list(evaluations.values())
    alone = len(found) == 1 and found[0].path in folders
    rows = in_order([row_of(evaluation) for evaluation in found])
    if found and settings.json:
        print(as_document(_document(found[0]) if alone else rows))
    elif alone:
        show_detail(found[0])
    elif found:
        show_rows(rows)
    return code


def _paths(folders: Sequence[Path]) -> Iterator[Path | FolderError]:
    """The evaluations in these folders, or why there is none."""
    for folder in folders:
        try:
            yield from evaluations_in(folder)
        except FolderError as error:
            yield error


def _document(evaluation: Evaluation) -> object:
    """The results of one evaluation, as in `results.json`."""
    from node.eval.outputs import results_file

    return results_file(results_of(evaluation))


# --- overview of evaluations, one row each ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One evaluation."""

    folder: str
    benchmark: str
    digest: str
    policy: str
    method: str
    budgets: str
    seed: int
    passes: int
    statements: int
    """Statements that are evaluated."""
    unread: int
    """Rows of the whole benchmark that could not be read as statements."""
    counted: int
    """Evaluated statements that are solved or unsolved."""
    solved: float
    """Statements that one pass solves on average."""
    any: int
    """Statements that at least one pass solved."""
    rate: float
    """Share of the counted statements that one pass solves; nan if none is counted."""
    low: float
    high: float
    """Ends of its 95% interval (Wilson)."""
    rate_without_flawed: float
    """nan if no statement has a known flaw."""
    not_elaborated: int
    undecided: int
    missing: int
    """Attempts that were not played yet; 0: the evaluation is finished."""
    lean_attempts: int
    wall_seconds: float
    lean: str
    library: str
    date: float
    """Unix time of the last attempt; 0 without attempts."""


def row_of(evaluation: Evaluation) -> Row:
    """The row of an evaluation."""
    results = results_of(evaluation)
    plan, total = evaluation.plan, results.total
    # Wilson's interval, because it stays within 0 and 1 for few statements and for rates near the ends.
    low, high = wilson(total.solved, total.statements)
    return Row(
        folder=str(evaluation.path),
        benchmark=plan.benchmark.spec,
        digest=plan.benchmark.digest,
        policy=plan.label,
        method=plan.way,
        budgets=budgets_in_words(plan.budgets),
        seed=plan.seed,
        passes=results.passes,
        statements=len(results.statements),
        unread=results.unread,
        counted=total.statements,
        solved=total.solved,
        any=total.any,
        rate=total.rate,
        low=low,
        high=high,
        # nan, not 0: where no statement is known to be flawed, there is no second rate.
        rate_without_flawed=results.without_flawed.rate if results.without_flawed else math.nan,
        not_elaborated=results.standings[Standing.NOT_ELABORATED],
        undecided=results.standings[Standing.UNDECIDED],
        missing=results.missing,
        lean_attempts=results.costs.lean_attempts,
        wall_seconds=results.costs.wall_seconds,
        lean=plan.lean.version,
        library=library_in_words(plan),
        date=max((each.time for each in evaluation.attempts), default=0.0),
    )


def same_statements(row: Row) -> tuple[str, int]:
    """A key that is equal for evaluations of the same statements, whatever the name and place of the benchmark."""
    return row.digest, row.statements


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Sorted by the evaluated statements, then by decreasing rate; rows without a rate come last."""
    benchmark_names: dict[tuple[str, int], str] = {}
    for row in sorted(rows, key=lambda row: row.benchmark):
        benchmark_names.setdefault(same_statements(row), row.benchmark)

    def place(row: Row) -> tuple[str, str, int, float, str]:
        rate = 1.0 if math.isnan(row.rate) else -row.rate
        return benchmark_names[same_statements(row)], *same_statements(row), rate, row.folder

    return sorted(rows, key=place)


def evaluations_in(folder: Path) -> list[Path]:
    """The folder itself if it is an evaluation, else all evaluations below it. Raises FolderError if there is none."""
    if not folder.is_dir():
        raise FolderError(f"{folder}: no such folder; `proofmesh eval --out FOLDER` makes one")
    folders = [folder] if (folder / PLAN).is_file() else sorted(plan.parent for plan in folder.rglob(PLAN))
    if not folders:
        raise FolderError(f"{folder}: has no evaluation (no {PLAN}); `proofmesh eval --out {folder}/NAME` makes one")
    return folders


# --- what is printed --------------------------------------------------------------------------------------------------


def show_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """Print the evaluations grouped by statements, the best first: a line of numbers each, and a description below
    it."""
    from common.output.terminal import Console

    console = console or Console(highlight=False)
    # The name of each folder in the table: its path relative to the common parent folder.
    common = os.path.commonpath([str(Path(row.folder).absolute().parent) for row in rows])
    names = {row.folder: visible(os.path.relpath(Path(row.folder).absolute(), common)) for row in rows}
    for number, (_, group) in enumerate(itertools.groupby(rows, key=same_statements)):
        if number:
            console.print()
        _show_group(console, list(group), names)


def _show_group(console: Console, rows: Sequence[Row], names: Mapping[str, str]) -> None:
    from rich.padding import Padding

    from common.output.terminal import line

    # 1. What was evaluated, and the headings.
    benchmarks = " = ".join(sorted({row.benchmark for row in rows}))
    unread = f", {number_of(rows[0].unread, 'row')} not read" if rows[0].unread else ""
    title = f"{benchmarks} ({number_of(rows[0].statements, 'statement')}{unread}, digest {rows[0].digest[:8]})"
    console.print(line(title, "bold"))
    width = min(WIDEST_NAME, max(len(names[row.folder]) for row in rows))
    heading = f"{'evaluation':<{width}} {'solved of':>14} {'rate [95% interval]':>20} {'Lean attempts':>14} {'time':>7}"
    console.print(line(heading, "dim"))
    # 2. A line of numbers for each evaluation; a long name has a line of its own.
    for row in rows:
        name = names[row.folder]
        solved = f"{_number(row.solved)} of {row.counted}"
        rate = f"{percent(row.rate)} [{_range(row.low, row.high)}]"
        numbers = f" {solved:>14} {rate:>20} {row.lean_attempts:>14,} {duration(row.wall_seconds):>7}"
        fits = len(name) <= width
        console.print(line(f"{name:<{width}}{numbers if fits else ''}"), soft_wrap=True)
        if not fits:
            console.print(line(f"{'':<{width}}{numbers}"))
        console.print(Padding(_about(row), (0, 0, 0, 2), expand=False))


def _about(row: Row) -> Text:
    """The description of an evaluation, with the facts that only some evaluations have."""
    from common.output.terminal import line

    passes = f", {row.passes} passes" if row.passes > 1 else ""
    library = "" if row.library == "none" else f" ({row.library})"
    parts = [
        (f"{row.policy}, {row.method}, {row.budgets}{passes}", "dim"),
        (f"Lean {row.lean}{library}, {_day(row.date)}", "dim"),
    ]
    if row.passes > 1:
        parts.append((f"any pass: {row.any}", ""))
    if not math.isnan(row.rate_without_flawed):
        parts.append((f"without flawed ones: {percent(row.rate_without_flawed)}", ""))
    if row.not_elaborated:
        parts.append((f"not elaborated: {row.not_elaborated}", ""))
    if row.undecided:
        parts.append((f"undecided: {row.undecided}", "yellow"))
    if row.missing:
        parts.append((f"not finished: {number_of(row.missing, 'attempt')} missing", "yellow"))
    return line("; ", "dim").join([line(*part) for part in parts])


def show_detail(evaluation: Evaluation, console: Console | None = None) -> None:
    """Print the results of one evaluation, and its benchmark, policy and Lean."""
    from common.output.terminal import Console
    from node.eval.outputs import summary_lines

    console = console or Console(highlight=False)
    row = row_of(evaluation)
    unread = f", {number_of(row.unread, 'row')} not read" if row.unread else ""
    console.print(summary_lines(results_of(evaluation)))
    console.print()
    table = Table(("", ""), framed=False)
    table.add("folder", row.folder)
    table.add("benchmark", f"{number_of(row.statements, 'statement')} evaluated{unread}, digest of all {row.digest}")
    table.add("policy", f"{row.policy}, {row.method}, {row.budgets} for each attempt, seed {row.seed}")
    table.add("Lean", f"{row.lean}{'' if row.library == 'none' else f', {row.library}'}")
    table.add("last attempt", _day(row.date))
    console.print(table)


def _number(value: float) -> str:
    """A number of solved statements. With several passes it may have a fraction."""
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _range(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{100 * low:.1f}, {100 * high:.1f}"


def _day(date: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(date)) if date else "not begun"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
