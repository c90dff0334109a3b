"""Two lists of outcomes of the same statements, compared: bootstrap and McNemar's test. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000
"""Bootstrap resamples: the ends of a 95% interval move by less than half a theorem of 160 between seeds."""


def bootstrap_interval(
    pairs: Sequence[tuple[float, float]], seed: int, level: float = 0.95
) -> tuple[float, float, float]:
    """Mean of second - first, and the ends of its interval: paired percentile bootstrap (Efron and Tibshirani, An
    Introduction to the Bootstrap, chapter 13) over statements: each resample draws statements with both their outcomes.
    Without a pair 0, -1 and 1."""
    if not pairs:
        return 0.0, -1.0, 1.0
    outcomes = np.array(pairs, dtype=np.float64)  # (statements, 2)
    differences = outcomes[:, 1] - outcomes[:, 0]
    drawn = np.random.default_rng(seed).integers(len(pairs), size=(RESAMPLES, len(pairs)))
    tail = (1 - level) / 2
    low, high = np.quantile(differences[drawn].mean(axis=1), [tail, 1 - tail])
    return float(differences.mean()), float(low), float(high)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of McNemar's test (Biometrika 12, 1947): how likely at least so unequal counts of
    statements that only one of two solves are, if either is as likely to be the one."""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    # In logarithms: these binomials have thousands of digits.
    logarithms = [
        math.lgamma(discordant + 1) - math.lgamma(count + 1) - math.lgamma(discordant - count + 1)
        for count in range(min(only_first, only_second) + 1)
    ]
    return min(1.0, 2.0 * math.fsum(math.exp(each - discordant * math.log(2)) for each in logarithms))


def permutation_test(pairs: Sequence[tuple[float, float]], seed: int) -> float:
    """Two-sided p-value of the mean difference when the two outcomes of each statement are swapped at random (Fisher's
    test for pairs; Efron and Tibshirani, chapter 15). With outcomes 0 and 1 McNemar's test is its exact form."""
    differences = np.array([second - first for first, second in pairs if first != second], dtype=np.float64)
    if not len(differences):
        return 1.0
    signs = np.random.default_rng(seed).integers(2, size=(RESAMPLES, len(differences)), dtype=np.int8) * 2 - 1
    # Sums that are equal but for rounding count as equal.
    extreme = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9
    return float((1 + extreme.sum()) / (1 + RESAMPLES))
