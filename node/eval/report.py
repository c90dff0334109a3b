"""The report of an evaluation: one self-contained HTML page, light and dark, from the template `report.html`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.lean import Theorem
from common.output.words import amount, interval, percent
from common.protocol.attempts import Method
from common.report.chart import Chart
from common.report.page import page
from common.report.table import Cell, Column, Content, Table, right
from common.statistics import wilson
from node.eval.curves import KINDS, Curve, chart, curves_of
from node.eval.folder import AttemptRecord, Plan, Standing
from node.eval.outputs import head_rows, search_rows
from node.eval.results import Results, StatementResult, Tally
from node.lean.text.script import written

MOST_NAMED = 200
"""Most statements in a list of reasons; the table of statements and the files have all of them."""

MOST_GROUPS = 60
"""Most families in the table, the largest first."""

MOST_SHOWN = 2000
"""Most statements on a page: about 4 MB, which browsers open without delay."""

MOST_CHARACTERS = 6000
"""Most characters of a statement with its proof on the page."""

NAMES = {
    Standing.SOLVED: "solved",
    Standing.UNSOLVED: "unsolved",
    Standing.NOT_ELABORATED: "not elaborated",
    Standing.UNDECIDED: "undecided",
    Standing.NOT_PLAYED: "not played yet",
}


def report(results: Results, curves: Mapping[str, Curve] | None = None) -> str:
    """The whole page. `curves`: the evaluation's curves, if they are computed already."""
    plan = results.plan
    benchmark = f"{plan.benchmark.name} {plan.benchmark.split}".strip()
    # 1. The tables and charts; the template has the words around them.
    by_budget = list(_by_budget(results, curves or curves_of(results)))
    families = sorted(results.families.items(), key=lambda item: -item[1].statements)
    flawed = [(row.statement.name, row.statement.flaw) for row in results.statements if row.statement.flaw]
    free = sum(1 for row in results.statements if row.solved and not row.solved[0].axioms)
    axioms = _counts("proofs that rest on", results.axioms.most_common())
    if free:
        axioms.add("none at all", free)
    # 2. The page.
    return page(
        Path(__file__).with_name("report.html"),
        f"{benchmark}: {plan.label}",
        script=Path(__file__).with_name("report.js").read_text(encoding="utf-8"),
        results=results,
        plan=plan,
        benchmark=benchmark,
        budgets=_budgets_in_words(results),
        total=results.total,
        within=_within,
        not_counted=[(name, why, len(rows), _named(rows)) for name, why, rows in _not_counted(results) if rows],
        flawed=len(flawed),
        flaws=_named(flawed),
        by_budget=[each[:3] for each in by_budget],
        bound=any(each[3] for each in by_budget),
        pass_at=_passes(results),
        families=_groups("family", ((cut(name, 60) or "–", tally) for name, tally in families[:MOST_GROUPS])),
        smaller=len(families) - MOST_GROUPS,
        levels=_groups("level", ((str(level), tally) for level, tally in results.levels.items())),
        endings=_counts("attempts without a proof", results.endings.most_common()),
        costs=_costs(results),
        axioms=axioms,
        sources=_counts("", results.sources.most_common()),
        search=_search(results),
        heads=_heads(results),
        what=[("Benchmark", _benchmark(plan)), ("Prover", _prover(results)), ("Lean", _lean(plan))],
        names=NAMES,
        shown=[_shown(row, results.passes) for row in results.statements[:MOST_SHOWN]],
    )


def _budgets_in_words(results: Results) -> str:
    """The budgets and passes in words."""
    budgets = results.plan.budgets
    limits = [
        f"{budgets.simulations:,} simulations" if budgets.simulations else "",
        f"{budgets.lean_attempts:,} Lean attempts" if budgets.lean_attempts else "",
        f"{budgets.seconds:g} seconds" if budgets.seconds else "",
    ]
    budget = " or ".join(each for each in limits if each) or "no limit"
    return f"{budget} an attempt, {results.passes} pass{'' if results.passes == 1 else 'es'}"


def cut(foreign: str, most: int = MOST_CHARACTERS) -> str:
    """Shortens a text to `most` characters; a note says how many are missing."""
    return foreign if len(foreign) <= most else f"{foreign[:most]} … ({len(foreign) - most:,} more characters)"


# --- tables -----------------------------------------------------------------------------------------------------------


def _not_counted(results: Results) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Statements and rows that are neither solved nor unsolved: what, in general why, and (name, reason) of each."""

    def with_standing(standing: Standing) -> list[tuple[str, str]]:
        return [(row.statement.name, row.reason) for row in results.statements if row.standing is standing]

    unread = [(name, why) for name, why in results.plan.benchmark.unread]
    yield "rows not read", "They are no statements that this program can read.", unread
    other = "The Lean at hand does not take them: other versions of Lean or of its library may."
    yield "statements not elaborated", other, with_standing(Standing.NOT_ELABORATED)
    failed = "Infrastructure failed in every attempt; the next run of the command tries again."
    yield "statements undecided", failed, with_standing(Standing.UNDECIDED)


def _named(rows: list[tuple[str, str]]) -> Table:
    columns = (Column("name", lines=True), Column("why", lines=True))
    return Table(columns).fill((cut(name), cut(why)) for name, why in rows[:MOST_NAMED])


def _by_budget(results: Results, curves: Mapping[str, Curve]) -> Iterator[tuple[str, Chart | None, Table, bool]]:
    """For each kind of budget its name, curve and table, and whether a row is a lower bound."""
    for kind, name in KINDS.items():
        curve, bound = curves[kind], False
        table = Table((right("within"), right("solved"), right("share"), right("95% interval")))
        for limit, tally in results.budgets[kind]:
            least = limit > curve.complete_until
            bound |= least
            share = ("≥ " if least else "") + percent(tally.rate)
            table.add(amount(limit), amount(tally.solved), share, _within(tally))
        drawn = chart([(kind, [curve])]) if curve.points else None
        yield (name.capitalize() if name.islower() else name), drawn, table, bound


def _passes(results: Results) -> Table:
    heads = ("k", "unbiased", "blocks: mean ± deviation", "blocks", "statements")
    table = Table([right(head) for head in heads])
    for each in results.pass_at:
        spread = "" if math.isnan(each.deviation) else f" ± {100 * each.deviation:.1f}%"
        table.add(each.k, percent(each.unbiased), percent(each.mean) + spread, each.blocks, each.statements)
    return table


def _groups(name: str, groups: Iterable[tuple[str, Tally]]) -> Table:
    """Solved, of, share, interval and a bar for each group of statements."""
    table = Table((name, right("solved"), right("of"), right("share"), right("95% interval"), ""))
    for group, tally in groups:
        share = percent(tally.rate)
        bar = "" if math.isnan(tally.rate) else Cell(share, share=tally.rate)
        table.add(group, amount(tally.solved), tally.statements, share, _within(tally), bar)
    return table


def _within(tally: Tally) -> str:
    return interval(*wilson(tally.solved, tally.statements))


def _counts(name: str, counts: Iterable[tuple[str, int]]) -> Table:
    return Table((name, right(""))).fill(counts)


def _search(results: Results) -> Table:
    return Table(("", right(""))).fill(search_rows(results.search) if results.search else [])


def _heads(results: Results) -> Table:
    columns = ("first word", right("tried"), right("legal"), right("in proofs"))
    return Table(columns).fill(head_rows(results.search) if results.search else [])


def _costs(results: Results) -> Table:
    costs = results.costs
    seconds = [
        ("wall seconds", costs.wall_seconds),
        ("CPU seconds of this program", costs.own_cpu),
        ("CPU seconds of Lean", costs.lean_cpu),
        ("waiting for the policy, summed", costs.seconds_policy),
        ("waiting for Lean, summed", costs.seconds_lean),
        ("waiting for verification, summed", costs.seconds_verify),
    ]
    rows: list[tuple[Content, ...]] = [
        ("attempts", costs.attempts),
        ("simulations", costs.simulations),
        ("Lean attempts", costs.lean_attempts),
        ("samples", costs.samples),
        ("tokens", costs.tokens),
        ("proofs that verification refused", costs.proofs_rejected),
        *((name, "a mesh's" if value is None else f"{value:,.1f}") for name, value in seconds),
    ]
    return Table(("", right(""))).fill(rows)


# --- all facts that are needed to repeat the evaluation ---------------------------------------------------------------

Facts = list[tuple[str, str]]
"""Names and values; the page leaves those without a value out."""


def _benchmark(plan: Plan) -> Facts:
    benchmark = plan.benchmark
    return [
        ("asked for as", benchmark.spec),
        ("name, split", f"{benchmark.name} {benchmark.split}".strip()),
        ("statements", f"{benchmark.statements:,} of {benchmark.rows:,} rows"),
        ("digest", benchmark.digest),
        ("source", benchmark.source),
        ("revision", benchmark.revision),
        ("licence", benchmark.licence),
        ("homepage", benchmark.homepage),
        ("paper", benchmark.paper),
        *(("note", note) for note in benchmark.notes),
    ]


def _prover(results: Results) -> Facts:
    plan, sampling = results.plan, results.plan.sampling
    each = "at once" if plan.method == Method.WHOLE_PROOF and not plan.then else "an expansion"
    drawn = f"{plan.samples} {each}, temperature {sampling.temperature:g}, top-p {sampling.top_p:g}"
    return [
        ("policy", plan.policy),
        ("in words", plan.label),
        *((f"digest of {part}", digest) for part, digest in plan.weights.items()),
        ("method", plan.way),
        ("budgets", _budgets_in_words(results)),
        ("samples", drawn),
        ("expansions in flight", str(plan.leaves)),
        ("seed", str(plan.seed)),
        ("mesh", plan.mesh),
        ("proofmesh", plan.proofmesh),
    ]


def _lean(plan: Plan) -> Facts:
    lean = plan.lean
    library = [(f"{name}, commit", commit) for name, commit in lean.library.items()]
    return [("version", lean.version), ("name", lean.name), *library, ("header", lean.header or "none")]


# --- the statements: a row for each, which unfolds to the statement and its proof -------------------------------------


@dataclass(frozen=True)
class _Shown:
    """A statement on the page."""

    standing: Standing
    name: str
    became: str
    family: str
    level: int
    spent: int
    """Simulations until its first proof, or of its longest attempt."""
    flaw: str
    reason: str
    header: str
    lean: str
    ends: str
    """How each attempt ended."""


def _shown(row: StatementResult, passes: int) -> _Shown:
    statement = row.statement
    several = f" {len(row.solved)}/{len(row.decided)}" if passes > 1 and row.counts else ""
    found = [each.statistics.solved_at_simulations for each in row.solved]
    return _Shown(
        standing=row.standing,
        name=cut(statement.name),
        became=NAMES[row.standing] + several,
        family=cut(statement.family, 60),
        level=statement.level,
        spent=min(found) if found else max((each.statistics.simulations for each in row.attempts), default=0),
        flaw=cut(statement.flaw),
        reason=cut(row.reason),
        header=cut(statement.theorem.header),
        lean=cut(_proved(statement.theorem, row.solved[0] if row.solved else None)),
        ends=cut("; ".join(map(_ended, row.attempts))),
    )


def _proved(theorem: Theorem, attempt: AttemptRecord | None) -> str:
    """The statement with its proof, if it has one."""
    script = attempt.script if attempt else "sorry"
    return written(theorem, textwrap.dedent(script.strip("\n")).split("\n"))


def _ended(attempt: AttemptRecord) -> str:
    """How an attempt ended, and what it cost."""
    statistics = attempt.statistics
    how = f" ({attempt.ended})" if attempt.ended and attempt.standing is not Standing.SOLVED else ""
    words = f"{NAMES[attempt.standing]}{how}"
    took = f"{statistics.simulations} simulations, {statistics.lean_attempts} Lean attempts, {statistics.seconds:.1f} s"
    axioms = f", axioms: {', '.join(attempt.axioms)}" if attempt.axioms else ""
    return f"pass {attempt.number + 1}: {words}, {took}{axioms}"
