"""The arithmetic of `bench scale`: percentiles, growth of memory, and estimates for larger meshes. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SIZES = (1_000, 10_000)


class Sample(NamedTuple):
    """One measurement of all processes."""

    second: float
    memory_mb: dict[str, float]
    cpu: dict[str, float]
    """Processor seconds since the start of each process."""


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds; empty for fewer than two times."""
    if len(times) < 2:
        return {}
    return {
        "n": len(times),
        "p50_ms": round(1e3 * statistics.median(times), 1),
        "p99_ms": round(1e3 * statistics.quantiles(times, n=100)[98], 1),
    }


def memory(samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """For each process: MB at the first, the middle and the last sample, and the slope over the second half."""
    half = samples[len(samples) // 2 :]
    minutes = [sample.second / 60 for sample in half]
    rows = {}
    for name in samples[-1].memory_mb:
        values = [sample.memory_mb.get(name, 0.0) for sample in half]
        level = len(set(minutes)) < 2
        slope = 0.0 if level else statistics.linear_regression(minutes, values).slope
        rows[name] = {
            "start_mb": round(samples[0].memory_mb.get(name, 0.0), 1),
            "middle_mb": round(values[0], 1),
            "end_mb": round(values[-1], 1),
            "mb_per_minute_second_half": round(slope, 2),
        }
    return rows


def cores(samples: Sequence[Sample]) -> dict[str, float]:
    """For each process: processor seconds per second, from the first sample to the last."""
    first, last = samples[0], samples[-1]
    span = max(1e-9, last.second - first.second)
    return {name: (used - first.cpu.get(name, 0.0)) / span for name, used in last.cpu.items()}


def extrapolated(
    busy: Mapping[str, float], results_per_second: float, provers: int, attempt_seconds: float
) -> dict[str, dict[str, object]]:
    """Estimated load of larger meshes, if every cost grows with the number of attempts. It is measured with one search
    per prover and attempts of this length. A process that needs more than one core is a bottleneck, since each has one
    event loop.

    `busy`: cores that each process uses with `provers` provers.
    """
    estimates: dict[str, dict[str, object]] = {}
    for size in SIZES:
        factor = size / provers
        needed = {name: round(share * factor, 2) for name, share in busy.items()}
        first = max(needed, key=lambda name: needed[name])
        estimates[str(size)] = {
            "results_per_s": round(results_per_second * factor, 1),
            "cores": needed,
            "fullest": first,
            "fits_with_attempts_of_s": round(attempt_seconds * max(1.0, needed[first]), 1),
        }
    return estimates
