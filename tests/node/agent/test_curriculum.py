"""Difficulties, classes and the order of repositories."""

import math
from dataclasses import replace

import pytest

from node.agent.repositories import EASY, HARD, MEDIUM, UNPROVED, Thresholds, difficulty, ordered, thresholds
from node.agent.settings import AgentSettings


def test_the_difficulty_of_a_proof_is_e_to_its_steps_and_never_overflows():
    assert difficulty(3) == pytest.approx(math.e**3)
    assert math.isfinite(difficulty(100_000)) and difficulty(100_000) > difficulty(699)


def test_percentiles_of_all_theorems_part_them_and_what_has_no_proof_is_a_class_of_its_own():
    parts = thresholds([difficulty(steps) for steps in (1, 1, 1, 2, 2, 3, 5, 9, 800)])
    found = [parts.category(difficulty(steps)) for steps in (1, 2, 3, 5, 9, 800)]
    assert found == [EASY, MEDIUM, MEDIUM, HARD, HARD, HARD]
    assert parts.category(None) == UNPROVED
    assert thresholds([]).category(difficulty(9)) == EASY


def test_a_theorem_that_is_a_threshold_is_on_its_lower_side():
    parts = thresholds([difficulty(2)] * 7)
    assert parts.category(difficulty(2)) == EASY and parts.category(difficulty(3)) == HARD


def test_most_easy_theorems_come_first_or_the_lowest_mean_or_as_given():
    parts = Thresholds(difficulty(1), difficulty(2))
    found = {
        4: [difficulty(1), difficulty(9), None],
        7: [difficulty(1), difficulty(1), difficulty(30)],
        9: [difficulty(2)],
        11: [None],
    }
    assert ordered(found, parts, "easy") == [7, 4, 9, 11]
    assert ordered(found, parts, "mean") == [9, 4, 7, 11]
    assert ordered(found, parts, "given") == [4, 7, 9, 11]


def test_an_agent_may_go_on_with_other_threads_and_minutes_and_not_with_another_network():
    settings = AgentSettings()
    fixed = settings.fixed()
    quicker = replace(settings, learning=replace(settings.learning, threads=7, minutes=3.0))
    larger = replace(settings, learning=replace(settings.learning, length=2 * settings.learning.length))
    assert quicker.fixed() == fixed != larger.fixed()
