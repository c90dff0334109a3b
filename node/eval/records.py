"""What an evaluation keeps of its statements and attempts: the lines of `statements.jsonl` and `attempts.jsonl`."""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from common.attempts import AttemptOutcome, AttemptStatistics, Ended
from common.lean import Theorem


class Standing(enum.StrEnum):
    """What an attempt says about its statement, or all attempts together."""

    SOLVED = "solved"
    """A proof was found, and Lean's kernel has accepted it."""
    UNSOLVED = "unsolved"
    """The budget was used up, or no tactic was left to try."""
    NOT_ELABORATED = "not-elaborated"
    """The Lean at hand does not take the statement: neither solved nor unsolved."""
    UNDECIDED = "undecided"
    """Infrastructure failed: neither solved nor unsolved. It is tried again."""
    NOT_PLAYED = "not-played"
    """Of a statement: no attempt has ended yet."""


class StatementRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement that is evaluated."""

    name: str
    """Unique within the evaluation."""
    theorem: Theorem
    family: str
    level: int
    flaw: str = ""
    """What is known to be wrong with it."""
    refused: str = ""
    """Lean's words, where it does not take the statement."""
    extra: dict[str, Any] = {}
    """Other fields of its row."""


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one attempt came to."""

    name: str
    """The statement's."""
    number: int
    """Which pass it belongs to, from 0 on."""
    standing: Standing
    ended: str = ""
    """What ended the search: a budget, `exhausted`; of undecided attempts the outcome."""
    reason: str = ""
    script: str = ""
    """The proof: a block of tactics, indented."""
    axioms: tuple[str, ...] = ()
    sources: dict[str, int] = {}
    """Of a mixture: which parts proposed the proof's tactics, and how many."""
    tries: int = 1
    """Attempts until it was decided, or given up: infrastructure failed before."""
    time: float = 0.0
    """Unix time of its end."""
    statistics: AttemptStatistics = AttemptStatistics()

    @property
    def decided(self) -> bool:
        return self.standing in (Standing.SOLVED, Standing.UNSOLVED)


def standing(outcome: AttemptOutcome, statistics: AttemptStatistics) -> Standing:
    """What the outcome of an attempt says. A proof counts when it is verified: then `outcome` is `proved`.

    An attempt that used up its seconds without losing an expansion has had the budget that was asked for.
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
