"""A theorem's record for the matchmaker: counts of the attempts to prove or to disprove it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from common.protocol.attempts import AttemptOutcome


@dataclass(slots=True)
class Standing:
    """The record of one theorem."""

    attempts: int = 0
    """Attempts with a decided result, to prove or to disprove it."""
    failures: int = 0
    """Number of `attempts` that found neither a proof nor a disproof."""
    tries: int = 0
    """Number of `attempts` to prove it."""
    proofs: int = 0
    """Number of `tries` that proved it."""
    disproved: bool = False
    refused: bool = False
    """Lean does not accept the statement."""
    in_a_row: int = 0
    """Number of latest `tries` in a row that proved it."""

    @property
    def proved(self) -> bool:
        return self.proofs > 0

    @property
    def decided(self) -> bool:
        """Proved, disproved, or refused by Lean."""
        return self.proved or self.disproved or self.refused


def learn(standing: Standing, disproof: bool, outcome: str) -> None:
    """Update a theorem's record with one outcome. An undecided outcome says nothing about the theorem."""
    if not AttemptOutcome(outcome).decided:
        return
    if outcome == AttemptOutcome.BAD_STATEMENT:
        standing.refused = True
        return
    success = outcome == AttemptOutcome.PROVED
    standing.attempts += 1
    standing.failures += not success
    if disproof:
        standing.disproved |= success
        return
    standing.tries += 1
    standing.proofs += success
    standing.in_a_row = standing.in_a_row + 1 if success else 0
