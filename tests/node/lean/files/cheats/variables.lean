Changed variables: the theorem's own line is the reference's.
--! reference
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := sorry
--! pair another_type
- variable (n m : Int)
+ variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := by omega
--! pair false_hypothesis
variable (n m : Nat) (absurd : 1 = 2)
- include absurd
- theorem t (h : n = m) : m + 0 = n := nomatch absurd
+ theorem t (h : n = m) : m + 0 = n := by omega
--! pair hypothesis_class
class Absurd : Prop where
  absurd : False
- variable (n m : Nat) [Absurd]
- theorem t (h : n = m) : m + 0 = n := Absurd.absurd.elim
+ variable (n m : Nat)
+ theorem t (h : n = m) : m + 0 = n := by omega
--! pair swapped
- variable (m n : Nat)
+ variable (n : Nat) (m : Nat)
theorem t (h : n = m) : m + 0 = n := by omega
--! pair one_variable
variable (n : Nat)
- local notation "m" => n
- theorem t (h : n = m) : m + 0 = n := rfl
+ variable (m : Nat)
+ theorem t (h : n = m) : m + 0 = n := h.symm
--! pair auto_bound_type
set_option autoImplicit true
- variable (n m : N) [Add N] [OfNat N 0] (zero : ∀ a : N, a + 0 = a)
- include zero
- theorem t (h : n = m) : m + 0 = n := (zero m).trans h.symm
+ variable (n m : Nat)
+ theorem t (h : n = m) : m + 0 = n := h.symm
--! pair extra_unused_variable
variable (n m k : Nat)
- include k
theorem t (h : n = m) : m + 0 = n := h.symm
--! pair optional_hypothesis
variable (n m : Nat)
- theorem t (h : n = m) (k : Nat := 7) : m + 0 = n := h.symm
+ theorem t (h : n = m) : m + 0 = n := h.symm
--! pair redeclared_binder
variable (n m : Nat)
- variable (n : Fin 1) (m : Fin 1)
- theorem t (h : n = m) : m = n := h.symm
+ theorem t (h : n = m) : m + 0 = n := h.symm
--! reference
theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → r := sorry
--! pair stronger_hypothesis
- theorem t (p q r : Prop) (h : p → r) (k : q → r) : p → r := h
+ theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → r := k ∘ h
--! pair hypothesis_more
- theorem t (p q r : Prop) (h : p → q) (k : q → r) (l : r) : p → r := fun _ => l
+ theorem t (p q r : Prop) (h : p → q) (k : q → r) (l : p) : r := k (h l)
--! pair weaker_conclusion
- theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → q := h
+ theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → r := fun l => k (h l)
