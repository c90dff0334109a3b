"""Counter-based random numbers: the number for a token depends only on (seed, sample index, position)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
"""Constants of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + _GOLDEN
    for shift, factor in _MIX:
        x = (x ^ (x >> np.uint64(shift))) * factor
    return x ^ (x >> np.uint64(31))


def uniforms(seed: int, samples: int, length: int) -> NDArray[np.float32]:
    """Uniform numbers in [0, 1 - 2^-23], shape (samples, length): row i belongs to sample i, column t to its token t.

    23 bits, so that a product with a float32 total is always below that total.
    """
    key = _mix(np.array([seed % (1 << 64)], dtype=np.uint64))
    rows = _mix(key ^ _mix(np.arange(samples, dtype=np.uint64)))
    bits = _mix(rows[:, None] ^ _mix(np.arange(length, dtype=np.uint64)))
    return (bits >> np.uint64(41)).astype(np.float32) * np.float32(2.0**-23)
