"""Levels and terms of the second kernel, against what they mean."""

import itertools
import random

import pytest

from node.lean.check.second.terms import LAM, Level, Store

PARAMETERS = ("u", "v", "w")
NUMBERS = [dict(zip(PARAMETERS, numbers, strict=True)) for numbers in itertools.product(range(7), repeat=3)]


def drawn(random: random.Random, depth: int) -> tuple:
    """A level as a tree; at most `depth` successors are nested."""
    kind = random.choice(["parameter", "zero", "succ", "max", "imax", "imax"]) if depth else "parameter"
    if kind == "parameter":
        return kind, random.choice(PARAMETERS)
    return (kind, *(drawn(random, depth - 1) for _ in range({"zero": 0, "succ": 1}.get(kind, 2))))


def made(store: Store, tree: tuple) -> Level:
    kind, *below = tree
    if kind == "parameter":
        return store.param(below[0])
    if kind == "zero":
        return store.zero
    return getattr(store, kind)(*(made(store, each) for each in below))


def value(tree: tuple, numbers: dict[str, int]) -> int:
    kind, *below = tree
    if kind == "parameter":
        return numbers[below[0]]
    values = [value(each, numbers) for each in below]
    if kind == "zero" or (kind == "imax" and not values[1]):
        return 0
    return values[0] + 1 if kind == "succ" else max(values)


@pytest.mark.compute
def test_levels_are_compared_as_their_values_are():
    store, generator = Store(), random.Random(7)
    answers = []
    for _ in range(600):
        one, other = drawn(generator, 3), drawn(generator, 3)
        assert made(store, one).never_zero is all(value(one, numbers) > 0 for numbers in NUMBERS), one
        truth = all(value(one, numbers) <= value(other, numbers) for numbers in NUMBERS)
        assert store.leq(made(store, one), made(store, other)) is truth, (one, other)
        answers.append(truth)
    assert 50 < sum(answers) < 550


def test_replacing_variables_and_putting_them_back_are_inverse():
    store = Store()
    nat = store.const("Nat")
    x, y = store.fvar(0, nat), store.fvar(1, store.app(store.const("Fin"), store.fvar(0, nat)))
    body = store.lam(nat, store.apps(store.const("f"), (x, y, store.bvar(0), store.app(y, x))))
    loose = store.abstract(body, (x, y))
    assert loose.loose == 2 and loose.fv == 0 and store.instantiate(loose, (x, y)) is body
    closed = store.closed_over(LAM, (x, y), body)
    assert closed.loose == 0 and closed.fv == 0
    # The type of y mentions x, which is bound by then.
    assert closed.b.a is store.app(store.const("Fin"), store.bvar(0))
    # One value at a time is the same as both at once.
    assert store.instantiate(store.instantiate(store.abstract(body, (x, y)), (x, y)), ()) is body
