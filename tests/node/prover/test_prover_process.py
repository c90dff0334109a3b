"""Provers as processes of their own, with real Lean: what they deliver, and what a crash leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.proofs import transitions_of
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptResult
from common.protocol.messages import LeanVerifyReply, LeanVerifyRequest
from node.lean.text.script import proof_script
from tests.node.prover.nodes import collect, dispatch, prover_process
from tests.waiting import until

THEOREMS = {
    "identity": Theorem("t", "(p : Prop)", "p → p"),
    "swap": Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p"),
    "choice": Theorem("t", "(p q r : Prop)", "p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)"),
    "zero": Theorem("t", "(n : Nat)", "n + 0 = n"),
}
FALSE = Theorem("t", "(p q : Prop)", "p → q")
ENDLESS = Theorem("t", "(f : Nat → Nat) (n m : Nat)", "f (n + m) = f m + n")
ILL_TYPED = Theorem("t", "(p : Prop)", "p + 1 = q")

Start = Callable[..., Coroutine[Any, Any, asyncio.subprocess.Process]]


@pytest.fixture
async def start_prover(broker: BusSettings, bus: Bus, tmp_path: Path) -> AsyncIterator[Start]:
    """Starts provers with nothing but the broker's address and credentials, in an empty working directory."""
    async with AsyncExitStack() as started:

        async def start(*flags: str, fault: str = "") -> asyncio.subprocess.Process:
            folder = Path(mkdtemp(dir=tmp_path))
            return await started.enter_async_context(
                prover_process(bus, broker, "fixed", *flags, fault=fault, cwd=folder)
            )

        yield start


async def until_nothing_is_leased(bus: Bus) -> None:
    async def condition() -> bool:
        return not (await bus.leased())["todo-train"] and not (await bus.backlog())["todo-train"]

    await until(condition, what="an empty queue")


async def leased(bus: Bus) -> bool:
    return (await bus.leased())["todo-train"] > 0


async def test_attempts_end_in_results_that_lean_accepts(bus: Bus, lean_proxy: object, start_prover: Start) -> None:
    await dispatch(bus, {**THEOREMS, "false": FALSE, "ill-typed": ILL_TYPED})
    await start_prover()
    found = {result.attempt_id: result for result in await collect(bus, {*THEOREMS, "false", "ill-typed"})}
    await until_nothing_is_leased(bus)
    assert found["false"].outcome == "failed" and found["false"].proof is None
    assert found["ill-typed"].outcome == "bad-statement" and found["ill-typed"].message
    for name, theorem in THEOREMS.items():
        result = found[name]
        assert result.outcome == "proved", result.message
        assert result.proof is not None
        transitions = transitions_of(result.proof)
        assert transitions[0].remaining_steps == result.proof.remaining_steps
        assert all("⊢" in transition.state for transition in transitions)
        request = LeanVerifyRequest(theorem=theorem, script=proof_script(result.proof))
        verdict = await bus.request_patiently(subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=30, deadline=30)
        assert verdict.accepted, verdict.reason


async def test_prover_killed_between_result_and_acknowledgement(
    bus: Bus, lean_proxy: object, start_prover: Start
) -> None:
    from broker import streams

    await bus.ensure(streams.run_spec(bus.run, ack_wait=2.0))  # so that the dead prover's leases soon run out
    first = await start_prover(fault="prover:published-not-acked#2")
    await dispatch(bus, THEOREMS)
    assert await asyncio.wait_for(first.wait(), 60) == -9
    assert (await bus.leased())["todo-train"] >= 1, "the lease of the published result is still open"
    await start_prover()
    found = await collect(bus, set(THEOREMS))
    await until_nothing_is_leased(bus)
    for lease in await bus.lease("results-learner", AttemptResult, limit=50, wait=0.5):
        found.append(lease.message)
        await lease.ack()
    ids = [result.attempt_id for result in found]
    assert set(ids) == set(THEOREMS), "every attempt has a result"
    assert len(ids) > len(set(ids)), "the attempt in the critical window was played again"
    deduplicated = {result.attempt_id: result for result in reversed(found)}  # the first one wins
    assert len(deduplicated) == len(THEOREMS)
    assert {result.outcome for result in found} == {"proved"}


async def test_second_prover_in_another_directory_joins_and_contributes(
    bus: Bus, lean_proxy: object, start_prover: Start
) -> None:
    await start_prover("--searches", "1")
    await start_prover("--searches", "1")

    async def both_are_there() -> bool:
        return sum(node.role == "prover" for node in await bus.nodes()) == 2

    await until(both_are_there)
    attempts = {f"{name}-{turn}": theorem for turn in range(2) for name, theorem in THEOREMS.items()}
    await dispatch(bus, attempts)
    found = await collect(bus, set(attempts))
    assert len({result.prover_id for result in found}) == 2
    assert {result.outcome for result in found} == {"proved"}


async def test_terminated_prover_hands_back_what_it_holds(bus: Bus, lean_proxy: object, start_prover: Start) -> None:
    prover = await start_prover()
    attempts = {f"a{index}": ENDLESS for index in range(4)}
    await dispatch(bus, attempts, simulations=5000)
    await until(lambda: leased(bus))
    prover.terminate()
    assert await asyncio.wait_for(prover.wait(), 60) == 0
    left: list[str] = []
    async with asyncio.timeout(10):
        while len(left) < len(attempts):
            left += [lease.message.attempt_id for lease in await bus.lease("todo-train", Attempt, limit=9, wait=0.2)]
    assert sorted(left) == sorted(attempts)
    assert (await bus.backlog())["results-learner"] == 0
