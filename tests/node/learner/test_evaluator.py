"""Evaluations: what is tried again, what counts, that infrastructure that failed makes no statement unsolved, and
`evaluations.jsonl`: every finished evaluation once, whatever dies in between."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from common import curves
from common.bus import Bus
from common.curves import Tail
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from common.protocol.messages import Point
from common.records.rows import EvaluationRow, Tried, Verdict, WeightsRow
from common.records.store import Store
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation import EvaluationHistory, Evaluator, Tally, evaluated, needs_attempt, solved_by
from node.learner.learning.publisher import Publisher
from node.learner.run import Run
from tests.node.learner.builders import FAILED as NO_PROOF, planned, proved, result
from tests.node.learner.stand_in import StandInTrainer
from tests.waiting import until

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


async def after_one(run: Run, bus: Bus, folder: Path, answer: Callable[[Attempt], AttemptOutcome]) -> Evaluator:
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


async def test_an_attempt_that_was_lost_is_repeated_and_a_statement_whose_attempts_were_all_lost_is_undecided(
    run: Run, bus: Bus, tmp_path: Path
) -> None:
    run.settings.evaluation.retries = 1
    tries: list[str] = []

    def answer(attempt: Attempt) -> AttemptOutcome:
        tries.append(attempt.theorem_id)
        return ERROR if attempt.theorem_id == "v" else UNDECIDED if tries.count("w") == 1 else PROVED

    evaluator = await after_one(run, bus, tmp_path, answer)
    assert evaluator.tally == Tally(settled=2, solved=1, undecided=1)
    assert run.ctx.heartbeat().values["eval_undecided"] == 1
    row = await run.store.call(Store.evaluation, "before")
    assert row is not None and row.finished is not None
    outcomes = await run.store.call(Store.evaluated, row.evaluation_id)
    assert outcomes == {"v": [ERROR, ERROR], "w": [UNDECIDED, PROVED]}
    assert solved_by(outcomes) == {"v": None, "w": True}


def test_shares_are_of_the_decided_statements_by_level_and_family() -> None:
    tried = [
        Tried("a", "00nat", 2, (PROVED,)),
        Tried("b", "00nat", 10, (FAILED,)),
        Tried("c", "logic", 2, (ERROR, FAILED)),
        Tried("d", "logic", 10, (ERROR, ERROR)),
    ]
    costs = {"simulations": 31.0, "lean_attempts": 99.0, "tokens": 0.0}
    row = EvaluationRow("step-7", 1, 3, 16, 1.0, 2.5, True, 60.0, None, 7)
    found = evaluated(row, tried, costs)
    assert (found.statements, found.solved, found.undecided, found.solve_rate) == (4, 1, 1, 1 / 3)
    assert (found.label, found.beside, found.step, found.weights, found.worked) == ("step-7", True, 7, 3, 60.0)
    assert (found.simulations, found.simulations_used, found.lean_attempts, found.tokens) == (16, 31, 99, None)
    part = curves.Part
    assert list(found.levels.items()) == [
        ("2", part(statements=2, solved=1, undecided=0, share=0.5)),
        ("10", part(statements=2, solved=0, undecided=1, share=0.0)),
    ]
    assert list(found.families) == ["00nat", "logic"]  # by name, as it is
    assert found.families["logic"] == part(statements=2, solved=0, undecided=1, share=0.0)
    assert found.banks == {}
    several = evaluated(row, tried, costs, {"a": "words", "b": "pocket", "c": "words", "d": "pocket"})
    assert several.banks == {
        "pocket": part(statements=2, solved=0, undecided=1, share=0.0),
        "words": part(statements=2, solved=1, undecided=0, share=0.5),
    }


async def finished_evaluation(run: Run, label: str) -> None:
    """Records of an evaluation whose line is not written yet."""
    store = run.store
    evaluation = await store.call(Store.begin_evaluation, label, 1, 16, 1.0, True)
    first = await store.call(Store.next_number)
    plans = [planned(first + index, name, "eval", evaluation) for index, name in enumerate(("v", "w"))]
    await store.call(Store.dispatch, plans, 1.0)
    for plan, verdict in zip(plans, (proved(), NO_PROOF), strict=True):
        await store.call(Store.record, result(plan.attempt, verdict.outcome), verdict, 2.0)
    await store.call(Store.finish_evaluation, evaluation, 3.25, 40.0)


async def test_a_kill_between_the_result_and_its_line_neither_loses_nor_repeats_it(run: Run, bus: Bus) -> None:
    await run.store.call(Store.add_weights, WeightsRow(1, 7, "digest", "object"), 1.0)
    await finished_evaluation(run, "step-7")
    for _ in range(2):  # each a start of a learner
        await EvaluationHistory(run, lambda: 0.0).write()
    (line,) = curves.read_evaluations(run.directory.evaluations)
    assert (line.label, line.step, line.time, line.worked, line.solved) == ("step-7", 7, 3.25, 40.0, 1)
    (point,) = Tail(run.directory.metrics).read().points
    assert (point.time, point.step, point.values["eval_solve_rate"]) == (3.25, 7, 0.5)

    async def announced() -> bool:
        return [each.time for each in await bus.history((Point,))] == [3.25]

    await until(announced, what="the point for the monitor")
    content = run.directory.evaluations.read_bytes()
    run.directory.evaluations.write_bytes(content[:-20])  # killed while it wrote
    await finished_evaluation(run, "after")
    await EvaluationHistory(run, lambda: 0.0).write()
    assert [each.label for each in curves.read_evaluations(run.directory.evaluations)] == ["step-7", "after"]
