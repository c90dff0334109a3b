"""Whether a comparison is fair: what each side has spent, and in which conditions the sides differ. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from common.output.words import number_of
from common.protocol.attempts import Ended
from node.eval.plan import Plan
from node.eval.results import StatementResult
from node.eval.sides import Pairing, Side
from node.eval.words import budgets_in_words, library_in_words

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
        *_benchmarks(first, second, pairing),
        *_conditions(first, second),
        *_out_of_time(first, second),
        *_within(first),
        *_within(second),
        *_unfinished(first),
        *_unfinished(second),
        *_passes(first, second),
    ]


def _benchmarks(first: Side, second: Side, pairing: Pairing) -> list[str]:
    if pairing.by_name:
        return []
    names = [", ".join(dict.fromkeys(each.plan.benchmark.spec for each in side.seeds)) for side in (first, second)]
    return [
        f"the benchmarks are not the same ({names[0]} and {names[1]}): {number_of(pairing.shared, 'statement')} in "
        "both, word for word: only these are compared"
    ]


_CONDITIONS: tuple[tuple[str, Callable[[Plan], str]], ...] = (
    ("Lean differs", lambda plan: plan.lean.version),
    ("the library differs", library_in_words),
    ("what stands before the statements differs", lambda plan: " ".join(plan.lean.header.split()) or "nothing"),
    ("budgets differ, so compare at budgets that both had", lambda plan: budgets_in_words(plan.budgets)),
    ("samples for each expansion differ", lambda plan: str(plan.samples)),
    (
        "tactics are drawn in other ways",
        lambda plan: (
            f"temperature {plan.sampling.temperature:g}, top-p {plan.sampling.top_p:g}"
            + (", distinct" if plan.sampling.distinct else "")
        ),
    ),
    ("corrections of whole proofs differ", lambda plan: str(plan.correct)),
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
