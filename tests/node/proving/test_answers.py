"""Proofs and disproofs of targets, by real Lean in this process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from common.lean import Theorem
from common.protocol.messages import LeanVerifyReply
from node.lean.opened import OpenedLean
from node.play.attempts import ProvingFailed
from node.proving.answers import answer
from node.proving.prover import Budget, Found, TheoremProver
from node.proving.statements import read_target
from tests.node.proving.local import pocket_prover

pytestmark = pytest.mark.lean

BUDGET = Budget(seconds=60, simulations=40)

FILE = """namespace Foo
variable (p q : Prop)
def double (n : Nat) : Nat := n + n

theorem swap (h : p ∧ q) : q ∧ p := by
  constructor
  · sorry
  · exact h.1

theorem term (h : p) : p ∧ p := ⟨sorry, h⟩
theorem double_two : double 2 = 4 := by
  have : 2 = 2 := rfl
  rfl
theorem wrong (n : Nat) : double n = n + 1 := sorry
theorem other (n : Nat) : double n = n + 1 := wrong n
end Foo
"""


@pytest.fixture
async def prover(opened_lean: OpenedLean) -> AsyncIterator[TheoremProver]:
    async with pocket_prover(opened_lean) as prover:
        yield prover


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.lean"
    path.write_text(FILE, encoding="utf-8")
    return path


async def test_gaps_and_theorems_of_a_file_are_proved_where_they_stand(prover: TheoremProver, file: Path):
    """A gap where tactics stand: test_remote.py."""
    term = await answer(prover, read_target([f"{file}:10"]), BUDGET)
    assert term.outcome == "proved" and term.replacement.startswith("(by "), term
    theorem = await answer(prover, read_target([str(file), "double_two"]), BUDGET)
    assert theorem.outcome == "proved" and "have" not in theorem.lean and not theorem.replacement, theorem


async def test_false_statements_are_disproved_with_the_negations_proof(prover: TheoremProver, file: Path):
    """One that stands by itself: tests/node/mesh/test_prove.py."""
    in_file = await answer(prover, read_target([f"{file}:14"]), BUDGET, disprove=True)
    assert in_file.outcome == "disproved" and "¬ (∀ (n : Nat), double n = n + 1)" in in_file.lean, in_file
    assert not in_file.replacement
    true = await answer(prover, read_target(["theorem t (n : Nat) : n = n"]), BUDGET, disprove=True)
    assert true.outcome == "proved", true


async def test_statements_and_contexts_that_lean_refuses_are_told_in_its_words(prover: TheoremProver, tmp_path: Path):
    bad = await answer(prover, read_target(["theorem t : nonsense"]), BUDGET, disprove=True)
    assert bad.outcome == "bad-statement" and "nonsense" in bad.reason
    path = tmp_path / "broken.lean"
    path.write_text("import NoSuchModule\ntheorem t : True := sorry\n", encoding="utf-8")
    broken = await answer(prover, read_target([f"{path}:2"]), BUDGET)
    assert broken.outcome == "bad-statement" and "NoSuchModule" in broken.reason


class FailingProver:
    """Machinery that fails."""

    async def find(self, theorem: Theorem, budget: Budget) -> Found:
        raise ProvingFailed("Lean is gone")

    async def verify(self, theorem: Theorem, script: tuple[str, ...]) -> LeanVerifyReply:
        raise ProvingFailed("Lean is gone")


async def test_machinery_that_fails_is_an_error_and_not_a_failure():
    for disprove in (False, True):
        found = await answer(FailingProver(), read_target(["theorem t : True"]), BUDGET, disprove=disprove)
        assert (found.outcome, found.reason) == ("error", "Lean is gone")
