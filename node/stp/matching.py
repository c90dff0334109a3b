"""Weights conjectures by the number of unproved statements that they are nearest to. Pure.

Source: STP (arXiv 2502.00212), appendix A.5, algorithm 4. STP's code caps weights at 4 and the paper at 3; we use the
code's cap. STP's code excludes a conjecture at the cap by multiplying its similarities by 0, which still exceeds
negative similarities. Here they become minus infinity.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST = 4.0
"""A conjecture with this weight gets no further statements: a few very heavy examples would make training unstable."""

BLOCK = 512
"""Statements whose similarities are in memory at a time."""

DECIMALS = 5
"""Decimals to which similarities are rounded, so that results do not depend on the number of threads."""

Array = npt.NDArray[np.float32]


def match(conjectures: Array, statements: Array) -> npt.NDArray[np.float64]:
    """The weight of each conjecture: (n, width) and (m, width) to (n,), at least 0, with mean 1.

    For each statement in turn, the conjecture with the highest cosine similarity gains n / m. The first wins a tie.
    Without statements all weights are 1. Raises ValueError for embeddings that are not two matrices of equal width, or
    not finite.
    """
    if conjectures.ndim != 2 or statements.ndim != 2 or conjectures.shape[1] != statements.shape[1]:
        raise ValueError(f"embeddings of shapes {conjectures.shape} and {statements.shape} cannot be compared")
    if not (np.isfinite(conjectures).all() and np.isfinite(statements).all()):
        raise ValueError("an embedding is not finite, so its network is broken; use an earlier checkpoint")
    count, targets = len(conjectures), len(statements)
    if not count or not targets:
        return np.ones(count)
    left, right = _unit(conjectures), _unit(statements)
    weights = np.zeros(count)
    barred = np.zeros(count, dtype=np.float32)
    for start in range(0, targets, BLOCK):
        for similarities in np.round(right[start : start + BLOCK] @ left.T, DECIMALS):
            chosen = int(np.argmax(similarities + barred))
            weights[chosen] += count / targets
            if weights[chosen] >= MOST:
                barred[chosen] = -np.inf
    return weights


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
