
inductive Rose | node (label : Nat) (children : List (Option Rose))
def Rose.label : Rose → Nat | .node n _ => n
mutual
inductive Left : Nat → Type | done : Left 0 | go {n : Nat} (h : Nat → Right n) : Left (n + 1)
inductive Right : Nat → Type | go {n : Nat} (h : Left n) : Right (n + 1)
end
inductive Accessible {α : Type} (r : α → α → Prop) : α → Prop
  | intro (x : α) (h : ∀ y, r y x → Accessible r y) : Accessible r x
theorem numbers : 2 ^ 64 % 1000 = 616 ∧ Nat.gcd 360 84 = 12 ∧ 5 <<< 3 ^^^ 7 = 47 := by decide
theorem letters : "ab" ++ "c" = "abc" := by decide
theorem sums (a b c : Nat) (h : a < b) : 2 * a + c < 2 * b + c := by omega
theorem choice {α : Type} (h : ∃ x : α, x = x) : Nonempty α := ⟨Classical.choose h⟩
theorem cases (xs : List Nat) : (xs ++ []).length = xs.length := by simp
theorem eta (p : Nat × Nat) : (p.1, p.2) = p := rfl
