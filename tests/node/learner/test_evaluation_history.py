"""`evaluations.jsonl`: every finished evaluation once, whatever dies in between."""

from __future__ import annotations

from common import curves
from common.bus import Bus
from common.curves import Tail
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import Point
from common.records.rows import EvaluationRow, Tried, WeightsRow
from common.records.store import Store
from node.learner.attempts.evaluation import EvaluationHistory, evaluated
from node.learner.run import Run
from tests.node.learner.builders import FAILED, PROVED, planned, result
from tests.waiting import until

SOLVED, UNSOLVED, LOST = AttemptOutcome.PROVED, AttemptOutcome.FAILED, AttemptOutcome.ERROR


def test_shares_are_of_the_decided_statements_by_level_and_family() -> None:
    tried = [
        Tried("a", "00nat", 2, (SOLVED,)),
        Tried("b", "00nat", 10, (UNSOLVED,)),
        Tried("c", "logic", 2, (LOST, UNSOLVED)),
        Tried("d", "logic", 10, (LOST, LOST)),
    ]
    costs = {"simulations": 31.0, "lean_attempts": 99.0, "tokens": 0.0}
    found = evaluated(EvaluationRow("step-7", 1, 3, 16, 1.0, 2.5, True, 60.0, None, 7), tried, costs)
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
    several = evaluated(
        EvaluationRow("step-7", 1, 3, 16, 1.0, 2.5, True, 60.0, None, 7),
        tried,
        costs,
        {"a": "words", "b": "pocket", "c": "words", "d": "pocket"},
    )
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
    for plan, verdict in zip(plans, (PROVED, FAILED), strict=True):
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
