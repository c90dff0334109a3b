"""An evaluation in this process, on real Lean: what is solved is verified, and nothing else counts as unsolved."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from common.lean import Theorem
from common.protocol.attempts import Ended, Method
from node.eval import alone
from node.eval.alone import LoneVenue
from node.eval.folder import AttemptRecord, Budgets, EvaluationFolder, Plan, Standing, StatementRecord, read
from node.eval.player import Runner, due, open_player
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.prover.policies.names import BadPolicy
from tests.node.eval.building import plan, statement

pytestmark = pytest.mark.lean

STATEMENTS = [
    statement("swap", theorem=Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")),
    statement("false", theorem=Theorem("false", "(p q : Prop)", "p → q")),
    statement("missing", theorem=Theorem("missing", "", "Missing.thing")),
    statement("opened", theorem=Theorem("opened", "(n : Nat)", "succ n ≠ 0", header="open Nat")),
    statement("Nat.add_comm", theorem=Theorem("Nat.add_comm", "(n m : Nat)", "n + m = m + n")),
]


async def evaluated(
    folder: Path, of: Plan, policy: str = "tactics", statements: list[StatementRecord] | None = None
) -> dict[str, AttemptRecord]:
    """The records of an evaluation of these statements, by name."""
    statements = STATEMENTS if statements is None else statements
    venue = LoneVenue(LeanToolchain.pocket(), LeanProcessSettings(workers=2, sandbox=False), policy)
    with EvaluationFolder(folder) as opened:
        opened.begin(of)
        opened.write(of, statements)
        async with open_player(venue, of) as player:
            await Runner(player, opened, asyncio.Event()).run(due(statements, [], 1))
    return {each.name: each for each in read(folder).attempts}


async def test_each_statement_gets_the_standing_that_it_deserves(tmp_path: Path):
    found = await evaluated(tmp_path, plan(budgets=Budgets(simulations=16)))
    assert {name: each.standing for name, each in found.items()} == {
        "swap": Standing.SOLVED,
        "false": Standing.UNSOLVED,
        "missing": Standing.NOT_ELABORATED,
        "opened": Standing.SOLVED,
        "Nat.add_comm": Standing.SOLVED,
    }
    assert found["swap"].script
    assert found["swap"].statistics.solved_at_simulations >= 1
    assert found["false"].ended in (Ended.SIMULATIONS, Ended.EXHAUSTED)
    assert "Missing" in found["missing"].reason


async def test_lean_is_asked_beforehand_which_statements_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROOFMESH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("node.bank.elaboration.whitelists", lambda: tmp_path)
    venue = LoneVenue(LeanToolchain.pocket(), LeanProcessSettings(sandbox=False), "tactics")
    refused = await venue.refusals(STATEMENTS)
    assert list(refused) == ["missing"]
    assert "Missing" in refused["missing"]


async def test_a_plans_method_is_evaluated_within_its_budget_of_lean_attempts(tmp_path: Path):
    of = plan(method=Method.BEST_FIRST, budgets=Budgets(lean_attempts=60))
    found = await evaluated(tmp_path, of, statements=STATEMENTS[:2])
    assert found["swap"].standing is Standing.SOLVED
    assert found["false"].standing is Standing.UNSOLVED
    assert found["false"].statistics.lean_attempts <= 60


async def test_the_same_evaluation_comes_out_the_same(tmp_path: Path):
    of = plan(method=Method.RANDOM, budgets=Budgets(simulations=12), seed=5)
    first = await evaluated(tmp_path / "one", of)
    second = await evaluated(tmp_path / "two", of)

    def told(found: dict[str, AttemptRecord]) -> dict[str, tuple[object, ...]]:
        return {
            name: (each.standing, each.script, each.statistics.simulations, each.statistics.solved_at_lean_attempts)
            for name, each in found.items()
        }

    assert told(first) == told(second)


def test_a_policy_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path):
    with pytest.raises(BadPolicy, match="there is no such checkpoint"):
        LoneVenue(LeanToolchain.pocket(), LeanProcessSettings(), f"own:{tmp_path / 'none'}")


async def test_a_list_of_ones_own_is_named_by_its_digest(tmp_path: Path):
    tactics = tmp_path / "mine.txt"
    tactics.write_text("intro h\nexact ⟨h.2, h.1⟩\n")
    venue = LoneVenue(LeanToolchain.pocket(), LeanProcessSettings(), f"tactics:{tactics}")
    before = venue.weights
    tactics.write_text("intro h\nomega\n")
    assert venue.label == "list of tactics"
    assert before != LoneVenue(LeanToolchain.pocket(), LeanProcessSettings(), f"tactics:{tactics}").weights


async def test_the_tactics_of_a_proof_say_which_part_of_a_mixture_proposed_them(tmp_path: Path):
    tactics = tmp_path / "mine.txt"
    tactics.write_text("intro k l\n")
    policy = f"tactics:{tactics}*9+tactics*0.1"
    found = await evaluated(tmp_path / "out", plan(budgets=Budgets(simulations=8)), policy, STATEMENTS[:1])
    assert found["swap"].standing is Standing.SOLVED
    assert found["swap"].sources == {"tactics": len(found["swap"].script.splitlines())}


async def test_lean_processes_cost_seconds_that_are_counted(tmp_path: Path):
    before = alone.children_cpu()
    await evaluated(tmp_path, plan(budgets=Budgets(simulations=4)), statements=STATEMENTS[:1])
    assert alone.children_cpu() - before > 0.1
