namespace Foo
variable (p q : Prop) {α : Type}

/-- A comment says sorry. -/
theorem swap (h : p ∧ q) : q ∧ p := by
  constructor
  · sorry
  · exact h.1 -- sorry

theorem zero (n : Nat) : n + 0 = n := sorry
def value : Nat := sorry
def «sorry» : Nat := 1
def positive : {n : Nat // n > 0} := ⟨1, sorry⟩
theorem witness : ∃ n : Nat, n = 5 := ⟨sorry, sorry⟩
mutual
theorem one : True := by sorry
theorem two : True := by
  have h : 1 = 1 := sorry
  exact trivial
end
theorem wrong : True := by
  exact nothing_of_this_name
  sorry
example : True ∧ True := by
  constructor <;> sorry
def factorial (n : Nat) : Nat := if n = 0 then 1 else n * factorial (n - 1)
termination_by n
decreasing_by sorry
theorem left : True := by sorry theorem right : True := by sorry
theorem 𝔸 (𝔹 : Nat) (h : 𝔹 = 1) : 𝔹 = 1 ∧ 1 = 𝔹 := ⟨sorry, by sorry⟩
set_option maxRecDepth 2000 in
@[simp] theorem scoped_option (h : p) : p :=
  sorry
macro "later" : tactic => `(tactic| exact sorry)
#eval (sorry : Nat)
end Foo
instance : Inhabited Nat := sorry
theorem last (n : Nat) : n = n := by
  cases n with
  | zero => sorry
  | succ n => sorry
