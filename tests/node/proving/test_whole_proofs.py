"""Whole proofs on real Lean: what is accepted, what is not, and what never gets there; and a language model on a server
that writes them."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from common.lean import Theorem
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Ended, Method, Purpose
from node.lean.opened import OpenedLean, open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.play.here import LocalAttempts
from node.play.policies import check
from node.prover.policies.names import BadPolicy
from node.prover.policies.proofs import Failed, ListedProofs, ProofRequest, read_proofs
from node.prover.settings import ProverSettings
from node.proving.answers import answer
from node.proving.prover import Budget, local_prover
from node.proving.settings import ProvingSettings
from node.proving.statements import read_target
from tests.background import SharedLean
from tests.node.llm.answers import GOEDEL, whole
from tests.node.llm.server import Server, running

CHOICE = Theorem("choice", "(p q r : Prop)", "p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r)")

WHOLE = """theorem choice (p q r : Prop) : p ∧ (q ∨ r) → (p ∧ q) ∨ (p ∧ r) := by
  intro h -- both
  obtain ⟨hp, h⟩ := h

  cases h with
  | inl hq => exact Or.inl ⟨hp, hq⟩
  | inr hr =>
    have both : p ∧ r := by
      constructor
      · exact hp
      · exact hr
    exact Or.inr both
"""
"""No step of it is a proof, and it is laid out over many lines."""

HANGS = "intro h\nrepeat (have : True := trivial)\nexact h"

OTHER_STATEMENT = "theorem choice (p q r : Prop) : p → p := by\n  intro h\n  exact h"


@pytest.fixture
def lean(warm_lean: SharedLean) -> OpenedLean:
    return warm_lean.opened(tactic_seconds=1.0)


async def played(
    lean: OpenedLean, folder: Path, proofs: list[str], theorem: Theorem = CHOICE, *, beside: str = "", **changes: object
) -> AttemptResult:
    """An attempt with the proofs of a file, verified as in an evaluation. `beside`: more of the policy."""
    file = folder / "proofs.jsonl"
    rows = [{"name": theorem.name, "proof": proof} for proof in proofs]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fields = {"simulations": len(proofs), "samples": 4, "method": Method.WHOLE_PROOF, "seed": 1, **changes}
    attempt = Attempt(attempt_id="a", theorem_id=theorem.name, theorem=theorem, purpose=Purpose.EVAL, **fields)  # type: ignore[arg-type]
    policy = f"proofs:{file}{beside}"
    async with LocalAttempts(lean, ProverSettings(policy="", leaves=1)) as attempts:
        await attempts.open(policy)
        return await attempts.play(msgspec.structs.replace(attempt, policy=policy, verify=True))


async def test_of_many_proofs_the_one_that_holds_as_a_whole_is_found(lean: OpenedLean, tmp_path: Path) -> None:
    wrong = WHOLE.replace("exact hr", "exact hp")
    calculated = "intro h\nhave : 2 + 2 = 4 := calc\n  2 + 2 = 4 := rfl\n  _ = 4 := rfl\nexact h"
    proofs = [wrong, wrong, "", "intro h\nsorry", OTHER_STATEMENT, calculated, "omega", WHOLE, "tauto"]
    result = await played(lean, tmp_path, proofs)
    statistics = result.statistics
    assert result.outcome is AttemptOutcome.PROVED, result.message
    assert (statistics.solved_at_simulations, statistics.simulations) == (8, 8)
    assert (statistics.without_proof, statistics.duplicates) == (2, 1)
    assert (statistics.solved_at_lean_attempts, statistics.lean_attempts) == (5, 5)
    assert result.proof is not None and "-- both" not in result.proof.tactic


@pytest.mark.lean
async def test_a_proof_that_hangs_costs_the_limits_and_no_more(tmp_path: Path) -> None:
    settings = LeanProcessSettings(workers=1, tactic_seconds=0.3, verify_seconds=2.0, sandbox=False)
    async with open_lean(settings, LeanToolchain.pocket()) as hasty:
        result = await played(hasty, tmp_path, [HANGS])
        assert (result.outcome, result.statistics.ended) == (AttemptOutcome.FAILED, Ended.SIMULATIONS), result.message
        assert result.statistics.lean_attempts == 1
        few = await played(hasty, tmp_path, [HANGS], simulations=8, seconds=0.5)
        assert (few.outcome, few.statistics.ended) == (AttemptOutcome.UNDECIDED, Ended.SECONDS)
        assert few.statistics.simulations == 1


async def test_a_search_goes_on_where_a_wrong_proof_was_still_right(lean: OpenedLean, tmp_path: Path) -> None:
    theorem = Theorem("twelve", "(p : Prop)", "p → ∃ n : Nat, n * n = 144 ∧ p")
    tactics = tmp_path / "tactics.txt"
    tactics.write_text("constructor\ndecide\nassumption\n", encoding="utf-8")
    proofs = ["omega", "intro h\nrefine ⟨12, ?_⟩\nexact h\ndone", "intro h\nrefine ⟨11, ?_⟩\nsimp [h]\nomega"]
    alone = await played(lean, tmp_path, proofs, theorem, simulations=6)
    assert alone.outcome is AttemptOutcome.FAILED
    budget = {"simulations": 16, "then": "best-first"}
    result = await played(lean, tmp_path, proofs, theorem, beside=f"+tactics:{tactics}", **budget)
    assert result.outcome is AttemptOutcome.PROVED, result.message
    assert result.proof is not None and result.proof.tactic == "intro h\nrefine ⟨12, ?_⟩"
    statistics = result.statistics
    assert 3 < statistics.solved_at_simulations <= statistics.simulations <= 16
    assert 3 < statistics.solved_at_lean_attempts <= statistics.tactics_tried <= statistics.lean_attempts
    unaided = await played(lean, tmp_path, ["omega"], theorem, beside=f"+tactics:{tactics}", **budget)
    assert unaided.outcome is AttemptOutcome.FAILED, "the tactics do not find the number"
    assert "whole proofs: no more proofs were to be had after 1" in unaided.message


def test_what_gives_no_whole_proofs_is_refused_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "proofs.jsonl"
    file.write_text('{"name": "t", "proof": "rfl"}\n', encoding="utf-8")
    check(f"proofs:{file}", "whole-proof")
    check(f"proofs:{file}+tactics", "whole-proof", "mcts")
    for says, *arguments in (
        ("`tactics` proposes tactics only, and the method whole-proof needs one", "tactics", "whole-proof"),
        ("`tactics` proposes tactics, and the method whole-proof alone", f"proofs:{file}+tactics", "whole-proof"),
        ("proposes no tactics, and the search mcts needs them", f"proofs:{file}", "whole-proof", "mcts"),
        ("gives whole proofs: they go with --method whole-proof", f"proofs:{file}", "mcts"),
        ("names no file; write `proofs:FILE.jsonl`", "proofs:", "whole-proof"),
        ("the proofs cannot be read: No such file", "proofs:none.jsonl", "whole-proof"),
    ):
        with pytest.raises(BadPolicy, match=says):
            check(*arguments)
    missing = "line 1: .*missing required field `proof`"
    for text, problem in (("", "there is no proof in it"), ('{"name": "t"}', missing)):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(BadPolicy, match=problem):
            read_proofs(file)


async def test_proofs_of_a_file_are_taken_by_name_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "proofs.jsonl"
    lines = ['{"name": "a", "proof": "one"}', "", '{"name": "b", "proof": null}', '{"name": "a", "proof": "by two"}']
    file.write_text("\n".join(lines), encoding="utf-8")
    rows = read_proofs(file)
    assert [draft.text for draft in rows["a"]] == ["one", "two"] and rows["b"][0].problem == "it is empty"
    source = ListedProofs(rows)
    request = ProofRequest(CHOICE, "a", count=3, first=1, seed=0)
    assert [draft.text for draft in await source.propose(request)] == ["two"]
    failed = Failed(rows["a"][0], "one", "unknown")
    assert await source.propose(replace(request, correct=(failed,))) == (), "nobody is there to correct it"


# --- a language model -------------------------------------------------------------------------------------------------
SWAP = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"


async def test_a_model_proves_once_it_has_heard_leans_errors(opened_lean: OpenedLean) -> None:
    notes: list[str] = []
    async with running(Server(model=GOEDEL, texts=whole)) as server:
        settings = ProvingSettings(
            policy=f"openai:{server.url}#{GOEDEL}", method="whole-proof", closing=[], searching=[], samples=2
        )
        few = Budget(seconds=60, simulations=4)
        async with local_prover(opened_lean, settings, note=notes.append) as prover:
            found = await answer(prover, read_target([SWAP]), few)
            assert (found.outcome, found.reason) == ("failed", "4 simulations; duplicates: 3")
        async with local_prover(opened_lean, replace(settings, correct=1), note=notes.append) as prover:
            found = await answer(prover, read_target([SWAP]), few)
            assert found.outcome == "proved", found.reason
            assert (found.by, found.simulations) == ("language model", 3)
        assert len(server.sent[-1]["messages"]) == 3
        assert "<error>  exact fun h => h.3</error>" in server.sent[-1]["messages"][-1]["content"]
    assert any("samples" in note for note in notes)


def test_a_model_goes_with_the_method_that_its_template_is_for() -> None:
    server = "openai:http://127.0.0.1:1"
    check(f"{server}#{GOEDEL}", "whole-proof", correct=2)
    for policy, method, then, correct, says in [
        (f"{server}#{GOEDEL}", "mcts", "", 0, "gives whole proofs: they go with --method whole-proof"),
        (f"{server}#BFS-Prover-V2-7B", "whole-proof", "", 0, "proposes tactics only"),
        (f"{server}#{GOEDEL}", "whole-proof", "mcts", 0, "proposes no tactics"),
        (f"{server}#{GOEDEL}+proofs:a", "whole-proof", "", 0, "has 2 parts that write whole proofs"),
        (f"{server}#DeepSeek-Prover-V1.5-RL", "whole-proof", "", 1, "has no form for corrections"),
    ]:
        with pytest.raises(BadPolicy, match=says):
            check(policy, method, then, correct)
    check(f"{server}#{GOEDEL}+{server}#BFS-Prover-V2-7B", "whole-proof", "best-first")
