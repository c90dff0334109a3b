"""What is known about a theorem from the attempts to prove or to disprove it: the matchmaker's memory of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from common.attempts import AttemptOutcome


@dataclass(slots=True)
class Standing:
    """What is known about one theorem."""

    attempts: int = 0
    """Attempts with a decided result, to prove or to disprove it."""
    failures: int = 0
    """Of these, those that did neither."""
    tries: int = 0
    """Of the attempts, those to prove it."""
    proofs: int = 0
    """Of the tries, those that did."""
    disproved: bool = False
    refused: bool = False
    """Lean does not accept the statement."""
    in_a_row: int = 0
    """Of the latest attempts to prove it, those that did, since the last one that did not."""

    @property
    def proved(self) -> bool:
        return self.proofs > 0

    @property
    def decided(self) -> bool:
        """Proved or disproved, or no statement at all."""
        return self.proved or self.disproved or self.refused


def learn(standing: Standing, disproof: bool, outcome: str) -> None:
    """Fold one outcome into what is known; one that is not decided says nothing about the theorem."""
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
