"""The output of `proofmesh eval compare`: tables for people, or one JSON document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from common.output.terminal import Console
from common.output.visible import escaped_json, visible
from common.output.words import number_of

if TYPE_CHECKING:
    from node.eval.comparing import AtBudget, Comparison, Difference, SideFacts
    from node.eval.records import Standing

NAMES_SHOWN = 20
"""Most names of won or lost statements in the tables; JSON has all of them."""


def as_json(comparisons: Sequence[Comparison]) -> str:
    """All comparisons as JSON. Unknown values are null."""
    return escaped_json(
        msgspec.json.format(msgspec.json.encode([_document(each) for each in comparisons]), indent=2).decode()
    )


def _document(comparison: Comparison) -> dict[str, Any]:
    pairing = comparison.pairing
    return {
        "baseline": comparison.first,
        "other": comparison.second,
        "statements": {
            "paired_by": "name" if pairing.by_name else "statement and header",
            "in_both": pairing.shared,
            "only_in_baseline": pairing.only_first,
            "only_in_other": pairing.only_second,
            "compared": len(pairing.pairs),
            "left_out_in_baseline": pairing.left_out_first,
            "left_out_in_other": pairing.left_out_second,
        },
        "attempts_compared": {"least": comparison.tries[0], "most": comparison.tries[1]},
        "test_of_p": "mcnemar" if comparison.single else "permutation",
        "total": comparison.total,
        "without_flawed": comparison.without_flawed,
        "won": comparison.won,
        "lost": comparison.lost,
        "by_simulations": comparison.simulations,
        "by_lean_attempts": comparison.lean_attempts,
        "exact_until_simulations": comparison.exact_simulations,
        "exact_until_lean_attempts": comparison.exact_lean_attempts,
        "equal_spending": comparison.equal_spending,
        "equal_spending_where_neither_solved": comparison.equal_unsolved,
        "warnings": comparison.warnings,
    }


def show(comparisons: Sequence[Comparison], console: Console | None = None) -> None:
    """Print each comparison for people."""
    console = console or Console(highlight=False)
    for number, comparison in enumerate(comparisons):
        if number:
            console.print()
        _show_one(console, comparison)


def _show_one(console: Console, comparison: Comparison) -> None:
    sides = Table.grid(padding=(0, 2, 0, 0))
    for letter, side in (("A", comparison.first), ("B", comparison.second)):
        sides.add_row(
            Text(letter, "bold"),
            Text.assemble((visible(side.label), "bold"), visible(f": {side.what}{_seeds(side)}")),
        )
    console.print(sides)
    _line(console, _statements(comparison))
    for warning in comparison.warnings:
        _line(console, f"! {warning}", "yellow")
    console.print()
    console.print(_differences(comparison))
    for note in _notes(comparison):
        _line(console, note, "dim")
    console.print()
    by = "" if comparison.single else f" with {_first_tries(comparison)}"
    for letter, names, other in (("B", comparison.won, "A"), ("A", comparison.lost, "B")):
        _line(console, f"solved by {letter} and not by {other}{by}: {_names(names)}")
    console.print()
    console.print(_spending(comparison))


def _line(console: Console, text: str, style: str = "") -> None:
    """Print an indented line; it may wrap."""
    console.print(Padding(Text(visible(text), style=style), (0, 0, 0, 3), expand=False))


def _seeds(side: SideFacts) -> str:
    if len(side.rates) < 2:
        return ""
    mean = sum(side.rates) / len(side.rates)
    rates = ", ".join(_percent(rate) for rate in side.rates)
    return f"; {_percent(mean)} ± {100 * side.deviation:.1f} over seeds ({rates})"


def _statements(comparison: Comparison) -> str:
    pairing = comparison.pairing
    parts = [f"{number_of(len(pairing.pairs), 'statement')} compared, of {pairing.shared:,} in both"]
    for letter, left_out in (("A", pairing.left_out_first), ("B", pairing.left_out_second)):
        parts += [f"{what} in {letter}: {count}" for what, count in _reasons(left_out)]
    for letter, count in (("A", pairing.only_first), ("B", pairing.only_second)):
        if count:
            parts.append(f"{count} more in {letter} alone")
    return "; ".join(parts)


def _reasons(left_out: Counter[Standing]) -> list[tuple[str, int]]:
    return [(standing.value.replace("-", " "), count) for standing, count in sorted(left_out.items())]


def _differences(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("solved", min_width=15)
    for heading in ("A", "B", "B - A [95% interval]", "p", "only A", "only B"):
        table.add_column(heading, justify="right", no_wrap=True)
    _add(table, f"all {comparison.total.statements}", comparison.total, "bold")
    if (solid := comparison.without_flawed) is not None:
        _add(table, f"not flawed: {solid.statements}", solid)
    for title, points, exact in (
        ("simulations", comparison.simulations, comparison.exact_simulations),
        ("Lean attempts", comparison.lean_attempts, comparison.exact_lean_attempts),
    ):
        if points:
            table.add_row(Text(title, style="italic"))
        for point in points:
            _add_budget(table, point, last_exact=point.limit == exact)
    return table


def _add(table: Table, title: str, row: Difference, style: str = "") -> None:
    table.add_row(
        Text(title, style=style),
        _percent(row.first),
        _percent(row.second),
        Text(
            f"{_signed(row.difference)} [{_signed(row.low)}, {_signed(row.high)}]",
            style="green" if row.low > 0 else "red" if row.high < 0 else "",
        ),
        _p(row.p),
        str(row.only_first),
        str(row.only_second),
    )


def _add_budget(table: Table, point: AtBudget, *, last_exact: bool) -> None:
    row, title = point.found, f"  {point.limit:,}{' =' if last_exact else ''}"
    if point.exact:
        _add(table, title, row)
        return
    # Not every attempt had this whole budget, so only bounds of the difference are known.
    least = row.difference - point.open_first
    most = row.difference + point.open_second
    cells = (
        title,
        _from(row.first, point.open_first),
        _from(row.second, point.open_second),
        f"{_signed(least)} to {_signed(most)} *",
    )
    table.add_row(*(Text(cell, style="dim") for cell in cells), "", "", "")


def _notes(comparison: Comparison) -> list[str]:
    notes = []
    exact = [("simulations", comparison.exact_simulations), ("Lean attempts", comparison.exact_lean_attempts)]
    points = (comparison.simulations, comparison.lean_attempts)
    budgets = [f"{limit:,} {kind}" for (kind, limit), rows in zip(exact, points, strict=True) if rows and limit]
    if budgets:
        notes.append(
            f"= the largest budget for which it is known whether each attempt of both sides solves its statement: "
            f"{' and '.join(budgets)}"
        )
    if any(not point.exact for rows in points for point in rows):
        notes.append(
            "* another budget ended some attempts before this one was used up: the range is from none to all of these "
            "attempts being solved"
        )
    if not comparison.single:
        notes.append(
            "rates are means over attempts, p is of their difference (permutation test); only A, only B: solved with "
            f"{_first_tries(comparison)} (McNemar's test on these: p {_p(comparison.total.mcnemar)})"
        )
    else:
        notes.append("p: McNemar's exact test; interval: bootstrap over statements")
    return notes


def _spending(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("spent on an attempt")
    for heading in ("A", "B", "B / A"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    first, second = comparison.first.spent, comparison.second.spent
    first_unsolved, second_unsolved = comparison.first.unsolved, comparison.second.unsolved
    neither = (first_unsolved.lean_attempts, second_unsolved.lean_attempts, _verdict(comparison.equal_unsolved))
    for name, one, other, note in (
        ("Lean attempts", first.lean_attempts, second.lean_attempts, _verdict(comparison.equal_spending)),
        ("  where neither solved", *neither),
        ("simulations", first.simulations, second.simulations, ""),
        ("samples", first.samples, second.samples, ""),
        ("tokens", first.tokens, second.tokens, ""),
        ("seconds", first.seconds, second.seconds, ""),
        ("Lean CPU seconds", first.lean_cpu, second.lean_cpu, ""),
    ):
        if one or other:
            ratio = f"{other / one:.2f}" if one and other and math.isfinite(other / one) else ""
            style = "yellow" if note == "not equal" else ""
            table.add_row(name, _amount(one), _amount(other), ratio, Text(note, style=style))
    return table


def _verdict(equal: bool) -> str:
    return "equal within 5%" if equal else "not equal"


def _amount(value: float) -> str:
    if math.isnan(value):
        return "not known"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _names(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - NAMES_SHOWN} more (--json)" if len(names) > NAMES_SHOWN else ""
    return f"{len(names)} ({', '.join(names[:NAMES_SHOWN])}{more})"


def _first_tries(comparison: Comparison) -> str:
    """Which attempts of a side decide whether it solves a statement."""
    tries = comparison.tries
    return "the first attempt" if tries[1] == 1 else f"one of the first {_range(*tries)} attempts"


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def _from(share: float, more: float) -> str:
    return f"{100 * share:.0f}-{100 * (share + more):.0f}%" if more else _percent(share)


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"
