"""Finding proofs in a compiled file that depend on declarations of other proofs."""

import pytest

from node.lean.check.verify import judge as sharing
from node.lean.check.verify.judge import UnreadableModule
from node.lean.check.verify.kernel import FreshLean
from node.lean.olean.declarations import uses
from node.lean.olean.module import Module
from node.lean.olean.terms import Terms
from node.lean.process.fresh import Limits
from node.lean.toolchain.lean_toolchain import LeanToolchain

pytestmark = pytest.mark.lean

TOKENS = ["Kaaaa", "Kbbbb", "Kcccc"]

ALONE = """
theorem Kaaaa.t (p : Prop) : p → p := by intro h; match h with | h => exact h
theorem Kbbbb.t : ∀ x : Nat × Nat, ∃ y, y = x := by intro x; match x with | (a, b) => exact ⟨_, rfl⟩
def Kcccc.t : Nat := 123456789012345678901234567890
"""


def dependent_proofs(olean, tokens: list[str]) -> set[int]:
    """As `sharing.dependent_proofs`, for a compiled file. Raises UnreadableModule and BadOlean."""
    terms = Terms()
    module = Module(olean, terms)
    module.close()
    return sharing.dependent_proofs(uses(module, terms), tokens)


async def compiled(folder, text: str):
    """The .olean file of a text."""
    (folder / "M.lean").write_text(text)
    finished = await FreshLean(LeanToolchain.pocket(), Limits()).compile(folder, "M")
    assert finished.code == 0, finished
    return folder / "M.olean"


async def test_what_belongs_to_no_proof_has_one_user_or_none(tmp_path):
    text = "theorem lemma_1 : True := trivial\ntheorem Kaaaa.t : True := lemma_1\ntheorem Kbbbb.t : 1 = 1 := rfl\n"
    assert dependent_proofs(await compiled(tmp_path, text), TOKENS) == set()
    assert dependent_proofs(await compiled(tmp_path, text + "theorem Kcccc.t : True := lemma_1\n"), TOKENS) == {0, 2}


async def test_what_belongs_to_two_or_carries_one_to_another_is_no_clean_batch(tmp_path):
    for more in (
        "theorem Kaaaa.Kbbbb.t : True := trivial\n",
        "theorem Kaaaa.u : True := trivial\ntheorem other : True := Kaaaa.u\n",
        "theorem one : True := trivial\ntheorem foo.eq_1 : True := one\n",
    ):
        with pytest.raises(UnreadableModule, match=r"cannot be assigned to a single proof|belongs to no proof"):
            dependent_proofs(await compiled(tmp_path, ALONE + more), TOKENS)
