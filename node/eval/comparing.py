"""Compares evaluations: each side with the first one, on the statements that count on both. Pure.

A rate is the share of statements that one attempt solves on average. A statement with several passes contributes the
share of its attempts that solved it; a side with several seeds has the mean over its seeds. The interval is a paired
bootstrap of the difference of the rates over statements. It covers the choice of statements, for these networks and
seeds. The deviation over seeds says how much seeds differ.

McNemar's test needs one outcome of each statement and side. With one attempt, the outcome is whether it solved the
statement. With several attempts, it is whether one of the first k did, where k is the number that both sides have:
with more attempts a side would solve more for that reason alone. The test, and the statements won and lost, are then
about pass@k. The p-value of the difference of the rates is that of the permutation test, which swaps the sides of
statements at random. With one attempt on each side both tests are the same.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.paired import bootstrap_interval, mcnemar, permutation_test
from node.eval.fairness import Spent, spent, warnings
from node.eval.known import (
    LEAN_ATTEMPTS,
    SIMULATIONS,
    exact_until,
    limits,
    reach,
    share_open,
    share_within,
    solved_within,
)
from node.eval.records import AttemptRecord, Standing
from node.eval.results import Results, StatementResult
from node.eval.sides import Pair, Pairing, Side, mean_score, pair


@dataclass(frozen=True)
class Difference:
    """Second side - first side, on the same statements."""

    statements: int
    first: float
    """Rates."""
    second: float
    difference: float
    low: float
    high: float
    """Ends of the 95% interval of the difference."""
    p: float
    """p-value of the permutation test: the probability of a difference at least this large if the sides do not differ.
    McNemar's exact test if each side has one attempt at each statement."""
    both: int
    """Statements that both sides solved with one of their first k attempts."""
    only_first: int
    only_second: int
    neither: int
    mcnemar: float
    """p-value of McNemar's exact test on these four counts."""


@dataclass(frozen=True)
class AtBudget:
    """The difference within a smaller budget for each attempt."""

    limit: int
    exact: bool
    """True when the outcome of every attempt within this budget is known. Otherwise some attempts ended earlier, by
    another budget."""
    open_first: float
    """How much higher the rate would be if all these attempts solved their statements."""
    open_second: float
    found: Difference
    """The difference, with these attempts counted as unsolved."""


@dataclass(frozen=True)
class SideFacts:
    """A side in words and numbers."""

    label: str
    what: str
    folders: tuple[str, ...]
    rates: tuple[float, ...]
    """Of each seed, on the statements that are compared."""
    deviation: float
    """Standard deviation over seeds; nan with one."""
    spent: Spent
    unsolved: Spent
    """Spending on statements that neither side solved. A proof ends an attempt, so a side that solves more spends less;
    only on these statements both sides used their full budgets."""


@dataclass(frozen=True)
class Comparison:
    """A side compared with the first one."""

    first: SideFacts
    second: SideFacts
    pairing: Pairing
    tries: tuple[int, int]
    """The smallest and the largest k, the number of attempts at a statement that are compared."""
    single: bool
    """True when each side has one attempt at each statement. Then p is that of McNemar's test, else of the permutation
    test."""
    total: Difference
    without_flawed: Difference | None
    """Without the statements with known flaws; None if there are none."""
    won: tuple[str, ...]
    """Statements that only the second side solved."""
    lost: tuple[str, ...]
    """Statements that only the first side solved."""
    simulations: tuple[AtBudget, ...]
    lean_attempts: tuple[AtBudget, ...]
    exact_simulations: int
    """The largest common budget within which all outcomes of both sides are known; 0: none."""
    exact_lean_attempts: int
    equal_spending: bool
    """True when the mean numbers of Lean attempts in an attempt differ by at most 5% between the sides."""
    equal_unsolved: bool
    """The same, on statements that neither side solved."""
    warnings: tuple[str, ...]


def compare(sides: Sequence[Side], seed: int = 0) -> list[Comparison]:
    """Each side but the first, compared with the first. Raises ComparisonError."""
    return [_compared(sides[0], other, seed) for other in sides[1:]]


def _compared(first: Side, second: Side, seed: int) -> Comparison:
    pairing = pair(first, second)
    pairs = pairing.pairs
    counts = [len(each.first_tries) for each in pairs]
    solid = [each for each in pairs if not each.flawed]
    outcomes = [(each.name, _any(each, _is_solved)) for each in pairs]
    simulations, exact_simulations = _by_budget(first, second, pairs, SIMULATIONS, seed)
    lean_attempts, exact_lean_attempts = _by_budget(first, second, pairs, LEAN_ATTEMPTS, seed)
    unsolved = [each for each in pairs if not any(row.solved for row in (*each.first, *each.second))]
    facts = (
        _facts(first, [each.first for each in pairs], [each.first for each in unsolved]),
        _facts(second, [each.second for each in pairs], [each.second for each in unsolved]),
    )
    return Comparison(
        first=facts[0],
        second=facts[1],
        pairing=pairing,
        tries=(min(counts), max(counts)),
        single=all(each.single for each in pairs),
        total=_difference(pairs, seed),
        without_flawed=_difference(solid, seed) if len(solid) < len(pairs) else None,
        won=tuple(name for name, solved in outcomes if solved == (False, True)),
        lost=tuple(name for name, solved in outcomes if solved == (True, False)),
        simulations=simulations,
        lean_attempts=lean_attempts,
        exact_simulations=exact_simulations,
        exact_lean_attempts=exact_lean_attempts,
        equal_spending=facts[0].spent.about_equal(facts[1].spent),
        equal_unsolved=facts[0].unsolved.about_equal(facts[1].unsolved),
        warnings=tuple(warnings(first, second, pairing)),
    )


def _is_solved(record: AttemptRecord) -> bool:
    return record.standing is Standing.SOLVED


def _difference(
    pairs: Sequence[Pair],
    seed: int,
    score: Callable[[Sequence[StatementResult]], float] = mean_score,
    solved: Callable[[AttemptRecord], bool] = _is_solved,
) -> Difference:
    """`score`: the score of one side at a statement. `solved`: whether an attempt counts as solved."""
    scores = [(score(each.first), score(each.second)) for each in pairs]
    difference, low, high = bootstrap_interval(scores, seed)
    outcomes = [_any(each, solved) for each in pairs]
    only_first, only_second = outcomes.count((True, False)), outcomes.count((False, True))
    exact = mcnemar(only_first, only_second)
    return Difference(
        statements=len(pairs),
        first=statistics.fmean(one_rate for one_rate, _ in scores) if scores else math.nan,
        second=statistics.fmean(other for _, other in scores) if scores else math.nan,
        difference=difference,
        low=low,
        high=high,
        p=exact if all(each.single for each in pairs) else permutation_test(scores, seed),
        both=outcomes.count((True, True)),
        only_first=only_first,
        only_second=only_second,
        neither=outcomes.count((False, False)),
        mcnemar=exact,
    )


def _any(pair: Pair, solved: Callable[[AttemptRecord], bool]) -> tuple[bool, bool]:
    """Whether one of the first k attempts of each side solves the statement, k the number that both have."""
    return any(map(solved, pair.first_tries)), any(map(solved, pair.second_tries))


def _by_budget(
    first: Side, second: Side, pairs: Sequence[Pair], kind: str, seed: int
) -> tuple[tuple[AtBudget, ...], int]:
    """The differences within smaller budgets that both sides had, and the largest of these budgets that is exact."""
    most = min(reach(each, kind) for each in (*first.seeds, *second.seeds))
    exact = min(
        exact_until(rows, results.plan, kind)
        for results, rows in (
            *_by_seed(first, [each.first for each in pairs]),
            *_by_seed(second, [each.second for each in pairs]),
        )
    )
    return (
        tuple(_at_budget(first, second, pairs, kind, limit, exact, seed) for limit in limits(most, exact)),
        int(min(most, exact)),
    )


def _at_budget(
    first: Side, second: Side, pairs: Sequence[Pair], kind: str, limit: int, exact: float, seed: int
) -> AtBudget:
    def score(rows: Sequence[StatementResult]) -> float:
        return statistics.fmean(share_within(row, kind, limit) for row in rows)

    def open_share(side: Side, rows: Sequence[Sequence[StatementResult]]) -> float:
        if limit <= exact:
            return 0.0
        plans = [each.plan for each in side.seeds]
        return statistics.fmean(
            share_open(row, plan, kind, limit) for each in rows for plan, row in zip(plans, each, strict=True)
        )

    return AtBudget(
        limit,
        limit <= exact,
        open_share(first, [each.first for each in pairs]),
        open_share(second, [each.second for each in pairs]),
        _difference(pairs, seed, score, lambda record: solved_within(record, kind, limit)),
    )


def _by_seed(side: Side, rows: Sequence[Sequence[StatementResult]]) -> list[tuple[Results, list[StatementResult]]]:
    """The results of each seed, with its rows."""
    return [(results, [each[index] for each in rows]) for index, results in enumerate(side.seeds)]


def _facts(
    side: Side, rows: Sequence[Sequence[StatementResult]], unsolved: Sequence[Sequence[StatementResult]]
) -> SideFacts:
    rates = [statistics.fmean(row.score for row in each) for _, each in _by_seed(side, rows)]
    return SideFacts(
        label=side.label,
        what=side.what,
        folders=tuple(str(each.path) for each in side.evaluations),
        rates=tuple(rates),
        deviation=statistics.stdev(rates) if len(rates) > 1 else math.nan,
        spent=spent(side, rows),
        unsolved=spent(side, unsolved),
    )
