"""Writes the results of an evaluation (`results.json`, `report.html`, `solved.png`, `proofs.lean`) and its summary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from common.files import write_whole
from common.output.visible import visible
from common.output.words import amount, interval, number_of, percent
from common.report.table import Column, Table, right
from common.statistics import wilson
from node.eval.curves import KINDS, Curve, chart, curves_of
from node.eval.folder import Evaluation, Plan, Standing, explained
from node.eval.results import Costs, Results, SearchNumbers, StatementResult, Tally, exact_until, results_of
from node.lean.check.files.proofs_text import ProofsFiles, ProvedStatement, proofs_files, write_files

if TYPE_CHECKING:
    from rich.console import RenderableType


# --- `results.json`: every number of the report, in a stable layout ---------------------------------------------------
#
# Shares lie between 0 and 1. An unknown number is `null`: a share of no statements, the deviation of a single block,
# Lean's CPU seconds in a mesh. Later versions may add fields. If the meaning of a field changes, so does `layout`.


LAYOUT = 1
"""Version of the layout."""


class TallyNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """How many statements of a group are solved."""

    statements: int
    """Statements that count: solved or unsolved."""
    solved: float
    """Sum of the scores; the score of a statement is the share of its decided attempts that solved it."""
    any: int
    """Statements that at least one pass solved."""
    rate: float | None
    """`solved` / `statements`: the share that one pass solves."""
    low: float | None
    """Ends of the rate's 95% interval (Wilson, over statements)."""
    high: float | None


class BudgetNumbers(TallyNumbers, frozen=True, kw_only=True):
    """How many statements are solved with a smaller budget."""

    budget: float
    lower_bound: bool
    """True if some attempts ended earlier, by another budget: then `solved` is a lower bound."""


class PassNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """pass@k."""

    k: int
    statements: int
    """Statements with at least k decided attempts."""
    unbiased: float
    """The estimate of Chen et al., arXiv 2107.03374, equation 1."""
    blocks: int
    mean: float | None
    """Mean over disjoint blocks of k passes; `deviation` is their standard deviation."""
    deviation: float | None


class CurveNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Share solved against budget."""

    points: list[tuple[float, float, float, float]]
    """(budget, share, low, high): the share is valid from this budget to the next one."""
    complete_until: float | None
    """Beyond this budget the curve is a lower bound; null: it is exact everywhere."""


class StatementNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one statement."""

    name: str
    standing: Standing
    family: str
    level: int
    flaw: str
    solved: int
    """Attempts that solved it."""
    decided: int
    solved_at_simulations: int | None
    """The smallest number among the solved attempts; the next two fields are the same for Lean attempts and seconds."""
    solved_at_lean_attempts: int | None
    solved_at_seconds: float | None
    reason: str
    """Why it is neither solved nor unsolved."""


class ResultsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file."""

    layout: int = LAYOUT
    plan: Plan
    passes: int
    missing: int
    """Attempts that are still to be played; 0: the evaluation is complete."""
    total: TallyNumbers
    without_flawed: TallyNumbers | None
    """null if no statement has a known flaw."""
    standings: dict[str, int]
    """Number of statements by standing: solved (by any pass), unsolved, not-elaborated, undecided, not-played."""
    unread: int
    """Rows that could not be read as statements; `plan.benchmark.unread` names them."""
    budgets: dict[str, list[BudgetNumbers]]
    families: dict[str, TallyNumbers]
    levels: dict[int, TallyNumbers]
    pass_at: list[PassNumbers]
    endings: dict[str, int]
    """Number of attempts without a proof by the reason of their end."""
    costs: Costs
    axioms: dict[str, int]
    """Axioms of the proofs, with the number of proofs that depend on each."""
    sources: dict[str, int]
    """For a mixture of policies: how many tactics of the proofs each part proposed."""
    search: SearchNumbers | None = None
    """What the tree searches did; null if no attempt tells."""
    curves: dict[str, CurveNumbers]
    statements: list[StatementNumbers]


def results_file(results: Results, curves: Mapping[str, Curve] | None = None) -> ResultsFile:
    """The numbers of an evaluation. `curves`: its curves, if they are computed already."""
    curves = curves or curves_of(results)
    return ResultsFile(
        plan=results.plan,
        passes=results.passes,
        missing=results.missing,
        total=_tally(results.total),
        without_flawed=None if results.without_flawed is None else _tally(results.without_flawed),
        standings={str(standing): results.standings[standing] for standing in Standing},
        unread=results.unread,
        # Where an attempt ended before a budget, its share is only a lower bound: the curve says from where on.
        budgets={kind: [_budget(*each, curves[kind]) for each in rows] for kind, rows in results.budgets.items()},
        families={name: _tally(tally) for name, tally in results.families.items()},
        levels={level: _tally(tally) for level, tally in results.levels.items()},
        # What is not known is null in JSON, which has no nan.
        pass_at=[
            PassNumbers(
                k=each.k,
                statements=each.statements,
                unbiased=each.unbiased,
                blocks=each.blocks,
                mean=known(each.mean),
                deviation=known(each.deviation),
            )
            for each in results.pass_at
        ],
        endings=dict(results.endings.most_common()),
        costs=results.costs,
        axioms=dict(results.axioms.most_common()),
        sources=dict(results.sources.most_common()),
        search=results.search,
        curves={kind: _curve(curve) for kind, curve in curves.items()},
        statements=[_statement(row) for row in results.statements],
    )


def known(number: float) -> float | None:
    """The number, or None if it is nan or infinite."""
    return number if math.isfinite(number) else None


def _tally(tally: Tally) -> TallyNumbers:
    low, high = wilson(tally.solved, tally.statements)
    return TallyNumbers(
        statements=tally.statements,
        solved=tally.solved,
        any=tally.any,
        rate=known(tally.rate),
        low=known(low),
        high=known(high),
    )


def _budget(budget: float, tally: Tally, curve: Curve) -> BudgetNumbers:
    return BudgetNumbers(
        budget=budget,
        lower_bound=budget > curve.complete_until,
        **msgspec.structs.asdict(_tally(tally)),
    )


def _curve(curve: Curve) -> CurveNumbers:
    intervals = zip(curve.points, curve.low, curve.high, strict=True)
    return CurveNumbers(
        points=[(budget, share, low, high) for (budget, share), low, high in intervals],
        complete_until=known(curve.complete_until),
    )


def _statement(row: StatementResult) -> StatementNumbers:
    statistics = [each.statistics for each in row.solved]
    return StatementNumbers(
        name=row.statement.name,
        standing=row.standing,
        family=row.statement.family,
        level=row.statement.level,
        flaw=row.statement.flaw,
        solved=len(row.solved),
        decided=len(row.decided),
        solved_at_simulations=min((each.solved_at_simulations for each in statistics), default=None),
        solved_at_lean_attempts=min((each.solved_at_lean_attempts for each in statistics), default=None),
        solved_at_seconds=min((each.solved_at_seconds for each in statistics), default=None),
        reason=row.reason,
    )


# --- all files, and the summary for a terminal ------------------------------------------------------------------------


RESULTS, REPORT, PICTURE, PROOFS = "results.json", "report.html", "solved.png", "proofs.lean"
MOST_GROUPS = 12
"""Most families in the summary, the largest first."""


def write_outputs(evaluation: Evaluation, passes: int) -> Results:
    """Writes the output files into the evaluation's folder, each atomically. `passes`: the requested number of passes.
    Raises FolderError."""
    from node.eval.report import report

    results = results_of(evaluation, passes)
    path, curves = evaluation.path, curves_of(results)
    with explained(path):
        encoded = msgspec.json.encode(results_file(results, curves))
        write_whole(path / RESULTS, msgspec.json.format(encoded, indent=2) + b"\n")
        write_whole(path / REPORT, report(results, curves).encode(errors="replace"))
        chart([(kind, [curve]) for kind, curve in curves.items()]).save(path / PICTURE)
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
    tables = [_budget_table(results), _family_table(results), _pass_table(results)]
    if results.search is not None:
        tables += [_search_table(results.search), _heads_table(results.search)]
    parts += [part for table in tables if table.rows for part in ("", table)]
    return Group(*parts)


def _sentences(results: Results) -> list[str]:
    total, clean, standings = results.total, results.without_flawed, results.standings
    # 1. The result, and the same without statements that nobody should prove.
    parts = [f"solved {_share(total)}" + (f", {total.any} by some pass" if results.passes > 1 else "")]
    if clean is not None:
        parts.append(f"without statements that are known to be flawed: {_share(clean)}")
    if results.plan.tactics:
        parts.append(f"tactics: {results.plan.tactics}")
    # 2. What the rate does not count. It is said only where there is some.
    counted_out = [
        (standings[Standing.NOT_ELABORATED], "not elaborated by this Lean"),
        (standings[Standing.UNDECIDED], "undecided (infrastructure failed)"),
        (standings[Standing.NOT_PLAYED], "not played yet"),
        (results.unread, "row not read" if results.unread == 1 else "rows not read"),
    ]
    if any(count for count, _ in counted_out):
        parts.append("neither solved nor unsolved: " + ", ".join(f"{n:,} {what}" for n, what in counted_out if n))
    if failed := next((row for row in results.statements if row.reason), None):
        why, _, _ = failed.reason.partition("\n")
        parts.append(f"the first of them, {failed.statement.name}: {why}")
    # 3. Whether more attempts may still change the result.
    if results.missing:
        verb = "is" if results.missing == 1 else "are"
        parts.append(f"not complete: {number_of(results.missing, 'attempt')} {verb} still to be played")
    # 4. What ended the others, and who proposed the proofs' tactics.
    if results.endings:
        endings = ", ".join(f"{ended} {count:,}" for ended, count in results.endings.most_common())
        parts.append(f"attempts without a proof ended by: {endings}")
    if results.sources:
        proposed = ", ".join(f"{source} {count:,}" for source, count in results.sources.most_common())
        parts.append(f"tactics of the proofs were proposed by: {proposed}")
    # 5. What it cost. Without a reading of Lean's CPU, time is "not known", not 0.
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


def _budget_table(results: Results) -> Table:
    """A row for each smaller budget, of the kinds that the plan limits; of simulations if it limits none."""
    budgets = results.plan.budgets
    given = [kind for kind in KINDS if getattr(budgets, kind)] or ["simulations"]
    table = _table("within", "", "solved", "share", "95% interval")
    counted = [row for row in results.statements if row.counts]
    for kind in given if counted else ():
        complete_until = exact_until(counted, results.plan, kind)
        for limit, tally in results.budgets[kind]:
            share = ("≥ " if limit > complete_until else "") + percent(tally.rate)
            within = interval(*wilson(tally.solved, tally.statements))
            table.add(amount(limit), KINDS[kind], amount(tally.solved), share, within)
    return table


def _family_table(results: Results) -> Table:
    """The largest families; empty if there is only one."""
    table = _table("family", "solved", "of", "share")
    families = sorted(results.families.items(), key=lambda item: -item[1].statements)
    if len(families) > 1:
        for family, tally in families[:MOST_GROUPS]:
            table.add(family or "-", amount(tally.solved), tally.statements, percent(tally.rate))
    if (remaining := len(families) - MOST_GROUPS) > 0:
        table.add(f"and {remaining} smaller ones")
    return table


def _pass_table(results: Results) -> Table:
    table = _table("pass@k", "unbiased", "blocks", "± std")
    for each in results.pass_at if results.passes > 1 else []:
        deviation = "" if math.isnan(each.deviation) else f"{100 * each.deviation:.1f}%"
        table.add(str(each.k), percent(each.unbiased), f"{percent(each.mean)} of {each.blocks}", deviation)
    return table


def search_rows(search: SearchNumbers) -> list[tuple[str, str]]:
    """What the searches did, in words; without what is not known."""

    def steps(number: float | None, deepest: int) -> str:
        return "" if number is None else f"{number:.1f}, at most {deepest}"

    def share(number: float | None) -> str:
        return "" if number is None else percent(number)

    solved, unsolved = search.off_proofs
    passes = ", ".join(f"{count:,} at the {number}." for number, count in search.passes_until_solved.items())
    rows = [
        ("expansions, of states", f"{search.expansions:,}, {search.states:,}" if search.states else ""),
        ("expansions on dead states", share(search.on_dead)),
        ("of these, after the first of a state", share(search.on_dead_again)),
        ("states with two or more visited tactics", share(search.choices)),
        ("depth of expansions", steps(search.depth, search.deepest)),
        ("depth of proofs", steps(search.proof_depth, search.deepest_proof)),
        ("value error on proofs, in steps", known_number(search.error_on_proofs)),
        ("value error off proofs, in steps", known_number(search.error_off_proofs)),
        (
            "AUC of values off proofs",
            "" if search.auc is None else f"{search.auc:.2f} ({solved:,} solved, {unsolved:,} not)",
        ),
        *(
            (f"{KINDS[kind]} until solved: median, 90%", f"{amount(half)}, {amount(most)}")
            for kind, (half, most) in search.until_solved.items()
        ),
        ("attempts until solved", passes if len(search.passes_until_solved) > 1 else ""),
    ]
    return [(name, said) for name, said in rows if said]


def known_number(number: float | None) -> str:
    """Two digits; empty if the number is not known."""
    return "" if number is None else f"{number:.2f}"


def _search_table(search: SearchNumbers) -> Table:
    return _table("search", "").fill(search_rows(search))


MOST_SHOWN_HEADS = 12
"""Most heads in tables; `results.json` has all."""


def head_rows(search: SearchNumbers) -> list[tuple[str, str, str, str]]:
    """The heads that proofs use most, then those tried most: head, tried, legal, in proofs."""
    shown = list(search.heads.items())[:MOST_SHOWN_HEADS]
    return [(head, f"{tried:,}", f"{legal:,}", f"{used:,}") for head, (tried, legal, used) in shown]


def _heads_table(search: SearchNumbers) -> Table:
    return _table("tactics by first word", "tried", "legal", "in proofs").fill(head_rows(search))


def _table(first: str, *others: str) -> Table:
    return Table((Column(first, widest=40), *(right(name) if name else "" for name in others)), framed=False)
