"""Whole proofs of the bank, put together from its transitions."""

import textwrap
from collections import defaultdict

import pytest

from common.proofs import transitions_of
from data.generators.lean_check import load_truth
from node.bank import bank
from node.bank.bank import BankTransition, _trees, form_of, load_proofs
from node.lean.opened import open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.text.script import indented
from node.lean.toolchain.find import find
from tests.node.play.opened import verified


@pytest.mark.compute
def test_proofs_are_those_that_the_bank_was_made_with_and_the_warm_start_has_those_of_its_own_transitions() -> None:
    """The file of truths is the tests' alone: nothing that trains opens it."""
    truth = load_truth()
    found, tactics = load_proofs(), defaultdict[str, set[str]](set)
    for each in bank.load_transitions():
        tactics[each.theorem].add(each.tactic)
    assert len(found) > 0.98 * len(tactics)
    for proof in found:
        row = truth[proof.theorem.name.removesuffix("_neg")]
        assert row.true == (not proof.theorem.name.endswith("_neg"))
        assert proof.script == textwrap.dedent(row.script), proof.theorem.name
    allowed = {(each.theorem, each.tactic) for each in bank.load_transitions(warm_start=True)}
    warm = load_proofs(warm_start=True)
    assert 3800 < len(warm) < len(found)
    for name in (proof.theorem.name for proof in warm):
        assert {(name, tactic) for tactic in tactics[name]} <= allowed


@pytest.mark.parametrize(
    ("steps", "trees"), [((1,), 1), ((3, 1, 2, 1), 1), ((2, 1, 1), 1), ((3, 2, 1, 1), 2), ((1, 1), 0)]
)
def test_every_tree_that_has_the_recorded_numbers_is_found(steps: tuple[int, ...], trees: int) -> None:
    rows = [BankTransition("t", 1, "f", f"state {place}", f"tactic {place}", left) for place, left in enumerate(steps)]
    found = list(_trees(rows))
    assert len(found) == trees
    for tree in found:
        assert {(each.state, each.remaining_steps) for each in transitions_of(tree)} == {
            (row.state, row.remaining_steps) for row in rows
        }


@pytest.mark.slow
@pytest.mark.lean
async def test_lean_accepts_the_proofs() -> None:
    """Every 400th; all 3,907 of the warm start were accepted when this was written."""
    settings = LeanProcessSettings(workers=1)
    async with open_lean(settings, find(settings.lean)) as lean:
        for proof in load_proofs()[::400]:
            reply = await verified(lean, proof.theorem, indented(proof.script.split("\n")))
            assert reply.accepted, f"{proof.theorem.name}: {reply}"


def test_the_form_of_a_tactic_tells_how_many_goals_it_leaves() -> None:
    assert form_of("induction n with | zero => ?_ | succ n ih => ?_") == "induction | ?_ | ?_"
    assert form_of("rcases h with a | b") != form_of("rcases h with ⟨a, b⟩")
