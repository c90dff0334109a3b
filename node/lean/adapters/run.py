"""A batch on its way through an adapter: what is settled stays settled, whatever becomes of the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from common.lean import Outcome, OutcomeKind
from node.lean.backend import BatchResult, TacticBatch


class NotReplayed(Exception):
    """A path does not lead to its state on this process; the text says where it ends, and why."""


class AdapterRun:
    """Outcomes of a batch's candidates, as far as they are known."""

    def __init__(self, batch: TacticBatch) -> None:
        self.batch = batch
        self.state: str | None = batch.state
        """The text of the state; empty when its path does not replay."""
        self.outcomes: dict[str, Outcome] = {}
        """By candidate."""
        self.strikes: dict[str, int] = {}
        """How many processes ended while they ran this candidate."""

    def strike(self, tactic: str) -> int:
        """Count the end of a process against the candidate that it ran; returns how often that has happened."""
        self.strikes[tactic] = self.strikes.get(tactic, 0) + 1
        return self.strikes[tactic]

    async def settle_rest(self, state: str, settle: Callable[[str], Awaitable[Outcome]]) -> None:
        """Settle the candidates that have no outcome yet, one after the other, on a process that has reached `state`.

        Raises what `settle` raises; outcomes that came before that stay."""
        self.state = state
        for tactic in self.batch.tactics:
            if tactic not in self.outcomes:
                self.outcomes[tactic] = await settle(tactic)

    def give_up(self, reason: str) -> None:
        """Settle what is left as LOST: the state cannot be reached."""
        self.state = ""
        lost = Outcome(OutcomeKind.LOST, message=reason)
        self.outcomes |= {tactic: lost for tactic in self.batch.tactics if tactic not in self.outcomes}

    def result(self, elapsed: float) -> BatchResult:
        """All outcomes, in the batch's order. `elapsed`: seconds that Lean worked."""
        return BatchResult(self.state or "", tuple(self.outcomes[tactic] for tactic in self.batch.tactics), elapsed)
