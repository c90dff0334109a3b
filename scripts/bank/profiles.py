"""The two banks that the generator makes: `pocket`, and `witness`, whose statements ask for witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from common.lean import ProofTree
from node.bank import bank
from node.bank.manifest import WarmStartRule
from scripts.bank import families
from scripts.bank.draft import size
from scripts.bank.families import Maker


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
    easy_share: float = 0.0
    """A single floor tactic may close this share of a split, after `intros`; only at levels 1 and 2."""
    max_depth: int = 8
    """Tactics on the longest branch of a proof."""
    max_size: int = 12
    """Tactics of a proof."""
    max_state: int = 420
    """Characters of a state; about 200 tokens."""
    tries: int = 14
    """Drafts for each requested statement before a family gives up."""
    excluded: tuple[Path, ...] = ()
    """Banks whose valid and test statements are left out, under any names: they are evaluated."""

    def level_of(self, proof: ProofTree) -> int:
        """The level of a true statement, by the number of tactics of its proof: 1 for up to 2, 2 for up to 4, and so on
        to the highest level."""
        return min(max(self.levels), (size(proof) + 1) // 2)


POCKET = Profile(
    name="pocket",
    makers=families.MAKERS,
    test_only=families.TEST_ONLY,
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
    false_makers=families.FALSE_MAKERS,
    false_share=0.1,
    easy_share=0.12,
)

WITNESS = Profile(
    name="witness",
    makers={
        "existence": (families.MAKERS["existence"][0], 1.0),
        "existence+recursion": (families.MAKERS["existence+recursion"][0], 2.0),
    },
    splits={"train": 1500, "valid": 150, "test": 200},
    levels={1: 0.25, 2: 0.35, 3: 0.25, 4: 0.15},
    warm_start=WarmStartRule(levels=()),  # none of it: its proofs have to be found
    excluded=(bank.DIRECTORY,),
)
"""Statements that ask for a witness which is not written in the goal, such as `∃ x, f x = f n + 3`. The fixed list of
tactics proposes few such witnesses, and proves 38% of the test statements with 1,280 Lean attempts each."""

PROFILES = {profile.name: profile for profile in (POCKET, WITNESS)}
