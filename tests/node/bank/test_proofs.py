"""Whole proofs of the bank, put together from its transitions."""

from __future__ import annotations

import textwrap

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
def test_proofs_are_those_that_the_bank_was_made_with() -> None:
    """The file of truths is the tests' alone: nothing that trains opens it."""
    truth = load_truth()
    found = load_proofs()
    assert len(found) > 0.98 * len({row.theorem for row in bank.load_transitions()})
    for proof in found:
        row = truth[proof.theorem.name.removesuffix("_neg")]
        assert row.true == (not proof.theorem.name.endswith("_neg"))
        assert proof.script == textwrap.dedent(row.script), proof.theorem.name


@pytest.mark.compute
def test_the_warm_start_has_proofs_of_its_own_transitions_alone() -> None:
    allowed = {(row.theorem, row.tactic) for row in bank.load_transitions(warm_start=True)}
    tactics: dict[str, set[str]] = {}
    for row in bank.load_transitions():
        tactics.setdefault(row.theorem, set()).add(row.tactic)
    found = load_proofs(warm_start=True)
    assert 3800 < len(found) < len(load_proofs())
    for proof in found:
        assert {(proof.theorem.name, tactic) for tactic in tactics[proof.theorem.name]} <= allowed


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
