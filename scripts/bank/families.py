"""The table of families: what makes their statements, and how many of them the bank wants."""

from __future__ import annotations

import random
from collections.abc import Callable

from scripts.bank import logic_families, rewriting
from scripts.bank.draft import Draft

Maker = Callable[[random.Random], Draft | None]


def _mix(*makers: tuple[Maker, float]) -> Maker:
    """One maker that picks among several at random, with weights."""

    def make(rng: random.Random) -> Draft | None:
        return rng.choices([maker for maker, _ in makers], [weight for _, weight in makers])[0](rng)

    return make


MAKERS: dict[str, tuple[Maker, float]] = {
    "propositional": (logic_families.propositional, 1.2),
    "classical": (logic_families.classical, 0.8),
    "quantifiers": (logic_families.quantifiers, 1.2),
    "equations": (rewriting.equations, 1.0),
    "nat-algebra": (_mix((rewriting.nat_algebra, 0.8), (rewriting.cancellation, 0.2)), 1.2),
}
"""Family to its maker and its weight in the bank."""

FALSE_MAKERS: dict[str, Maker] = {
    "propositional": logic_families.false_propositional,
    "nat-algebra": rewriting.false_nat,
}

TEST_ONLY: frozenset[str] = frozenset()
"""Combinations of families that appear in the test split only."""
