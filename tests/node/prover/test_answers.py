"""Answers that a prover cannot use as they are: weights not there yet, numbers that are none, too few outcomes."""

import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from common.bus import Bus, BusyError, Here
from common.lean import Branch, Outcome, OutcomeKind, Theorem
from common.limits import LONGEST
from common.protocol import subjects
from common.protocol.messages import (
    Busy,
    Failure,
    FailureKind,
    LeanRunReply,
    LeanRunRequest,
    Message,
    SampledTactic,
    TacticReply,
)
from common.settings import Sampling
from node.prover.environment import TRANSPORT_SECONDS, UNKNOWN_SECONDS, LeanEnvironment
from node.prover.policies.policy import BadAdvice, InferencePolicy
from tests.node.prover.nodes import answer_tactics

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
