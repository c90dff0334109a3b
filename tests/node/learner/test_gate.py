"""Whether weights may be published, from what they make of held-out transitions."""

from __future__ import annotations

import math
import random

import pytest

from node.learner.gate import chance, compare

KNOWN = [("known", position) for position in range(100)]
FOUND = [("found", position) for position in range(50)]


def test_a_chance_is_that_of_at_least_one_sample_in_k() -> None:
    assert chance(math.log(0.25), 1) == pytest.approx(0.25)
    assert chance(math.log(0.25), 6) == pytest.approx(1 - 0.75**6)
    assert chance(0.0, 6) == pytest.approx(1.0)
    assert 0 <= chance(-500.0, 6) < 1e-9


def test_weights_that_are_worse_throughout_are_harmful_and_better_ones_are_not() -> None:
    best = dict.fromkeys([*KNOWN, *FOUND], 0.5)
    noise = random.Random(0)
    worse = {ref: 0.4 + 0.1 * noise.random() for ref in best}
    better = {ref: 0.5 + 0.1 * noise.random() for ref in best}
    found = compare(best, worse, [KNOWN, FOUND], 24)
    assert found is not None and found.harmful and found.candidate < found.best == pytest.approx(0.5)
    found = compare(best, better, [KNOWN, FOUND], 24)
    assert found is not None and not found.harmful


def test_a_difference_within_noise_is_no_harm() -> None:
    noise = random.Random(1)
    best = {ref: noise.random() for ref in [*KNOWN, *FOUND]}
    shuffled = {ref: min(1.0, max(0.0, value + noise.uniform(-0.3, 0.295))) for ref, value in best.items()}
    found = compare(best, shuffled, [KNOWN, FOUND], 24)
    assert found is not None and not found.harmful and found.error > 0.01


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
