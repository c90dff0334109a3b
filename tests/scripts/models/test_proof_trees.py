"""The bank's transitions as whole proofs: trees by remaining steps, and what Lean says of some of them."""

from itertools import groupby

import pytest

from common.lean import ProofTree
from node.bank import bank
from node.bank.bank import BankTransition
from node.lean.settings import LeanProcessSettings
from node.lean.text.script import proof_lines, proof_script
from node.lean.toolchain.find import find
from node.proving.local_lean import local_lean
from scripts.models.proof_trees import branches, proof_of


def rows(*steps: tuple[int, str]) -> list[BankTransition]:
    return [BankTransition("t", 1, "logic", "⊢ p", tactic, remaining) for remaining, tactic in steps]


def test_a_straight_proof_is_a_chain():
    proof = proof_of(rows((3, "intro h"), (2, "rw [h]"), (1, "rfl")))
    assert proof is not None
    assert proof_script(proof) == "  intro h\n  rw [h]\n  rfl"


def test_what_a_tactic_leaves_decides_between_two_trees():
    steps = ((3, "{}"), (2, "{}"), (1, "exact a"), (1, "exact b"))

    def script(first: str, second: str) -> str | None:
        named = [
            (number, text.format(name)) for (number, text), name in zip(steps, (first, second, "", ""), strict=True)
        ]
        found = proof_of(rows(*named))
        return found and proof_script(found)

    assert script("intro h", "constructor") == "  intro h\n  constructor\n  · exact a\n  · exact b"
    assert script("constructor", "intro h") == "  constructor\n  · intro h\n    exact a\n  · exact b"
    assert script("apply f", "apply g") is None


@pytest.mark.parametrize(
    ("tactic", "count"),
    [("rcases h with a | b | c", 3), ("rcases h with ⟨a, b⟩", 1), ("refine ⟨?_, ?_⟩", 2), ("apply h", None)],
)
def test_branches_are_read_off_a_tactic(tactic, count):
    assert branches(tactic) == count


def test_missing_steps_make_no_proof():
    assert proof_of(rows((3, "intro h"), (2, "rw [h]"))) is None
    assert proof_of(rows((2, "constructor"), (1, "exact a"))) is None
    assert proof_of(rows((1, "rfl"), (1, "rfl"))) is None
    assert proof_of([]) is None


def by_theorem() -> dict[str, list[BankTransition]]:
    return {name: list(group) for name, group in groupby(bank.load_transitions(), lambda row: row.theorem)}


def test_nearly_all_proofs_of_the_bank_have_one_tree():
    found = [proof_of(steps) for steps in by_theorem().values()]
    assert sum(proof is not None for proof in found) > 0.97 * len(found)


def nodes(proof: ProofTree) -> int:
    return 1 + sum(map(nodes, proof.children))


@pytest.mark.slow
@pytest.mark.lean
async def test_lean_accepts_the_trees():
    """Every 400th of the bank's proofs; all 3,907 of the warm start were accepted when this was written."""
    statements = {each.theorem.name: each.theorem for each in bank.load_statements("train")}
    settings = LeanProcessSettings(workers=1)
    async with local_lean(settings, find(settings.lean)) as lean:
        for name, steps in list(by_theorem().items())[::400]:
            proof = proof_of(steps)
            if proof is not None:
                assert nodes(proof) == len(steps)
                theorem = statements.get(name) or statements[name.removesuffix("_neg")].negation()
                reply = await lean.verify(theorem, proof_lines(proof, ""))
                assert reply.accepted, f"{name}: {reply}"
