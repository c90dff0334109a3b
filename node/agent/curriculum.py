"""LeanAgent's curriculum (arXiv 2410.06209, section 3.2; lean-dojo-v2 1.0.9, utils/difficulty.py). Pure.

A theorem with a proof of S steps has the difficulty e^S. The 33rd and the 67th percentile over the theorems of all
repositories divide them into easy, medium and hard. Repositories with the most easy theorems come first. Theorems
without a proof are hard and do not count for the percentiles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

EASY, MEDIUM, HARD, UNPROVED = "easy", "medium", "hard", "no proof"

CLASSES = (EASY, MEDIUM, HARD, UNPROVED)

PERCENTILES = (33, 67)

MOST_STEPS = 700
"""Steps beyond this number do not increase the difficulty: e^709 is the largest power in a float."""


def difficulty(steps: int) -> float:
    """e^steps for a proof with at least one step."""
    return math.exp(min(steps, MOST_STEPS))


@dataclass(frozen=True)
class Thresholds:
    """The limits between the classes."""

    easy: float
    """Theorems of at most this difficulty are easy."""
    medium: float
    """Theorems of at most this difficulty are medium; others are hard."""

    def category(self, difficulty: float | None) -> str:
        """The class of a theorem. `difficulty` is None if it has no proof."""
        if difficulty is None:
            return UNPROVED
        if difficulty <= self.easy:
            return EASY
        return MEDIUM if difficulty <= self.medium else HARD


def thresholds(difficulties: Sequence[float]) -> Thresholds:
    """The limits for the theorems with proofs. Without such theorems every difficulty is easy."""
    if not difficulties:
        return Thresholds(math.inf, math.inf)
    # numpy interpolates between two theorems; without logarithms e^700 would dominate the other one.
    low, high = np.percentile(np.log(difficulties), PERCENTILES)
    return Thresholds(_exp(low), _exp(high))


def _exp(logarithm: float) -> float:
    # Rounds away floating-point errors, so that a theorem exactly at the limit is in the right class.
    nearest = round(logarithm)
    return difficulty(nearest) if math.isclose(logarithm, nearest, abs_tol=1e-9) else math.exp(logarithm)


def ordered(difficulties: Mapping[int, Sequence[float | None]], parts: Thresholds, order: str) -> list[int]:
    """The order in which repositories are learned. `order`: `easy`, most easy theorems first; `mean`, lowest mean
    number of steps first; `given`. Ties keep the given order."""
    if order == "easy":
        counts = {key: sum(parts.category(each) == EASY for each in found) for key, found in difficulties.items()}
        return sorted(difficulties, key=lambda key: -counts[key])
    if order == "mean":
        return sorted(difficulties, key=lambda key: _mean([each for each in difficulties[key] if each is not None]))
    return list(difficulties)


def _mean(difficulties: Sequence[float]) -> float:
    """Mean logarithm of the difficulties; infinite without proofs, so that the repository comes last."""
    return sum(map(math.log, difficulties)) / len(difficulties) if difficulties else math.inf
