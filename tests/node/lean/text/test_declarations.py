"""Finding the declarations of a file by patterns."""

from node.lean.text.declarations import declarations

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
