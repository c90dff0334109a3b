"""Proving on a running mesh: a real broker, a lean-proxy, a prover."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.protocol.messages import LeanVerifyReply
from node.proving.answers import answer
from node.proving.prover import Budget, TheoremProver, mesh_prover
from node.proving.settings import ProvingSettings
from node.proving.statements import read_target
from tests.forging import forging
from tests.node.prover.nodes import running

BUDGET = Budget(seconds=60, simulations=40)

LONG = "".join(f"theorem t{n} (a b : Nat) (h : a + {n} = b) : b = a + {n} := h.symm\n" for n in range(20))
FILE = f"{LONG}def double (n : Nat) : Nat := n + n\ntheorem t (h : True ∧ double 1 = 2) : double 1 = 2 := by\n  sorry\n"


@pytest.fixture
async def mesh(broker: BusSettings, bus: Bus, lean_proxy: object) -> AsyncIterator[TheoremProver]:
    """A prover node with the fixed list of tactics, and the client that uses it."""
    async with running(bus), mesh_prover(broker.url, bus.run) as prover:
        yield prover


async def test_statements_and_places_in_files_are_proved_by_the_mesh_whoever_rejects_them(
    mesh: TheoremProver, broker: BusSettings, bus: Bus, tmp_path: Path
) -> None:
    path = tmp_path / "file.lean"
    path.write_text(FILE, encoding="utf-8")
    words = [["theorem Nat.add_zero (n : Nat) : n + 0 = n"], [f"{path}:23"]]
    rejected = LeanVerifyReply(accepted=False, reason="a program that is no verifier says so")
    async with forging(broker, bus.run, (rejected, {})) as forged:
        found = await asyncio.gather(*(answer(mesh, read_target(each), BUDGET) for each in words))
    assert forged.is_set()
    assert [each.outcome for each in found] == ["proved"] * 2, found
    assert {each.by for each in found} == {"closing tactics"}
    place = found[1]
    assert place.replacement == place.proof.strip() and place.lean.startswith("theorem t (h : True ∧ double 1 = 2)")
    refused = await answer(mesh, read_target(["theorem t : nonsense"]), BUDGET)
    assert refused.outcome == "bad-statement" and "nonsense" in refused.reason


async def test_a_mesh_is_told_policy_method_and_lean_attempts(
    broker: BusSettings, bus: Bus, lean_proxy: object
) -> None:
    """The prover would ask a network, and there is none."""
    swap = read_target(["theorem t (p q : Prop) : p ∧ q → q ∧ p"])
    few = Budget(seconds=60, simulations=40, lean_attempts=5)
    async with running(bus, policy="inference", policy_patience=0.3):
        for method in ("mcts", "random"):
            settings = ProvingSettings(policy="tactics", method=method, closing=[])
            async with mesh_prover(broker.url, bus.run, settings) as prover:
                found = await answer(prover, swap, BUDGET)
                assert found.outcome == "proved", found.reason
                found = await answer(prover, read_target(["theorem t (p q : Prop) : p → q"]), few)
                assert (found.outcome, found.reason) == ("failed", "5 Lean attempts")
        async with mesh_prover(broker.url, bus.run, ProvingSettings(policy="inference", closing=[])) as prover:
            found = await answer(prover, swap, BUDGET)
            assert found.outcome == "error" and "tactic.request" in found.reason


async def test_a_theorem_too_large_for_a_message_is_told(broker: BusSettings, bus: Bus, tmp_path: Path) -> None:
    import random

    noise = random.Random(1).randbytes(600_000).hex()
    path = tmp_path / "large.lean"
    path.write_text(f"-- {noise}\ntheorem t : True := sorry\n", encoding="utf-8")
    async with mesh_prover(broker.url, bus.run) as prover:
        found = await answer(prover, read_target([f"{path}:2"]), BUDGET)
    assert found.outcome == "error" and "a message may have" in found.reason
