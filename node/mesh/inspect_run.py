"""`proofmesh inspect RUN_DIRECTORY`: tables of a run's train theorems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from common.run_proofs import DATABASE, UnreadableRecords
from common.run_theorems import Level, Order, TheoremRecord, read_theorems
from common.words import printable

STATEMENT = 60
"""Most characters of a statement to show."""

TITLES = {
    Order.HARDEST: "hardest: undecided, most failures first",
    Order.TRIED: "most tried first",
    Order.COST: "most expansions first",
}


def show_run(folder: Path, limit: int, order: Order, console: Console) -> None:
    """Print a run's levels and its first theorems by `order`. Reads only. Raises UnreadableRecords."""
    path = folder / DATABASE
    if not path.is_file():
        raise UnreadableRecords(f"{folder} is not a run directory (it has no {DATABASE}); name one, such as runs/demo")
    levels, theorems = read_theorems(path, limit, order)
    console.print(_levels(levels))
    console.print(_theorems(theorems, order))


def _levels(levels: Sequence[Level]) -> Table:
    columns = ("level", "theorems", "tried", "proved", "disproved", "refused", "attempts", "failed", "expansions")
    table = Table(*columns, title="train theorems", title_justify="left")
    for each in levels:
        counts = (each.theorems, each.tried, each.proved, each.disproved, each.refused)
        table.add_row(str(each.level), *map(str, counts), *map(str, (each.attempts, each.failures, each.expansions)))
    return table


def _theorems(theorems: Sequence[TheoremRecord], order: Order) -> Table:
    columns = ("theorem", "level", "result", "attempts", "failed", "steps", "budget", "expansions", "Lean", "weights")
    table = Table(*columns, "statement", title=TITLES[order], title_justify="left")
    for each in theorems:
        style = "green" if each.proofs else "dim" if each.disproved or each.refused else ""
        steps = "" if each.shortest is None else str(each.shortest)
        table.add_row(
            *(_plain(each.theorem_id), str(each.level), each.result, str(each.attempts), str(each.failures), steps),
            *(str(each.last_budget), str(each.expansions), str(each.lean_attempts), str(each.last_weights)),
            _plain(each.conclusion),
            style=style,
        )
    return table


def _plain(text: str) -> Text:
    """The text on one line, shortened, with control characters replaced."""
    line = " ".join(text.split())
    shown = line if len(line) <= STATEMENT else f"{line[: STATEMENT - 1]}…"
    return Text(printable(shown, "\N{REPLACEMENT CHARACTER}"))
