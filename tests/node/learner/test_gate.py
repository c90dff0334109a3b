"""Whether weights may be published, from what they make of held-out transitions."""

from __future__ import annotations

import math
import random

import pytest

from node.learner.learning.gate import Comparison, chance, compare

KNOWN = [("known", position) for position in range(100)]
FOUND = [("found", position) for position in range(50)]


def test_a_chance_is_that_of_at_least_one_sample_in_k() -> None:
    assert chance(math.log(0.25), 1) == pytest.approx(0.25)
    assert chance(math.log(0.25), 6) == pytest.approx(1 - 0.75**6)
    assert chance(0.0, 6) == pytest.approx(1.0)
    assert 0 <= chance(-500.0, 6) < 1e-9


def compared(best: float, candidate: float, noise: float = 0.1) -> Comparison:
    """Weights with these mean chances, by transition with some noise."""
    random_number = random.Random(0)
    first = dict.fromkeys([*KNOWN, *FOUND], best)
    second = {ref: candidate + random_number.uniform(-noise, noise) for ref in first}
    found = compare(first, second, [KNOWN, FOUND], 24)
    assert found is not None and found.best == pytest.approx(best)
    return found


def test_a_loss_within_noise_of_the_threshold_is_no_damage() -> None:
    assert compared(0.5, 0.42, noise=0.02).is_damage(0.15)
    assert not compared(0.5, 0.42, noise=0.4).is_damage(0.15)


def test_what_was_known_and_what_was_found_count_the_same() -> None:
    best = dict.fromkeys([*KNOWN, *FOUND], 0.5)
    forgotten = {ref: 0.3 if ref in KNOWN else 0.7 for ref in best}
    found = compare(best, forgotten, [KNOWN, FOUND], 24)
    assert found is not None and found.candidate == pytest.approx(0.5)


def test_only_transitions_that_both_were_measured_on_count_and_few_do_not() -> None:
    best = dict.fromkeys(KNOWN, 0.5)
    candidate = dict.fromkeys([*KNOWN[:30], *FOUND], 0.2)
    found = compare(best, candidate, [KNOWN, FOUND], 24)
    assert found is not None and found.compared == 30
    assert compare(best, candidate, [KNOWN[:20], FOUND], 24) is None
    assert compare({}, {}, [[], []], 0) is None
