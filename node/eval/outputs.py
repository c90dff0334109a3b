"""Writes the results of an evaluation (`results.json`, `report.html`, `solved.png`, `proofs.lean`) and its summary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from common.files import write_whole
from common.output.visible import visible
from common.output.words import number_of
from node.eval.curves import KINDS, curves_of, wilson
from node.eval.folder import Evaluation, explained
from node.eval.known import exact_until
from node.eval.records import Standing
from node.eval.report_page import amount, interval, percent
from node.eval.results import Results, StatementResult, Tally, results_of
from node.eval.results_file import results_file
from node.lean.check.files.proofs_text import ProofsFiles, ProvedStatement, proofs_files, write_files

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

RESULTS, REPORT, PICTURE, PROOFS = "results.json", "report.html", "solved.png", "proofs.lean"
MOST_GROUPS = 12
"""Most families in the summary, the largest first."""


def write_outputs(evaluation: Evaluation, passes: int) -> Results:
    """Writes the output files into the evaluation's folder, each atomically. `passes`: the requested number of passes.
    Raises FolderError."""
    from node.eval.pictures import draw_panels
    from node.eval.report import report

    results = results_of(evaluation, passes)
    path, curves = evaluation.path, curves_of(results)
    with explained(path):
        encoded = msgspec.json.encode(results_file(results, curves))
        write_whole(path / RESULTS, msgspec.json.format(encoded, indent=2) + b"\n")
        write_whole(path / REPORT, report(results, curves).encode(errors="replace"))
        draw_panels([(kind, [curve]) for kind, curve in curves.items()], path / PICTURE)
        write_files(path / PROOFS, proofs_of(results).texts)
    return results


def proofs_of(results: Results) -> ProofsFiles:
    """Lean files with the first proof of every solved statement."""
    plan = results.plan
    proved = [
        ProvedStatement(row.statement.name, row.statement.theorem, row.solved[0].script, _how(row))
        for row in results.statements
        if row.solved
    ]
    title = f"{plan.benchmark.name} {plan.benchmark.split}".rstrip() + f", by {plan.label}"
    return proofs_files(proved, title, plan.lean.version, plan.lean.header)


def _how(row: StatementResult) -> str:
    """In how many passes, and after how many simulations, a statement was solved."""
    simulations = row.solved[0].statistics.solved_at_simulations
    passes = f"solved by {len(row.solved)} of {len(row.decided)} {'pass' if len(row.decided) == 1 else 'passes'}"
    return f"{passes}, after {simulations} simulation{'' if simulations == 1 else 's'}"


def summary_lines(results: Results) -> RenderableType:
    """The summary that the terminal shows at the end of an evaluation."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(visible(f"{results.plan.label} on {results.plan.benchmark.spec}"), style="bold")
    ]
    parts += [Text(visible(line)) for line in _sentences(results)]
    tables = [_budget_table(results), _group_table("family", _largest(results), results), _pass_table(results)]
    parts += [part for table in tables if table.row_count for part in ("", table)]
    return Group(*parts)


def _sentences(results: Results) -> list[str]:
    total, clean, standings = results.total, results.without_flawed, results.standings
    parts = [f"solved {_share(total)}" + (f", {total.any} by some pass" if results.passes > 1 else "")]
    if clean is not None:
        parts.append(f"without statements that are known to be flawed: {_share(clean)}")
    counted_out = [
        (standings[Standing.NOT_ELABORATED], "not elaborated by this Lean"),
        (standings[Standing.UNDECIDED], "undecided (infrastructure failed)"),
        (standings[Standing.NOT_PLAYED], "not played yet"),
        (results.unread, "row not read" if results.unread == 1 else "rows not read"),
    ]
    if any(count for count, _ in counted_out):
        parts.append("neither solved nor unsolved: " + ", ".join(f"{n:,} {what}" for n, what in counted_out if n))
    if results.missing:
        verb = "is" if results.missing == 1 else "are"
        parts.append(f"not complete: {number_of(results.missing, 'attempt')} {verb} still to be played")
    if results.endings:
        endings = ", ".join(f"{ended} {count:,}" for ended, count in results.endings.most_common())
        parts.append(f"attempts without a proof ended by: {endings}")
    if results.sources:
        proposed = ", ".join(f"{source} {count:,}" for source, count in results.sources.most_common())
        parts.append(f"tactics of the proofs were proposed by: {proposed}")
    costs = results.costs
    lean = "not known" if costs.lean_cpu is None else f"{costs.lean_cpu:,.0f} s"
    parts.append(
        f"{number_of(costs.attempts, 'attempt')}, {number_of(costs.simulations, 'simulation')}, "
        f"{number_of(costs.lean_attempts, 'Lean attempt')}, {number_of(costs.tokens, 'token')}; "
        f"{costs.wall_seconds:,.0f} s of wall clock, Lean's CPU {lean}"
    )
    return parts


def _share(tally: Tally) -> str:
    low, high = wilson(tally.solved, tally.statements)
    within = f" (95% interval {interval(low, high)})" if tally.statements else ""
    return f"{amount(tally.solved)} of {number_of(tally.statements, 'statement')}, {percent(tally.rate)}{within}"


def _largest(results: Results) -> list[tuple[str, Tally]]:
    families = sorted(results.families.items(), key=lambda item: -item[1].statements)
    return families[:MOST_GROUPS] if len(families) > 1 else []


def _budget_table(results: Results) -> Table:
    """A row for each smaller budget, of the kinds that the plan limits; of simulations if it limits none."""
    budgets = results.plan.budgets
    given = [kind for kind in KINDS if getattr(budgets, kind)] or ["simulations"]
    table = _table("within", "", "solved", "share", "95% interval")
    counted = [row for row in results.statements if row.counts]
    for kind in given if counted else ():
        complete_until = exact_until(counted, results.plan, kind)
        for limit, tally in results.budgets[kind]:
            low, high = wilson(tally.solved, tally.statements)
            least = "≥ " if limit > complete_until else ""
            share = least + percent(tally.rate)
            table.add_row(amount(limit), KINDS[kind], amount(tally.solved), share, interval(low, high))
    return table


def _group_table(name: str, groups: list[tuple[str, Tally]], results: Results) -> Table:
    from rich.text import Text

    table = _table(name, "solved", "of", "share")
    for group, tally in groups:
        table.add_row(Text(visible(group) or "-"), amount(tally.solved), f"{tally.statements:,}", percent(tally.rate))
    if groups and (remaining := len(results.families) - len(groups)) > 0:
        table.add_row(f"and {remaining} smaller ones", "", "", "")
    return table


def _pass_table(results: Results) -> Table:
    table = _table("pass@k", "unbiased", "blocks", "± std")
    for each in results.pass_at if results.passes > 1 else []:
        deviation = "" if math.isnan(each.deviation) else f"{100 * each.deviation:.1f}%"
        table.add_row(str(each.k), percent(each.unbiased), f"{percent(each.mean)} of {each.blocks}", deviation)
    return table


def _table(first: str, *others: str) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first, no_wrap=True, max_width=40)
    for name in others:
        table.add_column(name, justify="right" if name else "left")
    return table
