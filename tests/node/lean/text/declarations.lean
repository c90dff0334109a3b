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
