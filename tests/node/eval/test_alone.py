"""An evaluation in this process, on real Lean: what is solved is verified, and nothing else counts as unsolved."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.lean import TacticRule, Theorem
from common.protocol.attempts import Ended, Method
from node.eval import alone as alone_module
from node.eval.alone import LoneVenue
from node.eval.folder import AttemptRecord, Budgets, Plan, Standing, StatementRecord
from node.lean.check.files.proofs import ProofVerifier
from node.lean.check.verify.verifier import Verifier
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.prover.search.parameters import SearchParameters
from tests.node.eval import places
from tests.node.eval.places import evaluated
from tests.node.eval.small import plan, statement

pytestmark = pytest.mark.usefixtures("lent_lean")

STATEMENTS = [
    *places.STATEMENTS,
    statement("opened", theorem=Theorem("opened", "(n : Nat)", "succ n ≠ 0", header="open Nat")),
    statement("Nat.add_comm", theorem=Theorem("Nat.add_comm", "(n m : Nat)", "n + m = m + n")),
]


async def alone(
    folder: Path, of: Plan, policy: str = "tactics", statements: list[StatementRecord] = STATEMENTS, **more: Any
) -> dict[str, AttemptRecord]:
    """The records of an evaluation of these statements in this process, by name."""
    venue = LoneVenue(LeanToolchain.pocket(), LeanProcessSettings(workers=2, sandbox=False), policy, **more)
    return await evaluated(venue, folder, of, statements)


async def test_each_statement_gets_the_standing_that_it_deserves(tmp_path: Path):
    found = await alone(tmp_path, plan(budgets=Budgets(simulations=16)))
    standings = {"false": Standing.UNSOLVED, "missing": Standing.NOT_ELABORATED}
    expected = {each.name: standings.get(each.name, Standing.SOLVED) for each in STATEMENTS}
    assert {name: each.standing for name, each in found.items()} == expected
    # With one tactic a state the list has no proof of it; that of a similar state with other names has.
    rows = tmp_path / "rows.jsonl"
    row = {"theorem": "t", "state": "a b : Prop\n⊢ a ∧ b → b ∧ a", "tactic": "exact fun ⟨x, y⟩ => ⟨y, x⟩"}
    rows.write_bytes(msgspec.json.encode(row | {"remaining_steps": 1}) + b"\n")
    one = plan(samples=1, budgets=Budgets(simulations=4))
    similar = await alone(tmp_path / "similar", one, f"neighbours:{rows}", STATEMENTS[:1])
    assert similar["swap"].standing is Standing.SOLVED
    assert similar["swap"].script.strip() == "exact fun ⟨v2, v3⟩ => ⟨v3, v2⟩"
    assert found["swap"].script and found["swap"].statistics.solved_at_simulations >= 1
    assert found["false"].ended in (Ended.SIMULATIONS, Ended.EXHAUSTED) and "Missing" in found["missing"].reason
    flat = await alone(tmp_path / "flat", one, statements=STATEMENTS[1:2], search=SearchParameters(max_depth=1))
    assert flat["false"].statistics.shape.depth < found["false"].statistics.shape.depth


async def test_with_a_header_that_takes_long_all_proofs_of_its_time_are_checked_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One search at a time: without gathering, the first proof is checked before the second one is found. The header
    is another one than that of the shared Lean, so that its own workers tell how long it takes."""
    checked: list[int] = []

    async def check(verifier: Verifier, group: list[Any]) -> None:
        checked.append(len(group))
        await check_group(verifier, group)

    check_group = Verifier._check_group
    monkeypatch.setattr(Verifier, "_check_group", check)
    monkeypatch.setattr(alone_module, "GATHER_SECONDS", 0.0)
    toolchain = replace(LeanToolchain.pocket(), default_header="open Nat")
    solvable = [each for each in STATEMENTS if each.name in ("swap", "Nat.add_comm")]
    of = plan(budgets=Budgets(simulations=16))
    for header_seconds, groups in ((0.0, [1, 1]), (1000.0, [2])):
        monkeypatch.setattr(Pool, "header_seconds", header_seconds)
        venue = LoneVenue(toolchain, LeanProcessSettings(workers=1, sandbox=False), "tactics", searches=1)
        found = await evaluated(venue, tmp_path / str(header_seconds), of, solvable)
        assert {each.standing for each in found.values()} == {Standing.SOLVED} and checked == groups
        checked.clear()


async def test_a_rule_for_tactics_holds_for_search_whole_proofs_and_verification(tmp_path: Path):
    rule = TacticRule(allow=("rfl", "rw"))
    # 1. The list: `simp` would close both, and only `rw` may.
    theorems = [Theorem("or", "(p q : Prop) (h : q)", "p ∨ q"), Theorem("eq", "(n m : Nat) (h : n = m)", "n + 0 = m")]
    statements = [statement(each.name, theorem=msgspec.structs.replace(each, rule=rule)) for each in theorems]
    free = [msgspec.structs.replace(each, name=f"free {each.name}") for each in theorems]
    found = await alone(tmp_path / "list", plan(budgets=Budgets(simulations=8)), statements=statements)
    assert (found["or"].standing, found["eq"].standing) == (Standing.UNSOLVED, Standing.SOLVED)
    assert found["eq"].script in ("  rw [h]", "  rw [h]\n  rfl")
    # 2. Whole proofs, and verification alone.
    proofs = tmp_path / "proofs.jsonl"
    scripts = {"or": "simp [h]", "eq": "rw [show n + 0 = m from by simp [h]]"}
    rows = [{"name": f"{beside}{name}", "proof": proof} for beside in ("", "free ") for name, proof in scripts.items()]
    proofs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = plan(method=Method.WHOLE_PROOF, budgets=Budgets(simulations=8))
    statements += [statement(each.name, theorem=each) for each in free]
    found = await alone(tmp_path / "whole", whole, policy=f"proofs:{proofs}", statements=statements)
    assert [found[each.name].standing for each in statements] == [Standing.UNSOLVED] * 2 + [Standing.SOLVED] * 2
    told = "the tactic rule: `simp` is not allowed: only rfl, rw"
    assert all(told in found[each.name].reason for each in statements[:2])
    verifier = ProofVerifier(LeanProcessSettings(sandbox=False), LeanToolchain.pocket())
    verdict = await verifier.verify(statements[0].theorem, "  simp [h]")
    assert (verdict.accepted, verdict.reason) == (False, told)
    await verifier.stop()
