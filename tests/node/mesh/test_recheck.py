"""`proofmesh recheck`: every recorded proof is verified anew, and what the records only claim is found."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from common.lean import Context, Place, Theorem
from common.output.command import Exit
from common.records.readers import DATABASE
from common.records.rows import TheoremRow, Verdict, VerifiedProof
from common.records.store import Store
from node.command.proofs import recheck
from node.command.proofs.recheck import PROGRESS, Judged
from tests.node.learner.builders import FAILED, planned, result

SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")
FALSE = Theorem("false", "", "(1 : Nat) = 2")
GAP = Theorem(
    "gap", "", "p → p", place=Place(Context.of("variable (p : Prop)\n"), "theorem gap : p → p := by\n  ", "\n")
)
OPENED = Theorem("opened", "(m n : Nat)", "succ m = succ n → m = n")
HONEST = {SWAP: "  intro h\n  exact ⟨h.2, h.1⟩", GAP: "  exact id", OPENED: "  exact succ.inj"}


def records(folder: Path, proofs: Mapping[Theorem, str], disproofs: Mapping[Theorem, str] | None = None) -> Path:
    """A run's folder with these proofs, recorded as verified. `open Nat` was the configured header."""
    store = Store(folder / DATABASE)
    store.add_theorems([TheoremRow(each, "train", "f", 1) for each in (*proofs, *(disproofs or {}))])
    plans = [planned(number, each.name) for number, each in enumerate(proofs, 1)]
    plans += [planned(len(plans) + number, each.name, "disprove") for number, each in enumerate(disproofs or {}, 1)]
    store.dispatch(plans, 1.0)
    for plan, script in zip(plans, [*proofs.values(), *(disproofs or {}).values()], strict=True):
        proof = VerifiedProof(script, (), (), "4.35.0", "open Nat")
        assert store.record(result(plan.attempt), Verdict(FAILED.outcome.PROVED, proof=proof), now=2.0)
    store.close()
    return folder


@pytest.mark.slow
def test_honest_proofs_are_accepted_again_by_both_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = records(tmp_path, HONEST, {FALSE: "  decide"})
    assert recheck.main([str(run)]) == Exit.DONE
    printed = capsys.readouterr()
    assert "4 of 4 recorded proofs accepted" in printed.out and "kernel and a second kernel" in printed.out
    assert sorted(each.name for each in run.iterdir()) == [DATABASE], "a complete recheck leaves nothing behind"


@pytest.mark.lean
def test_forged_records_are_found_and_an_interrupted_recheck_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    escape = "  trivial\ntheorem proofmesh_recorded_2 : True := trivial"
    forged = {
        FALSE: "  simp_all",
        Theorem("also_false", "", "(2 : Nat) = 3"): escape,
        Theorem("assumed", "", "(3 : Nat) = 4"): "  sorry",
        Theorem(
            "gap_false", "", "p", place=Place(Context.of("variable (p : Prop)\n"), "theorem g : p := by\n  ", "\n")
        ): ("  assumption"),
        Theorem("no_statement", "", "Nowhere.nothing"): "  trivial",
    }
    run = records(tmp_path, HONEST | forged)
    recheck._keep(run / PROGRESS, Judged(1, "of an earlier run", "Lean 4.35.0"))
    assert recheck.main([str(run), "--json", "--no-second-kernel", "--again"]) == Exit.FAILED
    printed = capsys.readouterr()
    assert "going on" not in printed.err
    found = json.loads(printed.out)
    assert (found["proofs"], found["accepted"]) == (8, 3)
    assert {row["theorem"] for row in found["rejected"]} == {each.name for each in forged}
    assert all(row["reason"] for row in found["rejected"])
    # As if it had been interrupted behind the last verdict but one, and another Lean had judged the first proof.
    for number in range(2, found["proofs"]):
        recheck._keep(run / PROGRESS, Judged(number, "" if number <= found["accepted"] else "forged", found["by"]))
    recheck._keep(run / PROGRESS, Judged(1, "", "Lean 3, the kernel of yesterday"))
    with (run / PROGRESS).open("ab") as out:
        out.write(b'{"number": 8, "prob')  # the line that a kill has cut off
    assert recheck.main([str(run), "--no-second-kernel"]) == Exit.FAILED
    printed = capsys.readouterr()
    assert "going on after 6 of 8 proofs" in printed.err and "3 of 8 recorded proofs accepted" in printed.out
    assert not (run / PROGRESS).exists()
