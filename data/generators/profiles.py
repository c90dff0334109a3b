"""The families of statements with their shares, and the banks that are made of them.

`pocket` is the main bank; the statements of `witness` ask for witnesses; those of `words` are word problems.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from common.lean import ProofTree
from data.generators.families import (
    accumulators,
    combinators,
    existence,
    logic_families,
    order,
    puzzles,
    recursion,
    rewriting,
    words,
)
from data.generators.families.draft import Draft, size
from node.bank import bank
from node.bank.bank import WarmStartRule

# ----------------------------------------------------------------------------------------------------------------------
# The table of families: the generators of their statements, and their shares of the bank.

FLOOR_TACTICS = ("assumption", "contradiction", "rfl", "trivial", "decide", "simp", "simp_all")

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
            (recursion.same_recursion, 2), (recursion.linear, 2),
            (recursion.sums, 1.5), (recursion.predicates, 1.5),
        ),
        1.0,
    ),
    "list": (_mix((recursion.list_functions, 2), (rewriting.list_algebra, 1)), 1.0),
    "recursion": (_mix((recursion.unrolled, 2), (recursion.mutual, 1)), 1.0),
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


# ----------------------------------------------------------------------------------------------------------------------
# The banks that the generator makes.


@dataclass(frozen=True)
class Profile:
    """What a bank consists of."""

    name: str
    """Also the folder in `data/` and the source that its manifest names."""
    makers: Mapping[str, tuple[Maker, float]]
    """Makers of true statements, and their weights, by family."""
    splits: Mapping[str, int]
    """Number of statements requested. A family that cannot fill its share gives fewer."""
    levels: Mapping[int, float]
    """The share of each level. Statements of other levels are rejected."""
    warm_start: WarmStartRule
    test_only: frozenset[str] = frozenset()
    """Families of which all statements are in the test split."""
    false_makers: Mapping[str, Maker] = field(default_factory=dict)
    """Makers of false statements, for the train split, by family."""
    false_share: float = 0.0
    """Share of false statements in the train split."""
    evaluated_levels: Mapping[int, float] = field(default_factory=dict)
    """The share of each level in the valid and test splits, if it differs."""
    evaluated: frozenset[str] = frozenset()
    """The families of the valid and test splits; empty: all."""
    floor: tuple[str, ...] = FLOOR_TACTICS
    """Single tactics that must not close a statement."""
    easy_share: float = 0.0
    """A single floor tactic may close this share of a split, after `intros`; only at levels 1 and 2."""
    max_depth: int = 8
    """Tactics on the longest branch of a proof."""
    max_size: int = 12
    """Tactics of a proof."""
    max_state: int = 420
    """Characters of a state; about 200 tokens."""
    level_steps: int = 2
    """Tactics of a level."""
    tries: int = 14
    """Drafts for each requested statement before a family gives up."""
    batch: int = 250
    """Candidates that are checked by Lean together: few where almost all are accepted, because what a level does not
    need any more is dropped."""
    allow: tuple[str, ...] = ()
    """The only tactics that its manifest allows; empty: all."""
    excluded: tuple[Path, ...] = ()
    """Banks whose valid and test statements are left out, under any names: they are evaluated."""

    def shares(self, split: str) -> Mapping[int, float]:
        """The share of each level in a split."""
        return self.levels if split == "train" or not self.evaluated_levels else self.evaluated_levels

    def level_of(self, proof: ProofTree) -> int:
        """The level of a true statement, by the number of tactics of its proof: 1 for up to `level_steps`, 2 for up to
        twice as many, and so on to the highest level."""
        return min(max([*self.levels, *self.evaluated_levels]), -(-size(proof) // self.level_steps))


POCKET = Profile(
    name="pocket",
    makers=MAKERS,
    test_only=TEST_ONLY,
    splits={"train": 6600, "valid": 460, "test": 460},
    levels={1: 0.28, 2: 0.30, 3: 0.23, 4: 0.19},
    # The warm start sees neither the longer proofs nor this part of the vocabulary: reinforcement learning has to find
    # them.
    warm_start=WarmStartRule(
        levels=(1, 2),
        held_out=(
            "Nat.mul_left_comm",
            "Nat.add_right_comm",
            "Nat.mul_assoc",
            "Nat.mul_le_mul",
            "Nat.lt_of_lt_of_le",
            "List.map_reverse",
            "exfalso",
            "rw [← h",
        ),
    ),
    false_makers=FALSE_MAKERS,
    false_share=0.1,
    easy_share=0.12,
)

WITNESS = Profile(
    name="witness",
    makers={
        "existence": (MAKERS["existence"][0], 1.0),
        "existence+recursion": (MAKERS["existence+recursion"][0], 2.0),
    },
    splits={"train": 1500, "valid": 150, "test": 200},
    levels={1: 0.25, 2: 0.35, 3: 0.25, 4: 0.15},
    warm_start=WarmStartRule(levels=()),  # none of it: its proofs have to be found
    excluded=(bank.DIRECTORY,),
)
"""Statements that ask for a witness which is not written in the goal, such as `∃ x, f x = f n + 3`. The fixed list of
tactics proposes few such witnesses, and proves 38% of the test statements with 1,280 Lean attempts each."""

WORDS = Profile(
    name="words",
    makers={name: (partial(words.equal_words, name), 1.0) for name in words.PRESENTATIONS},
    splits={"train": 1400, "valid": 140, "test": 210},
    # A level is a number of steps. Evaluated are depths where a search with every tactic that there is proves little.
    levels={1: 0.1, 2: 0.15, 3: 0.15, 4: 0.15, 5: 0.12, 6: 0.1, 7: 0.08, 8: 0.06, 9: 0.05, 10: 0.04},
    evaluated=words.DEEP,
    evaluated_levels={7: 0.4, 8: 0.25, 9: 0.15, 10: 0.08, 11: 0.04, 12: 0.04, 13: 0.02, 14: 0.02},
    level_steps=1,
    warm_start=WarmStartRule(levels=(1, 2, 3, 4)),
    floor=("rfl",),
    allow=("rfl", "rw"),
    max_depth=14,
    max_size=14,
    max_state=800,
    tries=60,
)
"""Word problems, for `rfl` and `rw` alone. The fixed list proves few of them: a proof is a path that has to be
searched."""

PUZZLES = Profile(
    name="puzzles",
    makers={name: (partial(puzzles.position, name, most=12), 1.0) for name in puzzles.PUZZLES},
    splits={"train": 5000, "valid": 140, "test": 210},
    # A level is a number of moves, as in WORDS.
    levels={1: 0.01, 2: 0.03, 3: 0.06, 4: 0.1, 5: 0.15, 6: 0.15, 7: 0.15, 8: 0.14, 9: 0.12, 10: 0.09},
    evaluated_levels={8: 0.3, 9: 0.3, 10: 0.2, 11: 0.15, 12: 0.05},
    level_steps=1,
    warm_start=WarmStartRule(levels=(1, 2, 3, 4)),
    floor=("rfl",),
    allow=("rfl", "rw"),
    max_depth=12,
    max_size=12,
    tries=60,
)
"""Permutation puzzles, for `rfl` and `rw` alone: few tactics, long proofs, and moves that a network can learn."""

WHEELS = replace(
    PUZZLES,
    name="wheels",
    makers={"Wheels7": (partial(puzzles.position, "Wheels7", most=9), 1.0)},
    splits={"train": 1000, "valid": 100, "test": 100},
    levels={1: 0.01, 2: 0.03, 3: 0.06, 4: 0.1, 5: 0.15, 6: 0.18, 7: 0.18, 8: 0.18, 9: 0.15},
    evaluated_levels={7: 0.4, 8: 0.4, 9: 0.2},
)
"""The nearer positions of one puzzle, for the demo: a few minutes of learning on two cores reach so far."""

ACCUMULATORS = Profile(
    name="accumulators",
    makers={name: (partial(accumulators.statement, name), 1.0) for name in accumulators.KINDS},
    splits={"train": 600, "valid": 60, "test": 204},
    # A level is a number of tactics. The shortest proofs have seven: the induction, and what unfolds both functions.
    levels={7: 0.08, 8: 0.12, 9: 0.12, 10: 0.14, 11: 0.12, 12: 0.12, 13: 0.1, 14: 0.08, 15: 0.06, 16: 0.06},
    evaluated_levels={13: 0.3, 14: 0.3, 15: 0.2, 16: 0.2},
    level_steps=1,
    warm_start=WarmStartRule(levels=(7, 8, 9)),
    floor=("rfl",),
    allow=("induction", "rfl", "rw"),
    max_depth=16,
    max_size=16,
    max_state=900,
    tries=60,
    batch=50,
)
"""Inductions about functions with accumulators, whose cases are paths of `rw`."""

COMBINATORS = Profile(
    name="combinators",
    makers={basis: (partial(combinators.statement, basis), 1.0) for basis in combinators.BASES},
    splits={"train": 600, "valid": 60, "test": 204},
    # A level is a number of tactics: for two combinators 6, for each more 3, one less where it has no effect yet.
    levels={6: 0.1, 9: 0.25, 11: 0.05, 12: 0.3, 14: 0.05, 15: 0.25},
    evaluated_levels={12: 0.4, 14: 0.05, 15: 0.35, 17: 0.05, 18: 0.15},
    level_steps=1,
    warm_start=WarmStartRule(levels=(6, 9)),
    floor=("rfl",),
    allow=("apply", "intros", "refine", "rfl", "simp"),
    max_depth=18,
    max_size=18,
    tries=300,
    batch=50,
)
"""Witnesses that are composed of combinators, one piece after another."""

PROFILES = {profile.name: profile for profile in (POCKET, WITNESS, WORDS, PUZZLES, WHEELS, ACCUMULATORS, COMBINATORS)}
