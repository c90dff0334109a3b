"""Provers as processes of their own, with real Lean: what they deliver, and what a crash leaves behind."""

import asyncio
from pathlib import Path

from broker import streams
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


async def test_prover_killed_between_result_and_acknowledgement(
    bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path
) -> None:
    async def nothing_is_leased() -> bool:
        return not (await bus.leased())["todo-train"] and not (await bus.backlog())["todo-train"]

    await bus.ensure(streams.run_spec(bus.run, ack_wait=2.0))  # so that the dead prover's leases soon run out
    fault = "prover:published-not-acked#2"
    async with prover_process(bus, broker, "fixed", fault=fault, cwd=tmp_path) as first:
        await dispatch(bus, THEOREMS)
        assert await asyncio.wait_for(first.wait(), 60) == -9
    assert (await bus.leased())["todo-train"] >= 1, "the lease of the published result is still open"
    async with prover_process(bus, broker, "fixed", cwd=tmp_path):
        found = await collect(bus, set(THEOREMS))
        await until(nothing_is_leased, what="an empty queue")
    for lease in await bus.lease("results-learner", AttemptResult, limit=50, wait=0.5):
        found.append(lease.message)
        await lease.ack()
    ids = [result.attempt_id for result in found]
    assert set(ids) == set(THEOREMS), "every attempt has a result"
    assert len(ids) > len(set(ids)), "the attempt in the critical window was played again"
    deduplicated = {result.attempt_id: result for result in reversed(found)}  # the first one wins
    assert len(deduplicated) == len(THEOREMS)
    assert {result.outcome for result in found} == {"proved"}
