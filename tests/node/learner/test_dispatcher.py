"""Attempts on their way out, over a real broker: the dispatcher, the algorithms that it follows, and what is slow."""

import asyncio
import sqlite3
from collections.abc import Sequence
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
from common.protocol.attempts import LEARNER, Attempt, Method, Purpose
from common.records.lately import Fault
from common.records.rows import Standing, TheoremRow
from common.records.store import Store
from common.settings import Sampling
from node.lean.text.script import below
from node.learner.algorithms import ALGORITHMS
from node.learner.algorithms.algorithm import Asked, Choice, Found, named as algorithm_of
from node.learner.algorithms.alphaproof import AlphaProof
from node.learner.algorithms.expert_iteration import ExpertIteration
from node.learner.algorithms.hard_proofs import HardProofs, weight
from node.learner.attempts import dispatcher
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.choosing.matchmaker import Matchmaker, MatchmakerSettings
from node.learner.run import Run
from node.learner.settings import LearnerSettings
from tests.message_values import named, node_info
from tests.node.learner.builders import FAILED, planned, result, row, transition
from tests.node.learner.works import check_fault, claim, collecting, dispatching, judged, taken
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


async def test_statements_of_a_bank_with_long_proofs_get_more_simulations_to_learn_and_when_evaluated(
    run: Run, bus: Bus
) -> None:
    run.settings.matchmaker.disprove_chance = 0.0
    run.data.budget_factors.update(t=3.0, w=2.5)
    async with dispatching(run) as works:
        await evaluate(run, works)
        works.learning = True
        attempts = [*await taken(bus, "eval", 2), *await taken(bus, "train", 2)]
    budget = run.settings.matchmaker.budget
    assert {each.theorem_id: each.simulations for each in attempts} == {"v": 4, "w": 10, "t": 3 * budget, "u": budget}


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
    assert {attempt.explore for attempt in attempts} == {8} and evaluated.explore == 0
    assert evaluated.keep_search and {attempt.keep_search for attempt in attempts} == {True, False}


async def test_a_gap_in_a_file_is_never_disproved_and_a_statement_below_one_is(run: Run, bus: Bus) -> None:
    """The goal of a gap is not in its text, so there is no negation to write down."""
    run.settings.matchmaker.disprove_chance = 1.0
    context = Context.of("def double (n : Nat) : Nat := n + n\n")
    gap = Place(context, "theorem a : double 1 = 2 := by\n  ", "\n")
    theorems = Theorem("a", "", "double 1 = 2", place=gap), below(context, Theorem("b", "(n : Nat)", "double n = 0"))
    run.data.train[:] = [TheoremRow(theorem, "train", "file", 1) for theorem in theorems]
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
    seeds = [{name: each.seed for name, each in attempts.items()} for attempts in found]
    assert seeds[0] == seeds[1] and seeds[0].keys() == {"v", "w"} and seeds[0]["v"] != seeds[0]["w"]
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
        for played in (False, True):
            if played:  # and its result waits for the learner
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
        policy, searches = ("tactics", 8) if starved else ("inference", 2)
        await stack.enter_async_context(running(bus, policy=policy, searches=searches))
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


# --- the algorithms decide, and the learner does what they say, whichever it is ---------------------------------------
@pytest.mark.parametrize(
    ("settings", "kind", "method"),
    [
        ({}, AlphaProof, "mcts"),
        ({"method": "random"}, AlphaProof, "random"),
        ({"method": "best-first"}, ExpertIteration, "best-first"),
        ({"algorithm": "expert-iteration"}, ExpertIteration, "best-first"),
        ({"algorithm": "hard-proofs"}, HardProofs, "mcts"),
    ],
)
def test_both_keys_name_algorithms(settings: dict[str, str], kind: type[AlphaProof], method: str) -> None:
    learner = LearnerSettings(**settings)  # type: ignore[arg-type]
    learner.check()
    algorithm = algorithm_of(learner)
    assert type(algorithm) is kind and algorithm.attempt(Purpose.TRAIN, 3) == Asked(Method(method), 6, 3)


def test_an_algorithm_that_there_is_not_and_two_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="'alphazero': use one of alphaproof, expert-iteration, hard-proofs"):
        LearnerSettings(algorithm="alphazero").check()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="leave method out"):
        LearnerSettings(algorithm="alphaproof", method="best-first").check()


def test_all_algorithms_choose_as_their_settings_say_and_restarts_choose_the_same() -> None:
    matching = MatchmakerSettings(disprove_chance=0.3, explore_chance=0.4)
    for name in ALGORITHMS:
        algorithm = algorithm_of(LearnerSettings(algorithm=name, matchmaker=matching))
        first, again = (Matchmaker([f"t{index}" for index in range(9)], matching, seed=2) for _ in range(2))
        choices = [algorithm.choose(first, number) for number in range(400)]
        assert choices == [algorithm.choose(again, number) for number in range(400)]
        found = [choice for choice in choices if choice is not None]
        assert 0.2 < sum(choice.disproof for choice in found) / 400 < 0.4
        assert 0.3 < sum(choice.explore > 0 for choice in found) / 400 < 0.5


def test_proofs_after_failures_weigh_more_and_repeated_ones_less() -> None:
    steps = [transition(1), transition(2)]
    assert list(AlphaProof(LearnerSettings()).examples(Found(steps, Standing(failures=8), False))) == [1.0, 1.0]
    assert list(HardProofs(LearnerSettings()).examples(Found(steps, Standing(failures=8), False))) == [3.0, 3.0]
    assert [weight(failures, 0) for failures in (0, 3, 100)] == [1.0, 2.0, 4.0]
    assert weight(3, 1) == 1.0 and weight(0, 9) == 0.1


async def test_a_learner_draws_by_the_weights_that_its_algorithm_gives(run: Run, bus: Bus, lean_proxy: object) -> None:
    run.algorithm = HardProofs(run.settings)
    for _ in range(3):
        run.matchmaker.recorded("t", False, "failed")
    plans = [planned(1, "t"), planned(2, "u")]
    await run.store.call(Store.dispatch, plans, 0.0)
    await judged(run, bus, *(claim(plan.attempt) for plan in plans))
    recorded = await run.store.call(Store.examples)
    assert {each.weight for each in recorded[:2]} | {each.weight for each in recorded[2:]} == {2.0, 1.0}
    # Both proofs have the same steps: the first to be recorded stands in the buffer, with its weight.
    weights = run.replay.weights(run.replay.refs())
    assert len(run.replay) == 2 and weights in ([recorded[0].weight] * 2, None)


class OnlyShort(AlphaProof):
    """Proves the last theorem with a high temperature, and learns from the last step of its proofs alone."""

    def choose(self, theorems: Matchmaker, number: int) -> Choice | None:
        return Choice("u", disproof=False, simulations=7, explore=2)

    def attempt(self, purpose: Purpose, explore: int) -> Asked:
        return Asked(Method.RANDOM, samples=3, explore=explore, sampling=Sampling(temperature=1.5))

    def examples(self, found: Found) -> Sequence[float]:
        return [float(each.remaining_steps == 1) for each in found.transitions]


async def test_an_algorithm_is_a_class_and_a_row(
    run: Run, bus: Bus, lean_proxy: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ALGORITHMS, "only-short", f"{__name__}:OnlyShort")
    run.settings.algorithm = "only-short"
    run.settings.check()
    run.algorithm = algorithm_of(run.settings)
    async with dispatching(run) as works:
        works.learning = True
        attempt = (await taken(bus, "train", 1))[0]
        works.learning = False
    assert (attempt.theorem_id, attempt.simulations, attempt.method) == ("u", 7, "random")
    assert (attempt.samples, attempt.explore, attempt.sampling) == (3, 2, Sampling(temperature=1.5))
    await judged(run, bus, claim(attempt))
    recorded = await run.store.call(Store.examples)
    assert len(recorded) > len(run.replay) == sum(each.weight for each in recorded) > 0
