import itertools
import math

import pytest

from common.statistics import bootstrap_interval, in_blocks, mcnemar, permutation_test, sizes, unbiased


def test_the_interval_is_around_the_mean_difference_and_fixed_by_the_seed():
    pairs = [(0.0, 1.0)] * 30 + [(1.0, 0.0)] * 10 + [(1.0, 1.0)] * 60
    mean, *ends = bootstrap_interval(pairs, seed=3)
    assert mean == pytest.approx(0.2) and (mean, *ends) == bootstrap_interval(pairs, seed=3)
    # Of a mean of 100 differences with variance 0.4 - 0.2² the normal interval is 0.2 ± 0.1176.
    assert ends == pytest.approx([0.2 - 0.1176, 0.2 + 0.1176], abs=0.02)
    assert bootstrap_interval([], seed=0) == (0.0, -1.0, 1.0), "without pairs everything is possible"
    # Many statements have the interval that few suggest.
    few = [(0.0, 1.0)] * 90 + [(0.5, 0.0)] * 60 + [(1.0, 1.0)] * 850
    _, low, high = bootstrap_interval(few * 9, seed=3)
    mean, low_of_few, high_of_few = bootstrap_interval(few, seed=3)
    assert (mean - low, high - mean) == pytest.approx(((mean - low_of_few) / 3, (high_of_few - mean) / 3), rel=0.05)


def test_mcnemar_is_the_sign_test_on_statements_that_one_of_two_solves():
    assert mcnemar(0, 0) == 1.0 and mcnemar(5, 5) == 1.0
    assert mcnemar(0, 6) == pytest.approx(2 / 2**6)
    assert mcnemar(2, 8) == mcnemar(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 2**10)
    assert mcnemar(40_000, 60_000) < 1e-300, "many statements do not overflow"


def test_the_permutation_test_takes_shares_and_agrees_with_mcnemar_where_outcomes_are_single():
    pairs = [(0.0, 1.0)] * 12 + [(1.0, 0.0)] * 4 + [(1.0, 1.0)] * 30
    assert permutation_test(pairs, seed=1) == pytest.approx(mcnemar(4, 12), abs=0.01)
    assert permutation_test([(0.5, 0.5)] * 9, seed=1) == 1.0 and permutation_test([(0.25, 0.5)] * 20, seed=1) < 0.001
    # Of three pairs all swaps are 8, and two of them are as far from 0 as this.
    assert permutation_test([(0.0, 1 / 3), (0.0, 2 / 3), (1 / 3, 1.0)], seed=1) == pytest.approx(0.25, abs=0.02)


def test_the_estimator_is_the_mean_over_all_choices_of_k_attempts():
    outcomes = [True, False, False, True, False, False]
    for k in range(1, 7):
        choices = list(itertools.combinations(outcomes, k))
        assert unbiased(6, 2, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    with pytest.raises(ValueError, match="pass@4 needs 4 attempts, and there are 3"):
        unbiased(3, 1, 4)
    assert [sizes(passes) for passes in (1, 2, 6, 8)] == [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]]


def test_blocks_are_disjoint_and_their_spread_is_that_of_a_sample():
    outcomes = [[True, False, True, True, False], [False, False, False, True, True]]
    deviation = math.sqrt(((0.5 - 0.75) ** 2 + (1.0 - 0.75) ** 2) / 1)
    assert in_blocks(outcomes, 2) == pytest.approx(((0.5 + 1.0) / 2, deviation, 2))
    mean, deviation, blocks = in_blocks([[True, False]], 2)
    assert (mean, blocks, math.isnan(deviation)) == (1.0, 1, True), "the spread of a single block is not known"
    # A statement counts in the blocks that are decided: the first has one statement, the second two.
    mean, _, blocks = in_blocks([[False, None, False, False], [True, True, True, False]], 2)
    assert (mean, blocks) == (pytest.approx((1.0 + 0.5) / 2), 2)
    mean, deviation, blocks = in_blocks([[None], [None]], 1)
    assert (blocks, math.isnan(mean), math.isnan(deviation)) == (0, True, True), "no block is decided"
