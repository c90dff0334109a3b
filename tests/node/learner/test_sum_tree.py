"""Draws by weight: a tree of sums against a pass over all weights."""

from __future__ import annotations

import random

import pytest

from node.learner.choosing.matchmaker import SumTree


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 100])
def test_each_place_belongs_to_the_weight_that_covers_it(count: int) -> None:
    rng = random.Random(count)
    weights = [float(rng.randrange(4)) for _ in range(count - 1)] + [1.0]
    tree = SumTree(weights)
    expected = [index for index, weight in enumerate(weights) for _ in range(int(weight))]
    assert tree.total == sum(weights)
    assert [tree.find(place + 0.5) for place in range(len(expected))] == expected
    assert [tree[index] for index in range(count)] == weights


def test_changes_leave_the_tree_that_the_new_weights_would_have_made() -> None:
    rng = random.Random(1)
    values = [0.0, 1e-3, 0.1, 1.0]
    weights = [rng.choice(values) for _ in range(33)]
    tree = SumTree([1.0] * 33)
    for index in rng.sample(range(33), 33):
        tree[index] = 0.3
        tree[index] = weights[index]
    fresh = SumTree(weights)
    assert tree.total == fresh.total
    places = [rng.random() * tree.total for _ in range(200)]
    assert [tree.find(place) for place in places] == [fresh.find(place) for place in places]


def test_the_total_is_zero_exactly_when_nothing_is_left() -> None:
    tree = SumTree([0.1] * 10 + [1e-3] * 7)
    for index in range(17):
        assert tree.total > 0.0
        tree[index] = 0.0
    assert tree.total == 0.0
    assert SumTree([]).total == 0.0


def test_a_weight_of_zero_is_never_found_even_at_the_edges() -> None:
    tree = SumTree([0.0, 0.1, 0.0, 0.0, 0.7, 0.0])
    assert tree.find(0.0) == 1 and tree.find(tree.total) == 4 and tree.find(tree.total * 2) == 4
    assert {tree.find(tree.total * step / 1000) for step in range(1001)} == {1, 4}
