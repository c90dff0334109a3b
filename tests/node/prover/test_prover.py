"""Leases of attempts through a real broker, what dies or is missing meanwhile, and answers that cannot be used."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import pytest

from broker import streams
from broker.launcher import Server
from common.bus import Bus, BusSettings, BusyError, Here, RemoteFailure, Unanswered
from common.lean import Branch, Outcome, OutcomeKind, Theorem
from common.limits import LONGEST
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult
from common.protocol.messages import (
    Busy,
    Failure,
    FailureKind,
    LeanRunReply,
    LeanRunRequest,
    Message,
    SampledTactic,
    SearchesAtWork,
    SearchesQuestion,
    TacticReply,
    TacticRequest,
)
from common.records.searches import unpacked
from common.settings import Sampling
from node.prover.environment import TRANSPORT_SECONDS, UNKNOWN_SECONDS, LeanEnvironment
from node.prover.policies.policy import BadAdvice, InferencePolicy
from tests.background import RunOnBroker, SharedLean, start_again
from tests.message_values import attempt
from tests.node.prover.nodes import answer_tactics, prover_process, running
from tests.results import results
from tests.waiting import eventually, until

THEOREM = Theorem("t", "(p : Prop)", "p → p")


async def publish(bus: Bus, count: int, purpose: str = "train", prefix: str = "a", **changes: Any) -> list[str]:
    """Attempts in the queue; returns their ids."""
    ids = [f"{prefix}{index}" for index in range(count)]
    fields = {"theorem_id": prefix, "theorem": THEOREM, "simulations": 8, **changes}
    for attempt_id in ids:
        await bus.publish_durable(subjects.todo(purpose), attempt(attempt_id, purpose, **fields), message_id=attempt_id)
    return ids


async def collect(bus: Bus, wanted: set[str], timeout: float = 60.0) -> list[AttemptResult]:
    """Results until every wanted attempt has one; each is acknowledged. Repeated attempts are kept."""
    found: list[AttemptResult] = []
    async with asyncio.timeout(timeout):
        while {result.attempt_id for result in found} != wanted:
            for lease in await bus.lease("results-learner", AttemptResult, limit=50, wait=0.2):
                found.append(lease.message)
                await lease.ack()
    return found


async def test_no_more_is_taken_than_there_are_slots_and_a_draining_prover_hands_it_back(bus: Bus) -> None:
    ids = await publish(bus, 5)
    async with running(bus, searches=2) as prover:  # there is no lean-proxy, so the attempts stay
        await eventually(lambda: len(prover._running) == 2)
        assert ((await bus.leased())["todo-train"], (await bus.backlog())["todo-train"]) == (2, 3)
    again = await bus.lease("todo-train", Attempt, limit=5, wait=5.0)
    for _ in range(2):  # long before leases run out
        again += await bus.lease("todo-train", Attempt, limit=5, wait=1.0) if len(again) < 5 else []
    assert sorted(lease.message.attempt_id for lease in again) == ids
    assert sorted(lease.deliveries for lease in again) == [1, 1, 1, 2, 2]


async def test_urgent_purposes_come_first(bus: Bus) -> None:
    for count, purpose in ((2, "train"), (1, "eval"), (1, "interactive"), (1, "disprove")):
        await publish(bus, count, purpose, purpose[0])
    async with running(bus, searches=3) as prover:
        await eventually(lambda: len(prover._running) == 3)
        taken = sorted(task.get_name() for task in prover._running)
    assert taken == ["attempt d0", "attempt e0", "attempt i0"]


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
    assert sorted((result.attempt_id, result.outcome) for result in found) == [(each, "error") for each in ids]
    assert all("Unanswered" in result.message for result in found)
    assert (await bus.leased())["todo-train"] == 0


async def test_lease_is_renewed_while_an_attempt_is_played(bus: Bus) -> None:

    await bus.ensure(streams.run_spec(bus.run, ack_wait=1.5))
    await publish(bus, 1)
    async with running(bus, lean_patience=2.5):
        (result,) = await results(bus, 1)
    assert result.outcome is AttemptOutcome.ERROR
    assert await bus.lease("todo-train", Attempt, limit=1, wait=1.0) == []
    assert (await bus.backlog())["results-learner"] == 0


async def test_a_prover_shows_the_searches_that_go_on(bus: Bus, lean_proxy: object) -> None:
    endless = Theorem("endless", "(f : Nat → Nat) (n : Nat)", "f n = f (n + 1)")
    async with running(bus, policy="tactics") as prover:
        subject = subjects.searches_at_work(prover._id)

        async def ask(attempt_id: str = "") -> SearchesAtWork:
            question = SearchesQuestion(attempt=attempt_id)
            return await bus.request_patiently(subject, question, SearchesAtWork, timeout=10.0, deadline=30.0)

        assert (await ask()).searches == ()
        await publish(bus, 1, prefix="endless", theorem=endless, simulations=10**6)
        await eventually(lambda: prover.counts["simulations"] >= 3)
        found = await ask("endless0")
        (search,) = found.searches
        assert (search.attempt_id, search.theorem_id, search.purpose) == ("endless0", "endless", "train")
        (tree,) = unpacked("endless0", found.trees)
        assert 3 <= tree.simulations <= prover.counts["simulations"]
        assert len(tree.states) > 1 and tree.theorem == endless.signature
        assert (await ask("another")).trees == b""
    assert not prover._at_work


# --- the broker or the lean-proxies die while attempts are played -----------------------------------------------------
# Nothing closes it at once, so that a search is under way when something dies.
EXISTS = Theorem("t", "(α : Type) (P Q : α → Prop)", "(∃ x, P x ∧ Q x) → (∃ x, P x) ∧ (∃ x, Q x)")


async def kill(server: Server, bus: Bus) -> None:
    await server.stop(grace=0)  # kill -9
    await eventually(lambda: not bus.connected)


async def restart(server: Server, bus: Bus) -> None:
    await start_again(server)
    await eventually(lambda: bus.connected)


async def test_killed_broker_costs_no_attempt(warm_lean: SharedLean, own_broker: Server) -> None:
    bus = await Bus.connect(own_broker.bus, run="outage", name="test", wait=10)
    await streams.ensure(bus)
    try:
        with warm_lean.served(RunOnBroker("outage", own_broker.bus)):
            ids = await publish(bus, 2, theorem=EXISTS, simulations=64)
            async with running(bus) as prover:
                await eventually(lambda: prover.counts["simulations"] >= 3, timeout=60)
                await kill(own_broker, bus)
                await restart(own_broker, bus)
                found = await collect(bus, {*ids}, timeout=90)
    finally:
        await bus.close()
    assert {result.outcome for result in found} == {"proved"}


async def no_answer(request: Message) -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_an_outage_stops_the_clock_of_patience_and_does_not_reset_it(own_broker: Server) -> None:
    patience = 2.0
    bus = await Bus.connect(own_broker.bus, run="outage", name="test", wait=10)
    policy = InferencePolicy(bus, weights=None, timeout=60.0, patience=patience)
    lean = LeanEnvironment(bus, EXISTS, tactic_timeout=30.0, patience=patience)
    try:
        await bus.serve(subjects.TACTIC_REQUEST, TacticRequest, no_answer, queue="inference", limit=8)
        await bus.serve(subjects.LEAN_RUN, LeanRunRequest, no_answer, queue="lean-proxy", limit=8)
        asking = [asyncio.create_task(ask) for ask in (policy.advise("⊢ True", 3, seed=1), lean.open())]
        await asyncio.sleep(patience / 2)
        await kill(own_broker, bus)
        await asyncio.sleep(0.6 * patience)  # longer than what is left of it
        await restart(own_broker, bus)
        assert not any(each.done() for each in asking), "the outage does not count"
        later = asyncio.create_task(policy.advise("⊢ False", 3, seed=1))
        ends = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(end, Unanswered) for end in ends)
        assert not later.done(), "what was asked before has less patience left"
        later.cancel()
    finally:
        await kill(own_broker, bus)  # so that closing does not wait for answers
        await bus.close()


# --- provers as processes of their own --------------------------------------------------------------------------------
THEOREMS = {
    "identity": Theorem("t", "(p : Prop)", "p → p"),
    "swap": Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p"),
    "choice": Theorem("t", "(p q r : Prop)", "p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)"),
    "zero": Theorem("t", "(n : Nat)", "n + 0 = n"),
}


async def test_prover_killed_before_its_ack(bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path) -> None:
    async def nothing_is_leased() -> bool:
        return not (await bus.leased())["todo-train"] and not (await bus.backlog())["todo-train"]

    await bus.ensure(streams.run_spec(bus.run, ack_wait=2.0))  # so that the dead prover's leases soon run out
    fault = "prover:published-not-acked#2"
    async with prover_process(bus, broker, "fixed", fault=fault, cwd=tmp_path) as first:
        ids = []
        for name, theorem in THEOREMS.items():
            ids += await publish(bus, 1, "train", name, theorem=theorem, simulations=16)
        assert await asyncio.wait_for(first.wait(), 60) == -9
    assert (await bus.leased())["todo-train"] >= 1, "the lease of the published result is still open"
    async with prover_process(bus, broker, "fixed", cwd=tmp_path):
        found = await collect(bus, {*ids})
        await until(nothing_is_leased, what="an empty queue")
    for lease in await bus.lease("results-learner", AttemptResult, limit=50, wait=0.5):
        found.append(lease.message)
        await lease.ack()
    played = [result.attempt_id for result in found]
    assert set(played) == set(ids), "every attempt has a result"
    assert len(played) > len(ids), "the attempt in the critical window was played again"
    assert {result.outcome for result in found} == {"proved"}


# --- answers that a prover cannot use as they are ---------------------------------------------------------------------
R = TypeVar("R", bound=Message)

SAMPLES = (SampledTactic("simp", -1.0), SampledTactic("exact (", -1.0, complete=False), SampledTactic("simp", -1.0))


async def answer_lean(bus: Bus, answer: Callable[[LeanRunRequest], Message]) -> None:
    async def handler(request: LeanRunRequest) -> Message:
        return answer(request)

    await bus.serve(subjects.LEAN_RUN, LeanRunRequest, handler, queue="lean-proxy", limit=8)


def policy(bus: Bus, patience: float = 30.0, **changes: Any) -> InferencePolicy:
    return InferencePolicy(bus, weights=7, timeout=5.0, patience=patience, **changes)


def lean(bus: Bus, patience: float = 30.0) -> LeanEnvironment:
    return LeanEnvironment(bus, Theorem("t", "", "True"), tactic_timeout=1.0, patience=patience)


async def test_busy_and_unknown_weights_are_waited_out(bus: Bus) -> None:
    reply = TacticReply(tactics=SAMPLES, value=-2.5, weights=7, tokens=21)
    waits = [Busy(retry_after=0.01), Failure(reason="fetching", kind=FailureKind.UNKNOWN_WEIGHTS), reply]
    asked = await answer_tactics(bus, waits)
    advice = await policy(bus).advise("⊢ True", 3, seed=11)
    assert [(proposal.tactic, advice.weights, advice.value) for proposal in advice.proposals] == [("simp", 7, -2.5)]
    assert (advice.proposals[0].log_probability, advice.samples, advice.tokens) == (-1.0, 3, 21)
    assert [(each.state, each.samples, each.seed, each.weights) for each in asked] == [("⊢ True", 3, 11, 7)] * 3


async def test_a_state_is_sampled_again_at_another_temperature(bus: Bus) -> None:
    reply = TacticReply(tactics=SAMPLES, value=-2.5, weights=7, tokens=21)
    asked = await answer_tactics(bus, [reply] * 4)
    for temperature in (1.0, 2.0):
        for again in (False, True):
            varied = policy(bus, sampling=Sampling(temperature), resampling=1.5)
            await varied.advise("⊢ True", 3, seed=11, again=again)
    assert [request.sampling.temperature for request in asked] == [1.0, 1.5, 2.0, 2.0]


async def test_waiting_for_weights_and_asking_busy_nodes_share_one_patience(bus: Bus) -> None:
    fetching = Failure(reason="fetching", kind=FailureKind.UNKNOWN_WEIGHTS)
    asked = await answer_tactics(bus, [fetching, fetching, Busy(retry_after=1.0)])
    with pytest.raises(BusyError):
        await policy(bus, patience=1.5).advise("⊢ True", 3, seed=1)
    assert len(asked) == 3, "after two pauses of half a second, a second more is too much"


MISSING = Failure(reason="weights 7 are not served here", kind=FailureKind.UNKNOWN_WEIGHTS)


@pytest.mark.parametrize(
    ("answers", "timeout", "requests"),
    [
        # At the beginning and after two pauses of half a second.
        ([MISSING] * 9, 5.0, 3),
        # The wait begins anew when nodes were busy in between.
        ([MISSING, MISSING, Busy(retry_after=1.0), MISSING, MISSING, TacticReply(SAMPLES, -2.5, 7)], 0.5, 6),
    ],
)
async def test_weights_that_no_node_has_do_not_hold_a_search_as_long_as_no_node_at_all(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, answers: list[Message], timeout: float, requests: int
) -> None:
    monkeypatch.setattr("common.bus.bus.UNKNOWN_WEIGHTS_SECONDS", 1.2)
    asked = await answer_tactics(bus, answers)
    refused = pytest.raises(RemoteFailure, match="not served here") if answers[-1] is MISSING else nullcontext()
    with refused:
        await InferencePolicy(bus, weights=7, timeout=timeout, patience=600.0).advise("⊢ True", 3, seed=1)
    assert len(asked) == requests


async def test_value_that_is_no_number_is_refused(bus: Bus) -> None:
    await answer_tactics(bus, [TacticReply(tactics=SAMPLES, value=math.nan, weights=7)])
    with pytest.raises(BadAdvice, match="weights 7"):
        await policy(bus).advise("⊢ True", 3, seed=1)


WRONG = (Outcome(OutcomeKind.GOALS), Outcome(OutcomeKind.PROVED, (Branch("⊢ True"),)))
ERROR = Outcome(OutcomeKind.ERROR)


@pytest.mark.parametrize(("told", "kinds"), [((ERROR,), "LLL"), ((*WRONG, ERROR), "LLE")])
async def test_too_few_outcomes_or_contradictory_ones_are_lost(bus: Bus, told: tuple[Outcome, ...], kinds: str) -> None:
    await answer_lean(bus, lambda request: LeanRunReply(state="⊢ True", outcomes=told))
    outcomes = await lean(bus).run((), ["a", "b", "c"])
    expected = {"L": OutcomeKind.LOST, "E": OutcomeKind.ERROR}
    assert [outcomes[tactic].kind for tactic in "abc"] == [expected[kind] for kind in kinds]


async def test_without_a_limit_of_its_own_a_prover_waits_as_long_as_the_lean_proxy_lets_tactics_run() -> None:
    requests: list[LeanRunRequest] = []
    waits: list[float] = []

    class Recorded(Here):
        async def ask(self, subject: str, message: Message, reply: type[R], *, timeout: float, patience: float) -> R:
            waits.append(timeout)
            return await super().ask(subject, message, reply, timeout=timeout, patience=patience)

    async def answer(request: LeanRunRequest) -> Message:
        requests.append(request)
        return LeanRunReply(state="⊢ True", outcomes=(Outcome(OutcomeKind.ERROR),) * len(request.tactics), longest=40.0)

    here = Recorded()
    here.serve(subjects.LEAN_RUN, answer)
    for limit in (0.0, 1.0):
        environment = LeanEnvironment(here, Theorem("t", "", "True"), tactic_timeout=limit, patience=30.0)
        for tactic in ("simp", "omega"):
            await environment.run((), [tactic])
    assert [request.timeout for request in requests] == [LONGEST, LONGEST, 1.0, 1.0]
    assert waits[1] - waits[0] == 2 * (40.0 - UNKNOWN_SECONDS), "two slow tactics, each as long as the proxy says"
    assert waits[2] == waits[3] == TRANSPORT_SECONDS + 2.0


async def test_a_search_comes_back_to_the_lean_proxy_that_has_kept_its_states_while_that_can_answer(bus: Bus) -> None:
    asked: list[str] = []
    busy = False

    def says(node: str, holder: str) -> Callable[[LeanRunRequest], Awaitable[Message]]:
        async def answer(request: LeanRunRequest) -> Message:
            asked.append(node)
            if busy and node == "held":
                return Busy(retry_after=5.0)
            return LeanRunReply("⊢ True", (Outcome(OutcomeKind.ERROR),) * len(request.tactics), holder=holder)

        return answer

    await bus.serve(subjects.LEAN_RUN, LeanRunRequest, says("any", "lean-proxy-1"), queue="lean-proxy", limit=8)
    held = subjects.lean_run_at("lean-proxy-1")
    serving = await bus.serve(held, LeanRunRequest, says("held", "lean-proxy-1"), queue=None, limit=8)
    environment = lean(bus)
    for _ in range(3):
        await environment.run((), ["simp"])
    assert asked == ["any", "held", "held"]
    busy = True
    await environment.run((), ["simp"])
    assert asked[3:] == ["held", "any"], "others may answer sooner"
    busy = False
    await serving.unsubscribe()
    asked.clear()
    for _ in range(2):
        await environment.run((), ["simp"])
    assert asked == ["any", "any"], "it has gone"


async def test_a_lean_proxy_that_names_a_holder_which_cannot_answer_is_not_asked_for_ever(bus: Bus) -> None:
    names = iter(["lean-proxy-1", "lean-proxy-1", "x.y", "a b", "a\n"])

    async def answer(request: LeanRunRequest) -> Message:
        error = (Outcome(OutcomeKind.ERROR),) * len(request.tactics)
        return LeanRunReply("⊢ True", error, holder=next(names, ""))

    async def fails(request: LeanRunRequest) -> Message:
        return Failure(reason="Lean is broken", kind=FailureKind.ERROR)

    await bus.serve(subjects.LEAN_RUN, LeanRunRequest, answer, queue="lean-proxy", limit=8)
    await bus.serve(subjects.lean_run_at("lean-proxy-1"), LeanRunRequest, fails, queue=None, limit=8)
    environment = lean(bus, patience=0.2)
    kinds = [(await environment.run((), ["simp"]))["simp"].kind for _ in range(7)]
    # A name that is none is a malformed reply: that one request is lost, and the next one goes to any lean-proxy.
    assert kinds == [OutcomeKind.ERROR] * 2 + [OutcomeKind.LOST] * 3 + [OutcomeKind.ERROR] * 2
