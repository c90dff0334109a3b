"""What an attempt may cost, counted without a search."""

from __future__ import annotations

import asyncio

import pytest

from common.protocol.attempts import Ended
from node.prover.agent import Budget, TimeIsUp
from tests.node.prover.toys import attempt


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_whichever_budget_ends_first_ends_the_attempt() -> None:
    clock = Clock()
    budget = Budget(attempt(simulations=10, lean_attempts=20, seconds=5.0), clock)
    assert budget.ended(9) is None
    assert budget.ended(10) is Ended.SIMULATIONS
    budget.lean_attempts = 20
    assert budget.ended(9) is Ended.LEAN_ATTEMPTS
    budget.give_back(1)
    assert budget.ended(9) is None
    clock.now += 5.0
    assert budget.ended(9) is Ended.SECONDS
    assert [budget.describe(ended) for ended in Ended] == [
        "10 simulations",
        "20 Lean attempts",
        "5 seconds",
        "no tactic is left to try",
    ]


def test_time_begins_at_the_start_and_stands_still_in_pauses() -> None:
    clock = Clock()
    budget = Budget(attempt(0, seconds=5.0), clock)
    clock.now += 60.0
    budget.start()
    clock.now += 4.0
    budget.pause(3.0)
    assert budget.seconds == 1.0 and budget.ended(0) is None


@pytest.mark.parametrize(
    ("simulations", "lean_attempts", "leaves"),
    [(0, 0, 4), (800, 0, 4), (33, 0, 4), (16, 0, 2), (7, 0, 1), (0, 100, 2), (16, 600, 2), (800, 20, 1)],
)
def test_small_budgets_have_fewer_leaves_in_flight(simulations: int, lean_attempts: int, leaves: int) -> None:
    assert Budget(attempt(simulations, lean_attempts=lean_attempts)).leaves(4) == leaves


async def test_lean_attempts_are_granted_in_the_order_of_selection() -> None:
    budget = Budget(attempt(0, lean_attempts=10))
    first, second, third = budget.turn(), budget.turn(), budget.turn()
    late = [asyncio.create_task(budget.grant(third, 6)), asyncio.create_task(budget.grant(second, 3))]
    await asyncio.sleep(0)
    assert not any(task.done() for task in late), "the first one has not said how many it wants"
    assert await budget.grant(first, 5) == 5
    assert await asyncio.gather(*late) == [2, 3]
    assert budget.ended(0) is Ended.LEAN_ATTEMPTS
    assert await budget.grant(budget.turn(), 4) == 0


async def test_work_ends_with_the_time() -> None:
    clock = Clock()
    budget = Budget(attempt(0, seconds=5.0), clock)

    async def work(result: int) -> int:
        await asyncio.sleep(0)
        return result

    assert await budget.in_time(work(3)) == 3
    clock.now += 4.99
    endless = asyncio.ensure_future(asyncio.Event().wait())
    with pytest.raises(TimeIsUp):
        await budget.in_time(endless)
    await asyncio.gather(endless, return_exceptions=True)
    assert endless.cancelled()
    clock.now += 1.0
    done = asyncio.ensure_future(work(4))
    await done
    with pytest.raises(TimeIsUp):
        await budget.in_time(done)
