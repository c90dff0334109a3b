"""Finding declarations, and the proof in a larger text, by patterns."""

import pytest

from node.lean.text.declarations import NoProof, block_of, declarations

TEXT = """\
import A
/-- theorem not_this : True -/
inductive Tree (α : Type) where
  | leaf : Tree α
  | node (l : Tree α) (a : α) (r : Tree α) : Tree α
deriving Repr

namespace Tree
@[simp] def size : Tree α → Nat
  | leaf => 0
  | node l _ r => l.size + 1 + r.size

section Facts
private theorem size_leaf : (leaf : Tree α).size = 0 := rfl
protected lemma size_pos {t : Tree α} (h : t ≠ leaf := by simp) :
    0 < t.size := by sorry
end Facts
theorem _root_.outside : True := trivial
end Tree
namespace Open.Here
"""


def test_names_have_their_namespace_and_statements_end_before_the_value():
    found, namespace = declarations(TEXT)
    assert [(each.kind, each.name) for each in found] == [
        ("inductive", "Tree"),
        ("def", "Tree.size"),
        ("theorem", "Tree.size_leaf"),
        ("lemma", "Tree.size_pos"),
        ("theorem", "outside"),
    ]
    assert namespace == "Open.Here"
    assert found[2].statement == ": (leaf : Tree α).size = 0"
    assert found[3].statement == "{t : Tree α} (h : t ≠ leaf := by simp) : 0 < t.size"
    assert found[1].statement == ": Tree α → Nat"


def test_constructors_are_those_of_the_type():
    tree = declarations(TEXT)[0][0]
    assert [each.name for each in tree.constructors] == ["leaf", "node"]
    assert tree.constructors[1].signature.startswith("(l : Tree α) (a : α) (r : Tree α) : Tree α")


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("simp", "simp"),
        ("by simp", "simp"),
        (":= by\n    intro h\n    exact h", "intro h\nexact h"),
        ("by intro h\n   exact h", "intro h\nexact h"),
        ("have : a := by\n  simp\nomega", "have : a := by\n  simp\nomega"),
        ("by have : a := by\n     simp\n   omega", "have : a := by\n  simp\nomega"),
        ("theorem a : p → p\n  := by intro h\n        exact h", "intro h\nexact h"),
        ("import Mathlib\n\ntheorem a : p := by\n  simp\n\nend Foo", "simp"),
        ("theorem a (n : Nat := by exact 1) : ∃ m, let k := 1; m = k := by\n  simp", "simp"),
        ("lemma b : q := by\n  omega\n\ntheorem a : p := by\n  simp", "simp"),
        ("theorem a : p := ⟨1, 2⟩\n", "exact (⟨1, 2⟩)"),
        ("/- theorem a : p := by trivial -/\ntheorem a : p := by\n  simp -- theorem", "simp -- theorem"),
    ],
)
def test_the_block_of_the_theorem_is_found(text: str, block: str) -> None:
    assert block_of(text, "a") == block


def test_the_declaration_of_that_name_is_taken_before_the_last_one() -> None:
    text = "theorem a : p := by\n  simp\n\ntheorem b : q := by\n  omega"
    assert block_of(text, "a") == "simp"
    assert block_of(text, "other") == "omega"


@pytest.mark.parametrize("text", ["", "  \n", "by", "theorem a : p := by", "theorem a : p", "-- only words"])
def test_what_holds_no_proof_says_so(text: str) -> None:
    with pytest.raises(NoProof):
        block_of(text)
