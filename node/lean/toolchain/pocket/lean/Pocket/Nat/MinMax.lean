module
prelude
public import Pocket.Nat.Order
@[expose] public section
/-! `min` and `max` of natural numbers. -/
set_option autoImplicit false

namespace Nat
instance instMinNat : Min Nat := ⟨fun n m => if n ≤ m then n else m⟩
instance instMaxNat : Max Nat := ⟨fun n m => if n ≤ m then m else n⟩
protected abbrev min (n m : Nat) : Nat := Min.min n m
protected abbrev max (n m : Nat) : Nat := Max.max n m
protected theorem min_def {n m : Nat} : min n m = if n ≤ m then n else m := rfl
protected theorem max_def {n m : Nat} : max n m = if n ≤ m then m else n := rfl
@[simp] protected theorem min_eq_left {a b : Nat} (h : a ≤ b) : min a b = a := if_pos h
@[simp] protected theorem min_eq_right {a b : Nat} (h : b ≤ a) : min a b = b := by
  cases Nat.lt_or_eq_of_le h with
  | inl h => exact if_neg (Nat.not_le_of_gt h)
  | inr h => rw [h]; exact if_pos (Nat.le_refl a)
@[simp] protected theorem max_eq_right {a b : Nat} (h : a ≤ b) : max a b = b := if_pos h
@[simp] protected theorem max_eq_left {a b : Nat} (h : b ≤ a) : max a b = a := by
  cases Nat.lt_or_eq_of_le h with
  | inl h => exact if_neg (Nat.not_le_of_gt h)
  | inr h => rw [h]; exact if_pos (Nat.le_refl a)
protected theorem min_le_left (a b : Nat) : min a b ≤ a := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.min_eq_left h]
  | inr h => rw [Nat.min_eq_right h]; exact h
protected theorem min_le_right (a b : Nat) : min a b ≤ b := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.min_eq_left h]; exact h
  | inr h => rw [Nat.min_eq_right h]
protected theorem le_max_left (a b : Nat) : a ≤ max a b := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.max_eq_right h]; exact h
  | inr h => rw [Nat.max_eq_left h]
protected theorem le_max_right (a b : Nat) : b ≤ max a b := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.max_eq_right h]
  | inr h => rw [Nat.max_eq_left h]; exact h
protected theorem le_min {a b c : Nat} : a ≤ min b c ↔ a ≤ b ∧ a ≤ c :=
  ⟨fun h => ⟨Nat.le_trans h (Nat.min_le_left b c), Nat.le_trans h (Nat.min_le_right b c)⟩, fun ⟨h₁, h₂⟩ => by
    cases Nat.le_total b c with
    | inl h => rw [Nat.min_eq_left h]; exact h₁
    | inr h => rw [Nat.min_eq_right h]; exact h₂⟩
protected theorem le_min_of_le_of_le {a b c : Nat} (h₁ : a ≤ b) (h₂ : a ≤ c) : a ≤ min b c := Nat.le_min.2 ⟨h₁, h₂⟩
protected theorem max_le {a b c : Nat} : max a b ≤ c ↔ a ≤ c ∧ b ≤ c :=
  ⟨fun h => ⟨Nat.le_trans (Nat.le_max_left a b) h, Nat.le_trans (Nat.le_max_right a b) h⟩, fun ⟨h₁, h₂⟩ => by
    cases Nat.le_total a b with
    | inl h => rw [Nat.max_eq_right h]; exact h₂
    | inr h => rw [Nat.max_eq_left h]; exact h₁⟩
protected theorem max_le_of_le_of_le {a b c : Nat} (h₁ : a ≤ c) (h₂ : b ≤ c) : max a b ≤ c := Nat.max_le.2 ⟨h₁, h₂⟩
protected theorem min_comm (a b : Nat) : min a b = min b a := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.min_eq_left h, Nat.min_eq_right h]
  | inr h => rw [Nat.min_eq_right h, Nat.min_eq_left h]
protected theorem max_comm (a b : Nat) : max a b = max b a := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.max_eq_right h, Nat.max_eq_left h]
  | inr h => rw [Nat.max_eq_left h, Nat.max_eq_right h]
@[simp] protected theorem min_self (a : Nat) : min a a = a := Nat.min_eq_left (Nat.le_refl a)
@[simp] protected theorem max_self (a : Nat) : max a a = a := Nat.max_eq_left (Nat.le_refl a)
@[simp] protected theorem zero_min (a : Nat) : min 0 a = 0 := Nat.min_eq_left (Nat.zero_le a)
@[simp] protected theorem min_zero (a : Nat) : min a 0 = 0 := Nat.min_eq_right (Nat.zero_le a)
@[simp] protected theorem zero_max (a : Nat) : max 0 a = a := Nat.max_eq_right (Nat.zero_le a)
@[simp] protected theorem max_zero (a : Nat) : max a 0 = a := Nat.max_eq_left (Nat.zero_le a)
protected theorem min_assoc (a b c : Nat) : min (min a b) c = min a (min b c) :=
  Nat.le_antisymm
    (Nat.le_min.2 ⟨(Nat.le_min.1 (Nat.le_min.1 (Nat.le_refl _)).1).1,
      Nat.le_min.2 ⟨(Nat.le_min.1 (Nat.le_min.1 (Nat.le_refl _)).1).2, Nat.min_le_right _ _⟩⟩)
    (Nat.le_min.2 ⟨Nat.le_min.2 ⟨Nat.min_le_left _ _, (Nat.le_min.1 (Nat.le_min.1 (Nat.le_refl _)).2).1⟩,
      (Nat.le_min.1 (Nat.le_min.1 (Nat.le_refl _)).2).2⟩)
protected theorem max_assoc (a b c : Nat) : max (max a b) c = max a (max b c) :=
  Nat.le_antisymm
    (Nat.max_le.2 ⟨Nat.max_le.2 ⟨Nat.le_max_left _ _, (Nat.max_le.1 (Nat.max_le.1 (Nat.le_refl _)).2).1⟩,
      (Nat.max_le.1 (Nat.max_le.1 (Nat.le_refl _)).2).2⟩)
    (Nat.max_le.2 ⟨(Nat.max_le.1 (Nat.max_le.1 (Nat.le_refl _)).1).1,
      Nat.max_le.2 ⟨(Nat.max_le.1 (Nat.max_le.1 (Nat.le_refl _)).1).2, Nat.le_max_right _ _⟩⟩)
protected theorem min_eq_left_iff {a b : Nat} : min a b = a ↔ a ≤ b := ⟨fun h => h ▸ Nat.min_le_right a b, Nat.min_eq_left⟩
protected theorem max_eq_right_iff {a b : Nat} : max a b = b ↔ a ≤ b := ⟨fun h => h ▸ Nat.le_max_left a b, Nat.max_eq_right⟩
protected theorem min_le_max (a b : Nat) : min a b ≤ max a b := Nat.le_trans (Nat.min_le_left a b) (Nat.le_max_left a b)
protected theorem min_add_max (a b : Nat) : min a b + max a b = a + b := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.min_eq_left h, Nat.max_eq_right h]
  | inr h => rw [Nat.min_eq_right h, Nat.max_eq_left h, Nat.add_comm]
protected theorem add_max_add_right (a b c : Nat) : max (a + c) (b + c) = max a b + c := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.max_eq_right h, Nat.max_eq_right (Nat.add_le_add_right h c)]
  | inr h => rw [Nat.max_eq_left h, Nat.max_eq_left (Nat.add_le_add_right h c)]
protected theorem add_min_add_right (a b c : Nat) : min (a + c) (b + c) = min a b + c := by
  cases Nat.le_total a b with
  | inl h => rw [Nat.min_eq_left h, Nat.min_eq_left (Nat.add_le_add_right h c)]
  | inr h => rw [Nat.min_eq_right h, Nat.min_eq_right (Nat.add_le_add_right h c)]
end Nat
