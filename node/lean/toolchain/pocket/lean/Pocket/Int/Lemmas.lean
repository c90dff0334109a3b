module
prelude
public import Pocket.Omega.Facts
@[expose] public section
/-! Integers: the everyday laws of addition, subtraction and order. The linear ones are proved by `omega`. -/
set_option autoImplicit false
variable {a b c d e f : Int}

namespace Int

/-! ## Negation, addition and subtraction -/

@[simp] theorem add_def {a b : Int} : Int.add a b = a + b := rfl
@[simp] theorem mul_def {a b : Int} : Int.mul a b = a * b := rfl
@[simp] theorem negSucc_ne_zero (n : Nat) : negSucc n ≠ 0 := fun h => nomatch h
@[simp] theorem zero_ne_negSucc (n : Nat) : 0 ≠ negSucc n := fun h => nomatch h
protected theorem neg_inj : -a = -b ↔ a = b := by omega
@[simp] protected theorem neg_eq_zero : -a = 0 ↔ a = 0 := by omega
protected theorem neg_ne_zero : -a ≠ 0 ↔ a ≠ 0 := by omega
theorem add_neg_one (i : Int) : i + -1 = i - 1 := rfl
protected theorem neg_eq_of_add_eq_zero (h : a + b = 0) : -a = b := by omega
protected theorem eq_neg_of_eq_neg (h : a = -b) : b = -a := by omega
protected theorem eq_neg_comm : a = -b ↔ b = -a := by omega
protected theorem neg_eq_comm : -a = b ↔ -b = a := by omega
protected theorem sub_sub_self (a b : Int) : a - (a - b) = b := by omega
protected theorem sub_right_comm (a b c : Int) : a - b - c = a - c - b := by omega
protected theorem sub_add_sub_cancel (a b c : Int) : a - b + (b - c) = a - c := by omega
protected theorem add_sub_add_right (n k m : Int) : (n + k) - (m + k) = n - m := by omega
protected theorem add_sub_add_left (k n m : Int) : (k + n) - (k + m) = n - m := by omega
protected theorem sub_add_comm (a b c : Int) : a - b + c = a + c - b := by omega
protected theorem add_sub_cancel' (a b : Int) : a + (b - a) = b := by omega
protected theorem sub_eq_iff_eq_add : a - b = c ↔ a = c + b := by omega
protected theorem sub_eq_iff_eq_add' : a - b = c ↔ a = b + c := by omega
protected theorem eq_sub_of_add_eq (h : a + b = c) : a = c - b := by omega
protected theorem sub_eq_of_eq_add (h : a = c + b) : a - b = c := by omega
protected theorem eq_add_of_sub_eq (h : a - b = c) : a = c + b := by omega
protected theorem add_eq_zero_iff_eq_neg : a + b = 0 ↔ a = -b := by omega
@[simp] protected theorem add_right_inj (i j k : Int) : (i + k = j + k) ↔ i = j := by omega
@[simp] protected theorem add_left_inj (i j k : Int) : (k + i = k + j) ↔ i = j := by omega
@[simp] protected theorem sub_left_inj (i j k : Int) : (k - i = k - j) ↔ i = j := by omega
@[simp] protected theorem sub_right_inj (i j k : Int) : (i - k = j - k) ↔ i = j := by omega
attribute [simp] Int.add_left_neg Int.add_right_neg
@[simp] protected theorem add_eq_left : a + b = a ↔ b = 0 := by omega
@[simp] protected theorem add_eq_right : a + b = b ↔ a = 0 := by omega
theorem toNat_sub (m n : Nat) : toNat (m - n) = m - n := by omega
theorem natCast_sub_dichotomy (a b : Nat) : ((a - b : Nat) : Int) = if b ≤ a then (a : Int) - b else 0 := by omega

/-! ## Order -/

protected theorem le_antisymm_iff : a = b ↔ a ≤ b ∧ b ≤ a := by omega
protected theorem eq_iff_le_and_ge : a = b ↔ a ≤ b ∧ b ≤ a := by omega
protected theorem lt_iff_le_and_ne : a < b ↔ a ≤ b ∧ a ≠ b := by omega
protected theorem lt_iff_le_not_le : a < b ↔ a ≤ b ∧ ¬b ≤ a := by omega
protected theorem lt_of_le_of_ne (h : a ≤ b) (h' : a ≠ b) : a < b := by omega
protected theorem lt_of_not_ge (h : ¬a ≤ b) : b < a := by omega
protected theorem lt_of_not_le (h : ¬a ≤ b) : b < a := by omega
protected theorem not_le_of_gt (h : b < a) : ¬a ≤ b := by omega
protected theorem not_lt_of_ge (h : b ≤ a) : ¬a < b := by omega
protected theorem le_of_not_gt (h : ¬a > b) : a ≤ b := by omega
protected theorem le_of_not_lt (h : ¬a < b) : b ≤ a := by omega
protected theorem le_of_not_le (h : ¬a ≤ b) : b ≤ a := by omega
protected theorem lt_asymm (h : a < b) : ¬b < a := by omega
protected theorem lt_or_le (a b : Int) : a < b ∨ b ≤ a := by omega
protected theorem lt_or_ge (a b : Int) : a < b ∨ b ≤ a := by omega
protected theorem le_or_lt (a b : Int) : a ≤ b ∨ b < a := by omega
protected theorem ne_iff_lt_or_gt : a ≠ b ↔ a < b ∨ b < a := by omega
protected theorem le_iff_eq_or_lt : a ≤ b ↔ a = b ∨ a < b := by omega
protected theorem le_iff_lt_or_eq : a ≤ b ↔ a < b ∨ a = b := by omega
protected theorem lt_succ (a : Int) : a < a + 1 := by omega
protected theorem zero_lt_one : (0 : Int) < 1 := by decide
protected theorem one_pos : 0 < (1 : Int) := by decide
protected theorem one_ne_zero : (1 : Int) ≠ 0 := by decide
protected theorem one_nonneg : 0 ≤ (1 : Int) := by decide
theorem not_le_eq (a b : Int) : (¬(a ≤ b)) = (b + 1 ≤ a) := propext Int.not_le
theorem not_ge_eq (a b : Int) : (¬(a ≥ b)) = (a + 1 ≤ b) := propext Int.not_le
theorem not_lt_eq (a b : Int) : (¬(a < b)) = (b ≤ a) := propext Int.not_lt
theorem not_gt_eq (a b : Int) : (¬(a > b)) = (a ≤ b) := propext Int.not_lt
instance : Trans (α := Int) (β := Int) (γ := Int) (· ≤ ·) (· ≤ ·) (· ≤ ·) := ⟨Int.le_trans⟩
instance : Trans (α := Int) (β := Int) (γ := Int) (· < ·) (· ≤ ·) (· < ·) := ⟨Int.lt_of_lt_of_le⟩
instance : Trans (α := Int) (β := Int) (γ := Int) (· ≤ ·) (· < ·) (· < ·) := ⟨Int.lt_of_le_of_lt⟩
instance : Trans (α := Int) (β := Int) (γ := Int) (· < ·) (· < ·) (· < ·) := ⟨Int.lt_trans⟩
instance : Trans (α := Int) (β := Int) (γ := Int) (· ≥ ·) (· ≥ ·) (· ≥ ·) := ⟨fun h₁ h₂ => Int.le_trans h₂ h₁⟩
instance : Trans (α := Int) (β := Int) (γ := Int) (· > ·) (· > ·) (· > ·) := ⟨fun h₁ h₂ => Int.lt_trans h₂ h₁⟩
@[refl] theorem le_refl' (a : Int) : a ≤ a := Int.le_refl a

/-! ## Order and casts -/

theorem le.intro_sub (n : Nat) (h : b - a = n) : a ≤ b := by omega
theorem le.dest_sub (h : a ≤ b) : ∃ n : Nat, b - a = n := nonneg_def.1 h
theorem lt.intro {n : Nat} (h : a + (n + 1) = b) : a < b := by omega
theorem lt.dest (h : a < b) : ∃ n : Nat, a + Nat.succ n = b := ⟨(b - a - 1).toNat, by omega⟩
theorem lt_add_succ (a : Int) (n : Nat) : a < a + (n + 1) := by omega
theorem negSucc_le_zero (n : Nat) : negSucc n ≤ 0 := by omega
@[simp] theorem negSucc_not_nonneg (n : Nat) : 0 ≤ negSucc n ↔ False := iff_false_intro (by omega)
@[simp] theorem negSucc_not_pos (n : Nat) : 0 < negSucc n ↔ False := iff_false_intro (by omega)
theorem eq_negSucc_of_lt_zero (h : a < 0) : ∃ n : Nat, a = negSucc n := ⟨(-a - 1).toNat, by omega⟩
theorem exists_eq_neg_ofNat (h : a ≤ 0) : ∃ n : Nat, a = -(n : Int) := ⟨(-a).toNat, by omega⟩
@[simp] theorem succ_ofNat_pos (n : Nat) : 0 < (n : Int) + 1 := by omega
theorem not_ofNat_neg (n : Nat) : ¬((n : Int) < 0) := by omega
@[simp] theorem natCast_add_one_ne_zero (n : Nat) : (n : Int) + 1 ≠ 0 := by omega

/-! ## Order and addition -/

protected theorem add_lt_add_left (h : a < b) (c : Int) : c + a < c + b := by omega
protected theorem add_lt_add_right (h : a < b) (c : Int) : a + c < b + c := by omega
protected theorem le_of_add_le_add_left (h : a + b ≤ a + c) : b ≤ c := by omega
protected theorem le_of_add_le_add_right (h : a + b ≤ c + b) : a ≤ c := by omega
protected theorem lt_of_add_lt_add_left (h : a + b < a + c) : b < c := by omega
protected theorem lt_of_add_lt_add_right (h : a + b < c + b) : a < c := by omega
@[simp] protected theorem add_le_add_iff_left (a : Int) : a + b ≤ a + c ↔ b ≤ c := by omega
@[simp] protected theorem add_le_add_iff_right (c : Int) : a + c ≤ b + c ↔ a ≤ b := by omega
@[simp] protected theorem add_lt_add_iff_left (a : Int) : a + b < a + c ↔ b < c := by omega
@[simp] protected theorem add_lt_add_iff_right (c : Int) : a + c < b + c ↔ a < b := by omega
protected theorem add_lt_add (h₁ : a < b) (h₂ : c < d) : a + c < b + d := by omega
protected theorem add_lt_add_of_le_of_lt (h₁ : a ≤ b) (h₂ : c < d) : a + c < b + d := by omega
protected theorem add_lt_add_of_lt_of_le (h₁ : a < b) (h₂ : c ≤ d) : a + c < b + d := by omega
protected theorem add_le_add_three (h₁ : a ≤ d) (h₂ : b ≤ e) (h₃ : c ≤ f) : a + b + c ≤ d + e + f := by omega
protected theorem le_add_of_nonneg_right (h : 0 ≤ b) : a ≤ a + b := by omega
protected theorem le_add_of_nonneg_left (h : 0 ≤ b) : a ≤ b + a := by omega
protected theorem lt_add_of_pos_right (a : Int) {b : Int} (h : 0 < b) : a < a + b := by omega
protected theorem lt_add_of_pos_left (a : Int) {b : Int} (h : 0 < b) : a < b + a := by omega
protected theorem add_nonneg (ha : 0 ≤ a) (hb : 0 ≤ b) : 0 ≤ a + b := by omega
protected theorem add_pos (ha : 0 < a) (hb : 0 < b) : 0 < a + b := by omega
protected theorem add_pos_of_pos_of_nonneg (ha : 0 < a) (hb : 0 ≤ b) : 0 < a + b := by omega
protected theorem add_pos_of_nonneg_of_pos (ha : 0 ≤ a) (hb : 0 < b) : 0 < a + b := by omega
protected theorem add_nonpos (ha : a ≤ 0) (hb : b ≤ 0) : a + b ≤ 0 := by omega
protected theorem add_neg (ha : a < 0) (hb : b < 0) : a + b < 0 := by omega
protected theorem lt_add_of_le_of_pos (hbc : b ≤ c) (ha : 0 < a) : b < c + a := by omega
protected theorem le_iff_lt_add_one : a ≤ b ↔ a < b + 1 := by omega
theorem add_one_le_iff : a + 1 ≤ b ↔ a < b := Iff.rfl
theorem lt_add_one_iff : a < b + 1 ↔ a ≤ b := by omega
theorem le_add_one (h : a ≤ b) : a ≤ b + 1 := by omega
theorem lt_add_one_of_le (h : a ≤ b) : a < b + 1 := by omega
theorem le_of_lt_add_one (h : a < b + 1) : a ≤ b := by omega
theorem sub_one_lt_of_le (h : a ≤ b) : a - 1 < b := by omega
theorem le_of_sub_one_lt (h : a - 1 < b) : a ≤ b := by omega
theorem le_sub_one_of_lt (h : a < b) : a ≤ b - 1 := by omega
theorem lt_of_le_sub_one (h : a ≤ b - 1) : a < b := by omega
theorem le_add_one_iff : a ≤ b + 1 ↔ a ≤ b ∨ a = b + 1 := by omega
theorem sub_one_lt_iff : a - 1 < b ↔ a ≤ b := by omega
theorem le_sub_one_iff : a ≤ b - 1 ↔ a < b := by omega

/-! ## Order and negation -/

@[simp] protected theorem neg_le_neg_iff : -a ≤ -b ↔ b ≤ a := by omega
@[simp] protected theorem neg_lt_neg_iff : -a < -b ↔ b < a := by omega
@[simp] protected theorem neg_le_zero_iff : -a ≤ 0 ↔ 0 ≤ a := by omega
@[simp] protected theorem zero_le_neg_iff : 0 ≤ -a ↔ a ≤ 0 := by omega
@[simp] protected theorem neg_lt_zero_iff : -a < 0 ↔ 0 < a := by omega
@[simp] protected theorem zero_lt_neg_iff : 0 < -a ↔ a < 0 := by omega
protected theorem neg_pos : 0 < -a ↔ a < 0 := by omega
protected theorem neg_nonneg : 0 ≤ -a ↔ a ≤ 0 := by omega
protected theorem neg_lt_neg (h : a < b) : -b < -a := by omega
protected theorem le_of_neg_le_neg (h : -b ≤ -a) : a ≤ b := by omega
protected theorem lt_of_neg_lt_neg (h : -b < -a) : a < b := by omega
protected theorem neg_nonpos_of_nonneg (h : 0 ≤ a) : -a ≤ 0 := by omega
protected theorem neg_nonneg_of_nonpos (h : a ≤ 0) : 0 ≤ -a := by omega
protected theorem nonneg_of_neg_nonpos (h : -a ≤ 0) : 0 ≤ a := by omega
protected theorem nonpos_of_neg_nonneg (h : 0 ≤ -a) : a ≤ 0 := by omega
protected theorem neg_neg_of_pos (h : 0 < a) : -a < 0 := by omega
protected theorem neg_pos_of_neg (h : a < 0) : 0 < -a := by omega
protected theorem pos_of_neg_neg (h : -a < 0) : 0 < a := by omega
protected theorem neg_of_neg_pos (h : 0 < -a) : a < 0 := by omega
protected theorem le_neg_of_le_neg (h : a ≤ -b) : b ≤ -a := by omega
protected theorem neg_le_of_neg_le (h : -a ≤ b) : -b ≤ a := by omega
protected theorem lt_neg_of_lt_neg (h : a < -b) : b < -a := by omega
protected theorem neg_lt_of_neg_lt (h : -a < b) : -b < a := by omega

/-! ## Order and subtraction -/

@[simp high] protected theorem sub_pos : 0 < a - b ↔ b < a := by omega
@[simp high] protected theorem sub_nonneg : 0 ≤ a - b ↔ b ≤ a := by omega
protected theorem sub_pos_of_lt (h : b < a) : 0 < a - b := by omega
protected theorem lt_of_sub_pos (h : 0 < a - b) : b < a := by omega
protected theorem sub_nonpos_of_le (h : a ≤ b) : a - b ≤ 0 := by omega
protected theorem le_of_sub_nonpos (h : a - b ≤ 0) : a ≤ b := by omega
protected theorem sub_neg_of_lt (h : a < b) : a - b < 0 := by omega
protected theorem lt_of_sub_neg (h : a - b < 0) : a < b := by omega
protected theorem sub_le_self (a : Int) {b : Int} (h : 0 ≤ b) : a - b ≤ a := by omega
protected theorem sub_lt_self (a : Int) {b : Int} (h : 0 < b) : a - b < a := by omega
protected theorem sub_left_le_of_le_add (h : a ≤ b + c) : a - b ≤ c := by omega
protected theorem sub_right_le_of_le_add (h : a ≤ b + c) : a - c ≤ b := by omega
protected theorem le_add_of_sub_left_le (h : a - b ≤ c) : a ≤ b + c := by omega
protected theorem le_add_of_sub_right_le (h : a - c ≤ b) : a ≤ b + c := by omega
protected theorem add_le_of_le_sub_left (h : b ≤ c - a) : a + b ≤ c := by omega
protected theorem add_le_of_le_sub_right (h : a ≤ c - b) : a + b ≤ c := by omega
protected theorem le_sub_left_of_add_le (h : a + b ≤ c) : b ≤ c - a := by omega
protected theorem le_sub_right_of_add_le (h : a + b ≤ c) : a ≤ c - b := by omega
protected theorem add_lt_of_lt_sub_left (h : b < c - a) : a + b < c := by omega
protected theorem add_lt_of_lt_sub_right (h : a < c - b) : a + b < c := by omega
protected theorem lt_sub_left_of_add_lt (h : a + b < c) : b < c - a := by omega
protected theorem lt_sub_right_of_add_lt (h : a + b < c) : a < c - b := by omega
protected theorem sub_left_lt_of_lt_add (h : a < b + c) : a - b < c := by omega
protected theorem sub_right_lt_of_lt_add (h : a < b + c) : a - c < b := by omega
protected theorem lt_add_of_sub_left_lt (h : a - b < c) : a < b + c := by omega
protected theorem lt_add_of_sub_right_lt (h : a - c < b) : a < b + c := by omega
protected theorem sub_le_of_sub_le (h : a - b ≤ c) : a - c ≤ b := by omega
protected theorem sub_lt_of_sub_lt (h : a - b < c) : a - c < b := by omega
protected theorem sub_lt_iff : a - b < c ↔ a < c + b := by omega
protected theorem add_lt_iff : a + b < c ↔ a < -b + c := by omega
protected theorem sub_le_sub_left (h : a ≤ b) (c : Int) : c - b ≤ c - a := by omega
protected theorem sub_le_sub_right (h : a ≤ b) (c : Int) : a - c ≤ b - c := by omega
protected theorem sub_le_sub (hab : a ≤ b) (hcd : c ≤ d) : a - d ≤ b - c := by omega
protected theorem sub_lt_sub_left (h : a < b) (c : Int) : c - b < c - a := by omega
protected theorem sub_lt_sub_right (h : a < b) (c : Int) : a - c < b - c := by omega
protected theorem sub_lt_sub (hab : a < b) (hcd : c < d) : a - d < b - c := by omega
@[simp] protected theorem sub_le_sub_left_iff : c - a ≤ c - b ↔ b ≤ a := by omega
@[simp] protected theorem sub_le_sub_right_iff : a - c ≤ b - c ↔ a ≤ b := by omega
@[simp] protected theorem sub_lt_sub_left_iff : c - a < c - b ↔ b < a := by omega
@[simp] protected theorem sub_lt_sub_right_iff : a - c < b - c ↔ a < b := by omega
protected theorem add_le_iff_le_sub : a + b ≤ c ↔ a ≤ c - b := by omega
protected theorem le_add_iff_sub_le : a ≤ b + c ↔ a - c ≤ b := by omega
protected theorem add_le_zero_iff_le_neg : a + b ≤ 0 ↔ a ≤ -b := by omega
protected theorem add_le_zero_iff_le_neg' : a + b ≤ 0 ↔ b ≤ -a := by omega
protected theorem add_nonnneg_iff_neg_le : 0 ≤ a + b ↔ -b ≤ a := by omega
protected theorem add_nonnneg_iff_neg_le' : 0 ≤ a + b ↔ -a ≤ b := by omega
protected theorem sub_le_iff_le_add : a - b ≤ c ↔ a ≤ c + b := by omega
protected theorem le_sub_iff_add_le : a ≤ b - c ↔ a + c ≤ b := by omega
protected theorem sub_lt_iff_lt_add : a - b < c ↔ a < c + b := by omega
protected theorem lt_sub_iff_add_lt : a < b - c ↔ a + c < b := by omega

/-! ## `min` and `max` -/

@[simp] protected theorem min_eq_left (h : a ≤ b) : min a b = a := by omega
@[simp] protected theorem min_eq_right (h : b ≤ a) : min a b = b := by omega
@[simp] protected theorem max_eq_right (h : a ≤ b) : max a b = b := by omega
@[simp] protected theorem max_eq_left (h : b ≤ a) : max a b = a := by omega
protected theorem min_comm (a b : Int) : min a b = min b a := by omega
protected theorem max_comm (a b : Int) : max a b = max b a := by omega
protected theorem min_assoc (a b c : Int) : min (min a b) c = min a (min b c) :=
  Int.le_antisymm
    (Int.le_min.2 ⟨Int.le_trans (Int.min_le_left _ c) (Int.min_le_left a b),
      Int.le_min.2 ⟨Int.le_trans (Int.min_le_left _ c) (Int.min_le_right a b), Int.min_le_right _ c⟩⟩)
    (Int.le_min.2 ⟨Int.le_min.2 ⟨Int.min_le_left a _, Int.le_trans (Int.min_le_right a _) (Int.min_le_left b c)⟩,
      Int.le_trans (Int.min_le_right a _) (Int.min_le_right b c)⟩)
protected theorem max_assoc (a b c : Int) : max (max a b) c = max a (max b c) :=
  Int.le_antisymm
    (Int.max_le.2 ⟨Int.max_le.2 ⟨Int.le_max_left a _, Int.le_trans (Int.le_max_left b c) (Int.le_max_right a _)⟩,
      Int.le_trans (Int.le_max_right b c) (Int.le_max_right a _)⟩)
    (Int.max_le.2 ⟨Int.le_trans (Int.le_max_left a b) (Int.le_max_left _ c),
      Int.max_le.2 ⟨Int.le_trans (Int.le_max_right a b) (Int.le_max_left _ c), Int.le_max_right _ c⟩⟩)
@[simp] protected theorem min_self (a : Int) : min a a = a := by omega
@[simp] protected theorem max_self (a : Int) : max a a = a := by omega
protected theorem lt_min : a < min b c ↔ a < b ∧ a < c := by omega
protected theorem max_lt : max a b < c ↔ a < c ∧ b < c := by omega
protected theorem neg_min_neg (a b : Int) : min (-a) (-b) = -max a b := by omega
protected theorem neg_max_neg (a b : Int) : max (-a) (-b) = -min a b := by omega
protected theorem min_add_right (a b c : Int) : min (a + c) (b + c) = min a b + c := by omega
protected theorem min_add_left (a b c : Int) : min (a + b) (a + c) = a + min b c := by omega
protected theorem max_add_right (a b c : Int) : max (a + c) (b + c) = max a b + c := by omega
protected theorem max_add_left (a b c : Int) : max (a + b) (a + c) = a + max b c := by omega
@[simp] theorem natCast_min (a b : Nat) : ((min a b : Nat) : Int) = min (a : Int) b := by omega
@[simp] theorem natCast_max (a b : Nat) : ((max a b : Nat) : Int) = max (a : Int) b := by omega

/-! ## `toNat` and `natAbs` -/

theorem self_le_toNat (a : Int) : a ≤ toNat a := by omega
@[simp] theorem ofNat_toNat (a : Int) : (a.toNat : Int) = max a 0 := toNat_eq_max a
theorem le_toNat {n : Nat} (h : 0 ≤ a) : n ≤ a.toNat ↔ (n : Int) ≤ a := by omega
theorem toNat_lt {n : Nat} (h : 0 ≤ a) : a.toNat < n ↔ a < (n : Int) := by omega
theorem toNat_le {n : Nat} : a.toNat ≤ n ↔ a ≤ n := by omega
theorem toNat_add (ha : 0 ≤ a) (hb : 0 ≤ b) : (a + b).toNat = a.toNat + b.toNat := by omega
theorem toNat_of_nonpos (h : a ≤ 0) : a.toNat = 0 := by omega
@[simp] theorem toNat_eq_zero : a.toNat = 0 ↔ a ≤ 0 := by omega
@[simp] theorem pred_toNat (a : Int) : (a - 1).toNat = a.toNat - 1 := by omega
theorem toNat_sub_toNat_neg (a : Int) : (a.toNat : Int) - (-a).toNat = a := by omega
@[simp] theorem toNat_add_toNat_neg_eq_natAbs (a : Int) : a.toNat + (-a).toNat = a.natAbs := by omega
@[simp] theorem toNat_neg_nat (n : Nat) : (-(n : Int)).toNat = 0 := by omega
theorem toNat_mul (ha : 0 ≤ a) (hb : 0 ≤ b) : (a * b).toNat = a.toNat * b.toNat := by
  obtain ⟨m, rfl⟩ := eq_ofNat_of_zero_le ha
  obtain ⟨n, rfl⟩ := eq_ofNat_of_zero_le hb
  rfl
@[simp] theorem natAbs_pos : 0 < natAbs a ↔ a ≠ 0 := by omega
theorem natAbs_ne_zero : natAbs a ≠ 0 ↔ a ≠ 0 := by omega
theorem natAbs_eq_natAbs_iff : natAbs a = natAbs b ↔ a = b ∨ a = -b := by omega
theorem natAbs_eq_iff {n : Nat} : natAbs a = n ↔ a = n ∨ a = -(n : Int) := by omega
theorem ofNat_natAbs_of_nonpos (h : a ≤ 0) : (natAbs a : Int) = -a := by omega
theorem eq_natAbs_of_nonneg (h : 0 ≤ a) : a = natAbs a := by omega
theorem eq_neg_natAbs_of_nonpos (h : a ≤ 0) : a = -natAbs a := by omega
theorem neg_le_natAbs : -a ≤ natAbs a := by omega
theorem natAbs_add_le (a b : Int) : natAbs (a + b) ≤ natAbs a + natAbs b := by omega
theorem natAbs_sub_le (a b : Int) : natAbs (a - b) ≤ natAbs a + natAbs b := by omega
theorem natAbs_sub_comm (a b : Int) : natAbs (a - b) = natAbs (b - a) := by omega
theorem natAbs_lt_natAbs_of_nonneg_of_lt (h₁ : 0 ≤ a) (h₂ : a < b) : a.natAbs < b.natAbs := by omega
theorem natAbs_mul_self : ∀ {a : Int}, ((natAbs a * natAbs a : Nat) : Int) = a * a
  | ofNat _ => rfl
  | negSucc _ => rfl
@[simp] theorem natAbs_dvd : (natAbs a : Int) ∣ b ↔ a ∣ b := by rw [← natAbs_dvd_natAbs, natAbs_natCast, natAbs_dvd_natAbs]
@[simp] theorem dvd_natAbs : a ∣ (natAbs b : Int) ↔ a ∣ b := by rw [← natAbs_dvd_natAbs, natAbs_natCast, natAbs_dvd_natAbs]
theorem mem_toNat? {n : Nat} : toNat? a = some n ↔ a = n := by
  cases a with
  | ofNat m => exact ⟨fun h => congrArg ofNat (Option.some.inj h), fun h => congrArg some (ofNat.inj h)⟩
  | negSucc m => exact iff_of_false (fun h => nomatch h) (fun h => nomatch h)

/-! ## `sign` -/

@[simp] theorem sign_zero : sign 0 = 0 := rfl
@[simp] theorem sign_one : sign 1 = 1 := rfl
theorem sign_neg_one : sign (-1) = -1 := rfl
theorem sign_eq_one_of_pos (h : 0 < a) : sign a = 1 := by
  obtain ⟨n, rfl⟩ := eq_succ_of_zero_lt h; rfl
theorem sign_eq_neg_one_of_neg (h : a < 0) : sign a = -1 := by
  obtain ⟨n, rfl⟩ := eq_negSucc_of_lt_zero h; rfl
theorem sign_trichotomy (a : Int) : sign a = 1 ∨ sign a = 0 ∨ sign a = -1 := by
  rcases Int.lt_trichotomy a 0 with h | h | h
  · exact .inr (.inr (sign_eq_neg_one_of_neg h))
  · rw [h]; exact .inr (.inl rfl)
  · exact .inl (sign_eq_one_of_pos h)
theorem pos_of_sign_eq_one (h : sign a = 1) : 0 < a := by
  rcases Int.lt_trichotomy a 0 with h' | h' | h'
  · rw [sign_eq_neg_one_of_neg h'] at h; exact absurd h (by decide)
  · rw [h'] at h; exact absurd h (by decide)
  · exact h'
theorem neg_of_sign_eq_neg_one (h : sign a = -1) : a < 0 := by
  rcases Int.lt_trichotomy a 0 with h' | h' | h'
  · exact h'
  · rw [h'] at h; exact absurd h (by decide)
  · rw [sign_eq_one_of_pos h'] at h; exact absurd h (by decide)
theorem sign_eq_one_iff_pos : sign a = 1 ↔ 0 < a := ⟨pos_of_sign_eq_one, sign_eq_one_of_pos⟩
theorem sign_eq_neg_one_iff_neg : sign a = -1 ↔ a < 0 := ⟨neg_of_sign_eq_neg_one, sign_eq_neg_one_of_neg⟩
@[simp] theorem sign_eq_zero_iff_zero : sign a = 0 ↔ a = 0 := by
  refine ⟨fun h => ?_, fun h => congrArg sign h⟩
  rcases Int.lt_trichotomy a 0 with h' | h' | h'
  · rw [sign_eq_neg_one_of_neg h'] at h; exact absurd h (by decide)
  · exact h'
  · rw [sign_eq_one_of_pos h'] at h; exact absurd h (by decide)
theorem sign_neg (a : Int) : sign (-a) = -sign a := by
  rcases Int.lt_trichotomy a 0 with h | h | h
  · rw [sign_eq_neg_one_of_neg h, sign_eq_one_of_pos (by omega)]; rfl
  · rw [h]; rfl
  · rw [sign_eq_one_of_pos h, sign_eq_neg_one_of_neg (by omega)]
theorem sign_mul_natAbs : ∀ a : Int, sign a * natAbs a = a
  | ofNat 0 => rfl
  | ofNat (.succ _) => Int.one_mul _
  | negSucc _ => Int.neg_one_mul _
theorem natAbs_mul_sign (a : Int) : (natAbs a : Int) * sign a = a := by rw [Int.mul_comm, sign_mul_natAbs]

/-! ## Products -/

@[simp] protected theorem mul_eq_zero : a * b = 0 ↔ a = 0 ∨ b = 0 := by
  rw [← natAbs_eq_zero, natAbs_mul, Nat.mul_eq_zero, natAbs_eq_zero, natAbs_eq_zero]
protected theorem mul_ne_zero (ha : a ≠ 0) (hb : b ≠ 0) : a * b ≠ 0 := fun h => (Int.mul_eq_zero.1 h).elim ha hb
protected theorem mul_ne_zero_iff : a * b ≠ 0 ↔ a ≠ 0 ∧ b ≠ 0 := by rw [Ne, Int.mul_eq_zero, not_or]
protected theorem eq_of_mul_eq_mul_right (ha : a ≠ 0) (h : b * a = c * a) : b = c := by
  have e : (b - c) * a = 0 := by rw [Int.sub_mul, h, Int.sub_self]
  exact Int.eq_of_sub_eq_zero ((Int.mul_eq_zero.1 e).resolve_right ha)
protected theorem eq_of_mul_eq_mul_left (ha : a ≠ 0) (h : a * b = a * c) : b = c :=
  Int.eq_of_mul_eq_mul_right ha (by rw [Int.mul_comm b, Int.mul_comm c, h])
theorem mul_eq_mul_left_iff (h : c ≠ 0) : c * a = c * b ↔ a = b := ⟨Int.eq_of_mul_eq_mul_left h, fun e => e ▸ rfl⟩
theorem mul_eq_mul_right_iff (h : c ≠ 0) : a * c = b * c ↔ a = b := ⟨Int.eq_of_mul_eq_mul_right h, fun e => e ▸ rfl⟩
protected theorem mul_lt_mul_of_pos_left (h : a < b) (hc : 0 < c) : c * a < c * b := by
  have h' := Int.mul_pos hc (Int.sub_pos_of_lt h)
  rw [Int.mul_sub] at h'; omega
protected theorem mul_lt_mul_of_pos_right (h : a < b) (hc : 0 < c) : a * c < b * c := by
  rw [Int.mul_comm a, Int.mul_comm b]; exact Int.mul_lt_mul_of_pos_left h hc
protected theorem mul_le_mul (hac : a ≤ c) (hbd : b ≤ d) (hb : 0 ≤ b) (hc : 0 ≤ c) : a * b ≤ c * d :=
  Int.le_trans (Int.mul_le_mul_of_nonneg_right hac hb) (Int.mul_le_mul_of_nonneg_left hbd hc)
protected theorem mul_lt_mul (h₁ : a < c) (h₂ : b ≤ d) (h₃ : 0 < b) (h₄ : 0 ≤ c) : a * b < c * d :=
  Int.lt_of_lt_of_le (Int.mul_lt_mul_of_pos_right h₁ h₃) (Int.mul_le_mul_of_nonneg_left h₂ h₄)
protected theorem mul_le_mul_of_nonpos_right (h : b ≤ a) (hc : c ≤ 0) : a * c ≤ b * c := by
  rw [Int.mul_comm a, Int.mul_comm b]; exact Int.mul_le_mul_of_nonpos_left hc h
protected theorem mul_nonpos_of_nonneg_of_nonpos (ha : 0 ≤ a) (hb : b ≤ 0) : a * b ≤ 0 := by
  have h := Int.mul_nonneg ha (Int.neg_nonneg_of_nonpos hb)
  rw [Int.mul_neg] at h; omega
protected theorem mul_nonpos_of_nonpos_of_nonneg (ha : a ≤ 0) (hb : 0 ≤ b) : a * b ≤ 0 := by
  rw [Int.mul_comm]; exact Int.mul_nonpos_of_nonneg_of_nonpos hb ha
protected theorem mul_nonneg_of_nonpos_of_nonpos (ha : a ≤ 0) (hb : b ≤ 0) : 0 ≤ a * b := by
  have h := Int.mul_nonneg (Int.neg_nonneg_of_nonpos ha) (Int.neg_nonneg_of_nonpos hb)
  rwa [Int.neg_mul_neg] at h
protected theorem mul_neg_of_pos_of_neg (ha : 0 < a) (hb : b < 0) : a * b < 0 := by
  have h := Int.mul_pos ha (Int.neg_pos_of_neg hb)
  rw [Int.mul_neg] at h; omega
protected theorem mul_neg_of_neg_of_pos (ha : a < 0) (hb : 0 < b) : a * b < 0 := by
  rw [Int.mul_comm]; exact Int.mul_neg_of_pos_of_neg hb ha
protected theorem mul_pos_of_neg_of_neg (ha : a < 0) (hb : b < 0) : 0 < a * b := by
  have h := Int.mul_pos (Int.neg_pos_of_neg ha) (Int.neg_pos_of_neg hb)
  rwa [Int.neg_mul_neg] at h
protected theorem mul_lt_mul_of_neg_left (h : b < a) (hc : c < 0) : c * a < c * b := by
  have h' := Int.mul_lt_mul_of_pos_left h (Int.neg_pos_of_neg hc)
  rw [Int.neg_mul, Int.neg_mul] at h'; omega
protected theorem mul_self_nonneg (a : Int) : 0 ≤ a * a :=
  (Int.le_total 0 a).elim (fun h => Int.mul_nonneg h h) fun h => Int.mul_nonneg_of_nonpos_of_nonpos h h
protected theorem mul_self_le_mul_self (h₁ : 0 ≤ a) (h₂ : a ≤ b) : a * a ≤ b * b := Int.mul_le_mul h₂ h₂ h₁ (Int.le_trans h₁ h₂)
protected theorem le_of_mul_le_mul_left (h : c * a ≤ c * b) (hc : 0 < c) : a ≤ b :=
  Int.not_lt.1 fun h' => Int.not_le_of_gt (Int.mul_lt_mul_of_pos_left h' hc) h
protected theorem le_of_mul_le_mul_right (h : a * c ≤ b * c) (hc : 0 < c) : a ≤ b := by
  rw [Int.mul_comm a, Int.mul_comm b] at h; exact Int.le_of_mul_le_mul_left h hc
protected theorem mul_le_mul_left (h : 0 < c) : c * a ≤ c * b ↔ a ≤ b :=
  ⟨fun h' => Int.le_of_mul_le_mul_left h' h, fun h' => Int.mul_le_mul_of_nonneg_left h' (Int.le_of_lt h)⟩
protected theorem mul_le_mul_right (h : 0 < c) : a * c ≤ b * c ↔ a ≤ b := by
  rw [Int.mul_comm a, Int.mul_comm b, Int.mul_le_mul_left h]
protected theorem mul_lt_mul_left (h : 0 < c) : c * a < c * b ↔ a < b :=
  ⟨fun h' => Int.lt_of_mul_lt_mul_left h' (Int.le_of_lt h), fun h' => Int.mul_lt_mul_of_pos_left h' h⟩
protected theorem nonneg_of_mul_nonneg_left (h : 0 ≤ a * b) (hb : 0 < b) : 0 ≤ a :=
  Int.not_lt.1 fun ha => Int.not_le_of_gt (Int.mul_neg_of_neg_of_pos ha hb) h
protected theorem pos_of_mul_pos_left (h : 0 < a * b) (hb : 0 < b) : 0 < a :=
  Int.not_le.1 fun ha => Int.not_lt.2 (Int.mul_nonpos_of_nonpos_of_nonneg ha (Int.le_of_lt hb)) h
theorem eq_one_or_neg_one_of_mul_eq_one (h : a * b = 1) : a = 1 ∨ a = -1 := by
  have e : natAbs a * natAbs b = 1 := by rw [← natAbs_mul, h]; rfl
  have d : natAbs a ∣ 1 := ⟨natAbs b, e.symm⟩
  have one : natAbs a = 1 := Nat.dvd_one.1 d
  omega

/-! ## Powers -/

@[simp] protected theorem pow_one (a : Int) : a ^ 1 = a := Int.one_mul a
protected theorem pow_two (a : Int) : a ^ 2 = a * a := by rw [Int.pow_succ, Int.pow_one]
@[simp] protected theorem one_pow (n : Nat) : (1 : Int) ^ n = 1 := by induction n with
  | zero => rfl
  | succ n ih => rw [Int.pow_succ, ih, Int.mul_one]
protected theorem zero_pow {n : Nat} (h : n ≠ 0) : (0 : Int) ^ n = 0 := by cases n with
  | zero => exact absurd rfl h
  | succ n => rw [Int.pow_succ, Int.mul_zero]
protected theorem pow_add (a : Int) (m n : Nat) : a ^ (m + n) = a ^ m * a ^ n := by induction n with
  | zero => rw [Nat.add_zero, Int.pow_zero, Int.mul_one]
  | succ n ih => rw [← Nat.add_assoc, Int.pow_succ, ih, Int.pow_succ, Int.mul_assoc]
protected theorem mul_pow (a b : Int) (n : Nat) : (a * b) ^ n = a ^ n * b ^ n := by induction n with
  | zero => rfl
  | succ n ih => rw [Int.pow_succ, ih, Int.pow_succ, Int.pow_succ, Int.mul_assoc, Int.mul_left_comm (b ^ n), ← Int.mul_assoc]
protected theorem pow_mul (a : Int) (m n : Nat) : a ^ (m * n) = (a ^ m) ^ n := by induction n with
  | zero => rfl
  | succ n ih => rw [Nat.mul_add_one, Int.pow_add, ih, Int.pow_succ]
protected theorem pow_pos {n : Nat} (h : 0 < a) : 0 < a ^ n := by induction n with
  | zero => rw [Int.pow_zero]; decide
  | succ n ih => rw [Int.pow_succ]; exact Int.mul_pos ih h
protected theorem pow_nonneg {n : Nat} (h : 0 ≤ a) : 0 ≤ a ^ n := by induction n with
  | zero => rw [Int.pow_zero]; decide
  | succ n ih => rw [Int.pow_succ]; exact Int.mul_nonneg ih h
protected theorem pow_ne_zero {n : Nat} (h : a ≠ 0) : a ^ n ≠ 0 := by induction n with
  | zero => exact Int.one_ne_zero
  | succ n ih => rw [Int.pow_succ]; exact Int.mul_ne_zero ih h
theorem natAbs_pow (a : Int) (n : Nat) : natAbs (a ^ n) = natAbs a ^ n := by induction n with
  | zero => rfl
  | succ n ih => rw [Int.pow_succ, natAbs_mul, ih, Nat.pow_succ]
theorem sq_nonneg (a : Int) : 0 ≤ a ^ 2 := by rw [Int.pow_two]; exact Int.mul_self_nonneg a
end Int
