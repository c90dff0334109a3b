"""`proofmesh inspect RUN_DIRECTORY`: tables of a run's train theorems, and its proofs as Lean files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from common.output.terminal import Console
from common.output.terminal import line as one_line
from common.output.words import number_of
from common.records.readers import DATABASE, Level, Order, TheoremRecord, UnreadableRecords, read_theorems, shortest

STATEMENT = 60
"""Most characters of a statement to show."""

WIDE = 130
"""Columns of a terminal that shows the costs of theorems."""

COSTS = ("level", "steps", "budget", "expansions", "Lean", "weights")

TITLES = {
    Order.HARDEST: "hardest: undecided first, then those with most failures",
    Order.TRIED: "most tried first",
    Order.COST: "most expansions first",
}


def show_run(folder: Path, limit: int, order: Order, console: Console) -> None:
    """Print a run's levels and its first theorems by `order`. Reads only. Raises UnreadableRecords."""
    levels, theorems = read_theorems(_records(folder), limit, order)
    console.print(_levels(levels))
    console.print(_theorems(theorems, order, console.width))


def _records(folder: Path) -> Path:
    """The records of a run directory. Raises UnreadableRecords."""
    path = folder / DATABASE
    if not path.is_file():
        raise UnreadableRecords(f"{folder} is not a run directory (it has no {DATABASE}); name one, such as runs/demo")
    return path


def write_proofs(folder: Path, file: Path, console: Console) -> None:
    """Write the shortest proof of every theorem that the run has proved or disproved as Lean files, and say where.

    Reads the run only. Raises UnreadableRecords, OSError.
    """
    from node.lean.check.files.proofs_text import ProvedStatement, proofs_files, write_files

    found = shortest(_records(folder))
    proved = [
        ProvedStatement(
            each.theorem.name,
            each.theorem,
            each.script,
            f"{'disproved' if each.disproof else 'proved'} {number_of(each.proofs, 'time')}",
        )
        for each in found
    ]
    versions = dict.fromkeys(each.lean_version for each in found)
    files = proofs_files(proved, f"the run {folder.resolve().name}", ", ".join(versions) or "not known")
    paths = ", ".join(map(str, write_files(file, files.texts)))
    console.print(_plain_line(f"{number_of(files.proofs, 'proof')} in {paths}; check with `proofmesh verify`"))
    if files.left_out:
        console.print(_plain_line(f"{len(files.left_out)} are proofs for gaps in Lean files, and not in it"))


def _plain_line(text: str) -> Text:
    return one_line(text)


def _levels(levels: Sequence[Level]) -> Table:
    columns = ("level", "theorems", "tried", "proved", "disproved", "refused", "attempts", "failed", "expansions")
    table = Table(*columns, title="train theorems", title_justify="left", box=SIMPLE_HEAD, padding=0)
    for each in levels:
        counts = (each.theorems, each.tried, each.proved, each.disproved, each.refused)
        table.add_row(str(each.level), *map(str, counts), *map(str, (each.attempts, each.failures, each.expansions)))
    return table


def _theorems(theorems: Sequence[TheoremRecord], order: Order, width: int) -> Table:
    """The theorems, with their costs if the terminal is wide enough."""
    wide = width >= WIDE
    columns = ("theorem", "result", "attempts", "failed") + (COSTS if wide else ())
    table = Table(*columns, "statement", title=TITLES[order], title_justify="left")
    for each in theorems:
        style = "green" if each.proofs else "dim" if each.disproved or each.refused else ""
        steps = "" if each.shortest is None else str(each.shortest)
        costs = (each.level, steps, each.last_budget, each.expansions, each.lean_attempts, each.last_weights)
        table.add_row(
            *(_plain(each.theorem_id), each.result, str(each.attempts), str(each.failures)),
            *(map(str, costs) if wide else ()),
            _plain(each.conclusion),
            style=style,
        )
    return table


def _plain(text: str) -> Text:
    """The text on one line, shortened, with characters that cannot be seen escaped."""
    line = " ".join(text.split())
    shown = line if len(line) <= STATEMENT else f"{line[: STATEMENT - 1]}…"
    return one_line(shown)
