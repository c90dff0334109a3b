"""pass@k from several attempts at each statement. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def unbiased(attempts: int, solved: int, k: int) -> float:
    """The probability that one of k attempts solves a statement, estimated without bias from `attempts` of which
    `solved` did (Chen et al., arXiv 2107.03374, equation 1). `attempts` >= k."""
    if attempts < k:
        raise ValueError(f"pass@{k} needs {k} attempts, and there are {attempts}")
    return 1.0 - math.comb(attempts - solved, k) / math.comb(attempts, k)


def in_blocks(outcomes: Sequence[Sequence[bool]], k: int) -> tuple[float, float, int]:
    """Mean and standard deviation, over disjoint blocks of k passes, of the share of statements that a block solves
    (as STP reports it, arXiv 2502.00212), and the number of blocks. A row of `outcomes` is a statement, a column a
    pass; passes that fill no block are left out. The deviation of one block is not known: nan."""
    passes = min(map(len, outcomes), default=0)
    blocks = passes // k
    if not blocks:
        raise ValueError(f"no block of {k} passes: there are {passes}")
    shares = [sum(any(row[block * k : (block + 1) * k]) for row in outcomes) / len(outcomes) for block in range(blocks)]
    return statistics.fmean(shares), statistics.stdev(shares) if blocks > 1 else math.nan, blocks


def sizes(passes: int) -> list[int]:
    """The k that are reported: powers of two, and all passes."""
    powers = [1 << bit for bit in range(passes.bit_length()) if 1 << bit < passes]
    return [*powers, passes]
