"""Counts the solved and undecided statements of an evaluation from the outcomes of their attempts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.protocol.attempts import AttemptOutcome

Attempts = Sequence[AttemptOutcome | None]
"""Outcomes of the attempts on one statement, in order; None: still outstanding."""


@dataclass(frozen=True)
class Tally:
    """The progress of an evaluation, in statements."""

    settled: int = 0
    """Statements without an outstanding or a further attempt."""
    solved: int = 0
    undecided: int = 0
    """Settled statements without a decided attempt."""

    @property
    def solve_rate(self) -> float:
        """Share of the settled statements that were solved; undecided ones are left out."""
        return self.solved / max(1, self.settled - self.undecided)


def needs_attempt(attempts: Attempts, retries: int) -> bool:
    """True if a statement has no attempt yet, or only undecided ones and a retry is left."""
    undecided = all(outcome is not None and not outcome.decided for outcome in attempts)
    return undecided and len(attempts) <= retries


def solved(attempts: Attempts) -> bool | None:
    """True: proved, and the proof verified. False: decided without a proof. None: undecided or not attempted."""
    if AttemptOutcome.PROVED in attempts:
        return True
    return False if any(outcome is not None and outcome.decided for outcome in attempts) else None


def solved_by(outcomes: Mapping[str, Attempts]) -> dict[str, bool | None]:
    """`solved` of every statement."""
    return {theorem_id: solved(attempts) for theorem_id, attempts in outcomes.items()}


def tally(outcomes: Mapping[str, Attempts], retries: int) -> Tally:
    """Count an evaluation's statements. Statements without any attempt are not in `outcomes`."""
    settled = [
        solved(attempts)
        for attempts in outcomes.values()
        if None not in attempts and not needs_attempt(attempts, retries)
    ]
    return Tally(len(settled), settled.count(True), settled.count(None))
