"""Evaluates a pinned weight version on the test statements.

An attempt may end undecided: infrastructure failed, which says nothing about the policy. The statement is then tried
again, and when its tries are used up it counts as undecided: neither as solved nor as unsolved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.messages import AttemptOutcome
from node.learner.dispatcher import Dispatcher
from node.learner.publisher import Publisher
from node.learner.run.run import Run, now
from node.learner.store.store import Store

Attempts = Sequence[AttemptOutcome | None]
"""Outcomes of the attempts on one statement, in order; None: still outstanding."""


@dataclass(frozen=True)
class Tally:
    """How far an evaluation is, in statements."""

    settled: int = 0
    """Statements that get no further attempt and wait for none."""
    solved: int = 0
    undecided: int = 0
    """Of the settled ones: those of which no attempt was decided."""

    @property
    def solve_rate(self) -> float:
        """Share of the settled statements that were solved; undecided ones are left out."""
        return self.solved / max(1, self.settled - self.undecided)


class Evaluator:
    """Runs evaluations by label; one that was begun goes on where it was."""

    def __init__(self, run: Run, dispatcher: Dispatcher, publisher: Publisher) -> None:
        self._run = run
        self._dispatcher = dispatcher
        self._publisher = publisher
        self.tally = Tally()
        """Of the evaluation that ran last."""

    async def evaluate(self, label: str) -> bool:
        """Evaluate the latest weights under this label; False when the node is to stop before the end."""
        store, settings = self._run.store, self._run.settings.evaluation
        row = await store.call(Store.evaluation, label)
        weights = row.weights if row is not None else (await self._publisher.publish()).version
        simulations = row.simulations if row is not None else settings.simulations
        await self._publisher.pin([weights])
        evaluation = await store.call(Store.begin_evaluation, label, weights, simulations, now())
        while not self._run.stopping:
            outcomes = await store.call(Store.evaluated, evaluation)
            self._report(outcomes)
            rows = [
                row
                for row in self._run.data.test
                if needs_attempt(outcomes.get(row.theorem.name, []), settings.retries)
            ]
            if rows:
                await self._dispatcher.evaluate(rows, evaluation, weights, simulations)
            elif all(None not in attempts for attempts in outcomes.values()):
                await store.call(Store.finish_evaluation, evaluation, now())
                await self._publisher.pin([])
                self._log(label, outcomes)
                return True
            await self._run.wait(1.0)
        return False

    def _report(self, outcomes: Mapping[str, Attempts]) -> None:
        self.tally = tally(outcomes, self._run.settings.evaluation.retries)
        self._run.ctx.report(
            eval_done=self.tally.settled,
            eval_solved=self.tally.solved,
            eval_undecided=self.tally.undecided,
            eval_total=len(self._run.data.test),
        )

    def _log(self, label: str, outcomes: Mapping[str, Attempts]) -> None:
        counts = {"solved": self.tally.solved, "undecided": self.tally.undecided, "total": len(outcomes)}
        self._run.log.info("evaluated", label=label, **counts)
        if self.tally.undecided:
            names = [name for name, solved in solved_by(outcomes).items() if solved is None]
            self._run.log.warning("statements left undecided by infrastructure", label=label, statements=names[:10])


def needs_attempt(attempts: Attempts, retries: int) -> bool:
    """Whether a statement has no attempt yet, or only undecided ones and tries are left."""
    undecided = all(outcome is not None and not outcome.decided for outcome in attempts)
    return undecided and len(attempts) <= retries


def solved(attempts: Attempts) -> bool | None:
    """True: proved, and the proof verified. False: tried in earnest without a proof. None: undecided, or not tried."""
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
