"""The broker or the lean-proxies die while attempts are played: every attempt still ends in a result, proved once."""

import asyncio
import dataclasses
from urllib.parse import urlparse

import pytest

from broker import streams
from broker.launcher import Server
from common.bus import Bus, Unanswered
from common.lean import Theorem
from common.protocol import subjects
from common.protocol.messages import LeanRunRequest, Message, TacticRequest
from node.prover.environment import LeanEnvironment
from node.prover.policies.policy import InferencePolicy
from tests.background import RunOnBroker, SharedLean
from tests.node.prover.nodes import collect, dispatch, running
from tests.waiting import eventually

pytestmark = pytest.mark.broker

# Nothing closes it at once, so that a search is under way when something dies.
THEOREM = Theorem("t", "(α : Type) (P Q : α → Prop)", "(∃ x, P x ∧ Q x) → (∃ x, P x) ∧ (∃ x, Q x)")


ATTEMPTS = {"a0": THEOREM, "a1": THEOREM}


async def kill(server: Server, bus: Bus) -> None:
    await server.stop(grace=0)  # kill -9
    await eventually(lambda: not bus.connected)


async def start_again(server: Server, bus: Bus) -> None:
    """At the same address."""
    server.settings = dataclasses.replace(server.settings, port=urlparse(server.bus.url).port or 0)
    await server.start()
    await eventually(lambda: bus.connected)


async def test_killed_broker_costs_no_attempt(warm_lean: SharedLean, own_broker: Server) -> None:
    bus = await Bus.connect(own_broker.bus, run="outage", name="test", wait=10)
    await streams.ensure(bus)
    try:
        with warm_lean.served(RunOnBroker("outage", own_broker.bus)):
            await dispatch(bus, ATTEMPTS, simulations=64)
            async with running(bus) as prover:
                await eventually(lambda: prover.counts["simulations"] >= 3, timeout=60)
                await kill(own_broker, bus)
                await start_again(own_broker, bus)
                found = await collect(bus, {*ATTEMPTS}, timeout=90)
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
    lean = LeanEnvironment(bus, THEOREM, tactic_timeout=30.0, patience=patience)
    try:
        await bus.serve(subjects.TACTIC_REQUEST, TacticRequest, no_answer, queue="inference", limit=8)
        await bus.serve(subjects.LEAN_RUN, LeanRunRequest, no_answer, queue="lean-proxy", limit=8)
        asking = [asyncio.create_task(ask) for ask in (policy.advise("⊢ True", 3, seed=1), lean.open())]
        await asyncio.sleep(patience / 2)
        await kill(own_broker, bus)
        await asyncio.sleep(0.6 * patience)  # longer than what is left of it
        await start_again(own_broker, bus)
        assert not any(each.done() for each in asking), "the outage does not count"
        later = asyncio.create_task(policy.advise("⊢ False", 3, seed=1))
        ends = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(end, Unanswered) for end in ends)
        assert not later.done(), "what was asked before has less patience left"
        later.cancel()
    finally:
        await kill(own_broker, bus)  # so that closing does not wait for answers
        await bus.close()
