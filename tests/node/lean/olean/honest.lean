universe u
inductive Two | a | b
inductive Even : Nat → Prop | zero : Even 0 | step (n : Nat) (h : Even n) : Even (n + 2)
structure Both (p q : Prop) : Prop where
  left : p
  right : q
def two : Nat := 2
def large : Nat := 36893488147419103232
def label : String := "a label"
noncomputable def number (t : Two) : Nat := Two.rec 1 2 t
opaque hidden : Nat
axiom cheat : 1 = 3
unsafe def unsound : Nat := unsound + 1
partial def forever (n : Nat) : Nat := forever (n + 1)
theorem one : 1 = 1 := rfl
theorem two_is : two = 2 := rfl
theorem large_is : large = 36893488147419103232 := rfl
theorem number_is : number Two.a = 1 := rfl
theorem even_two : Even 2 := .step 0 .zero
theorem both : Both (1 = 1) (2 = 2) := ⟨rfl, rfl⟩
theorem left (h : Both (1 = 1) (1 = 2)) : 1 = 2 := h.left.symm.trans h.right
theorem same {α : Sort u} (a : α) : a = a := rfl
theorem half (p q : Prop) (h : p) : q → p := fun _ => h
private theorem secret : 3 = 3 := id rfl
theorem bad : 1 = 2 := sorry
theorem two_bad : two = 3 := sorry
theorem all_bad (n : Nat) : n = n + 1 := sorry
theorem anything (p : Prop) : p := sorry
theorem by_axiom : 1 = 3 := cheat
