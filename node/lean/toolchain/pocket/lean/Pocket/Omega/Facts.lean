module
prelude
public import Pocket.Omega.Constraint
public import Pocket.Fin.Basic
public import Pocket.Nat.Bitwise
@[expose] public section
/-! The facts that `omega` cites when it reads hypotheses: casts, negations, quotients, truncated subtraction, minima. -/
set_option autoImplicit false
universe u v

theorem le_of_le_of_eq {α : Type u} [LE α] {a b c : α} (h₁ : a ≤ b) (h₂ : b = c) : a ≤ c := h₂ ▸ h₁
theorem le_of_eq_of_le {α : Type u} [LE α] {a b c : α} (h₁ : a = b) (h₂ : b ≤ c) : a ≤ c := h₁ ▸ h₂
theorem Nat.emod_pos_of_not_dvd {a b : Nat} (h : ¬a ∣ b) : 0 < b % a := Nat.pos_of_ne_zero fun e => h (Nat.dvd_of_mod_eq_zero e)

namespace Lean.Omega
theorem and_not_not_of_not_or {p q : Prop} (h : ¬(p ∨ q)) : ¬p ∧ ¬q := not_or.1 h
theorem Decidable.or_not_not_of_not_and {p q : Prop} [Decidable p] [Decidable q] (h : ¬(p ∧ q)) : ¬p ∨ ¬q :=
  _root_.Decidable.not_and_iff_or_not_not.1 h
theorem Decidable.and_or_not_and_not_of_iff {p q : Prop} [Decidable q] (h : p ↔ q) : (p ∧ q) ∨ (¬p ∧ ¬q) :=
  _root_.Decidable.iff_iff_and_or_not_and_not.1 h
theorem Decidable.and_not_or_not_and_of_not_iff {a b : Prop} [Decidable a] [Decidable b] (h : ¬(a ↔ b)) : a ∧ ¬b ∨ ¬a ∧ b :=
  (_root_.Decidable.em a).elim (fun ha => .inl ⟨ha, fun hb => h (iff_of_true ha hb)⟩)
    fun na => .inr ⟨na, _root_.Decidable.byContradiction fun nb => h (iff_of_false na nb)⟩
theorem Decidable.and_not_of_not_imp {a b : Prop} [Decidable a] (h : ¬(a → b)) : a ∧ ¬b := _root_.Decidable.not_imp_iff_and_not.1 h
theorem ite_disjunction {α : Type u} {P : Prop} [Decidable P] {a b : α} :
    (P ∧ (if P then a else b) = a) ∨ (¬P ∧ (if P then a else b) = b) :=
  (_root_.Decidable.em P).imp (fun h => ⟨h, if_pos h⟩) fun h => ⟨h, if_neg h⟩

namespace Int
theorem ofNat_pow (a b : Nat) : ((a ^ b : Nat) : Int) = (a : Int) ^ b := Int.natCast_pow a b
theorem pos_pow_of_pos (a : Int) (b : Nat) (h : 0 < a) : 0 < a ^ b := by
  induction b with
  | zero => exact Int.natCast_pos.2 Nat.zero_lt_one
  | succ b ih => exact Int.mul_pos ih h
theorem ofNat_pos_of_pos {a : Nat} (h : 0 < a) : 0 < (a : Int) := Int.natCast_pos.2 h
theorem natCast_ofNat {x : Nat} : @Nat.cast Int instNatCastInt (no_index (OfNat.ofNat x)) = OfNat.ofNat x := rfl
theorem ofNat_lt_of_lt {x y : Nat} (h : x < y) : (x : Int) < (y : Int) := Int.ofNat_lt.2 h
theorem ofNat_le_of_le {x y : Nat} (h : x ≤ y) : (x : Int) ≤ (y : Int) := Int.ofNat_le.2 h
theorem ofNat_shiftLeft_eq {x y : Nat} : ((x <<< y : Nat) : Int) = (x : Int) * (2 ^ y : Nat) := congrArg _ (Nat.shiftLeft_eq x y)
theorem ofNat_shiftRight_eq_div_pow {x y : Nat} : ((x >>> y : Nat) : Int) = (x : Int) / (2 ^ y : Nat) :=
  congrArg _ (Nat.shiftRight_eq_div_pow x y)
theorem emod_ofNat_nonneg {x : Nat} {y : Int} : 0 ≤ (x : Int) % y := Int.natCast_nonneg _
theorem lt_of_not_le {x y : Int} (h : ¬x ≤ y) : y < x := Int.not_le.1 h
theorem le_of_not_lt {x y : Int} (h : ¬x < y) : y ≤ x := Int.not_lt.1 h
theorem add_congr {a b c d : Int} (h₁ : a = b) (h₂ : c = d) : a + c = b + d := by rw [h₁, h₂]
theorem mul_congr {a b c d : Int} (h₁ : a = b) (h₂ : c = d) : a * c = b * d := by rw [h₁, h₂]
theorem sub_congr {a b c d : Int} (h₁ : a = b) (h₂ : c = d) : a - c = b - d := by rw [h₁, h₂]
theorem neg_congr {a b : Int} (h : a = b) : -a = -b := by rw [h]
theorem lt_of_gt {x y : Int} (h : x > y) : y < x := h
theorem le_of_ge {x y : Int} (h : x ≥ y) : y ≤ x := h
theorem ofNat_mul_nonneg {a b : Nat} : 0 ≤ (a : Int) * b := Int.natCast_nonneg (a * b)
theorem ofNat_sub_dichotomy {a b : Nat} : b ≤ a ∧ ((a - b : Nat) : Int) = a - b ∨ a < b ∧ ((a - b : Nat) : Int) = 0 :=
  (Nat.lt_or_ge a b).symm.imp (fun h => ⟨h, Int.natCast_sub h⟩) fun h => ⟨h, congrArg _ (Nat.sub_eq_zero_of_le (Nat.le_of_lt h))⟩
theorem ofNat_congr {a b : Nat} (h : a = b) : (a : Int) = (b : Int) := congrArg _ h
theorem ofNat_sub_sub {a b c : Nat} : ((a - b - c : Nat) : Int) = ((a - (b + c) : Nat) : Int) := congrArg _ (Nat.sub_sub a b c)
theorem ofNat_min (a b : Nat) : ((min a b : Nat) : Int) = min (a : Int) (b : Int) := by
  rw [Nat.min_def, Int.min_def]
  cases _root_.Decidable.em (a ≤ b) with
  | inl h => rw [if_pos h, if_pos (Int.ofNat_le.2 h)]
  | inr h => rw [if_neg h, if_neg fun h' => h (Int.ofNat_le.1 h')]
theorem ofNat_max (a b : Nat) : ((max a b : Nat) : Int) = max (a : Int) (b : Int) := by
  rw [Nat.max_def, Int.max_def]
  cases _root_.Decidable.em (a ≤ b) with
  | inl h => rw [if_pos h, if_pos (Int.ofNat_le.2 h)]
  | inr h => rw [if_neg h, if_neg fun h' => h (Int.ofNat_le.1 h')]
theorem ofNat_natAbs (a : Int) : (a.natAbs : Int) = if 0 ≤ a then a else -a := by
  cases a with
  | ofNat n => exact (if_pos (Int.natCast_nonneg n)).symm
  | negSucc n => exact (if_neg (Int.not_le.2 (Int.negSucc_lt_zero n))).symm
theorem neg_le_natAbs {a : Int} : -a ≤ a.natAbs := by
  rw [← Int.natAbs_neg]; exact Int.le_natAbs
theorem ofNat_fst_mk {β : Type v} {x : Nat} {y : β} : ((Prod.mk x y).fst : Int) = (x : Int) := rfl
theorem ofNat_snd_mk {α : Type u} {x : α} {y : Nat} : ((Prod.mk x y).snd : Int) = (y : Int) := rfl
end Int

theorem Nat.lt_of_gt {x y : Nat} (h : x > y) : y < x := h
theorem Nat.le_of_ge {x y : Nat} (h : x ≥ y) : y ≤ x := h

namespace Fin
protected theorem lt_of_not_le {n : Nat} {i j : Fin n} (h : ¬i ≤ j) : j < i := _root_.Fin.not_le.1 h
protected theorem le_of_not_lt {n : Nat} {i j : Fin n} (h : ¬i < j) : j ≤ i := _root_.Fin.not_lt.1 h
protected theorem lt_or_gt_of_ne {n : Nat} {i j : Fin n} (h : i ≠ j) : i < j ∨ i > j := _root_.Nat.lt_or_gt_of_ne (Fin.val_ne_of_ne h)
theorem ofNat_val_add {n : Nat} {x y : Fin n} : ((x + y : Fin n) : Int) = ((x : Int) + (y : Int)) % n := rfl
theorem ofNat_val_sub {n : Nat} {x y : Fin n} : ((x - y : Fin n) : Int) = (((n - y : Nat) : Int) + (x : Int)) % n := rfl
theorem ofNat_val_mul {n : Nat} {x y : Fin n} : ((x * y : Fin n) : Int) = ((x : Int) * (y : Int)) % n := rfl
theorem ofNat_val_natCast {n x y : Nat} (h : y = x % (n + 1)) :
    @Nat.cast Int instNatCastInt (@Fin.val (n + 1) (OfNat.ofNat x)) = OfNat.ofNat y := by rw [h]; rfl
end Fin

namespace Prod
theorem fst_mk {α : Type u} {x : α} {β : Type v} {y : β} : (Prod.mk x y).fst = x := rfl
theorem snd_mk {α : Type u} {x : α} {β : Type v} {y : β} : (Prod.mk x y).snd = y := rfl
end Prod
end Lean.Omega
