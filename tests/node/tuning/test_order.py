"""The order of examples: every one once an epoch, like lengths together, the same however far a run has come."""

import numpy as np

from node.tuning.carrying_out import WINDOW, Fixed, order

LENGTHS = list(np.random.default_rng(0).integers(5, 200, 1000))


def test_every_example_comes_once_in_an_epoch() -> None:
    found = order(LENGTHS, 10, 200, seed=1)
    assert found.shape == (200, 10)
    assert sorted(found[:100].ravel()) == sorted(found[100:].ravel()) == list(range(1000))
    assert (found[:100] != found[100:]).any()


def test_a_longer_training_begins_as_a_shorter_one() -> None:
    assert (order(LENGTHS, 10, 40, seed=1) == order(LENGTHS, 10, 170, seed=1)[:40]).all()
    assert (order(LENGTHS, 10, 40, seed=1) != order(LENGTHS, 10, 40, seed=2)).any()


def test_batches_hold_examples_of_like_length() -> None:
    sizes = np.asarray(LENGTHS)[order(LENGTHS, 10, 100, seed=1)]
    padded = (sizes.max(axis=1, keepdims=True) - sizes).sum() / sizes.sum()
    mixed = np.random.default_rng(1).permutation(LENGTHS).reshape(100, 10)
    assert len(LENGTHS) >= WINDOW * 10
    assert padded < 0.1 * (mixed.max(axis=1, keepdims=True) - mixed).sum() / mixed.sum()


def test_few_examples_are_repeated() -> None:
    assert sorted(order([3, 4], 4, 2, seed=0).ravel()) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert list(Fixed([2, 0, 1])) == [2, 0, 1] and len(Fixed([2, 0])) == 2
