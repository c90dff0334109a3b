"""Curves of solved statements against the budget, and the pictures of them."""

import math
from dataclasses import replace

import pytest

from common.protocol.attempts import Ended
from node.eval.curves import MOST_POINTS, chart, curve_of, wilson
from node.eval.folder import AttemptRecord, Standing
from node.eval.results import results_of
from tests.node.eval.made import evaluation, random_evaluation, solved, statement, unsolved


def test_a_curve_steps_where_each_proof_was_found():
    names = ["a", "b", "c", "d"]
    attempts = [solved("a", 4), solved("b", 4), solved("c", 100), unsolved("d")]
    curve = curve_of(results_of(evaluation([statement(name) for name in names], attempts)), "simulations", "mine")
    assert curve.points == [(4, 0.5), (100, 0.75), (256, 0.75)]
    assert curve.label == "mine"
    assert all(low < share < high for (_, share), low, high in zip(curve.points, curve.low, curve.high, strict=True))


def test_each_pass_adds_its_part_and_what_is_neither_solved_nor_unsolved_does_not_count():
    statements = [statement("a"), statement("b"), statement("c", refused="unknown identifier"), statement("d")]
    lost = AttemptRecord(name="d", number=0, standing=Standing.UNDECIDED)
    attempts = [solved("a", 3), unsolved("a", number=1), solved("b", 9), lost]
    curve = curve_of(results_of(evaluation(statements, attempts)), "simulations")
    assert curve.points == [(3, 0.25), (9, 0.75), (256, 0.75)]


def test_behind_the_budget_of_the_first_attempt_that_was_given_up_a_curve_is_a_lower_bound():
    attempts = [solved("a", 200), unsolved("b", 256), unsolved("c", 5, ended=Ended.EXHAUSTED)]
    results = results_of(evaluation([statement(name) for name in "abc"], attempts))
    assert curve_of(results, "simulations").complete_until == 256
    assert curve_of(results, "lean_attempts").complete_until == 4 * 256  # and the proof took 1198
    assert curve_of(results, "lean_attempts").points[-2][0] == 6 * 200 - 2


def test_where_nothing_was_given_up_a_curve_is_complete():
    attempts = [solved("a", 200), unsolved("b", 5, ended=Ended.EXHAUSTED)]
    results = results_of(evaluation([statement("a"), statement("b")], attempts))
    assert curve_of(results, "simulations").complete_until == math.inf


def test_a_curve_of_many_proofs_is_thinned_and_keeps_its_ends():
    count = 3 * MOST_POINTS
    attempts = [solved(f"s{index}", index + 1) for index in range(count)]
    made = evaluation([statement(f"s{index}") for index in range(count)], attempts, simulations=count)
    points = curve_of(results_of(made), "seconds").points
    assert len(points) <= MOST_POINTS + 1
    assert points[0] == (0.1, pytest.approx(1 / count)) and points[-1] == (count / 10, pytest.approx(1.0))


def test_wilsons_interval_agrees_with_published_values():
    # Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for solved_count, count, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(solved_count, count) == pytest.approx((low, high), abs=5e-5)


def test_without_statements_there_is_no_interval():
    assert all(map(math.isnan, wilson(0, 0)))


def test_pictures_are_drawn_of_whatever_there_is(tmp_path):
    curves = [curve_of(results_of(random_evaluation(60, seed=seed)), "simulations", f"$seed {seed}") for seed in (1, 2)]
    nothing = curve_of(results_of(evaluation([], [])), "simulations", "nothing")
    for name, shown in [
        ("two.png", curves),
        ("empty.png", [nothing]),
        ("none.png", []),
        ("three.png", [*curves, nothing]),
    ]:
        chart([("simulations", shown)]).save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    chart([("simulations", curves), ("seconds", curves)]).save(tmp_path / "panels.png")
    chart([("simulations", curves)]).save(tmp_path / "two.svg")
    assert b"<svg" in (tmp_path / "two.svg").read_bytes()


def test_the_part_that_is_a_lower_bound_is_dashed_and_said_to_be(tmp_path):
    curve = curve_of(results_of(random_evaluation(60)), "simulations")
    for name, drawn in [("whole.svg", curve), ("bound.svg", replace(curve, complete_until=20.0))]:
        chart([("simulations", [drawn])]).save(tmp_path / name)
    whole, bound = ((tmp_path / name).read_text() for name in ("whole.svg", "bound.svg"))
    assert "stroke-dasharray" in bound and "Dashed" in bound
    assert "stroke-dasharray" not in whole and "Dashed" not in whole


def test_text_of_a_picture_in_a_page_has_the_colour_of_the_page():
    picture = chart([("seconds", [curve_of(results_of(random_evaluation(60)), "seconds")])]).__html__()
    assert picture.startswith("<svg") and picture.endswith("</svg>")
    assert "currentColor" in picture and "#010203" not in picture
