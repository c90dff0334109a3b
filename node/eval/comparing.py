"""Compares evaluations: each side with the first one, on the statements that count on both. Pure.

A side is one evaluation, or several with other seeds. Statements are paired by their text, or by name. What was spent,
and conditions in which the sides differ, are told with the comparison.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from common.output.command import UserError
from common.output.words import number_of
from common.protocol.attempts import Ended
from common.statistics import bootstrap_interval, mcnemar, permutation_test
from node.eval.curves import Curve, curve_of
from node.eval.folder import AttemptRecord, Evaluation, Plan, Standing, budgets_in_words, library_in_words
from node.eval.results import (
    LEAN_ATTEMPTS,
    SIMULATIONS,
    Results,
    StatementResult,
    exact_until,
    limits,
    reach,
    results_of,
    share_open,
    share_within,
    solved_within,
)

# --- the sides of a comparison, and the pairing of their statements ---------------------------------------------------


class ComparisonError(UserError, ValueError):
    """Evaluations cannot be compared. The text says which ones, why, and what to do."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    label: str
    evaluations: tuple[Evaluation, ...]
    """One for each seed."""
    seeds: tuple[Results, ...]
    """The results of each evaluation."""

    @property
    def what(self) -> str:
        """Policy and method, in words."""
        words = dict.fromkeys(f"{each.plan.label}, {each.plan.way}" for each in self.evaluations)
        return "; ".join(words)


def sides_of(groups: Sequence[Sequence[Evaluation]]) -> list[Side]:
    """The sides, with unique names. Raises ComparisonError."""
    paths = [each.path.resolve() for group in groups for each in group]
    if twice := next((path for path, count in Counter(paths).items() if count > 1), None):
        raise ComparisonError(f"{twice}: named twice; name two different evaluations")
    if len(groups) < 2:
        raise ComparisonError(
            "one side is no comparison: name two or more folders (A,B joined by a comma are one side with two seeds)"
        )
    short = [_named(group[0].path.resolve().name, len(group)) for group in groups]
    whole = [_named(str(group[0].path), len(group)) for group in groups]
    names = short if len(set(short)) == len(short) else whole
    return [
        Side(name, tuple(group), tuple(results_of(each) for each in group))
        for name, group in zip(names, groups, strict=True)
    ]


def _named(first: str, count: int) -> str:
    return first if count == 1 else f"{first} ({count} seeds)"


@dataclass(frozen=True)
class Pair:
    """A statement that counts on both sides."""

    name: str
    """Name of the statement on the first side."""
    flawed: bool
    first: tuple[StatementResult, ...]
    """One for each seed."""
    second: tuple[StatementResult, ...]
    first_tries: tuple[AttemptRecord, ...]
    """The first k decided attempts, where k is the number that both sides have; first passes of all seeds come
    first."""
    second_tries: tuple[AttemptRecord, ...]
    single: bool
    """True when each side has exactly one decided attempt."""


@dataclass(frozen=True)
class Pairing:
    """The statements of two sides in pairs."""

    by_name: bool
    """True when both sides have the same benchmark, so statements are paired by name. Otherwise they are paired by
    their Lean text and header."""
    shared: int
    only_first: int
    """Statements that only the first side has."""
    only_second: int
    left_out_first: Counter[Standing]
    """Shared statements that do not count on this side with at least one of its seeds, by standing."""
    left_out_second: Counter[Standing]
    pairs: tuple[Pair, ...]


def pair(first: Side, second: Side) -> Pairing:
    """Pairs the statements that both sides have. Raises ComparisonError if there are none."""
    results = [*first.seeds, *second.seeds]
    # 1. The same benchmark is paired by name: several statements may be alike. Others are paired word for word.
    by_name = len({each.plan.benchmark.digest for each in results}) == 1
    rows_by_key = [_keyed(each, by_name) for each in results]
    common = set(rows_by_key[0]).intersection(*rows_by_key[1:])
    if not common:
        raise ComparisonError(
            f"{first.label} and {second.label} have no statement in common: one evaluates "
            f"{_benchmarks(first)}, the other {_benchmarks(second)}{_apart_from_headers(results)}"
        )
    # 2. A statement counts if it is decided on both sides, with all seeds; for the others, why it is left out.
    first_rows, second_rows = rows_by_key[: len(first.seeds)], rows_by_key[len(first.seeds) :]
    left_first: Counter[Standing] = Counter()
    left_second: Counter[Standing] = Counter()
    pairs = []
    for key in (key for key in rows_by_key[0] if key in common):
        first_results, second_results = (
            tuple(each[key] for each in first_rows),
            tuple(each[key] for each in second_rows),
        )
        if all(row.counts for row in (*first_results, *second_results)):
            pairs.append(_pair(first_results, second_results))
        left_first.update(_why_left_out(first_results))
        left_second.update(_why_left_out(second_results))
    if not pairs:
        raise ComparisonError(
            f"{first.label} and {second.label} share {len(common)} statements, but none of them is solved or unsolved "
            "in all evaluations: repeat the `proofmesh eval` command of an unfinished one to resume it"
        )
    return Pairing(
        by_name,
        len(common),
        len(set().union(*first_rows) - common),
        len(set().union(*second_rows) - common),
        left_first,
        left_second,
        tuple(pairs),
    )


def _pair(first: tuple[StatementResult, ...], second: tuple[StatementResult, ...]) -> Pair:
    flawed = any(row.statement.flaw for row in (*first, *second))
    first_attempts, second_attempts = _tries(first), _tries(second)
    count = min(len(first_attempts), len(second_attempts))
    single = len(first_attempts) == len(second_attempts) == 1
    return Pair(first[0].statement.name, flawed, first, second, first_attempts[:count], second_attempts[:count], single)


def _tries(rows: Sequence[StatementResult]) -> tuple[AttemptRecord, ...]:
    """The decided attempts of all seeds at a statement, sorted by pass, then by seed."""
    numbered = [(each.number, seed, each) for seed, row in enumerate(rows) for each in row.decided]
    return tuple(each for _, _, each in sorted(numbered, key=lambda item: item[:2]))


def mean_score(rows: Sequence[StatementResult]) -> float:
    """The score of a side at a statement: the mean over its seeds of the share of attempts that solved it."""
    return statistics.fmean(row.score for row in rows)


def _keyed(results: Results, by_name: bool) -> dict[tuple[object, ...], StatementResult]:
    """The statements by the key of their pairing. Statements with equal Lean text are numbered, so the first is paired
    with the first, and so on."""
    if by_name:
        return {(row.statement.name,): row for row in results.statements}
    rows: dict[tuple[object, ...], StatementResult] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    for row in results.statements:
        theorem = row.statement.theorem
        stated = (theorem.stated, theorem.header or results.plan.lean.header)
        rows[*stated, seen[stated]] = row
        seen[stated] += 1
    return rows


def _apart_from_headers(results: Sequence[Results]) -> str:
    """A note for an error, if statements of all evaluations differ only in their headers."""
    common = set.intersection(*({row.statement.theorem.stated for row in each.statements} for each in results))
    return f" ({len(common)} statements are equal except for their headers)" if common else ""


def _why_left_out(rows: Sequence[StatementResult]) -> list[Standing]:
    """Why a statement does not count on a side; empty if it counts."""
    standings = [row.standing for row in rows if not row.counts]
    return [Standing.NOT_ELABORATED if Standing.NOT_ELABORATED in standings else standings[0]] if standings else []


def _benchmarks(side: Side) -> str:
    return ", ".join(dict.fromkeys(each.plan.benchmark.spec for each in side.evaluations))


# --- whether a comparison is fair -------------------------------------------------------------------------------------


TOLERANCE = 0.05
"""Largest relative difference between spendings that count as equal."""


@dataclass(frozen=True)
class Spent:
    """What a side has spent on the compared statements: means per attempt."""

    attempts: int
    simulations: float
    lean_attempts: float
    samples: float
    tokens: float
    seconds: float
    """From its start to its end, verification included."""
    lean_cpu: float
    """CPU seconds of Lean, mean over all attempts of the evaluations; nan if a mesh played them: then it is unknown."""

    def about_equal(self, other: Spent) -> bool:
        """True when the mean numbers of Lean attempts in an attempt are equal within 5%."""
        return abs(self.lean_attempts - other.lean_attempts) <= TOLERANCE * max(self.lean_attempts, other.lean_attempts)


def spent(side: Side, rows: Iterable[Sequence[StatementResult]]) -> Spent:
    """What a side has spent on these statements."""
    attempts = [each for seeds in rows for row in seeds for each in row.decided]

    def mean(values: Iterable[float]) -> float:
        return math.fsum(values) / len(attempts) if attempts else 0.0

    used = [each.statistics for each in attempts]
    cpu = [each.costs.lean_cpu for each in side.seeds]
    played = sum(each.costs.attempts for each in side.seeds)
    known_cpu = math.fsum(each for each in cpu if each is not None)
    return Spent(
        attempts=len(attempts),
        simulations=mean(each.simulations for each in used),
        lean_attempts=mean(each.lean_attempts for each in used),
        samples=mean(each.samples for each in used),
        tokens=mean(each.tokens for each in used),
        seconds=mean(each.seconds for each in used),
        lean_cpu=known_cpu / played if played and None not in cpu else math.nan,
    )


def warnings(first: Side, second: Side, pairing: Pairing) -> list[str]:
    """One sentence for each way in which the comparison is unfair. Policy, method and seed may differ."""
    return [
        *_other_statements(first, second, pairing),
        *_conditions(first, second),
        *_out_of_time(first, second),
        *_within(first),
        *_within(second),
        *_unfinished(first),
        *_unfinished(second),
        *_passes(first, second),
    ]


def _other_statements(first: Side, second: Side, pairing: Pairing) -> list[str]:
    if pairing.by_name:
        return []
    return [
        f"the benchmarks are not the same ({_benchmarks(first)} and {_benchmarks(second)}): "
        f"{number_of(pairing.shared, 'statement')} in both, word for word: only these are compared"
    ]


_CONDITIONS: tuple[tuple[str, Callable[[Plan], str]], ...] = (
    ("Lean differs", lambda plan: plan.lean.version),
    ("the library differs", library_in_words),
    ("what stands before the statements differs", lambda plan: " ".join(plan.lean.header.split()) or "nothing"),
    ("budgets differ, so compare at budgets that both had", lambda plan: budgets_in_words(plan.budgets)),
    ("samples for each expansion differ", lambda plan: str(plan.samples)),
    (
        "tactics are drawn in other ways",
        lambda plan: f"temperature {plan.sampling.temperature:g}, top-p {plan.sampling.top_p:g}",
    ),
    ("corrections of whole proofs differ", lambda plan: str(plan.correct)),
    ("rules for tactics differ", lambda plan: plan.tactics or "all"),
    ("the searches behind whole proofs differ", lambda plan: plan.then or "none"),
    ("expansions in flight differ", lambda plan: str(plan.leaves)),
)
"""Conditions that should be the same: the warning, and the value of a plan in words."""


def _conditions(first: Side, second: Side) -> list[str]:
    problems = []
    for problem, in_words in _CONDITIONS:
        here, there = ({in_words(each.plan): None for each in side.seeds} for side in (first, second))
        if set(here) != set(there):
            problems.append(f"{problem}: {' / '.join(here)} in {first.label}, {' / '.join(there)} in {second.label}")
    return problems


def _out_of_time(first: Side, second: Side) -> list[str]:
    return [
        f"{side.label}: {number_of(count, 'attempt')} had no more time: how far a search gets within its seconds "
        "depends on the machine and its load"
        for side in (first, second)
        if (count := sum(each.endings[Ended.SECONDS] for each in side.seeds))
    ]


def _within(side: Side) -> list[str]:
    """Warnings if the evaluations of one side differ in more than their seeds, or do not differ at all."""
    if len(side.seeds) < 2:
        return []
    plans = [each.plan for each in side.seeds]
    same = {"method": {each.method for each in plans}} | {
        problem.split(",")[0]: {in_words(each) for each in plans} for problem, in_words in _CONDITIONS
    }
    problems = [
        f"{side.label}: its evaluations should differ only in their seeds; they also differ in {name} "
        f"({' / '.join(sorted(values))})"
        for name, values in same.items()
        if len(values) > 1
    ]
    if len({(each.seed, tuple(sorted(each.weights.items()))) for each in plans}) < len(plans):
        problems.append(
            f"{side.label}: two of its evaluations have the same seed and the same weights: the second adds little "
            "information"
        )
    return problems


def _unfinished(side: Side) -> list[str]:
    return [
        f"{evaluation.path.name}: not finished: {number_of(results.missing, 'attempt')} missing"
        for evaluation, results in zip(side.evaluations, side.seeds, strict=True)
        if results.missing
    ]


def _passes(first: Side, second: Side) -> list[str]:
    counts = [sum(each.passes for each in side.seeds) for side in (first, second)]
    if counts[0] == counts[1]:
        return []
    return [
        f"{first.label} has {number_of(counts[0], 'attempt')} at a statement and {second.label} {counts[1]}: rates "
        f"are means, and a statement counts as solved if one of the first {min(counts)} attempts of a side solved it"
    ]


# --- comparing each side with the first one ---------------------------------------------------------------------------
#
# A rate is the share of statements that one attempt solves on average. A statement with several passes contributes the
# share of its attempts that solved it; a side with several seeds has the mean over its seeds. The interval is a paired
# bootstrap of the difference of the rates over statements. It covers the choice of statements, for these networks and
# seeds. The deviation over seeds says how much seeds differ.
#
# McNemar's test needs one outcome of each statement and side. With one attempt, the outcome is whether it solved the
# statement. With several attempts, it is whether one of the first k did, where k is the number that both sides have:
# with more attempts a side would solve more for that reason alone. The test, and the statements won and lost, are then
# about pass@k. The p-value of the difference of the rates is that of the permutation test, which swaps the sides of
# statements at random. With one attempt on each side both tests are the same.


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
    # 1. The statements that count on both sides, and those of them without a known flaw.
    pairing = pair(first, second)
    pairs = pairing.pairs
    counts = [len(each.first_tries) for each in pairs]
    solid = [each for each in pairs if not each.flawed]
    outcomes = [(each.name, _any(each, _is_solved)) for each in pairs]
    # 2. Smaller budgets, and what was spent; apart where neither side solved, since a proof ends an attempt early.
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


# --- curves of the sides, on the statements that count on all of them -------------------------------------------------


def side_curves(sides: Sequence[Side], comparisons: Sequence[Comparison], kind: str) -> list[Curve]:
    """A curve of each side against a kind of budget. The comparisons are those of the first side with each other one,
    in order."""
    compared = [{each.name for each in comparison.pairing.pairs} for comparison in comparisons]
    shared = set.intersection(*compared)
    rows = [[each.first for each in comparisons[0].pairing.pairs if each.name in shared]]
    rows += [[each.second for each in comparison.pairing.pairs if each.name in shared] for comparison in comparisons]
    return [_curve(side, statements, kind) for side, statements in zip(sides, rows, strict=True)]


def _curve(side: Side, rows: Sequence[Sequence[StatementResult]], kind: str) -> Curve:
    """Pools the attempts of all seeds; if the seeds have equally many attempts, this is the mean over the seeds."""
    pooled = tuple(
        StatementResult(seeds[0].statement, tuple(attempt for row in seeds for attempt in row.attempts))
        for seeds in rows
    )
    return curve_of(replace(side.seeds[0], statements=pooled), kind, side.label)
