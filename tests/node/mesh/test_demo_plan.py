"""How the demo divides its time on machines of different power."""

from __future__ import annotations

import pytest

from node.mesh.demo_plan import LONGEST, divide

RECIPE = {"learner": {"plan": {"limit_minutes": 11.2}, "evaluation": {"simulations": 16}}}


@pytest.mark.parametrize("share", [0.85, 1.0, 8.0])
def test_a_machine_that_is_fast_enough_keeps_the_recipe(share: float) -> None:
    plan = divide(share, 2, RECIPE)
    assert (plan.limit_minutes, plan.simulations) == (11.2, 16) and "12 minutes" in plan.words


def test_a_slower_machine_gets_longer_and_the_same_evaluation_as_long_as_it_fits() -> None:
    plan = divide(0.5, 1, RECIPE)
    assert plan.limit_minutes == pytest.approx(22.4) and plan.simulations == 16
    assert "23 minutes" in plan.words and "simulations" not in plan.words


def test_a_very_slow_machine_searches_less_and_is_not_promised_the_same_gain() -> None:
    plan = divide(0.15, 2, RECIPE)
    assert plan.limit_minutes == LONGEST and 6 <= plan.simulations < 16
    assert "smaller gain" in plan.words and "other programs" in plan.words


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_even_a_machine_that_does_nothing_gets_a_plan(share: float) -> None:
    plan = divide(share, 1, RECIPE)
    assert plan.limit_minutes == LONGEST and plan.simulations == 6
