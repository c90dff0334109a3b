"""`results.json`: every number of an evaluation's report, in a stable layout. Pure.

Shares lie between 0 and 1. An unknown number is `null`: a share of no statements, the deviation of a single block,
Lean's CPU seconds in a mesh. Later versions may add fields. If the meaning of a field changes, so does `layout`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from node.eval.curves import Curve, curves_of, wilson
from node.eval.plan import Plan
from node.eval.records import Standing
from node.eval.results import Costs, Results, StatementResult, Tally

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
        budgets={kind: [_budget(*each, curves[kind]) for each in rows] for kind, rows in results.budgets.items()},
        families={name: _tally(tally) for name, tally in results.families.items()},
        levels={level: _tally(tally) for level, tally in results.levels.items()},
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
        curves={kind: _curve(curve) for kind, curve in curves.items()},
        statements=[_statement(row) for row in results.statements],
    )


def known(number: float) -> float | None:
    """The number, or None if it is nan or infinite."""
    return number if math.isfinite(number) else None


def reason_of(row: StatementResult) -> str:
    """Why a statement is neither solved nor unsolved; empty if it is solved or unsolved."""
    if row.standing is Standing.NOT_ELABORATED:
        return row.refusal
    if row.standing is Standing.UNDECIDED:
        return row.attempts[-1].reason or row.attempts[-1].ended
    return ""


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
        reason=reason_of(row),
    )
