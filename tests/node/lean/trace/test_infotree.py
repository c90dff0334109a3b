"""Reading printed info trees: cases that pocket Lean does not produce."""

from node.lean.trace.infotree import LeanSource, parse
from node.lean.trace.splitting import SPLIT, Splitter
from node.lean.trace.tree import root as block

SCALED = """
  • [Tactic] @ ⟨1, 0⟩-⟨1, 4⟩ @ Lean.Elab.Tactic.evalSimp
    (Tactic.simp "simp")
    before 
    a : M
    ⊢ c
      • [1, 2] = a
    after no goals
    • [Term] a : M @ ⟨1, 2⟩-⟨1, 3⟩
"""  # noqa: W291 - as Lean prints it


def test_a_scalar_product_at_the_begin_of_a_line_is_no_node():
    [root] = parse(SCALED)
    assert root.tactic is not None
    assert root.tactic.before == ("a : M\n⊢ c • [1, 2] = a",) and root.tactic.after == ()
    assert [child.name.name for child in root.children if child.name] == ["a"]


# `simp_rw` is Mathlib's, and pocket Lean has no Mathlib: this tree is written by hand after the one of `rw`, from which
# Mathlib takes the function that records the rules.
SIMP_RW = """
  • [Tactic] @ ⟨1, 0⟩-⟨1, 26⟩ @ Mathlib.Tactic.evalSimpRw
    (Mathlib.Tactic.tacticSimp_rw___ "simp_rw" [])
    before 
    ⊢ P a
    after 
    ⊢ P c
    • [Tactic] @ ⟨1, 9⟩-⟨1, 11⟩ @ Mathlib.Tactic.evalSimpRw
      [(Tactic.rwRule [] `h1) ","]
      before 
      ⊢ P a
      after 
      ⊢ P b
    • [Tactic] @ ⟨1, 13⟩-⟨1, 20⟩ @ Mathlib.Tactic.evalSimpRw
      [(Tactic.rwRule ["←"] `foo) <missing>]
      before 
      ⊢ P b
      after 
      ⊢ P c
"""  # noqa: W291


def test_simp_rw_lists_become_single_simp_only_steps():
    source = LeanSource("simp_rw [h1, ← foo a] at h")
    [root] = parse(SIMP_RW)
    assert root.tactic is not None
    splitter = Splitter(source, {}, SPLIT[0])
    slot, opened = block(root.tactic.before)
    left = splitter.one(root.tactic, opened)
    assert [goal.text for goal in left] == ["⊢ P c"]
    first = slot.node
    assert first is not None and first.item.tactic == "simp only [h1] at h"
    second = first.children[0].node
    assert second is not None and second.item.tactic == "simp only [← foo a] at h" and second.after == ("⊢ P c",)
