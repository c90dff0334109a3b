"""Evaluations: what is tried again, what counts, and that infrastructure that failed makes no statement unsolved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from common.bus import Bus
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from common.records.rows import Verdict
from common.records.store import Store
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation import EvaluationHistory, Evaluator, Tally, needs_attempt, solved_by
from node.learner.learning.publisher import Publisher
from node.learner.run import Run
from tests.node.learner.builders import proved, result
from tests.node.learner.stand_in import StandInTrainer

PROVED, FAILED, REJECTED = AttemptOutcome.PROVED, AttemptOutcome.FAILED, AttemptOutcome.REJECTED
UNDECIDED, ERROR, POISONED = AttemptOutcome.UNDECIDED, AttemptOutcome.ERROR, AttemptOutcome.POISONED


@pytest.mark.parametrize(
    ("attempts", "needed"),
    [
        ([], True),
        ([None], False),
        ([FAILED], False),
        ([PROVED], False),
        ([ERROR], True),
        ([UNDECIDED, POISONED], True),
        ([ERROR, None], False),
        ([ERROR, UNDECIDED, ERROR], False),
    ],
)
def test_a_statement_is_tried_again_only_when_infrastructure_failed(
    attempts: list[AttemptOutcome | None], needed: bool
) -> None:
    assert needs_attempt(attempts, retries=2) is needed


async def evaluated(run: Run, bus: Bus, folder: Path, answer: Callable[[Attempt], AttemptOutcome]) -> Evaluator:
    """One evaluation, with every attempt recorded as `answer` has it."""
    dispatcher = await Dispatcher.create(run)
    evaluator = Evaluator(run, dispatcher, Publisher(run, StandInTrainer(folder)), EvaluationHistory(run, lambda: 0.0))
    tasks = [asyncio.create_task(dispatcher.work()), asyncio.create_task(evaluator.evaluate("before"))]
    try:
        while not tasks[1].done():
            for lease in await bus.lease(f"todo-{Purpose.EVAL}", Attempt, limit=4, wait=0.1):
                outcome = answer(lease.message)
                verdict = proved() if outcome is AttemptOutcome.PROVED else Verdict(outcome)
                await run.store.call(Store.record, result(lease.message, outcome), verdict, 1.0)
                await lease.ack()
                run.changed.set()
        assert tasks[1].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return evaluator


async def test_an_attempt_that_was_lost_is_repeated_and_decides(run: Run, bus: Bus, tmp_path: Path) -> None:
    tries: list[str] = []

    def answer(attempt: Attempt) -> AttemptOutcome:
        tries.append(attempt.theorem_id)
        return UNDECIDED if tries.count("v") == 1 and attempt.theorem_id == "v" else PROVED

    evaluator = await evaluated(run, bus, tmp_path, answer)
    assert evaluator.tally == Tally(settled=2, solved=2, undecided=0)
    assert sorted(tries) == ["v", "v", "w"]


async def test_a_statement_whose_attempts_were_all_lost_is_reported_as_undecided(
    run: Run, bus: Bus, tmp_path: Path
) -> None:
    run.settings.evaluation.retries = 1
    evaluator = await evaluated(run, bus, tmp_path, lambda attempt: ERROR if attempt.theorem_id == "v" else FAILED)
    assert evaluator.tally == Tally(settled=2, solved=0, undecided=1)
    assert run.ctx.heartbeat().values["eval_undecided"] == 1
    row = await run.store.call(Store.evaluation, "before")
    assert row is not None and row.finished is not None
    outcomes = await run.store.call(Store.evaluated, row.evaluation_id)
    assert solved_by(outcomes) == {"v": None, "w": False} and outcomes["v"] == [ERROR, ERROR]
