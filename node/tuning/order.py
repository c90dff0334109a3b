"""The order of training examples. It is fixed before the first step, so that a run can resume at any step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

from common.seeds import derive_seed

WINDOW = 50
"""Batches in a window; within it examples are sorted by length. This needs little padding and stays random enough."""


def order(lengths: Sequence[int], batch: int, steps: int, seed: int) -> np.ndarray:
    """The examples of each step, shape (steps, batch). Each epoch has a new order, grouped by length.

    A step can contain examples of two epochs. `lengths`: lengths of the examples in tokens.
    """
    count, total = len(lengths), steps * batch
    epochs = [_epoch(lengths, batch, seed, number) for number in range(-(-total // count))]
    return np.concatenate(epochs)[:total].reshape(steps, batch)


def _epoch(lengths: Sequence[int], batch: int, seed: int, number: int) -> np.ndarray:
    """All examples once. Windows are sorted by length and cut into batches, and the batches are shuffled."""
    rng = np.random.default_rng(derive_seed(seed, "sft-order", number))
    drawn = rng.permutation(len(lengths))
    size = np.asarray(lengths)
    batches: list[np.ndarray] = []
    for start in range(0, len(drawn), WINDOW * batch):
        window = drawn[start : start + WINDOW * batch]
        window = window[np.argsort(size[window], kind="stable")]
        batches += [window[at : at + batch] for at in range(0, len(window), batch)]
    return np.concatenate([batches[place] for place in rng.permutation(len(batches))])


def lengths_of(lengths: Sequence[int], examples: np.ndarray) -> np.ndarray:
    """Number of tokens in each step, shape (steps,), for `examples` of shape (steps, batch)."""
    totals: np.ndarray = np.asarray(lengths)[examples].sum(axis=1)
    return totals


class Fixed(Sampler[int]):
    """A sampler with a fixed order."""

    def __init__(self, examples: Sequence[int]) -> None:
        self._examples = examples

    def __iter__(self) -> Iterator[int]:
        return iter(self._examples)

    def __len__(self) -> int:
        return len(self._examples)
