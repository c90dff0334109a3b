from __future__ import annotations

import pytest

from node.learner.statistics import compare


def outcomes(*solved: int, total: int = 160) -> dict[str, bool]:
    return {f"t{index}": index in solved for index in range(total)}


def test_counts_are_exact_and_the_interval_is_that_of_the_paired_difference() -> None:
    before, after = outcomes(*range(50)), outcomes(*range(10, 80))
    found = compare(before, after, seed=1)
    assert (found.total, found.before, found.after, found.both) == (160, 50, 70, 40)
    assert found.difference == pytest.approx(20 / 160)
    # 30 gained, 10 lost: standard error sqrt((40 - 20²/160) / 160²) = 0.0387.
    assert found.low == pytest.approx(0.125 - 1.96 * 0.0387, abs=0.01)
    assert found.high == pytest.approx(0.125 + 1.96 * 0.0387, abs=0.01)


def test_equal_outcomes_have_an_interval_of_no_width() -> None:
    found = compare(outcomes(1, 2), outcomes(1, 2), seed=1)
    assert (found.low, found.difference, found.high) == (0.0, 0.0, 0.0)


def test_the_interval_is_the_same_for_the_same_seed() -> None:
    assert compare(outcomes(1), outcomes(2, 3), 5) == compare(outcomes(1), outcomes(2, 3), 5)


def test_evaluations_of_different_theorems_are_refused() -> None:
    with pytest.raises(ValueError, match="different theorems"):
        compare(outcomes(total=3), outcomes(total=4), seed=1)
