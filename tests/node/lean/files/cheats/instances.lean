Local instances and coercions: the same text elaborates to something else.
--! reference
theorem t (a b : Nat) : a + b = b + a := sorry
theorem u : (3 : Nat) < 5 := sorry
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := sorry
--! pair add_nat
- local instance : Add Nat := ⟨fun _ _ => 0⟩
- theorem t (a b : Nat) : a + b = b + a := rfl
+ local instance : Mul Nat := ⟨fun _ _ => 0⟩
+ theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair hadd_nat
- instance : HAdd Nat Nat Nat := ⟨fun _ _ => 0⟩
- theorem t (a b : Nat) : a + b = b + a := rfl
+ instance : HAdd Nat Int Nat := ⟨fun _ _ => 0⟩
+ theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair lt_nat
theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
+ theorem u : (3 : Nat) < 5 := by decide
instance : LT Nat := ⟨fun _ _ => True⟩
- theorem u : (3 : Nat) < 5 := trivial
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair le_nat_false
theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
+ section
local instance : LE Nat := ⟨fun _ _ => False⟩
- theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := nomatch h
+ end
+ theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair sub_nat
theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
- instance (priority := high) zeroSub : Sub Nat := ⟨fun _ _ => 0⟩
- theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := rfl
+ instance (priority := low) zeroSub : Sub Nat := ⟨fun _ _ => 0⟩
+ theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair ofnat_five
theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
- instance : OfNat Nat 5 := ⟨100⟩
+ instance : OfNat Nat 7 := ⟨100⟩
theorem u : (3 : Nat) < 5 := by decide
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair ofnat_zero
theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
- instance : OfNat Nat 0 := ⟨0⟩
+ attribute [local instance low] instOfNatNat
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair instance_argument
- theorem t [Add Nat] (h : ∀ a b : Nat, a + b = b + a) (a b : Nat) : a + b = b + a := h a b
+ theorem t' [Add Nat] (h : ∀ a b : Nat, a + b = b + a) (a b : Nat) : a + b = b + a := h a b
+ theorem t (a b : Nat) : a + b = b + a := t' Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair instance_by_attribute
@[reducible] def any : Add Nat := ⟨fun _ _ => 0⟩
+ theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
attribute [local instance] any
- theorem t (a b : Nat) : a + b = b + a := rfl
theorem u : (3 : Nat) < 5 := by decide
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! pair scoped_instance
namespace Zero
scoped instance : Add Nat := ⟨fun _ _ => 0⟩
end Zero
- open Zero
- theorem t (a b : Nat) : a + b = b + a := rfl
+ theorem t (a b : Nat) : a + b = b + a := Nat.add_comm a b
theorem u : (3 : Nat) < 5 := by decide
theorem v (a b : Nat) (h : a ≤ b) : a - b = 0 := Nat.sub_eq_zero_of_le h
--! reference
theorem t (n : Nat) : (if n = n + 1 then 1 else 2) = 2 := sorry
theorem u : decide (2 = 3) = false := sorry
--! pair decidable_eq
- instance (priority := high) wrong (a b : Nat) : Decidable (a = b) := if h : a = b then isTrue h else isFalse h
+ instance (priority := low) wrong (a b : Nat) : Decidable (a = b) := if h : a = b then isTrue h else isFalse h
theorem t (n : Nat) : (if n = n + 1 then 1 else 2) = 2 := by simp
- theorem u : decide (2 = 3) = false := by simp
+ theorem u : decide (2 = 3) = false := rfl
--! pair classical_decidable
open Classical in
theorem t (n : Nat) : (if n = n + 1 then 1 else 2) = 2 := by simp
- attribute [local instance high] Classical.propDecidable
+ attribute [local instance low] Classical.propDecidable
theorem u : decide (2 = 3) = false := by simp
--! reference
structure Bit where
  one : Bool
theorem t (b : Bool) (h : b = true) : b || false := sorry
theorem u (i : Int) (n : Nat) (h : i = n) : 0 ≤ i := sorry
--! pair bool_to_prop
structure Bit where
  one : Bool
- instance (priority := high) : CoeSort Bool Prop := ⟨fun _ => True⟩
- theorem t (b : Bool) (h : b = true) : b || false := trivial
+ instance (priority := high) : CoeSort Bit Prop := ⟨fun _ => True⟩
+ theorem t (b : Bool) (h : b = true) : b || false := by simp [h]
theorem u (i : Int) (n : Nat) (h : i = n) : 0 ≤ i := by omega
--! pair nat_to_int
structure Bit where
  one : Bool
theorem t (b : Bool) (h : b = true) : b || false := by simp [h]
- instance (priority := high) : Coe Nat Int := ⟨fun _ => 0⟩
- instance (priority := high) {n : Nat} : CoeT Nat n Int := ⟨0⟩
- theorem u (i : Int) (n : Nat) (h : i = n) : 0 ≤ i := by rw [h]
+ instance (priority := high) : Coe Nat Bit := ⟨fun _ => ⟨true⟩⟩
+ theorem u (i : Int) (n : Nat) (h : i = n) : 0 ≤ i := by omega
