"""Evaluations beside learning, on a real broker: a few attempts at a time, one version after another, over deaths."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from common import curves
from common.bus import Bus
from common.output.command import UserError
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from common.protocol.messages import NodeInfo, WeightsState
from common.records.rows import EvaluationRow, Verdict
from common.records.store import Store
from common.weights import KEY
from node.learner.attempts import dispatcher
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.attempts.evaluation import EvaluationHistory, Evaluator
from node.learner.learning.publisher import Publisher
from node.learner.run import Recorded, Run
from tests.message_values import named
from tests.node.learner.builders import proved, result, row
from tests.node.learner.stand_in import StandInTrainer
from tests.node.learner.works import taken
from tests.waiting import until

FAILED = AttemptOutcome.FAILED


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

    async def taken(self, count: int, purpose: Purpose = Purpose.EVAL) -> list[Attempt]:
        """So many attempts, as provers lease them."""
        return await taken(self.bus, purpose, count)

    async def record(self, attempt: Attempt, outcome: AttemptOutcome = AttemptOutcome.PROVED) -> None:
        """What the collector does with a result that was judged."""
        verdict = proved() if outcome is AttemptOutcome.PROVED else Verdict(outcome)
        assert await self.run.store.call(Store.record, result(attempt, outcome), verdict, 1.0)
        await self.run.recorded(Recorded(attempt.attempt_id, attempt.theorem_id, attempt.purpose, verdict, 2))

    async def finished(self, label: str) -> EvaluationRow:
        async def there() -> bool:
            found = await self.run.store.call(Store.evaluation, label)
            return found is not None and found.finished is not None

        await until(there, what=f"the end of {label}")
        return next(each for each in await self.rows() if each.label == label)

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
    said = {"searches": searches}
    prover = NodeInfo(named("prover"), role="prover", host="h", pid=1, version="0", started=0.0, capacity=said)
    await bus.register(prover)
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
        for attempt in attempts:
            await world.record(attempt, FAILED)
        await world.finished("step-0")
        assert len(await world.taken(3, Purpose.TRAIN)) == 3  # all slots are free for learning again
    assert run.ctx.heartbeat().values["beside_total"] == 6


async def test_when_training_is_faster_the_next_one_takes_the_newest_version(
    run: Run, bus: Bus, tmp_path: Path
) -> None:
    run.settings.keep_weights = 1
    async with process(run, bus, tmp_path) as world:
        first = await world.taken(6)
        for _ in range(3):
            await world.train()
        state = await bus.get_state(KEY, WeightsState)
        assert state is not None and [pin.version for pin in state.pinned] == [1] and state.version == 4
        for attempt in first:
            await world.record(attempt)
        await world.finished("step-0")
        second = await world.taken(6)
        assert {attempt.weights for attempt in first} == {1} and {attempt.weights for attempt in second} == {4}
        assert [each.label for each in await world.rows()] == ["step-0", "step-3"]
        assert {each.theorem_id: each.seed for each in first} == {each.theorem_id: each.seed for each in second}


async def test_the_next_one_waits_for_as_many_steps_as_were_asked_for_unless_the_operator_asks(
    run: Run, bus: Bus, tmp_path: Path
) -> None:
    run.settings.evaluation.every = 3
    async with process(run, bus, tmp_path) as world:
        first = await world.taken(6)
        with pytest.raises(UserError, match="step-0 is not over"):
            await world.beside.ask()
        for attempt in first:
            await world.record(attempt)
        await world.finished("step-0")
        with pytest.raises(UserError, match="step 0 are evaluated already"):
            await world.beside.ask()
        for _ in range(2):
            await world.train()
        await world.beside._turn()
        assert len(await world.rows()) == 1
        await world.train()
        for attempt in await world.taken(6):
            await world.record(attempt)
        await world.finished("step-3")
        await world.train()
        assert "step 4 are evaluated" in await world.beside.ask()
        await world.taken(6)
        assert [each.step for each in await world.rows()] == [0, 3, 4]
        world.beside.end()
        with pytest.raises(UserError, match="no evaluation beside learning"):
            await world.beside.ask()


async def test_after_a_kill_it_goes_on_where_it_was_with_the_version_that_it_had(
    run: Run, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        for attempt in again.values():
            await world.record(attempt, FAILED)
        await world.finished("step-0")
        assert [(line.label, line.weights, line.statements, line.solved) for line in world.lines()] == [
            ("step-0", 1, 6, 1)
        ]
    assert (await run.store.call(Store.audit)).sound


async def test_a_version_that_is_gone_and_other_statements_than_before_end_an_evaluation_and_not_the_run(
    run: Run, bus: Bus, tmp_path: Path
) -> None:
    async with process(run, bus, tmp_path) as world:
        await world.taken(6)
    next(run.directory.weights.glob("weights-000001*")).unlink()
    async with process(run, bus, tmp_path, step=1) as world:
        await until(lambda: _begun(world, 2), what="the next evaluation")
        gone, newest = await world.rows()
        assert gone.given_up is not None and gone.finished is None
        assert (newest.label, newest.weights) == ("step-1", 2) and world.lines() == []
        (attempt,) = await world.taken(1)
    run.data.beside[:] = [each for each in run.data.beside if each.theorem.name != attempt.theorem_id]
    async with process(run, bus, tmp_path, step=2) as world:
        await until(lambda: _begun(world, 3), what="the one without a mixture")
        assert (await world.rows())[1].given_up is not None


async def _begun(world: World, count: int) -> bool:
    return len(await world.rows()) == count


async def test_one_that_is_unfinished_when_learning_ends_has_no_result(run: Run, bus: Bus, tmp_path: Path) -> None:
    async with process(run, bus, tmp_path) as world:
        attempts = await world.taken(6)
        for attempt in attempts[:5]:
            await world.record(attempt)
        world.beside.end()
        await until(lambda: _given_up(world))
        # Its version stays for the attempt that is out, also while a phase pins and lets go another.
        await world.train()
        await world.publisher.pin([2], "phase")
        await world.publisher.pin([], "phase")
        state = await bus.get_state(KEY, WeightsState)
        assert state is not None and [pin.version for pin in state.pinned] == [1]
        await world.record(attempts[5])
        await asyncio.wait_for(world.task, 30)
        state = await bus.get_state(KEY, WeightsState)
        assert state is not None and state.pinned == ()
        assert world.lines() == [] and len(await world.rows()) == 1
    async with process(run, bus, tmp_path, step=1) as world:  # the phase goes on in another run of the plan
        assert world.lines() == []
        await world.taken(6)
        assert [each.label for each in await world.rows()] == ["step-0", "step-1"]


async def _given_up(world: World) -> bool:
    (only,) = await world.rows()
    return only.given_up is not None and only.finished is None
