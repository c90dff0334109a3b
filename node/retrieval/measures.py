"""R@k and MRR of rankings of accessible premises, with bootstrap intervals. Pure.

The definitions are those of ReProver (arXiv 2306.15626, section 5): R@k of a state is the share of its premises among
the best k; MRR is the mean of 1 / rank of its best ranked premise.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

RESAMPLES = 2000


class Measure(msgspec.Struct, frozen=True):
    """A mean over states, with its 95% interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"


class Ranking(msgspec.Struct, frozen=True):
    """How well one retriever ranks."""

    queries: int
    recall_1: Measure
    recall_10: Measure
    mrr: Measure


def ranking(ranks: Sequence[Sequence[int]], theorems: Sequence[str], seed: int = 0) -> Ranking:
    """The measures of a retriever. `ranks`: the ranks of the premises of each state. Intervals resample theorems, not
    states, because the states of one theorem are similar."""
    columns = np.array(
        [[recall(each, 1), recall(each, 10), 1 / min(each)] for each in ranks], dtype=np.float64
    )  # (states, 3)
    names = {name: number for number, name in enumerate(dict.fromkeys(theorems))}
    groups = np.array([names[name] for name in theorems])
    sums = np.zeros((len(names), 3))
    np.add.at(sums, groups, columns)
    counts = np.bincount(groups, minlength=len(names))
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    means = (drawn @ sums) / (drawn @ counts)[:, None]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    measures = [Measure(*map(float, each)) for each in zip(columns.mean(axis=0), low, high, strict=True)]
    return Ranking(len(ranks), *measures)


def difference(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], theorems: Sequence[str]) -> Measure:
    """R@10 of one retriever minus another's, on the same states, with its interval over theorems."""
    names = {name: number for number, name in enumerate(dict.fromkeys(theorems))}
    groups = np.array([names[name] for name in theorems])
    each = np.array([recall(a, 10) - recall(b, 10) for a, b in zip(first, second, strict=True)])
    sums, counts = np.bincount(groups, each, len(names)), np.bincount(groups, minlength=len(names))
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    low, high = np.quantile((drawn @ sums) / (drawn @ counts), [0.025, 0.975])
    return Measure(float(each.mean()), float(low), float(high))


def recall(ranks: Sequence[int], among: int) -> float:
    """The share of premises among the best `among`."""
    return sum(rank <= among for rank in ranks) / len(ranks)
