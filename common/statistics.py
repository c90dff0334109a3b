"""Statistics of evaluations: two lists of outcomes of the same statements, and pass@k of several attempts. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RESAMPLES = 10_000
"""Bootstrap resamples: the ends of a 95% interval move by less than half a theorem of 160 between seeds."""

MANY = 1000
"""Above this number of statements, a resample is a multinomial draw over the distinct differences. The distribution is
the same, and with 100,000 statements it takes a thousandth of the time and memory."""


_Z = 1.959963984540054
"""Standard deviations within which 95% of a normal distribution lie."""


def bootstrap_interval(
    pairs: Sequence[tuple[float, float]], seed: int, level: float = 0.95
) -> tuple[float, float, float]:
    """Mean of second - first, and the two ends of its confidence interval. Without pairs: 0, -1 and 1.

    Paired percentile bootstrap over statements (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13):
    each resample draws statements together with both outcomes.
    """
    if not pairs:
        return 0.0, -1.0, 1.0
    import numpy as np

    outcomes = np.array(pairs, dtype=np.float64)  # (statements, 2)
    differences = outcomes[:, 1] - outcomes[:, 0]
    tail = (1 - level) / 2
    low, high = np.quantile(_resampled_means(differences, np.random.default_rng(seed)), [tail, 1 - tail])
    return float(differences.mean()), float(low), float(high)


def _resampled_means(values: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    import numpy as np

    count = len(values)
    if count > MANY:
        distinct, counts = np.unique(values, return_counts=True)
        drawn = generator.multinomial(count, counts / count, size=RESAMPLES) @ distinct / count
    else:
        drawn = values[generator.integers(count, size=(RESAMPLES, count))].mean(axis=1)
    return np.asarray(drawn, dtype=np.float64)


def wilson(solved: float, count: int) -> tuple[float, float]:
    """Ends of the 95% interval of a share: Wilson's score interval (JASA 22, 1927), over statements.

    With several passes a score lies between 0 and 1 and varies less than an outcome of 0 or 1, so the interval is wider
    than necessary. Returns nan if there is no statement.
    """
    if not count:
        return math.nan, math.nan
    share = solved / count
    scale = 1 + _Z**2 / count
    middle = (share + _Z**2 / (2 * count)) / scale
    half = _Z / scale * math.sqrt(max(0.0, share * (1 - share)) / count + _Z**2 / (4 * count**2))
    # Shares of exactly 0 and 1 must not be changed by rounding.
    return (0.0 if solved <= 0 else max(0.0, middle - half)), (1.0 if solved >= count else min(1.0, middle + half))


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of McNemar's test (Psychometrika 12, 1947).

    The arguments count the statements that only the first or only the second side solves. The p-value is the
    probability of counts at least this unequal, if both sides are equally likely to be the one that solves.
    """
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    # Logarithms, because the binomial coefficients can have thousands of digits.
    logarithms = [
        math.lgamma(discordant + 1) - math.lgamma(count + 1) - math.lgamma(discordant - count + 1)
        for count in range(min(only_first, only_second) + 1)
    ]
    return min(1.0, 2.0 * math.fsum(math.exp(each - discordant * math.log(2)) for each in logarithms))


def permutation_test(pairs: Sequence[tuple[float, float]], seed: int) -> float:
    """Two-sided p-value of the mean difference when the two outcomes of each statement are swapped at random (Fisher's
    test for pairs; Efron and Tibshirani, chapter 15). With outcomes 0 and 1 McNemar's test is its exact form."""
    import numpy as np

    differences = np.array([second - first for first, second in pairs], dtype=np.float64)
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    if not len(sizes):
        return 1.0
    # For each absolute difference, a binomial draw says how many differences of that size get a positive sign.
    positive = np.random.default_rng(seed).binomial(counts, 0.5, size=(RESAMPLES, len(sizes)))
    sums = (2 * positive - counts) @ sizes
    extreme = np.abs(sums) >= abs(differences.sum()) - 1e-9  # sums that differ only by rounding count as equal
    return float((1 + extreme.sum()) / (1 + RESAMPLES))


# ----------------------------------------------------------------------------------------------------------------------
# pass@k from several attempts at each statement. Pure functions.


def unbiased(attempts: int, solved: int, k: int) -> float:
    """Unbiased estimate of the probability that at least one of k attempts solves a statement, from `attempts` attempts
    of which `solved` did (Chen et al., arXiv 2107.03374, equation 1). Needs `attempts` >= k."""
    if attempts < k:
        raise ValueError(f"pass@{k} needs {k} attempts, and there are {attempts}")
    return 1.0 - math.comb(attempts - solved, k) / math.comb(attempts, k)


def in_blocks(outcomes: Sequence[Sequence[bool | None]], k: int) -> tuple[float, float, int]:
    """Mean and standard deviation, over disjoint blocks of k passes, of the share of statements that a block solves
    (as STP reports it, arXiv 2502.00212), and the number of blocks.

    A row of `outcomes` is a statement, a column is a pass. None means undecided: the statement does not count in that
    block. Passes after the last full block are left out, and so are blocks in which no statement counts. The deviation
    is nan for a single block; mean and deviation are nan without any block.
    """
    passes = max(map(len, outcomes), default=0)
    shares = []
    for first in range(0, passes - k + 1, k):
        decided = [[outcome for outcome in row[first : first + k] if outcome is not None] for row in outcomes]
        solved = [any(row) for row in decided if len(row) == k]
        if solved:
            shares.append(sum(solved) / len(solved))
    mean = statistics.fmean(shares) if shares else math.nan
    return mean, statistics.stdev(shares) if len(shares) > 1 else math.nan, len(shares)


def sizes(passes: int) -> list[int]:
    """The values of k to report: powers of two, and the number of passes."""
    powers = [1 << bit for bit in range(passes.bit_length()) if 1 << bit < passes]
    return [*powers, passes]
