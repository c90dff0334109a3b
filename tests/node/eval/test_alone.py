"""An evaluation in this process, on real Lean: what is solved is verified, and nothing else counts as unsolved."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from common.lean import Theorem
from common.protocol.attempts import Ended
from node.eval.alone import LoneVenue
from node.eval.folder import AttemptRecord, Budgets, EvaluationFolder, Plan, Standing, StatementRecord, read
from node.eval.player import Runner, due, open_player
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.eval.small import plan, statement

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


async def test_the_tactics_of_a_proof_say_which_part_of_a_mixture_proposed_them(tmp_path: Path):
    tactics = tmp_path / "mine.txt"
    tactics.write_text("intro k l\n")
    policy = f"tactics:{tactics}*9+tactics*0.1"
    found = await evaluated(tmp_path / "out", plan(budgets=Budgets(simulations=8)), policy, STATEMENTS[:1])
    assert found["swap"].standing is Standing.SOLVED
    assert found["swap"].sources == {"tactics": len(found["swap"].script.splitlines())}
