"""The table of families: the generators of their statements, and their shares of the bank."""

from __future__ import annotations

import random
from collections.abc import Callable

from scripts.bank import existence, list_families, logic_families, order, recursion_families, rewriting
from scripts.bank.draft import Draft

Maker = Callable[[random.Random], Draft | None]


def _mix(*makers: tuple[Maker, float]) -> Maker:
    """A maker that chooses one of several makers at random, with weights."""

    def make(rng: random.Random) -> Draft | None:
        return rng.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0](rng)

    return make


MAKERS: dict[str, tuple[Maker, float]] = {
    "propositional": (logic_families.propositional, 1.2),
    "classical": (logic_families.classical, 0.7),
    "quantifiers": (logic_families.quantifiers, 1.2),
    "equations": (rewriting.equations, 1.1),
    "nat-algebra": (_mix((rewriting.nat_algebra, 0.75), (rewriting.cancellation, 0.25)), 1.2),
    "nat-order": (order.nat_order, 1.2),
    "induction": (
        _mix(
            (recursion_families.same_recursion, 2), (recursion_families.linear, 2),
            (recursion_families.sums, 1.5), (recursion_families.predicates, 1.5),
        ),
        1.0,
    ),
    "list": (_mix((list_families.list_functions, 2), (rewriting.list_algebra, 1)), 1.0),
    "recursion": (_mix((recursion_families.unrolled, 2), (recursion_families.mutual, 1)), 1.0),
    "existence": (
        _mix(
            (existence.algebraic, 2), (existence.multiples, 2), (existence.bounds, 0.7), (existence.numbers, 0.7),
            (existence.predicates, 2),
        ),
        1.0,
    ),
    "existence+recursion": (existence.recursive, 0.7),
}  # fmt: skip
"""The maker of each family and its weight in the bank."""

FALSE_MAKERS: dict[str, Maker] = {
    "propositional": logic_families.false_propositional,
    "nat-algebra": rewriting.false_nat,
    "nat-order": order.false_order,
}

TEST_ONLY: frozenset[str] = frozenset({"existence+recursion"})
"""Combinations of families that appear in the test split only."""
