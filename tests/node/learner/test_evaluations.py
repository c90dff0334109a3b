"""Evaluations: what is tried again, what counts, their lines in a file, and those beside learning, over deaths."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from common import curves
from common.bus import Bus
from common.curves import Tail
from common.output.command import UserError
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from common.protocol.messages import Point, WeightsState
from common.records.rows import EvaluationRow, Tried, Verdict, WeightsRow
from common.records.store import Store
from common.weights import KEY
from node.learner.attempts import dispatcher
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation import EvaluationHistory, Evaluator, Tally, evaluated, needs_attempt, solved_by
from node.learner.learning.publisher import Publisher
from node.learner.run import Recorded, Run
from tests.message_values import named, node_info
from tests.node.learner.builders import FAILED as NO_PROOF, planned, proved, result, row
from tests.node.learner.stand_in import StandInTrainer
from tests.node.learner.works import taken
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
def test_only_what_infrastructure_failed_is_tried_again(attempts: list[AttemptOutcome | None], needed: bool) -> None:
    assert needs_attempt(attempts, retries=2) is needed


async def after_one(
    run: Run, bus: Bus, folder: Path, answer: Callable[[Attempt], AttemptOutcome], label: str = "before"
) -> Evaluator:
    """One evaluation, with every attempt recorded as `answer` has it."""
    dispatcher = await Dispatcher.create(run)
    evaluator = Evaluator(run, dispatcher, Publisher(run, StandInTrainer(folder)), EvaluationHistory(run, lambda: 0.0))
    tasks = [asyncio.create_task(dispatcher.work()), asyncio.create_task(evaluator.evaluate(label))]
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


async def test_lost_attempts_are_repeated_and_all_lost_is_undecided(run: Run, bus: Bus, tmp_path: Path) -> None:
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


async def test_an_evaluation_searches_as_long_as_the_first_one_after_settings_changed(
    run: Run, bus: Bus, tmp_path: Path
) -> None:
    budgets: list[tuple[str, int]] = []

    def answer(attempt: Attempt) -> AttemptOutcome:
        budgets.append((attempt.theorem_id, attempt.simulations))
        return FAILED

    run.settings.evaluation.simulations = 4
    run.data.budget_factors.update(w=2.5)
    await after_one(run, bus, tmp_path, answer)
    run.settings.evaluation.simulations = 8
    run.data.budget_factors.update(v=3.0, w=7.0)
    await after_one(run, bus, tmp_path, answer, "after")
    assert sorted(budgets) == [("v", 4), ("v", 4), ("w", 10), ("w", 10)]


def test_shares_are_of_the_decided_statements_by_level_and_family() -> None:
    outcomes = {"a": (PROVED,), "b": (FAILED,), "c": (ERROR, FAILED), "d": (ERROR, ERROR)}
    places = (("00nat", 2), ("00nat", 10), ("logic", 2), ("logic", 10))
    tried = [Tried(name, *place, tries) for place, (name, tries) in zip(places, outcomes.items(), strict=True)]
    costs = {"simulations": 31.0, "lean_attempts": 99.0, "tokens": 0.0}
    row = EvaluationRow("step-7", 1, 3, 16, 1.0, 2.5, True, 60.0, None, 7)
    found = evaluated(row, tried, costs)
    assert (found.statements, found.solved, found.undecided, found.solve_rate) == (4, 1, 1, 1 / 3)
    assert (found.label, found.beside, found.step, found.weights, found.worked) == ("step-7", True, 7, 3, 60.0)
    assert (found.simulations, found.simulations_used, found.lean_attempts, found.tokens) == (16, 31, 99, None)
    solved = curves.Part(statements=2, solved=1, undecided=0, share=0.5)
    undecided = curves.Part(statements=2, solved=0, undecided=1, share=0.0)
    assert list(found.levels.items()) == [("2", solved), ("10", undecided)]
    assert list(found.families) == ["00nat", "logic"]  # by name, as it is
    assert found.families["logic"] == undecided and found.banks == {}
    several = evaluated(row, tried, costs, {"a": "words", "b": "pocket", "c": "words", "d": "pocket"})
    assert several.banks == {"pocket": undecided, "words": solved}


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


# --- beside learning: a few attempts at a time, one version after another, over deaths --------------------------------
@dataclass
class World:
    """One learner's process, as far as evaluations need it."""

    run: Run
    bus: Bus
    trainer: StandInTrainer
    dispatcher: Dispatcher
    publisher: Publisher
    beside: Evaluator
    task: asyncio.Task[None]

    async def train(self) -> None:
        """One more step, published."""
        await self.trainer.step([])
        await self.publisher.publish()

    async def rows(self) -> list[EvaluationRow]:
        return await self.run.store.call(Store.evaluations)

    async def has(self, count: int) -> bool:
        return len(await self.rows()) == count

    async def has_given_up(self) -> bool:
        (only,) = await self.rows()
        return only.given_up is not None and only.finished is None

    async def pinned(self) -> list[int]:
        state = await self.bus.get_state(KEY, WeightsState)
        assert state is not None
        return [pin.version for pin in state.pinned]

    async def taken(self, count: int, purpose: Purpose = Purpose.EVAL) -> list[Attempt]:
        """So many attempts, as provers lease them."""
        return await taken(self.bus, purpose, count)

    async def record(self, attempt: Attempt, outcome: AttemptOutcome = AttemptOutcome.PROVED) -> None:
        """What the collector does with a result that was judged."""
        verdict = proved() if outcome is AttemptOutcome.PROVED else Verdict(outcome)
        assert await self.run.store.call(Store.record, result(attempt, outcome), verdict, 1.0)
        await self.run.recorded(Recorded(attempt.attempt_id, attempt.theorem_id, attempt.purpose, verdict, 2))

    async def record_all(self, attempts: list[Attempt], outcome: AttemptOutcome = AttemptOutcome.PROVED) -> None:
        for attempt in attempts:
            await self.record(attempt, outcome)

    async def finished(self, label: str) -> None:
        async def there() -> bool:
            found = await self.run.store.call(Store.evaluation, label)
            return found is not None and found.finished is not None

        await until(there, what=f"the end of {label}")

    def lines(self) -> list[curves.Evaluated]:
        return curves.read_evaluations(self.run.directory.evaluations)


@pytest.fixture
def run(run: Run) -> Run:
    """Six statements to evaluate on beside learning, every training step."""
    run.data.beside.extend(row(f"e{number}", "test", level=1 + number % 2) for number in range(6))
    run.settings.evaluation.every = 1
    return run


@asynccontextmanager
async def process(run: Run, bus: Bus, folder: Path, step: int = 0, searches: int = 60) -> AsyncIterator[World]:
    """A learner's process from its start, on a mesh with so many search slots; at the end it is killed."""
    await bus.register(node_info(named("prover"), capacity={"searches": searches}))
    await run.store.call(Store.add_theorems, run.data.scored)
    run.on_recorded.clear()
    trainer = StandInTrainer(folder)
    trainer.group.step_number = step
    works, publisher = await Dispatcher.create(run), Publisher(run, trainer)
    history = EvaluationHistory(run, lambda: 12.0)
    beside = Evaluator(run, works, publisher, history)
    await publisher.restore()
    await beside.resume(learning=True)
    await history.write()
    await publisher.publish()
    tasks = [asyncio.create_task(works.work()), asyncio.create_task(beside.work())]
    try:
        yield World(run, bus, trainer, works, publisher, beside, tasks[1])
    finally:
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError), outcome


async def test_it_takes_its_share_of_the_slots_and_learning_the_rest(run: Run, bus: Bus, tmp_path: Path) -> None:
    run.settings.evaluation.share = 0.2
    run.settings.matchmaker.disprove_chance = 0.0
    run.data.train.extend(row(f"t{index}") for index in range(30))
    run.matchmaker.__init__([each.theorem.name for each in run.data.train], run.settings.matchmaker, 1)  # type: ignore[misc]
    await run.store.call(Store.add_theorems, run.data.train)
    async with process(run, bus, tmp_path, searches=10) as world:
        attempts = await world.taken(2)
        world.dispatcher.learning = True
        assert len(await world.taken(12, Purpose.TRAIN)) == 12  # 1.5 for each of the other eight slots
        for answered in range(1, 5):
            await world.record(attempts.pop(0), FAILED)
            attempts += await world.taken(1)
            assert world.dispatcher.outstanding["eval"] == 2, f"after {answered} answers"
        await world.record_all(attempts, FAILED)
        await world.finished("step-0")
        assert len(await world.taken(3, Purpose.TRAIN)) == 3  # all slots are free for learning again
    assert run.ctx.heartbeat().values["beside_total"] == 6


async def test_when_training_is_faster_the_next_takes_the_newest_version(run: Run, bus: Bus, tmp_path: Path) -> None:
    run.settings.keep_weights = 1
    async with process(run, bus, tmp_path) as world:
        first = await world.taken(6)
        for _ in range(3):
            await world.train()
        assert await world.pinned() == [1] and world.publisher.latest.version == 4
        await world.record_all(first)
        await world.finished("step-0")
        second = await world.taken(6)
        assert {attempt.weights for attempt in first} == {1} and {attempt.weights for attempt in second} == {4}
        assert [each.label for each in await world.rows()] == ["step-0", "step-3"]
        assert {each.theorem_id: each.seed for each in first} == {each.theorem_id: each.seed for each in second}


async def test_the_next_waits_for_its_steps_unless_the_operator_asks(run: Run, bus: Bus, tmp_path: Path) -> None:
    run.settings.evaluation.every = 3
    async with process(run, bus, tmp_path) as world:
        first = await world.taken(6)
        with pytest.raises(UserError, match="step-0 is not over"):
            await world.beside.ask()
        await world.record_all(first)
        await world.finished("step-0")
        with pytest.raises(UserError, match="step 0 are evaluated already"):
            await world.beside.ask()
        for _ in range(2):
            await world.train()
        await world.beside._turn()
        assert len(await world.rows()) == 1
        await world.train()
        await world.record_all(await world.taken(6))
        await world.finished("step-3")
        await world.train()
        assert "step 4 are evaluated" in await world.beside.ask()
        await world.taken(6)
        assert [each.step for each in await world.rows()] == [0, 3, 4]
        world.beside.end()
        with pytest.raises(UserError, match="no evaluation beside learning"):
            await world.beside.ask()


async def test_after_a_kill_it_goes_on(run: Run, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "LOST_AFTER", 0.1)  # what was leased and acknowledged here is lost
    run.settings.keep_weights = 1
    async with process(run, bus, tmp_path) as world:
        first = await world.taken(6)
        await world.record(first[0])
        await world.train()
    async with process(run, bus, tmp_path, step=2) as world:  # its weights are newer than any version published
        again: dict[str, Attempt] = {}
        while len(again) < 5:  # on a slow machine some are lost, and dispatched, more than once
            again |= {each.attempt_id: each for each in await world.taken(1)}
        assert again == {each.attempt_id: each for each in first[1:]}
        assert world.publisher.keeps(1) and world.publisher.latest.version == 3
        await world.record_all([*again.values()], FAILED)
        await world.finished("step-0")
        (line,) = world.lines()
        assert (line.label, line.weights, line.statements, line.solved) == ("step-0", 1, 6, 1)
    assert (await run.store.call(Store.audit)).sound


async def test_a_version_that_is_gone_or_other_statements_end_an_evaluation(run: Run, bus: Bus, tmp_path: Path) -> None:
    async with process(run, bus, tmp_path) as world:
        await world.taken(6)
    next(run.directory.weights.glob("weights-000001*")).unlink()
    async with process(run, bus, tmp_path, step=1) as world:
        await until(lambda: world.has(2), what="the next evaluation")
        gone, newest = await world.rows()
        assert gone.given_up is not None and gone.finished is None
        assert (newest.label, newest.weights) == ("step-1", 2) and world.lines() == []
        (attempt,) = await world.taken(1)
    run.data.beside[:] = [each for each in run.data.beside if each.theorem.name != attempt.theorem_id]
    async with process(run, bus, tmp_path, step=2) as world:
        await until(lambda: world.has(3), what="the one without a mixture")
        assert (await world.rows())[1].given_up is not None


async def test_one_that_is_unfinished_when_learning_ends_has_no_result(run: Run, bus: Bus, tmp_path: Path) -> None:
    async with process(run, bus, tmp_path) as world:
        attempts = await world.taken(6)
        await world.record_all(attempts[:5])
        world.beside.end()
        await until(world.has_given_up)
        # Its version stays for the attempt that is out, also while a phase pins and lets go another.
        await world.train()
        await world.publisher.pin([2], "phase")
        await world.publisher.pin([], "phase")
        assert await world.pinned() == [1]
        await world.record(attempts[5])
        await asyncio.wait_for(world.task, 30)
        assert await world.pinned() == []
        assert world.lines() == [] and len(await world.rows()) == 1
    async with process(run, bus, tmp_path, step=1) as world:  # the phase goes on in another run of the plan
        assert world.lines() == []
        await world.taken(6)
        assert [each.label for each in await world.rows()] == ["step-0", "step-1"]
