"""Measures the errors of predicted steps, and of baselines that need no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from node.progress.data import Question

FAR = 8
"""All distances from this one on are in one group."""


def measures(predicted: Sequence[float], steps: Sequence[float]) -> dict[str, Any]:
    """Mean absolute error and root mean squared error in steps, Spearman's rank correlation (None if one side is
    constant), and the mean absolute error by true distance."""
    guess, truth = np.asarray(predicted, float), np.asarray(steps, float)
    error = np.abs(guess - truth)
    distance = np.minimum(truth, FAR).astype(int)
    return {
        "count": len(truth),
        "mean_absolute_error": round(float(error.mean()), 4),
        "root_mean_squared_error": round(float(np.sqrt((error**2).mean())), 4),
        "rank_correlation": _rank_correlation(guess, truth),
        "by_distance": {
            str(each): {
                "count": int((distance == each).sum()),
                "mean_absolute_error": round(float(error[distance == each].mean()), 4),
                "mean_prediction": round(float(guess[distance == each].mean()), 3),
            }
            for each in sorted(set(distance.tolist()))
        },
    }


def _rank_correlation(left: np.ndarray, right: np.ndarray) -> float | None:
    left_ranks, right_ranks = _ranks(left), _ranks(right)
    if min(left_ranks.std(), right_ranks.std()) < 1e-12:
        return None
    return round(float(np.corrcoef(left_ranks, right_ranks)[0, 1]), 4)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=float)


def baselines(train: Sequence[Question], held_out: Sequence[Question]) -> dict[str, list[float]]:
    """Baseline predictions for the held-out questions: the mean of the training data, and least squares on lengths."""
    steps = np.asarray([each.steps for each in train])
    weights, *_ = np.linalg.lstsq(_lengths(train), steps, rcond=None)
    return {
        "mean": [float(steps.mean())] * len(held_out),
        "lengths": np.maximum(_lengths(held_out) @ weights, 0.0).tolist(),
    }


def _lengths(questions: Sequence[Question]) -> np.ndarray:
    """Shape (questions, 5): 1, characters of the goal and of the tactic in hundreds, lines, symbols after the first ⊢
    in hundreds."""
    rows = []
    for each in questions:
        goal, _, tactic = each.text.rpartition("\n\nCandidate tactic:\n")
        conclusion = goal.partition("⊢")[2]
        rows.append([1.0, len(goal) / 100, len(tactic) / 100, goal.count("\n"), len(conclusion) / 100])
    return np.asarray(rows)
