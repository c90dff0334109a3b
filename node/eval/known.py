"""What an attempt says about other budgets: is its statement solved within this many simulations or Lean attempts?

Pure. An attempt that was solved after n is solved within every budget of n or more, and unsolved within every smaller
one. An unsolved attempt is unsolved within what it has spent. Within a larger budget its outcome is unknown, unless it
ended because no tactic was left to try. So the number solved within a budget is a lower bound if some attempts ended
earlier, by another budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from common.protocol.attempts import Ended
from node.eval.plan import Plan
from node.eval.records import AttemptRecord, Standing
from node.eval.results import Results, StatementResult, doubled, solved_at

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
