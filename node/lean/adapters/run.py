"""The outcomes of a batch in an adapter. They are kept when a process ends and another one continues the batch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from common.lean import Outcome, OutcomeKind
from node.lean.backend import BatchResult, TacticBatch


class NotReplayed(Exception):
    """Replaying a path on this process failed; the text says at which step, and why."""


class AdapterRun:
    """A batch and the outcomes of its candidates so far."""

    def __init__(self, batch: TacticBatch) -> None:
        self.batch = batch
        self.state: str | None = batch.state
        """The text of the state; empty if replaying its path fails."""
        self.outcomes: dict[str, Outcome] = {}
        """Outcomes by candidate."""
        self.crashes: dict[str, int] = {}
        """Number of processes that ended while they ran a candidate, by candidate."""

    def count_crash(self, tactic: str) -> int:
        """Record that a process ended while it ran a candidate. Returns the number of such crashes."""
        self.crashes[tactic] = self.crashes.get(tactic, 0) + 1
        return self.crashes[tactic]

    async def settle_rest(self, state: str, settle: Callable[[str], Awaitable[Outcome]]) -> None:
        """Run `settle` for each candidate without an outcome, on a process that has reached `state`.

        Raises the exceptions of `settle`, after which the outcomes so far remain."""
        self.state = state
        for tactic in self.batch.tactics:
            if tactic not in self.outcomes:
                self.outcomes[tactic] = await settle(tactic)

    def give_up(self, reason: str) -> None:
        """Give the remaining candidates the outcome LOST, because the state cannot be reached."""
        self.state = ""
        lost = Outcome(OutcomeKind.LOST, message=reason)
        self.outcomes |= {tactic: lost for tactic in self.batch.tactics if tactic not in self.outcomes}

    def result(self, elapsed: float) -> BatchResult:
        """All outcomes in the batch's order. `elapsed`: seconds that Lean worked."""
        return BatchResult(self.state or "", tuple(self.outcomes[tactic] for tactic in self.batch.tactics), elapsed)
