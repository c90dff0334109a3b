Changed variables: the theorem's own line is the reference's.
--! reference
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := sorry
--! cheat another_type
variable (n m : Int)
theorem t (h : n = m) : m + 0 = n := by omega
--! honest another_type
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := by omega
--! cheat false_hypothesis
variable (n m : Nat) (absurd : 1 = 2)
include absurd
theorem t (h : n = m) : m + 0 = n := nomatch absurd
--! honest false_hypothesis
variable (n m : Nat) (absurd : 1 = 2)
theorem t (h : n = m) : m + 0 = n := by omega
--! cheat hypothesis_class
class Absurd : Prop where
  absurd : False
variable (n m : Nat) [Absurd]
theorem t (h : n = m) : m + 0 = n := Absurd.absurd.elim
--! honest hypothesis_class
class Absurd : Prop where
  absurd : False
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := by omega
--! cheat swapped
variable (m n : Nat)
theorem t (h : n = m) : m + 0 = n := by omega
--! honest swapped
variable (n : Nat) (m : Nat)
theorem t (h : n = m) : m + 0 = n := by omega
--! cheat one_variable
variable (n : Nat)
local notation "m" => n
theorem t (h : n = m) : m + 0 = n := rfl
--! honest one_variable
variable (n : Nat)
variable (m : Nat)
theorem t (h : n = m) : m + 0 = n := h.symm
--! cheat auto_bound_type
set_option autoImplicit true
variable (n m : N) [Add N] [OfNat N 0] (zero : ∀ a : N, a + 0 = a)
include zero
theorem t (h : n = m) : m + 0 = n := (zero m).trans h.symm
--! honest auto_bound_type
set_option autoImplicit true
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := h.symm
--! cheat extra_unused_variable
variable (n m k : Nat)
include k
theorem t (h : n = m) : m + 0 = n := h.symm
--! honest extra_unused_variable
variable (n m k : Nat)
theorem t (h : n = m) : m + 0 = n := h.symm
--! cheat optional_hypothesis
variable (n m : Nat)
theorem t (h : n = m) (k : Nat := 7) : m + 0 = n := h.symm
--! honest optional_hypothesis
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := h.symm
--! cheat redeclared_binder
variable (n m : Nat)
variable (n : Fin 1) (m : Fin 1)
theorem t (h : n = m) : m = n := h.symm
--! honest redeclared_binder
variable (n m : Nat)
theorem t (h : n = m) : m + 0 = n := h.symm
--! reference
theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → r := sorry
--! cheat stronger_hypothesis
theorem t (p q r : Prop) (h : p → r) (k : q → r) : p → r := h
--! honest stronger_hypothesis
theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → r := k ∘ h
--! cheat hypothesis_more
theorem t (p q r : Prop) (h : p → q) (k : q → r) (l : r) : p → r := fun _ => l
--! honest hypothesis_more
theorem t (p q r : Prop) (h : p → q) (k : q → r) (l : p) : r := k (h l)
--! cheat weaker_conclusion
theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → q := h
--! honest weaker_conclusion
theorem t (p q r : Prop) (h : p → q) (k : q → r) : p → r := fun l => k (h l)
