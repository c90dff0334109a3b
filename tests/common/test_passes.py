import itertools
import math

import pytest

from common.statistics import in_blocks, sizes, unbiased


def test_the_estimator_is_the_mean_over_all_choices_of_k_attempts():
    outcomes = [True, False, False, True, False, False]
    for k in range(1, 7):
        choices = list(itertools.combinations(outcomes, k))
        assert unbiased(6, 2, k) == pytest.approx(sum(map(any, choices)) / len(choices))


def test_fewer_attempts_than_k_say_nothing():
    with pytest.raises(ValueError, match="pass@4 needs 4 attempts, and there are 3"):
        unbiased(3, 1, 4)


def test_blocks_are_disjoint_and_their_spread_is_that_of_a_sample():
    outcomes = [[True, False, True, True, False], [False, False, False, True, True]]
    mean, deviation, blocks = in_blocks(outcomes, 2)
    assert blocks == 2
    assert mean == pytest.approx((0.5 + 1.0) / 2)
    assert deviation == pytest.approx(math.sqrt(((0.5 - 0.75) ** 2 + (1.0 - 0.75) ** 2) / 1))


def test_the_spread_of_a_single_block_is_not_known():
    mean, deviation, blocks = in_blocks([[True, False]], 2)
    assert (mean, blocks) == (1.0, 1)
    assert math.isnan(deviation)


def test_a_statement_counts_in_the_blocks_that_are_decided():
    mean, _, blocks = in_blocks([[True, None, False, False], [True, True, True, False]], 2)
    assert blocks == 2
    assert mean == pytest.approx((1.0 + 0.5) / 2)  # the first block has one statement, the second two


def test_without_a_decided_block_nothing_is_known():
    mean, deviation, blocks = in_blocks([[None], [None]], 1)
    assert (blocks, math.isnan(mean), math.isnan(deviation)) == (0, True, True)


def test_powers_of_two_are_reported_and_all_passes():
    assert [sizes(passes) for passes in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]
