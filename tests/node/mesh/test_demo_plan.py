"""The demo's plan and its message on machines of different speed."""

from __future__ import annotations

import pytest

from node.command.demo import plan_for

RECIPE = {"learner": {"plan": {"minutes": 7.0, "limit_minutes": 28.0}, "evaluation": {"simulations": 16}}}


@pytest.mark.parametrize("share", [0.85, 1.0, 8.0])
def test_a_machine_that_is_fast_enough_is_told_twelve_minutes_or_less(share: float) -> None:
    plan = plan_for(share, 2, RECIPE)
    assert plan.simulations == 16
    assert any(f"about {minutes} minutes" in plan.words for minutes in (11, 12))


def test_a_slower_machine_is_told_how_long_and_evaluates_alike_as_long_as_that_fits() -> None:
    plan = plan_for(0.4, 1, RECIPE)
    assert plan.simulations == 16 and "1 core with 40%" in plan.words
    assert "about 17 minutes, at most 29" in plan.words and "simulations" not in plan.words


def test_a_very_slow_machine_searches_less_and_is_not_promised_the_same_gain() -> None:
    plan = plan_for(0.15, 2, RECIPE)
    assert 6 <= plan.simulations < 16
    assert "smaller gain" in plan.words and f"{plan.simulations} simulations in place of 16" in plan.words


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_even_a_machine_that_does_nothing_gets_a_plan(share: float) -> None:
    plan = plan_for(share, 1, RECIPE)
    assert plan.simulations == 6 and "28 minutes" in plan.words


def test_a_recipe_with_few_simulations_does_not_get_more() -> None:
    recipe = {"learner": {**RECIPE["learner"], "evaluation": {"simulations": 4}}}
    assert plan_for(0.1, 1, recipe).simulations == 4
