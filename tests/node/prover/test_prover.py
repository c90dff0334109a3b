"""Leases of attempts through a real broker: order, slots, draining, poison, infrastructure that is missing."""

from common.bus import Bus
from common.lean import Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome
from common.protocol.messages import SearchesAtWork, SearchesQuestion
from common.records.searches import unpacked
from tests.node.prover.nodes import running
from tests.results import results
from tests.waiting import eventually

THEOREM = Theorem("t", "(p : Prop)", "p → p")


async def publish(bus: Bus, count: int, purpose: str = "train", prefix: str = "a") -> list[str]:
    """Attempts in the queue; returns their ids."""
    ids = [f"{prefix}{index}" for index in range(count)]
    for attempt_id in ids:
        attempt = Attempt(
            attempt_id=attempt_id, theorem_id="t", theorem=THEOREM, purpose=purpose, simulations=8, seed=1
        )
        await bus.publish_durable(subjects.todo(purpose), attempt, message_id=attempt_id)
    return ids


async def test_no_more_attempts_are_taken_than_there_are_slots(bus: Bus) -> None:
    await publish(bus, 5)
    async with running(bus, searches=2) as prover:  # there is no lean-proxy, so the attempts stay
        await eventually(lambda: len(prover._running) == 2)
        assert (await bus.leased())["todo-train"] == 2
        assert (await bus.backlog())["todo-train"] == 3


async def test_urgent_purposes_come_first(bus: Bus) -> None:
    await publish(bus, 2, "train", "t")
    await publish(bus, 1, "eval", "e")
    await publish(bus, 1, "interactive", "i")
    await publish(bus, 1, "disprove", "d")
    taken = []
    async with running(bus, searches=3) as prover:
        await eventually(lambda: len(prover._running) == 3)
        taken = sorted(task.get_name() for task in prover._running)
    assert taken == ["attempt d0", "attempt e0", "attempt i0"]


async def test_draining_prover_hands_back_what_it_holds(bus: Bus) -> None:
    ids = await publish(bus, 2)
    async with running(bus) as prover:
        await eventually(lambda: len(prover._running) == 2)
    again = await bus.lease("todo-train", Attempt, limit=5, wait=5.0)
    again += await bus.lease("todo-train", Attempt, limit=5, wait=1.0) if len(again) < 2 else []
    assert sorted(lease.message.attempt_id for lease in again) == ids
    assert {lease.deliveries for lease in again} == {2}


async def test_attempt_that_comes_too_often_is_reported_as_poisoned(bus: Bus) -> None:
    await publish(bus, 1)
    for _ in range(3):
        (lease,) = await bus.lease("todo-train", Attempt, limit=1, wait=5.0)
        await lease.hand_back()
    async with running(bus, max_deliveries=3):
        (result,) = await results(bus, 1)
    assert result.outcome is AttemptOutcome.POISONED
    assert result.message.startswith("delivered 4 times without a result")


async def test_absent_lean_proxies_are_an_error_and_no_failure(bus: Bus) -> None:
    ids = await publish(bus, 2)
    async with running(bus, lean_patience=0.3) as prover:
        found = await results(bus, 2)
        await eventually(lambda: prover.counts["attempts"] == 2)
    assert sorted(result.attempt_id for result in found) == ids
    assert {result.outcome for result in found} == {"error"}
    assert all("Unanswered" in result.message for result in found)
    assert (await bus.leased())["todo-train"] == 0


async def test_lease_is_renewed_while_an_attempt_is_played(bus: Bus) -> None:
    from broker import streams

    await bus.ensure(streams.run_spec(bus.run, ack_wait=1.5))
    await publish(bus, 1)
    async with running(bus, lean_patience=2.5):
        (result,) = await results(bus, 1)
    assert result.outcome is AttemptOutcome.ERROR
    assert await bus.lease("todo-train", Attempt, limit=1, wait=1.0) == []
    assert (await bus.backlog())["results-learner"] == 0


async def test_a_prover_shows_the_searches_that_go_on(bus: Bus, lean_proxy: object) -> None:
    endless = Theorem("endless", "(f : Nat → Nat) (n : Nat)", "f n = f (n + 1)")
    attempt = Attempt(
        attempt_id="a0", theorem_id="endless", theorem=endless, purpose="train", simulations=10**6, seed=1
    )
    async with running(bus, policy="tactics") as prover:
        subject = subjects.searches_at_work(prover._id)

        async def ask(attempt_id: str = "") -> SearchesAtWork:
            question = SearchesQuestion(attempt=attempt_id)
            return await bus.request_patiently(subject, question, SearchesAtWork, timeout=10.0, deadline=30.0)

        assert (await ask()).searches == ()
        await bus.publish_durable(subjects.todo("train"), attempt, message_id="a0")
        await eventually(lambda: prover.counts["simulations"] >= 3)
        found = await ask("a0")
        (search,) = found.searches
        assert (search.attempt_id, search.theorem_id, search.purpose) == ("a0", "endless", "train")
        (tree,) = unpacked("a0", found.trees)
        assert 3 <= tree.simulations <= prover.counts["simulations"]
        assert len(tree.states) > 1 and tree.theorem == endless.signature
        assert (await ask("another")).trees == b""
    assert not prover._at_work
