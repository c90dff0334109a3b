"""The results of an evaluation: solved by budget, family and level, pass@k, endings of attempts, costs. Pure.

A statement counts if at least one attempt at it is decided. Its score is the share of its decided attempts that solved
it. So the sum of the scores is the number of statements that one pass solves on average (pass@1). `any` is the number
of statements that at least one pass solved.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from common import statistics
from common.protocol.attempts import Ended
from node.eval.folder import AttemptRecord, Evaluation, Plan, Session, Standing, StatementRecord

K = TypeVar("K", str, int)

FIRST_BUDGET = 8
"""The smallest reported budget of simulations; each further one is twice as large."""


@dataclass(frozen=True)
class StatementResult:
    """The attempts at one statement, and their outcome."""

    statement: StatementRecord
    attempts: tuple[AttemptRecord, ...]
    """The latest record of each pass, by pass number."""

    @cached_property
    def decided(self) -> tuple[AttemptRecord, ...]:
        return tuple(each for each in self.attempts if each.decided)

    @cached_property
    def solved(self) -> tuple[AttemptRecord, ...]:
        return tuple(each for each in self.attempts if each.standing is Standing.SOLVED)

    @property
    def counts(self) -> bool:
        """Whether the statement is solved or unsolved."""
        return bool(self.decided)

    @property
    def score(self) -> float:
        """Share of the decided attempts that solved it."""
        return len(self.solved) / len(self.decided)

    @property
    def standing(self) -> Standing:
        """The standing of the statement: solved if any attempt solved it, undecided if no ended attempt is decided."""
        if self.counts:
            return Standing.SOLVED if self.solved else Standing.UNSOLVED
        refused = self.statement.refused or any(each.standing is Standing.NOT_ELABORATED for each in self.attempts)
        if refused:
            return Standing.NOT_ELABORATED
        return Standing.UNDECIDED if self.attempts else Standing.NOT_PLAYED

    @property
    def refusal(self) -> str:
        """Lean's error, if the statement does not elaborate."""
        reasons = (each.reason for each in self.attempts if each.standing is Standing.NOT_ELABORATED)
        return self.statement.refused or next(reasons, "")

    @property
    def reason(self) -> str:
        """Why the statement is neither solved nor unsolved; empty if it is."""
        if self.standing is Standing.NOT_ELABORATED:
            return self.refusal
        if self.standing is Standing.UNDECIDED:
            return self.attempts[-1].reason or self.attempts[-1].ended
        return ""


@dataclass(frozen=True)
class Tally:
    """How many statements of a group are solved."""

    statements: int
    """Statements that count."""
    solved: float
    """Sum of the scores."""
    any: int
    """Statements that at least one pass solved."""

    @property
    def rate(self) -> float:
        """Share that one pass solves; nan without statements."""
        return self.solved / self.statements if self.statements else math.nan


@dataclass(frozen=True)
class PassAt:
    """pass@k."""

    k: int
    statements: int
    """Statements with at least k decided attempts; others are left out."""
    unbiased: float
    """The estimate of Chen et al., arXiv 2107.03374, equation 1; mean over the statements."""
    blocks: int
    mean: float
    deviation: float
    """Mean and standard deviation over disjoint blocks of k passes; nan with fewer than two blocks."""


@dataclass(frozen=True)
class Costs:
    """Costs of all attempts, including those that stayed undecided."""

    attempts: int
    simulations: int
    lean_attempts: int
    samples: int
    tokens: int
    proofs_rejected: int
    """Proofs that a search found and the verification rejected."""
    seconds_policy: float
    """Seconds of waiting for the policy, summed over searches and expansions, which overlap. The next two fields are
    the same for Lean and for verification."""
    seconds_lean: float
    seconds_verify: float
    wall_seconds: float
    """Sum over all processes that worked on the evaluation."""
    own_cpu: float
    lean_cpu: float | None
    """None if a mesh played the attempts."""


@dataclass(frozen=True)
class SearchNumbers:
    """What the tree searches did, over all attempts that have one (`SearchShape`). None: nothing to divide by."""

    attempts: int
    expansions: int
    states: int
    """Expanded states."""
    on_dead: float | None
    """Share of the expansions that went to states which are dead at the end."""
    on_dead_again: float | None
    """Share of the expansions that went to such a state after its first one: these could have been spared."""
    choices: float | None
    """Share of the expanded states with two or more visited actions."""
    depth: float | None
    """Mean depth of the expansions."""
    deepest: int
    proof_depth: float | None
    """Mean number of tactics on the longest branch of a proof."""
    deepest_proof: int
    error_on_proofs: float | None
    """Mean of |V + remaining steps| over states on proofs, in steps, where the network gave a value."""
    error_off_proofs: float | None
    """The same over solved states off proofs."""
    auc: float | None
    """Chance that the network gives a solved state off proofs a better value than an unsolved one; 0.5: it cannot
    tell."""
    off_proofs: tuple[int, int]
    """The number of these states: (solved, unsolved)."""
    until_solved: dict[str, tuple[float, float]]
    """By kind of budget, (median, 90% quantile) of what solved attempts had spent when the proof was known."""
    passes_until_solved: dict[int, int]
    """By number of decided attempts until the first that solved it, the number of statements."""
    heads: dict[str, tuple[int, int, int]]
    """By first word of the tactic: (tried, legal, in proofs); those of proofs first."""


@dataclass(frozen=True)
class Results:
    """The results of an evaluation so far."""

    plan: Plan
    statements: tuple[StatementResult, ...]
    total: Tally
    without_flawed: Tally | None
    """Without the statements with known flaws; None if there are none."""
    standings: Counter[Standing]
    """Number of statements by standing."""
    unread: int
    """Rows of the benchmark that could not be read as statements."""
    missing: int
    """Attempts that were not played yet."""
    passes: int
    budgets: dict[str, list[tuple[float, Tally]]]
    """By kind of budget (`simulations`, `lean_attempts`, `seconds`): (smaller budget, what it would have solved)."""
    families: dict[str, Tally]
    levels: dict[int, Tally]
    pass_at: list[PassAt]
    endings: Counter[str]
    """Number of attempts without a proof by the reason of their end."""
    costs: Costs
    axioms: Counter[str] = field(default_factory=Counter)
    """Axioms of the proofs, with the number of proofs that depend on each."""
    sources: Counter[str] = field(default_factory=Counter)
    """For a mixture of policies: how many tactics of the proofs each part proposed."""
    search: SearchNumbers | None = None
    """None if no attempt tells what its search did."""


def results_of(evaluation: Evaluation, requested_passes: int = 0) -> Results:
    """The results so far, over all passes. `requested_passes`: counts if it is more than in the plan."""
    # 1. Of each pass the latest record counts: an attempt that infrastructure failed was played again.
    by_name: dict[str, dict[int, AttemptRecord]] = defaultdict(dict)
    for record in evaluation.attempts:
        by_name[record.name][record.number] = record
    rows = tuple(
        StatementResult(each, tuple(by_name[each.name][number] for number in sorted(by_name[each.name])))
        for each in evaluation.statements
    )
    begun = 1 + max((record.number for record in evaluation.attempts), default=-1)
    pass_count = max(requested_passes, evaluation.plan.passes, begun)
    # 2. The numbers, over the statements that are solved or unsolved.
    counted = [row for row in rows if row.counts]
    latest = [attempt for row in rows for attempt in row.attempts]
    solid = [row for row in counted if not row.statement.flaw]
    return Results(
        plan=evaluation.plan,
        statements=rows,
        total=tally(counted),
        without_flawed=tally(solid) if any(row.statement.flaw for row in rows) else None,
        standings=Counter(row.standing for row in rows),
        unread=len(evaluation.plan.benchmark.unread),
        missing=sum(
            max(0, pass_count - len(row.attempts)) for row in rows if row.standing is not Standing.NOT_ELABORATED
        ),
        passes=pass_count,
        budgets=_budgets(evaluation.plan, counted),
        families={name: tally(group) for name, group in _grouped(counted, lambda row: row.statement.family)},
        levels={level: tally(group) for level, group in _grouped(counted, lambda row: row.statement.level)},
        pass_at=_pass_at(rows, begun),
        endings=Counter(each.ended for each in latest if each.standing is not Standing.SOLVED and each.ended),
        costs=_costs(evaluation.attempts, evaluation.sessions),
        axioms=Counter(axiom for row in rows if row.solved for axiom in row.solved[0].axioms),
        sources=_sources(rows),
        search=_search(rows),
    )


def _sources(rows: Iterable[StatementResult]) -> Counter[str]:
    proofs_by_source: Counter[str] = Counter()
    for row in rows:
        if row.solved:
            proofs_by_source.update(row.solved[0].sources)
    return proofs_by_source


def tally(rows: Sequence[StatementResult], within: Callable[[AttemptRecord], bool] = lambda record: True) -> Tally:
    """How many of these statements are solved; all of them must count. `within`: which solved attempts count as
    solved."""
    scores = [sum(map(within, row.solved)) / len(row.decided) for row in rows]
    return Tally(len(rows), math.fsum(scores), sum(score > 0 for score in scores))


def _grouped(
    rows: Iterable[StatementResult], key: Callable[[StatementResult], K]
) -> list[tuple[K, list[StatementResult]]]:
    groups: dict[K, list[StatementResult]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return sorted(groups.items())


def solved_at(record: AttemptRecord) -> dict[str, float]:
    """How much of each budget was spent when the proof was found."""
    statistics = record.statistics
    return {
        "simulations": statistics.solved_at_simulations,
        "lean_attempts": statistics.solved_at_lean_attempts,
        "seconds": statistics.solved_at_seconds,
    }


def _budgets(plan: Plan, counted: Sequence[StatementResult]) -> dict[str, list[tuple[float, Tally]]]:
    """Statements solved within 8, 16, 32, ... simulations and Lean attempts, and within 1, 2, 4, ... seconds. The
    largest budget is that of the plan; if the plan has none, the one that includes the last proof."""
    plan_budgets = {
        "simulations": plan.budgets.simulations,
        "lean_attempts": plan.budgets.lean_attempts,
        "seconds": plan.budgets.seconds,
    }
    curves = {}
    for kind, most in plan_budgets.items():
        taken = [solved_at(attempt)[kind] for row in counted for attempt in row.solved]
        last = most or max(taken, default=0.0)
        curves[kind] = [
            (limit, tally(counted, lambda record, kind=kind, limit=limit: solved_at(record)[kind] <= limit))  # type: ignore[misc]
            for limit in _limits(1 if kind == "seconds" else FIRST_BUDGET, last, exact=bool(most))
        ]
    return curves


def doubled(last: float, first: int = FIRST_BUDGET) -> Iterator[int]:
    """`first`, doubled again and again while it is below `last`."""
    while first < last:
        yield first
        first *= 2


def _limits(first: int, last: float, *, exact: bool) -> list[float]:
    """`first`, doubled until it reaches `last`; with `exact` the last value is `last` itself."""
    below = list(doubled(last, first))
    return [*below, last if exact else 2 * below[-1] if below else first] if last else []


def _pass_at(rows: Sequence[StatementResult], begun: int) -> list[PassAt]:
    estimates_at = []
    for k in statistics.sizes(begun) if begun else []:
        enough = [row for row in rows if len(row.decided) >= k]
        if not enough:
            continue
        estimates = [statistics.unbiased(len(row.decided), len(row.solved), k) for row in enough]
        mean, deviation, blocks = statistics.in_blocks([_by_pass(row, begun) for row in rows], k)
        estimates_at.append(PassAt(k, len(enough), math.fsum(estimates) / len(enough), blocks, mean, deviation))
    return estimates_at


def _by_pass(row: StatementResult, begun: int) -> list[bool | None]:
    """Whether each pass solved a statement; None for passes that are not decided."""
    solved = {each.number: each.standing is Standing.SOLVED for each in row.decided}
    return [solved.get(number) for number in range(begun)]


def _costs(attempts: Sequence[AttemptRecord], sessions: Sequence[Session]) -> Costs:
    spent = [each.statistics for each in attempts]
    lean_cpu = [each.lean_cpu for each in sessions if each.lean_cpu is not None]
    return Costs(
        attempts=len(attempts),
        simulations=sum(each.simulations for each in spent),
        lean_attempts=sum(each.lean_attempts for each in spent),
        samples=sum(each.samples for each in spent),
        tokens=sum(each.tokens for each in spent),
        proofs_rejected=sum(each.proofs_rejected for each in spent),
        seconds_policy=round(math.fsum(each.seconds_policy for each in spent), 2),
        seconds_lean=round(math.fsum(each.seconds_lean for each in spent), 2),
        seconds_verify=round(math.fsum(each.seconds_verify for each in spent), 2),
        wall_seconds=round(math.fsum(each.seconds for each in sessions), 2),
        own_cpu=round(math.fsum(each.own_cpu for each in sessions), 2),
        lean_cpu=round(math.fsum(lean_cpu), 2) if lean_cpu else None,
    )


# --- what the searches did --------------------------------------------------------------------------------------------


def _search(rows: Sequence[StatementResult]) -> SearchNumbers | None:
    # 1. The shapes, and their sums.
    shapes = [each.statistics.shape for row in rows for each in row.attempts if each.statistics.shape is not None]
    if not shapes:
        return None
    expanded, expansions = sum(each.expanded for each in shapes), sum(each.expansions for each in shapes)
    dead, dead_expansions = sum(each.dead for each in shapes), sum(each.dead_expansions for each in shapes)
    depths = [each.proof_steps for each in shapes if each.proof_steps]
    solved, unsolved = Counter[int](), Counter[int]()
    tried, legal, used = Counter[str](), Counter[str](), Counter[str]()
    for shape in shapes:
        solved.update(dict(enumerate(shape.solved)))
        unsolved.update(dict(enumerate(shape.unsolved)))
        for counts, added in ((tried, shape.tried), (legal, shape.legal), (used, shape.used)):
            counts.update(added)
    order = sorted({*tried, *used}, key=lambda head: (-used[head], -tried[head], head))
    # 2. What was spent until proofs were known.
    found = [solved_at(each) for row in rows for each in row.solved]
    spent = {kind: sorted(each[kind] for each in found) for kind in (found[0] if found else ())}
    firsts = [
        next(place for place, each in enumerate(row.decided, 1) if each in row.solved) for row in rows if row.solved
    ]
    # 3. Means and shares.
    return SearchNumbers(
        attempts=len(shapes),
        expansions=expansions,
        states=expanded,
        on_dead=_ratio(dead_expansions, expansions),
        on_dead_again=_ratio(dead_expansions - dead, expansions),
        choices=_ratio(sum(each.choices for each in shapes), expanded),
        depth=_ratio(sum(each.depths for each in shapes), expansions),
        deepest=max(each.depth for each in shapes),
        proof_depth=_ratio(sum(depths), len(depths)),
        deepest_proof=max(depths, default=0),
        error_on_proofs=_ratio(sum(each.error_on_proof for each in shapes), sum(each.on_proof for each in shapes)),
        error_off_proofs=_ratio(sum(each.error_off_proof for each in shapes), sum(each.off_proof for each in shapes)),
        auc=auc(solved, unsolved),
        off_proofs=(solved.total(), unsolved.total()),
        until_solved={kind: (quantile(values, 0.5), quantile(values, 0.9)) for kind, values in spent.items()},
        passes_until_solved=dict(sorted(Counter(firsts).items())),
        heads={head: (tried[head], legal[head], used[head]) for head in order},
    )


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def auc(solved: Counter[int], unsolved: Counter[int]) -> float | None:
    """Chance that a solved state has a smaller bin of remaining steps than an unsolved one; equal bins count half. None
    if there are no states of a kind."""
    pairs = solved.total() * unsolved.total()
    won, smaller = 0.0, 0
    for place in sorted({*solved, *unsolved}):
        won += unsolved[place] * (smaller + solved[place] / 2)
        smaller += solved[place]
    return round(won / pairs, 4) if pairs else None


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the sorted values that at least this share does not exceed."""
    return values[max(0, math.ceil(share * len(values)) - 1)]


# --- other budgets: is a statement solved within this many simulations or Lean attempts? ------------------------------
#
# An attempt that was solved after n is solved within every budget of n or more, and unsolved within every smaller one.
# An unsolved attempt is unsolved within what it has spent. Within a larger budget its outcome is unknown, unless it
# ended because no tactic was left to try. So the number solved within a budget is a lower bound if some attempts ended
# earlier, by another budget.

SIMULATIONS, LEAN_ATTEMPTS = "simulations", "lean_attempts"
"""Kinds of budget, as in `Budgets`. Seconds are left out: they depend on the machine, so runs are not compared by
them."""


def solved_within(record: AttemptRecord, kind: str, limit: float) -> bool:
    """True when the attempt found its proof within this budget."""
    return record.standing is Standing.SOLVED and solved_at(record)[kind] <= limit


def known_until(record: AttemptRecord, plan: Plan, kind: str) -> float:
    """The largest budget for which the outcome of a decided attempt is known; infinity: for all budgets."""
    if record.standing is Standing.SOLVED or record.ended == Ended.EXHAUSTED:
        return math.inf
    # The budget that ended the attempt was used up, even if the counter stopped below it.
    budget = float(getattr(plan.budgets, kind)) if record.ended.replace("-", "_") == kind else 0.0
    return max(budget, spent_of(record, kind))


def spent_of(record: AttemptRecord, kind: str) -> float:
    """How much of a kind of budget an attempt has spent."""
    statistics = record.statistics
    if kind == SIMULATIONS:
        return statistics.simulations
    if kind == LEAN_ATTEMPTS:
        # The same count as `solved_at_lean_attempts`: tactics of the expansions that were backed up in order.
        return statistics.tactics_tried
    return max(0.0, statistics.seconds - statistics.seconds_verify)


def share_within(row: StatementResult, kind: str, limit: float) -> float:
    """Share of the decided attempts at a statement that are known to solve it within this budget."""
    return sum(solved_within(each, kind, limit) for each in row.decided) / len(row.decided)


def share_open(row: StatementResult, plan: Plan, kind: str, limit: float) -> float:
    """Share of the decided attempts whose outcome within this budget is unknown."""
    return sum(known_until(each, plan, kind) < limit for each in row.decided) / len(row.decided)


def exact_until(rows: Iterable[StatementResult], plan: Plan, kind: str) -> float:
    """The largest budget for which the outcomes of all attempts at these statements are known; infinity: for all."""
    return min((known_until(each, plan, kind) for row in rows for each in row.decided), default=math.inf)


def reach(results: Results, kind: str) -> int:
    """The budget of the plan; if it has none, the most that an attempt has spent."""
    if budget := int(getattr(results.plan.budgets, kind)):
        return budget
    return max((int(spent_of(each, kind)) for row in results.statements for each in row.decided), default=0)


def limits(most: int, *others: float) -> Sequence[int]:
    """8, 16, 32, ... up to `most`, plus `most` itself, plus those of `others` that are not larger."""
    budgets = {most, *(int(other) for other in others if other <= most), *doubled(most)}
    return sorted(budgets - {0})
