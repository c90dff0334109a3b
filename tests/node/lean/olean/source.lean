universe u
inductive Tree (α : Type u) | leaf | node (children : List (Tree α)) (a : α)
mutual
inductive Even : Nat → Prop | zero : Even 0 | step {n : Nat} (h : Odd n) : Even (n + 1)
inductive Odd : Nat → Prop | step {n : Nat} (h : Even n) : Odd (n + 1)
end
structure Pair (α : Type u) (β : Type u) where
  first : α
  second : β
def Parity : Type := Quot fun a b : Nat => ∃ k, b = a + 2 * k
def large : Nat := 36893488147419103232
def label : String := "a label"
def size {α : Type u} : List α → Nat | [] => 0 | _ :: l => size l + 1
theorem large_eq : large = 36893488147419103232 := rfl
theorem one : 1 = 1 := rfl
theorem parity : (Quot.mk _ 0 : Parity) = Quot.mk _ 4 := Quot.sound ⟨2, rfl⟩
theorem two_is_even : Even 2 := .step (.step .zero)
theorem swap {α β : Type u} (p : Pair α β) : (Pair.mk p.second p.first).first = p.second := rfl
axiom wrong : 1 = 2
opaque hidden : Nat
private theorem secret : 3 = 3 := rfl
