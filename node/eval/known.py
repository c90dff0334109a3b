"""What an attempt says of smaller budgets, and of larger ones: whether its statement is solved within so many
simulations or Lean attempts, and whether that is known. Pure.

An attempt that is solved at n is solved within every budget of n or more, and unsolved within every smaller one. One
that is unsolved is unsolved within what it has spent. Within more than that nothing is known, unless no tactic was left
to try: another budget has ended it. So the number that is solved within a budget is a lower bound where attempts have
ended before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from common.messages import Ended
from node.eval.plan import Plan
from node.eval.records import AttemptRecord, Standing
from node.eval.results import FIRST_BUDGET, Results, StatementResult, solved_at

SIMULATIONS, LEAN_ATTEMPTS = "simulations", "lean_attempts"
"""Kinds of budget, as in `Budgets`. Of seconds it depends on the machines what is done within them."""


def solved_within(record: AttemptRecord, kind: str, limit: float) -> bool:
    """Whether a proof was known within this budget."""
    return record.standing is Standing.SOLVED and solved_at(record)[kind] <= limit


def known_until(record: AttemptRecord, plan: Plan, kind: str) -> float:
    """The largest budget within which a decided attempt says whether its statement is solved; infinity: all of them."""
    found = record.statistics
    if record.standing is Standing.SOLVED or record.ended == Ended.EXHAUSTED:
        return math.inf
    if kind == SIMULATIONS:
        given = plan.budgets.simulations if record.ended == Ended.SIMULATIONS else 0
        return max(given, found.simulations)
    # `tactics_tried` is what `solved_at_lean_attempts` counts, too: tactics of expansions that came back in their turn.
    given = plan.budgets.lean_attempts if record.ended == Ended.LEAN_ATTEMPTS else 0
    return max(given, found.tactics_tried)


def share_within(row: StatementResult, kind: str, limit: float) -> float:
    """Share of the decided attempts at a statement that solve it within this budget, as far as is known."""
    return sum(solved_within(each, kind, limit) for each in row.decided) / len(row.decided)


def share_open(row: StatementResult, plan: Plan, kind: str, limit: float) -> float:
    """Share of the decided attempts of which it is not known."""
    return sum(known_until(each, plan, kind) < limit for each in row.decided) / len(row.decided)


def exact_until(rows: Iterable[StatementResult], plan: Plan, kind: str) -> float:
    """The largest budget within which it is known of all of these statements; infinity: within every one."""
    return min((known_until(each, plan, kind) for row in rows for each in row.decided), default=math.inf)


def reach(results: Results, kind: str) -> int:
    """The budget that was given; where none was, the most that an attempt has spent."""
    if given := int(getattr(results.plan.budgets, kind)):
        return given
    field = "simulations" if kind == SIMULATIONS else "tactics_tried"
    return max((int(getattr(each.statistics, field)) for row in results.statements for each in row.decided), default=0)


def limits(most: int, *others: float) -> Sequence[int]:
    """8, 16, 32, ... up to `most`, that one, and others up to there."""
    found = {most, *(int(other) for other in others if other <= most), *_doubled(most)}
    return sorted(found - {0})


def _doubled(most: int) -> Iterator[int]:
    limit = FIRST_BUDGET
    while limit < most:
        yield limit
        limit *= 2
