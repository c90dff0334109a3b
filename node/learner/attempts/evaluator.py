"""Evaluates a pinned weight version on the test statements, as a phase of the run.

An attempt is undecided if the infrastructure failed, which says nothing about the policy. The statement is then
attempted again. When its retries are used up, it counts as undecided: neither solved nor unsolved.
"""

from __future__ import annotations

from collections.abc import Mapping

from common.records.store import Store
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation_history import EvaluationHistory
from node.learner.attempts.tally import Attempts, Tally, needs_attempt, solved_by, tally
from node.learner.learning import phases
from node.learner.learning.publisher import Publisher
from node.learner.run.run import Run, now


class Evaluator:
    """Runs evaluations by label; continues one that was interrupted."""

    def __init__(self, run: Run, dispatcher: Dispatcher, publisher: Publisher, history: EvaluationHistory) -> None:
        self._run = run
        self._dispatcher = dispatcher
        self._publisher = publisher
        self._history = history
        self.tally = Tally()
        """Counts of the latest evaluation."""

    async def evaluate(self, label: str) -> bool:
        """Evaluate the latest weights under this label. Returns False if the node stops before the end."""
        store, settings = self._run.store, self._run.settings.evaluation
        row = await store.call(Store.evaluation, label)
        weights = row.weights if row is not None else (await self._publisher.publish()).version
        # If a run continues with other settings, its evaluations still use the number of simulations of the first one.
        same = row or await store.call(Store.evaluation, phases.EVALUATIONS[phases.EVALUATE_BEFORE])
        simulations = same.simulations if same is not None else settings.simulations
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
                await self._history.finish(evaluation)
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
            self._run.log.warning(
                "statements left undecided: all their attempts failed because of the infrastructure",
                label=label,
                statements=names[:10],
            )
