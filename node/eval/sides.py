"""The sides of a comparison, and the pairing of their statements. A side has one evaluation for each seed. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from common.output.command import UserError
from node.eval.folder import Evaluation
from node.eval.records import AttemptRecord, Standing
from node.eval.results import Results, StatementResult, results_of


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
    by_name = len({each.plan.benchmark.digest for each in results}) == 1
    rows_by_key = [_keyed(each, by_name) for each in results]
    common = set(rows_by_key[0]).intersection(*rows_by_key[1:])
    if not common:
        raise ComparisonError(
            f"{first.label} and {second.label} have no statement in common: one evaluates "
            f"{_benchmarks(first)}, the other {_benchmarks(second)}{_apart_from_headers(results)}"
        )
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
