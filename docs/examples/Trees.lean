/-! Exercises, with gaps. -/

inductive Tree (α : Type) where
  | leaf : Tree α
  | node (left : Tree α) (value : α) (right : Tree α) : Tree α

namespace Tree

def mirror : Tree α → Tree α
  | leaf => leaf
  | node l a r => node r.mirror a l.mirror

def size : Tree α → Nat
  | leaf => 0
  | node l _ r => l.size + 1 + r.size

theorem mirror_mirror (t : Tree α) : t.mirror.mirror = t := by
  sorry

theorem size_mirror (t : Tree α) : t.mirror.size = t.size := by
  induction t with
  | leaf => sorry
  | node l a r ihl ihr => sorry

end Tree

theorem demorgan (p q : Prop) : ¬(p ∧ q) ↔ ¬p ∨ ¬q := sorry

theorem double (n : Nat) (h : n % 2 = 0) : ∃ k, n = k + k :=
  ⟨n / 2, sorry⟩
