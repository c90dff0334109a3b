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
from common.protocol.attempts import AttemptResult
from tests.node.prover.nodes import collect, dispatch, prover_process
from tests.waiting import until

THEOREMS = {
    "identity": Theorem("t", "(p : Prop)", "p → p"),
    "swap": Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p"),
    "choice": Theorem("t", "(p q r : Prop)", "p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)"),
    "zero": Theorem("t", "(n : Nat)", "n + 0 = n"),
}

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
