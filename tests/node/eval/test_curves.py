"""Curves of solved statements against the budget, and the pictures of them."""

import pytest

from common.protocol.attempts import Ended
from common.statistics import wilson
from node.eval.curves import curve_of
from node.eval.results import results_of
from tests.node.eval.small import evaluation, solved, statement, unsolved


def test_a_curve_steps_where_each_proof_was_found():
    names = ["a", "b", "c", "d"]
    attempts = [solved("a", 4), solved("b", 4), solved("c", 50), unsolved("d")]
    curve = curve_of(results_of(evaluation([statement(name) for name in names], attempts)), "simulations", "mine")
    assert curve.points == [(4, 0.5), (50, 0.75), (64, 0.75)]
    assert curve.label == "mine"
    assert all(low < share < high for (_, share), low, high in zip(curve.points, curve.low, curve.high, strict=True))


def test_behind_the_budget_of_the_first_attempt_that_was_given_up_a_curve_is_a_lower_bound():
    attempts = [solved("a", 50, lean_attempts=300), unsolved("b"), unsolved("c", simulations=5, ended=Ended.EXHAUSTED)]
    results = results_of(evaluation([statement(name) for name in "abc"], attempts))
    assert curve_of(results, "simulations").complete_until == 64
    assert curve_of(results, "lean_attempts").complete_until == 4 * 64  # and the proof took 300
    assert curve_of(results, "lean_attempts").points[-1][0] == 300


def test_wilsons_interval_agrees_with_published_values():
    # Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for solved_count, count, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(solved_count, count) == pytest.approx((low, high), abs=5e-5)
