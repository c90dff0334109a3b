"""`proofmesh eval compare A B ...`: compares evaluations with the first one.

    eval compare evals/list evals/network             two evaluations
    eval compare evals/list evals/v1 evals/v2         two of them, each with the first
    eval compare a1,a2,a3 b1,b2,b3                    two sides with three seeds each

Statements are paired. A statement counts if both sides solved it or used up their budgets for it. The comparison is
repeated for smaller budgets of simulations and of Lean attempts.

Exit code: 0 compared, 2 a folder is not an evaluation, or there is nothing to compare.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from common.limits import Natural
from common.output.command import Exit, UserError, command
from common.output.visible import say
from common.output.words import number_of, percent
from common.report.table import Cell, Column, Table, Tone, as_document, right

if TYPE_CHECKING:
    from common.output.terminal import Console
    from node.eval.comparing import AtBudget, Comparison, Difference, Side, SideFacts
    from node.eval.folder import Standing

NAMES_SHOWN = 20
"""Most names of won or lost statements in the tables; JSON has all of them."""


@dataclass
class CompareSettings:
    """Compare evaluations with the first one."""

    evaluations: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Folders of evaluations; the first is the baseline. Folders separated by commas are one side with several
    seeds."""

    json: bool = False
    """Print one JSON document instead of tables."""

    picture: Path | None = None
    """Plot solve rates over simulations and Lean attempts, with their intervals, to this .png or .svg file."""

    seed: Natural = 0
    """Seed of the bootstrap: the same seed gives the same intervals."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    return command(CompareSettings, list(argv), _compare, prog="proofmesh eval compare", description=__doc__)


def _compare(settings: CompareSettings) -> int:
    from node.eval.comparing import compare, sides_of
    from node.eval.folder import read

    picture = settings.picture
    if picture is not None and picture.suffix not in (".png", ".svg"):  # before any work
        raise UserError(f"--picture {picture}: name a .png or .svg file")
    # 1. A side has one evaluation for each seed; they are joined by commas, which a folder's name may have too.
    names = settings.evaluations
    groups = [[name] if Path(name).is_dir() else [part for part in name.split(",") if part] for name in names]
    sides = sides_of([[read(Path(name)) for name in group] for group in groups if group])
    # 2. The picture first: where it cannot be written, nothing is printed.
    comparisons = compare(sides, settings.seed)
    if picture is not None:
        _draw(sides, comparisons, picture)
    if settings.json:
        print(as_document([_document(each) for each in comparisons]))
    else:
        show(comparisons)
    if picture is not None:
        say(f"proofmesh eval compare: wrote {picture}", file=sys.stderr)
    return Exit.DONE


def _draw(sides: Sequence[Side], comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw the curves of all sides. Raises UserError."""
    from node.eval.comparing import side_curves
    from node.eval.curves import chart
    from node.eval.results import LEAN_ATTEMPTS, SIMULATIONS

    panels = [(kind, side_curves(sides, comparisons, kind)) for kind in (SIMULATIONS, LEAN_ATTEMPTS)]
    try:
        chart(panels).save(path)
    except OSError as error:
        raise UserError(f"--picture {path}: cannot be written: {error.strerror or error}") from error


# --- what is printed --------------------------------------------------------------------------------------------------


def _document(comparison: Comparison) -> dict[str, Any]:
    # The keys are read by scripts: names here stay, also when an attribute gets another one.
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
    from common.output.terminal import Console

    console = console or Console(highlight=False)
    for number, comparison in enumerate(comparisons):
        if number:
            console.print()
        _show_one(console, comparison)


def _show_one(console: Console, comparison: Comparison) -> None:
    from common.output.terminal import line

    for letter, side in (("A", comparison.first), ("B", comparison.second)):
        console.print(line(f"{letter}  {side.label}", "bold").append(line(f": {side.what}{_seeds(side)}", "not bold")))
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
    from rich.padding import Padding

    from common.output.terminal import line

    console.print(Padding(line(text, style), (0, 0, 0, 3), expand=False))


def _seeds(side: SideFacts) -> str:
    if len(side.rates) < 2:
        return ""
    mean = sum(side.rates) / len(side.rates)
    rates = ", ".join(percent(rate) for rate in side.rates)
    return f"; {percent(mean)} ± {100 * side.deviation:.1f} over seeds ({rates})"


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
    heads = ("A", "B", "B - A [95% interval]", "p", "only A", "only B")
    table = Table((Column("solved"), *map(right, heads)), framed=False, gap=1)
    _add(table, f"all {comparison.total.statements}", comparison.total, "strong")
    if (solid := comparison.without_flawed) is not None:
        _add(table, f"not flawed: {solid.statements}", solid)
    for title, points, exact in (
        ("simulations", comparison.simulations, comparison.exact_simulations),
        ("Lean attempts", comparison.lean_attempts, comparison.exact_lean_attempts),
    ):
        if points:
            table.add(Cell(title, "quiet"))
        for point in points:
            _add_budget(table, point, last_exact=point.limit == exact)
    return table


def _add(table: Table, title: str, row: Difference, tone: Tone = "") -> None:
    change = f"{_signed(row.difference)} [{_signed(row.low)}, {_signed(row.high)}]"
    table.add(
        Cell(title, tone),
        percent(row.first),
        percent(row.second),
        Cell(change, "good" if row.low > 0 else "bad" if row.high < 0 else ""),
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
    least, most = row.difference - point.open_first, row.difference + point.open_second
    rates = (_from(row.first, point.open_first), _from(row.second, point.open_second))
    table.add(title, *rates, f"{_signed(least)} to {_signed(most)} *", tone="quiet")


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
    table = Table(("spent on an attempt", right("A"), right("B"), right("B / A"), ""), framed=False)
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
            table.add(name, _amount(one), _amount(other), ratio, Cell(note, "warn" if note == "not equal" else ""))
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


def _from(share: float, more: float) -> str:
    return f"{100 * share:.0f}-{100 * (share + more):.0f}%" if more else percent(share)


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
