module
meta import Init
public section
/-- Its body is exposed. -/
@[expose] def next (n : Nat) : Nat := n + 1
def hidden (n : Nat) : Nat := n + 2
private def mine (n : Nat) : Nat := n + 3
theorem next_lt (n : Nat) : n < next n := Nat.lt_succ_self n
private theorem mine_eq (n : Nat) : mine n = n + 3 := rfl
theorem hidden_lt (n : Nat) : n < hidden n := by unfold hidden; omega
structure Two where
  one : Nat
  other : Bool
deriving DecidableEq
meta section
macro "close" : tactic => `(tactic| omega)
end
theorem closed (a b : Nat) (h : a < b) : a ≤ b := by close
example : next 3 = 4 := by decide
end
theorem not_public (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩
public theorem uses (n : Nat) : ∃ k, k = n + 3 := ⟨mine n, mine_eq n⟩
