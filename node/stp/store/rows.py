"""Small data types of self-play's store."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from common.lean import Theorem
from node.stp.records import Proof


class RoundKind(enum.StrEnum):
    """The kind of a round. All kinds train; only `round` makes conjectures and attempts."""

    INITIAL = "initialisation"
    """Supervised training on the initial data."""
    SELF_PLAY = "round"
    """Conjecture, prove, select, train."""
    FINAL = "final"
    """Training from the base on everything verified, which ends a cycle."""


class Stage(enum.StrEnum):
    """Stages of a round, in order. A stage is reached when all of its results are recorded."""

    BEGUN = "begun"
    SEEDED = "seeded"
    """The seeds are drawn."""
    CONJECTURED = "conjectured"
    """The model has answered all prompts, and its outputs have their fates."""
    ELABORATED = "elaborated"
    """Lean has elaborated or rejected every new conjecture."""
    ATTEMPTED = "attempted"
    """Every attempt of the round has its result."""
    VERIFIED = "verified"
    """Every proof is verified or refused."""
    SELECTED = "selected"
    """The training examples are chosen and weighted."""
    TRAINED = "trained"
    """The checkpoint is written."""
    DONE = "done"
    """Its weights are served, and its evaluation, if there is one, is recorded."""


STAGES = tuple(Stage)


class Part(enum.StrEnum):
    """The parts of a round whose time is measured."""

    GENERATION = "generation"
    ELABORATION = "elaboration"
    PROVING = "proving"
    VERIFICATION = "verification"
    SELECTION = "selection"
    TRAINING = "training"
    EVALUATION = "evaluation"


@dataclass(frozen=True)
class RoundRow:
    """A round and its stage."""

    number: int
    cycle: int
    kind: RoundKind
    stage: Stage
    weights: int | None
    """Weights version that its training published."""
    checkpoint: str | None
    """Checkpoint that its training wrote."""
    begun: float
    """Unix time."""
    changed: float
    """Unix time at which its stage was reached."""
    seconds: Mapping[Part, float] = field(default_factory=dict)
    """Time spent by part; parts without any are missing."""

    def reached(self, stage: Stage) -> bool:
        """Whether the round has reached this stage."""
        return STAGES.index(self.stage) >= STAGES.index(stage)


@dataclass(frozen=True, slots=True)
class Found:
    """One of the distinct proofs that an attempt sampled."""

    script: str
    count: int = 1
    """Number of samples that were this proof."""
    first: int = 0
    """Index of the first of these samples, from 0."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """The result of one attempt."""

    attempt_id: str
    round: int
    name: str
    """Name of the statement or conjecture."""
    samples: int
    correct: int
    """Number of correct samples as reported by the prover. `attempted` does not count proofs that verification refuses.
    """
    outcome: str
    message: str = ""
    seconds: float = 0.0
    found: tuple[Found, ...] = ()


@dataclass(frozen=True)
class Solved:
    """A statement with a verified proof that an attempt sampled."""

    theorem: Theorem
    rate: float
    """The best success rate in a round."""
    round: int
    """The round that first solved it."""
    proofs: tuple[Proof, ...]
    """Verified proofs, including those of the initial data, sorted by round, then by length."""


@dataclass(frozen=True)
class Progress:
    """The progress of the run after a round."""

    round: int
    samples: int
    """Proofs sampled so far, for statements of `train` and conjectures."""
    solved: int
    """Statements of `train` solved so far."""
    statements: int
    """All statements of `train`."""
