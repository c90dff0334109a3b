"""What `proofmesh eval show` prints: a table of evaluations, or the results of one, for people or as JSON."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from node.eval.curves import KINDS, wilson
from node.eval.folder import Evaluation
from node.eval.known import exact_until
from node.eval.overview import Row, row_of
from node.eval.results import Results, Tally, results_of
from node.eval.words import number_of
from node.mesh.heartbeat_view import duration

FAMILIES_SHOWN = 40

WIDEST_NAME = 20
"""Of an evaluation on a line with its numbers, in 80 columns."""


def rows_as_json(rows: Sequence[Row]) -> str:
    """One JSON document: a list of evaluations; what is not known is null."""
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()


def show_rows(rows: Sequence[Row], console: Console | None = None) -> None:
    """The evaluations of each benchmark, the best first: a line of numbers each, and what they are of below it."""
    console = console or Console(highlight=False)
    names = _names(rows)
    for number, (_, group) in enumerate(itertools.groupby(rows, key=lambda row: (row.benchmark, row.digest))):
        if number:
            console.print()
        _show_group(console, list(group), names)


def _names(rows: Sequence[Row]) -> dict[str, str]:
    """What a folder is called in the table: its path below the one that all are in."""
    parents = [str(Path(row.folder).absolute().parent) for row in rows]
    above = os.path.commonpath(parents)
    return {row.folder: os.path.relpath(Path(row.folder).absolute(), above) for row in rows}


def _show_group(console: Console, rows: Sequence[Row], names: Mapping[str, str]) -> None:
    title = f"{rows[0].benchmark} ({max(row.statements for row in rows)} statements, digest {rows[0].digest[:8]})"
    console.print(Text(title, style="bold"))
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
    """What an evaluation is of, and all about it that is not always there."""
    passes = f", {row.passes} passes" if row.passes > 1 else ""
    library = "" if row.library == "none" else f" ({row.library})"
    parts = [
        Text(f"{row.policy}, {row.method}, {row.budgets}{passes}", style="dim"),
        Text(f"Lean {row.lean}{library}, {_day(row.date)}", style="dim"),
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
    """The results of one evaluation."""
    console = console or Console(highlight=False)
    results, row = results_of(evaluation), row_of(evaluation)
    console.print(_facts(row, results))
    console.print()
    console.print(_budgets(results))
    for title, table in (
        ("family", _groups(results.families)),
        ("level", _groups({f"level {level}": found for level, found in results.levels.items()})),
    ):
        if table.row_count:
            table.columns[0].header = title
            console.print()
            console.print(table)


def _facts(row: Row, results: Results) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    costs = results.costs
    lines = {
        "evaluation": row.folder,
        "benchmark": f"{row.benchmark} ({number_of(row.statements, 'statement')}, digest {row.digest[:12]})",
        "policy": f"{row.policy}, {row.method}, {row.budgets} an attempt, seed {row.seed}",
        "Lean": f"{row.lean}{'' if row.library == 'none' else f', {row.library}'}",
        "solved": f"{_number(row.solved)} of {row.counted}, {_percent(row.rate)} [{_range(row.low, row.high)}]"
        + (f"; by any of {row.passes} passes {row.any}" if row.passes > 1 else ""),
        "not flawed": "" if results.without_flawed is None else _tally(results.without_flawed),
        "not counted": ", ".join(map(str, _not_counted(row))),
        "no statements": number_of(results.unread, "row") if results.unread else "",
        "pass@k": "; ".join(
            f"pass@{each.k} {_percent(each.unbiased)}"
            + ("" if math.isnan(each.deviation) else f" (blocks {_percent(each.mean)} ± {100 * each.deviation:.1f})")
            for each in results.pass_at
            if results.passes > 1
        ),
        "the rest": ", ".join(f"{ended}: {count}" for ended, count in results.endings.most_common()),
        "axioms": ", ".join(f"{axiom} ({count})" for axiom, count in results.axioms.most_common()),
        "spent": f"{costs.simulations:,} simulations, {costs.lean_attempts:,} Lean attempts, {costs.tokens:,} tokens",
        "time": f"{duration(costs.wall_seconds)}, CPU {duration(costs.own_cpu)} of its own"
        + ("" if costs.lean_cpu is None else f" and {duration(costs.lean_cpu)} of Lean"),
        "last attempt": _day(row.date),
    }
    for name, said in lines.items():
        if said:
            table.add_row(Text(name, style="dim"), Text(said))
    return table


def _budgets(results: Results) -> Table:
    """Solved within smaller budgets: two columns for each kind."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    columns = []
    for kind, points in results.budgets.items():
        if points:
            exact = exact_until((row for row in results.statements if row.counts), results.plan, kind)
            columns.append([(f"{limit:,.0f}", _bound(found, limit <= exact)) for limit, found in points])
            table.add_column(KINDS[kind], justify="right")
            table.add_column("solved", justify="right", min_width=8)
    for cells in itertools.zip_longest(*columns, fillvalue=("", "")):
        table.add_row(*itertools.chain.from_iterable(cells))
    return table


def _bound(found: Tally, exact: bool) -> str:
    """A lower bound where attempts have ended before."""
    return f"{'' if exact else '>= '}{_percent(found.rate)}"


def _groups(groups: Mapping[str, Tally]) -> Table:
    """The largest groups; none where there is but one."""
    table = _columns()
    shown = sorted(groups.items(), key=lambda item: -item[1].statements)[:FAMILIES_SHOWN] if len(groups) > 1 else []
    for name, found in sorted(shown):
        _add(table, name, found)
    if len(groups) > len(shown) > 0:
        table.add_row(f"and {len(groups) - len(shown)} more (--json)")
    return table


def _columns() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", min_width=22)
    for heading in ("solved", "of", "rate", "95% interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _add(table: Table, name: str, found: Tally) -> None:
    low, high = wilson(found.solved, found.statements)
    table.add_row(
        Text(name), _number(found.solved), str(found.statements), _percent(found.rate), f"[{_range(low, high)}]"
    )


def detail_as_json(evaluation: Evaluation) -> str:
    """The results of one evaluation, its statements included; what is not known is null."""
    results = results_of(evaluation)
    document: dict[str, Any] = {
        "row": row_of(evaluation),
        "plan": results.plan,
        "total": results.total,
        "without_flawed": results.without_flawed,
        "standings": results.standings,
        "unread": results.unread,
        "missing": results.missing,
        "passes": results.passes,
        "by_budget": {
            kind: [{"limit": limit, "solved": found} for limit, found in points]
            for kind, points in results.budgets.items()
        },
        "families": results.families,
        "levels": {str(level): found for level, found in results.levels.items()},
        "pass_at": results.pass_at,
        "endings": results.endings,
        "axioms": results.axioms,
        "costs": results.costs,
        "statements": [
            {
                "name": each.statement.name,
                "standing": each.standing,
                "solved": len(each.solved),
                "attempts": len(each.decided),
                "flaw": each.statement.flaw,
            }
            for each in results.statements
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _tally(found: Tally) -> str:
    return f"{_number(found.solved)} of {found.statements}, {_percent(found.rate)}"


def _number(value: float) -> str:
    """Of solved statements: with several passes it may be broken."""
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def _range(low: float, high: float) -> str:
    return "-" if math.isnan(low) else f"{100 * low:.1f}, {100 * high:.1f}"


def _day(date: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(date)) if date else "not begun"
