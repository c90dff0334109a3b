"""Attempts on their way out, over a real broker, and what is slow of a mesh."""

import asyncio
import sqlite3
from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest

from broker import streams
from broker.watch import StreamKeeper
from common.bus import Bus, BusSettings, names
from common.bus.stored import api
from common.lean import Context, Place, Theorem
from common.life import faults
from common.protocol import subjects
from common.protocol.attempts import LEARNER, Attempt, Purpose
from common.records.lately import Fault
from common.records.rows import TheoremRow
from common.records.store import Store
from node.lean.text.script import below
from node.learner.attempts import dispatcher
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.run import Run
from tests.message_values import named, node_info
from tests.node.learner.builders import FAILED, result, row
from tests.node.learner.works import check_fault, collecting, dispatching, taken
from tests.node.prover.nodes import inference_node, run_folder, running
from tests.waiting import eventually, until


async def evaluate(run: Run, works: Dispatcher, label: str = "before", weights: int = 1) -> None:
    """Dispatch an evaluation of the test statements `v` and `w`."""
    evaluation = await run.store.call(Store.begin_evaluation, label, weights, 4, 0.0)
    await works.evaluate(run.data.test, evaluation, weights, 4)


async def test_attempts_follow_the_mesh_unless_paused_and_never_touch_test_statements(run: Run, bus: Bus) -> None:
    run.settings.matchmaker.disprove_chance = 0.0
    async with dispatching(run) as works:
        assert "no attempts to learn" in await works.pause()
        works.learning = True
        await evaluate(run, works)
        await taken(bus, "eval", 2)  # evaluations go on; the loop has had its turn
        assert works.dispatched == 2
        await works.resume()
        attempts = await taken(bus, "train", 2)
    assert {attempt.theorem_id for attempt in attempts} == {"t", "u"}
    assert len({attempt.attempt_id for attempt in attempts}) == 2
    assert works.outstanding == {"eval": 2, "train": 2} and works.dispatched == 4
    with pytest.raises(ValueError, match="must not train"):
        works._attempt(1, row("v", "test"), Purpose.TRAIN, 16, 1, None)


async def test_a_proof_that_waits_for_its_verdict_holds_no_search_slot(run: Run, bus: Bus) -> None:
    run.settings.matchmaker.disprove_chance = 0.0
    async with dispatching(run) as works:
        works.outstanding["train"] = 4  # as many as wanted: nothing more would begin
        works.learning = True
        with run.judged("train"):
            assert len(await taken(bus, "train", 1)) == 1
    assert works.outstanding == {"train": 5} and works.dispatched == 1


async def test_training_attempts_explore_evaluations_do_not_and_all_keep_their_searches(run: Run, bus: Bus) -> None:
    run.settings.matchmaker.disprove_chance = 0.0
    run.settings.matchmaker.explore_chance = 1.0
    async with dispatching(run) as works:
        await evaluate(run, works)
        evaluated, _ = await taken(bus, "eval", 2)
        run.settings.keep_searches = 0.5
        works.learning = True
        attempts = await taken(bus, "train", 2)
    assert {attempt.explore for attempt in attempts} == {8}
    assert evaluated.explore == 0
    assert evaluated.keep_search and {attempt.keep_search for attempt in attempts} == {True, False}


async def test_a_gap_in_a_file_is_never_disproved_and_a_statement_below_one_is(run: Run, bus: Bus) -> None:
    """The goal of a gap is not in its text, so there is no negation to write down."""
    run.settings.matchmaker.disprove_chance = 1.0
    context = Context.of("def double (n : Nat) : Nat := n + n\n")
    gap = Place(context, "theorem a : double 1 = 2 := by\n  ", "\n")
    run.data.train[:] = [
        TheoremRow(Theorem("a", "", "double 1 = 2", place=gap), "train", "file", 1),
        TheoremRow(below(context, Theorem("b", "(n : Nat)", "double n = 0")), "train", "file", 1),
    ]
    run.matchmaker.__init__(["a", "b"], run.settings.matchmaker, 1)  # type: ignore[misc]
    await run.store.call(Store.add_theorems, run.data.train)
    async with dispatching(run) as works:
        works.learning = True
        (proof,) = await taken(bus, "train", 1)
        (disproof,) = await taken(bus, "disprove", 1)
    assert proof.theorem == run.data.train[0].theorem
    assert disproof.theorem.place is not None and disproof.theorem.place.context == context
    assert disproof.theorem.place.before == "theorem proofmesh_theorem : ¬ (∀ (n : Nat), double n = 0) := by\n  "


async def test_capacities_are_believed_within_reason(run: Run, bus: Bus) -> None:
    works = await Dispatcher.create(run)
    for number, searches in enumerate((2**53, 3)):
        await bus.register(node_info(named(f"prover-{number}"), capacity={"searches": searches}))
    assert await works.slots() == dispatcher.MOST_SEARCHES + 3


async def test_evaluations_of_a_theorem_have_the_same_seed(run: Run, bus: Bus) -> None:
    found = []
    async with dispatching(run) as works:
        for label, weights in (("before", 1), ("after", 9)):
            await evaluate(run, works, label, weights)
            found.append({attempt.theorem_id: attempt for attempt in await taken(bus, "eval", 2)})
    before, after = found
    assert before.keys() == after.keys() == {"v", "w"}
    assert [before[name].seed for name in before] == [after[name].seed for name in before]
    assert before["v"].seed != before["w"].seed
    assert {attempt.weights for attempt in before.values()} == {1} and after["v"].weights == 9
    assert before["v"].attempt_id != after["v"].attempt_id


async def test_what_is_outstanding_and_lost_is_sent_again(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    async with dispatching(run) as works:
        await evaluate(run, works)
        first = await taken(bus, "eval", 2)
    await run.store.call(Store.record, result(first[0], "failed"), FAILED, 1.0)
    await streams.remove(bus)
    await streams.ensure(bus)
    async with dispatching(run):
        again = await taken(bus, "eval", 1)
        assert [attempt.attempt_id for attempt in again] == [first[1].attempt_id] and again[0] == first[1]
        # Lost once more, while this learner runs: the broker holds nothing, and no result comes.
        monkeypatch.setattr(dispatcher, "LOST_AFTER", 0.1)
        more = await taken(bus, "eval", 1)
        assert [attempt.attempt_id for attempt in more] == [first[1].attempt_id]
    assert (await run.store.call(Store.audit)).sound


async def test_what_a_prover_holds_for_ever_is_sent_again(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    async with dispatching(run) as works:
        await evaluate(run, works)
        (held,) = await bus.lease("todo-eval", Attempt, limit=1, wait=30)
        while not (out := await run.store.call(Store.published_first, "eval", 1)):
            await bus.backlog()  # both are published before long
        assert out == [held.message.attempt_id], "the other one waits, for however long"
        async with held.kept():
            monkeypatch.setattr(dispatcher, "LOST_AFTER", 0.4)
            monkeypatch.setattr(dispatcher, "HELD_SECONDS", 0.0)
            _, again = await taken(bus, "eval", 2)
    assert again == held.message
    await held.ack()


async def test_attempts_that_vanish_are_sent_again(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of the others keep coming, so the mesh is never quiet."""
    monkeypatch.setattr(dispatcher, "LOST_AFTER", 0.2)
    keeper = StreamKeeper(run.ctx)
    async with dispatching(run) as works:
        await evaluate(run, works)
        await until(lambda: _waiting(bus, "todo-eval", 2))
        await api(bus._replies, f"STREAM.DELETE.{names.todo_stream(bus.run)}")
        await keeper.look()

        async def play() -> None:
            while True:
                works._recorded("train")
                await asyncio.sleep(0.02)

        playing = asyncio.create_task(play())
        again = await taken(bus, "eval", 2)
        playing.cancel()
        assert {attempt.theorem_id for attempt in again} == {"v", "w"}
        assert works.outstanding["eval"] == 2


async def test_what_the_broker_holds_is_not_sent_twice(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "LOST_AFTER", 0.0)

    def not_once() -> int:
        """Attempts that are to be dispatched, or have been more than once."""
        with closing(sqlite3.connect(run.directory.database)) as db:
            ((count,),) = db.execute("SELECT COUNT(*) FROM outbox WHERE published IS NULL OR tries > 1")
        return int(count)

    async with dispatching(run) as works:
        await evaluate(run, works)
        await until(lambda: _waiting(bus, "todo-eval", 2))
        await eventually(lambda: not_once() == 0)
        (held,) = await bus.lease("todo-eval", Attempt, limit=1, wait=10)
        for _ in range(3):
            await works._look_for_losses()
        assert not_once() == 0
        # Played, and its result waits for the learner.
        await bus.publish_durable(subjects.result(LEARNER), result(held.message, "failed"), message_id="r")
        await held.ack()
        for _ in range(3):
            await works._look_for_losses()
        assert not_once() == 0


async def _waiting(bus: Bus, consumer: str, count: int) -> bool:
    return (await bus.backlog())[consumer] == count


# --- four real faults on a mesh with real Lean, network, prover and records: top and report name each -----------------
SLOW = {Fault.LEAN: "lean-proxy:run=1.0", Fault.INFERENCE: "inference:request=1.0"}

PAUSE = 4.0
"""Seconds for which the learner takes no results."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [Fault.STARVED, *SLOW, Fault.PAUSED, Fault.NONE],
)
async def test_top_and_report_name_what_is_slow(
    run: Run,
    bus: Bus,
    broker: BusSettings,
    lean_proxy: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
) -> None:
    run.settings.matchmaker.budget = run.settings.matchmaker.budget_limit = 4
    starved = fault is Fault.STARVED
    async with AsyncExitStack() as stack:
        # 1. A mesh. At most four attempts are outstanding: with eight slots most of these are free.
        if not starved:
            await stack.enter_async_context(inference_node(bus, broker, f"own:{run_folder(tmp_path)}"))
        monkeypatch.setenv(faults.SLOW, SLOW.get(fault, ""))
        await stack.enter_async_context(
            running(bus, policy="tactics" if starved else "inference", searches=8 if starved else 2)
        )
        works = await stack.enter_async_context(dispatching(run))
        works.learning = True
        if fault is Fault.PAUSED:
            await until(lambda: _unread(bus), what="results that wait")
            await asyncio.sleep(PAUSE)
            works.learning = False  # so that no later results dilute it
        # 2. The records of some attempts.
        await stack.enter_async_context(collecting(run))
        wanted = 16 if starved else 2 if fault is Fault.PAUSED else 4
        await until(lambda: _recorded(run, wanted), what="records")
        # 3. Both name it.
        await check_fault(run, bus, fault)


async def _unread(bus: Bus) -> bool:
    return (await bus.backlog())["results-learner"] >= 2


async def _recorded(run: Run, count: int) -> bool:
    return (await run.store.call(Store.lately)).attempts >= count
