"""Data types of self-play: statements, proofs, lemmas, seeds, conjectures and training examples."""

from __future__ import annotations

import enum

import msgspec

from common.lean import Theorem


class Lemma(msgspec.Struct, frozen=True):
    """A lemma that a proof invokes, and that a conjecture should be about."""

    name: str
    statement: str
    """`theorem NAME BINDERS : CONCLUSION`."""


EMPTY_LEMMA = Lemma("true", "theorem true : True")
"""Requests a conjecture without a specific topic (STP, section 3.2)."""


class Statement(msgspec.Struct, frozen=True):
    """A statement of the data set. Its theorem's name is its key."""

    theorem: Theorem
    split: str = "train"
    """`train`: to prove and to learn from; `test`: only for evaluation."""


class Proof(msgspec.Struct, frozen=True):
    """One proof of a statement or of a conjecture."""

    name: str
    """Name of the statement or conjecture."""
    script: str
    """A tactic block that starts in column 0."""
    seconds: float = 0.0
    """Seconds that Lean took to check it."""
    lemmas: tuple[str, ...] = ()
    """Names of the lemmas that it invokes."""

    @property
    def length(self) -> int:
        """Length in characters."""
        return len(self.script)


class Attempted(msgspec.Struct, frozen=True):
    """The results of the samples for one statement or conjecture."""

    name: str
    samples: int
    """Number of sampled proofs, including duplicates and cut ones."""
    correct: int
    """Number of samples that are correct proofs."""
    proofs: tuple[Proof, ...] = ()
    """Distinct verified proofs, in the order of their first samples."""

    @property
    def rate(self) -> float:
        """Share of the samples that are correct; 0 without samples."""
        return self.correct / self.samples if self.samples else 0.0


class Seed(msgspec.Struct, frozen=True):
    """The input for a conjecture: a proved statement, and a lemma that its proof invokes."""

    theorem: Theorem
    proof: str
    lemma: Lemma


class Fate(enum.StrEnum):
    """How far a conjecture got."""

    CUT = "cut"
    """It was cut off at the token limit."""
    REFUSED = "refused"
    """It is not a statement, or our rules forbid the statement."""
    KNOWN = "known"
    """It equals a statement of the data set or an earlier conjecture, up to spaces and bound names."""
    SURPLUS = "surplus"
    """There were already as many conjectures as unproved statements."""
    NEW = "new"
    """Lean has not elaborated it yet."""
    NOT_ELABORATED = "not elaborated"
    ELABORATED = "elaborated"
    """It was not attempted yet, or no sample was a correct proof."""
    PROVED = "proved"


class Conjecture(msgspec.Struct, frozen=True):
    """One output of the conjecturer."""

    name: str
    """Its key: `conjecture_ROUND_NUMBER`."""
    round: int
    seed: Seed
    output: str
    """The model's text."""
    fate: Fate
    theorem: Theorem | None = None
    """The statement; None if the output is not a statement."""
    reason: str = ""
    """The reason for its fate."""


class ProverExample(msgspec.Struct, frozen=True):
    """A proof to train on."""

    theorem: Theorem
    proof: str
    weight: float
    conjectured: bool = False


class ConjecturerExample(msgspec.Struct, frozen=True):
    """A conjecture to train on: the seed is the prompt, and the conjecture is the target."""

    seed: Seed
    conjecture: str
    """`theorem NAME BINDERS : CONCLUSION`."""
    weight: float
    name: str = ""
    """Name of the conjecture; empty for examples from the initial data."""
