"""Measures the speed of single matrix products: an upper bound for what this machine can reach in a benchmark."""

from __future__ import annotations

import statistics
import time

SECONDS = 0.25
"""Seconds of one measurement, after a first product that does not count."""


def product_speed(rows: int, inner: int, columns: int) -> float:
    """Median FLOP/s of (rows, inner) x (inner, columns) in float32 with torch's threads, into a reused output."""
    import torch

    x, matrix = torch.randn(rows, inner), torch.randn(inner, columns)
    out = torch.empty(rows, columns)
    times: list[float] = []
    torch.mm(x, matrix, out=out)
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < SECONDS:
        before = time.perf_counter()
        torch.mm(x, matrix, out=out)
        times.append(time.perf_counter() - before)
    return 2.0 * rows * inner * columns / statistics.median(times)
