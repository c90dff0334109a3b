"""Weights by greedy matching of embeddings."""

import time

import numpy as np
import numpy.typing as npt
import pytest

from node.stp.selection import MOST, match

Array = npt.NDArray[np.float32]


def _random(rows: int, seed: int, width: int = 8) -> Array:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def _by_hand(conjectures: Array, statements: Array) -> list[float]:
    """Algorithm 4, word by word."""
    weights = [0.0] * len(conjectures)
    for statement in statements:
        best, chosen = -2.0, -1
        for number, conjecture in enumerate(conjectures):
            cosine = round(float(conjecture @ statement / np.linalg.norm(conjecture) / np.linalg.norm(statement)), 5)
            if weights[number] < MOST and cosine > best:
                best, chosen = cosine, number
        weights[chosen] += len(conjectures) / len(statements)
    return weights


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("rows", "targets"), [(1, 1), (1, 9), (9, 1), (30, 10), (30, 80), (5, 600)])
def test_every_statement_takes_the_nearest_conjecture_below_the_cap(rows: int, targets: int, seed: int) -> None:
    conjectures, statements = _random(rows, seed), _random(targets, seed + 100)
    weights = match(conjectures, statements)
    assert weights.mean() == pytest.approx(1.0)
    assert weights.max() < MOST + max(1.0, rows / targets)
    assert weights == pytest.approx(_by_hand(conjectures, statements))


def test_lengths_of_embeddings_do_not_count_and_equal_ones_go_to_the_first() -> None:
    conjectures, statements = _random(20, 1), _random(30, 2)
    scales = np.linspace(0.5, 2.0, 20, dtype=np.float32)[:, None]
    assert match(conjectures * scales, statements) == pytest.approx(match(conjectures, statements))
    same = np.ones((8, 4), dtype=np.float32)
    assert list(match(same, same)) == [4.0, 4.0, 0, 0, 0, 0, 0, 0]


def test_a_conjecture_at_its_cap_is_passed_over_where_all_similarities_are_negative() -> None:
    conjectures = np.array([[1, 0.1], [1, 0], [1, 0], [1, 0], [1, 0]], dtype=np.float32)
    statements = np.full((5, 2), [-1, 0], dtype=np.float32)
    assert list(match(conjectures, statements)) == [4.0, 1.0, 0, 0, 0]


def test_nothing_to_match_leaves_weights_alone_and_broken_embeddings_are_refused() -> None:
    assert list(match(_random(3, 0), _random(0, 0))) == [1, 1, 1]
    assert len(match(_random(0, 0), _random(3, 0))) == 0
    with pytest.raises(ValueError, match="shapes"):
        match(_random(3, 0, 4), _random(3, 0, 5))
    with pytest.raises(ValueError, match="not finite"):
        match(_random(3, 0) * np.nan, _random(3, 0))


@pytest.mark.slow
def test_thousands_are_matched_in_seconds() -> None:
    before = time.process_time()
    weights = match(_random(5000, 0, 256), _random(5000, 1, 256))
    print(f"{time.process_time() - before:.1f} s of processor time")
    assert weights.sum() == pytest.approx(5000)
