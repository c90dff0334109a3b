"""Evaluates a pinned weight version on the test statements."""

from __future__ import annotations

from node.learner.dispatcher import Dispatcher
from node.learner.publisher import Publisher
from node.learner.run.run import Run, now
from node.learner.store.store import Store

UNDECIDED = ("error", "poisoned")
"""Outcomes that say nothing about the policy: such an attempt is repeated."""


class Evaluator:
    """Runs evaluations by label; one that was begun goes on where it was."""

    def __init__(self, run: Run, dispatcher: Dispatcher, publisher: Publisher) -> None:
        self._run = run
        self._dispatcher = dispatcher
        self._publisher = publisher
        self.done = 0
        self.solved = 0

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
            todo = [
                row
                for row in self._run.data.test
                if needs_attempt(outcomes.get(row.theorem.name, []), settings.retries)
            ]
            self._count(outcomes)
            if todo:
                await self._dispatcher.evaluate(todo, evaluation, weights, simulations)
            elif all(outcome is not None for attempts in outcomes.values() for outcome in attempts):
                await store.call(Store.finish_evaluation, evaluation, now())
                await self._publisher.pin([])
                self._run.log.info("evaluated", label=label, solved=self.solved, total=len(outcomes))
                return True
            await self._run.wait(1.0)
        return False

    def _count(self, outcomes: dict[str, list[str | None]]) -> None:
        found = solved_by(outcomes)
        self.solved = sum(found.values())
        self.done = sum(None not in attempts for attempts in outcomes.values())
        self._run.ctx.report(eval_done=self.done, eval_solved=self.solved, eval_total=len(self._run.data.test))


def needs_attempt(attempts: list[str | None], retries: int) -> bool:
    """True when a statement has no attempt yet, or only undecided ones and tries are left."""
    return all(outcome in UNDECIDED for outcome in attempts) and len(attempts) <= retries


def solved_by(outcomes: dict[str, list[str | None]]) -> dict[str, bool]:
    """Whether each statement was proved, and the proof verified."""
    return {theorem_id: "proved" in attempts for theorem_id, attempts in outcomes.items()}
