"""Records of an evaluation's statements and attempts: the lines of `statements.jsonl` and `attempts.jsonl`."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Ended


class Standing(enum.StrEnum):
    """The outcome of an attempt, or of all attempts at a statement."""

    SOLVED = "solved"
    """A proof was found, and Lean's kernel has accepted it."""
    UNSOLVED = "unsolved"
    """The budget was used up, or no tactic was left to try."""
    NOT_ELABORATED = "not-elaborated"
    """The statement does not elaborate in this Lean: neither solved nor unsolved."""
    UNDECIDED = "undecided"
    """Infrastructure failed: neither solved nor unsolved. The attempt is repeated."""
    NOT_PLAYED = "not-played"
    """No attempt at the statement has ended yet."""


class StatementRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement that is evaluated."""

    name: str
    """Unique within the evaluation."""
    theorem: Theorem
    family: str
    level: int
    flaw: str = ""
    """A known flaw of the statement."""
    refused: str = ""
    """Lean's error, if the statement does not elaborate."""
    extra: dict[str, Any] = {}
    """Other fields of its row."""


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one attempt."""

    name: str
    """Name of the statement."""
    number: int
    """Number of its pass, from 0."""
    standing: Standing
    ended: str = ""
    """What ended the search: a budget or `exhausted`; for undecided attempts the outcome."""
    reason: str = ""
    script: str = ""
    """The proof: a block of tactics, indented."""
    axioms: tuple[str, ...] = ()
    sources: dict[str, int] = {}
    """For a mixture of policies: how many of the proof's tactics each part proposed."""
    tries: int = 1
    """How often it was played: after infrastructure failures it is repeated."""
    time: float = 0.0
    """Unix time of the end."""
    statistics: AttemptStatistics = AttemptStatistics()

    @property
    def decided(self) -> bool:
        return self.standing in (Standing.SOLVED, Standing.UNSOLVED)


def standing(outcome: AttemptOutcome, statistics: AttemptStatistics) -> Standing:
    """The standing that follows from an outcome. A proof counts only if it is verified; then `outcome` is `proved`.

    An attempt that used up its seconds without losing an expansion had its full budget, so it is unsolved.
    """
    match outcome:
        case AttemptOutcome.PROVED:
            return Standing.SOLVED
        case AttemptOutcome.FAILED:
            return Standing.UNSOLVED
        case AttemptOutcome.BAD_STATEMENT:
            return Standing.NOT_ELABORATED
        case AttemptOutcome.UNDECIDED if statistics.ended is Ended.SECONDS and not statistics.expansions_lost:
            return Standing.UNSOLVED
    return Standing.UNDECIDED
