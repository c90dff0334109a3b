"""pass@k from several attempts at each statement. Pure functions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


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
