module
prelude
public import Pocket.Int.Lemmas
@[expose] public section
/-! Integers: divisibility, quotients and remainders, congruences, greatest common divisors. -/
set_option autoImplicit false
variable {a b c d m n k : Int}

namespace Int

/-! ## Divisibility -/

protected theorem dvd_def (a b : Int) : (a ∣ b) = ∃ c, b = a * c := rfl
attribute [simp] Int.dvd_refl Int.dvd_mul_right Int.dvd_mul_left
@[simp] protected theorem one_dvd (n : Int) : 1 ∣ n := ⟨n, (Int.one_mul n).symm⟩
@[simp] protected theorem zero_dvd : 0 ∣ n ↔ n = 0 := ⟨fun ⟨k, e⟩ => e.trans (Int.zero_mul k), fun e => e ▸ Int.dvd_refl 0⟩
@[simp] protected theorem neg_dvd : -a ∣ b ↔ a ∣ b := by rw [← natAbs_dvd_natAbs, natAbs_neg, natAbs_dvd_natAbs]
@[simp] protected theorem dvd_neg : a ∣ -b ↔ a ∣ b := by rw [← natAbs_dvd_natAbs, natAbs_neg, natAbs_dvd_natAbs]
theorem ofNat_dvd_left {n : Nat} {z : Int} : (n : Int) ∣ z ↔ n ∣ z.natAbs := by rw [← natAbs_dvd_natAbs, natAbs_natCast]
theorem ofNat_dvd_right {n : Nat} {z : Int} : z ∣ (n : Int) ↔ z.natAbs ∣ n := by rw [← natAbs_dvd_natAbs, natAbs_natCast]
theorem dvd_antisymm (ha : 0 ≤ a) (hb : 0 ≤ b) (h₁ : a ∣ b) (h₂ : b ∣ a) : a = b := by
  have e := Nat.dvd_antisymm (natAbs_dvd_natAbs.2 h₁) (natAbs_dvd_natAbs.2 h₂)
  omega
theorem natAbs_eq_of_dvd_dvd (h₁ : m ∣ n) (h₂ : n ∣ m) : natAbs m = natAbs n :=
  Nat.dvd_antisymm (natAbs_dvd_natAbs.2 h₁) (natAbs_dvd_natAbs.2 h₂)
protected theorem dvd_add_left (h : a ∣ c) : a ∣ b + c ↔ a ∣ b :=
  ⟨fun h' => by
    have := Int.dvd_sub h' h
    rwa [Int.add_sub_cancel] at this, fun h' => Int.dvd_add h' h⟩
protected theorem dvd_add_right (h : a ∣ b) : a ∣ b + c ↔ a ∣ c := by rw [Int.add_comm, Int.dvd_add_left h]
protected theorem dvd_iff_dvd_of_dvd_sub (h : a ∣ b - c) : a ∣ b ↔ a ∣ c :=
  ⟨fun h' => Int.sub_sub_self b c ▸ Int.dvd_sub h' h, fun h' => Int.sub_add_cancel b c ▸ Int.dvd_add h h'⟩
theorem dvd_mul_of_dvd_right (h : a ∣ c) : a ∣ b * c := Int.dvd_trans h (Int.dvd_mul_left c b)
protected theorem mul_dvd_mul : a ∣ b → c ∣ d → a * c ∣ b * d := fun ⟨e, he⟩ ⟨f, hf⟩ =>
  ⟨e * f, by rw [he, hf, Int.mul_assoc, Int.mul_left_comm e, ← Int.mul_assoc]⟩
protected theorem mul_dvd_mul_left (a : Int) (h : b ∣ c) : a * b ∣ a * c := Int.mul_dvd_mul (Int.dvd_refl a) h
protected theorem mul_dvd_mul_right (a : Int) (h : b ∣ c) : b * a ∣ c * a := Int.mul_dvd_mul h (Int.dvd_refl a)
theorem dvd_of_mul_dvd_mul_left (ha : a ≠ 0) : a * m ∣ a * n → m ∣ n := fun ⟨b, hb⟩ =>
  ⟨b, Int.eq_of_mul_eq_mul_left ha (by rw [hb, Int.mul_assoc])⟩
theorem le_of_dvd (hb : 0 < b) (h : a ∣ b) : a ≤ b := by
  have h' := Nat.le_of_dvd (natAbs_pos.2 (Int.ne_of_gt hb)) (natAbs_dvd_natAbs.2 h)
  omega
theorem eq_one_of_dvd_one (ha : 0 ≤ a) (h : a ∣ 1) : a = 1 := dvd_antisymm ha (by decide) h (Int.one_dvd a)
theorem dvd_eq_true_of_mod_eq_zero {a b : Int} (h : (b % a == 0) = true) : (a ∣ b) = True :=
  eq_true (dvd_of_emod_eq_zero (of_decide_eq_true h))
theorem dvd_eq_false_of_mod_ne_zero {a b : Int} (h : (b % a != 0) = true) : (a ∣ b) = False :=
  eq_false fun h' => by
    have e : (b % a == 0) = true := decide_eq_true (emod_eq_zero_of_dvd h')
    rw [bne, e] at h
    exact Bool.noConfusion h

/-! ## Division with remainder -/

protected theorem div_def (a b : Int) : a / b = Int.ediv a b := rfl
@[simp] theorem emod_zero (a : Int) : a % 0 = a := by rw [emod_def, Int.zero_mul, Int.sub_zero]
theorem emod_add_ediv (a b : Int) : a % b + b * (a / b) = a := emod_add_mul_ediv a b
theorem mul_ediv_add_emod (a b : Int) : b * (a / b) + a % b = a := by rw [Int.add_comm]; exact emod_add_mul_ediv a b
theorem ediv_add_emod (a b : Int) : b * (a / b) + a % b = a := mul_ediv_add_emod a b
theorem emod_add_ediv_mul (a b : Int) : a % b + a / b * b = a := by rw [Int.mul_comm]; exact emod_add_mul_ediv a b
theorem ediv_mul_add_emod (a b : Int) : a / b * b + a % b = a := by rw [Int.mul_comm]; exact mul_ediv_add_emod a b
theorem mul_ediv_self (a b : Int) : b * (a / b) = a - a % b := by rw [emod_def, Int.sub_sub_self]
protected theorem ediv_emod_unique {a b r q : Int} (h : 0 < b) : a / b = q ∧ a % b = r ↔ r + b * q = a ∧ 0 ≤ r ∧ r < b := by
  constructor
  · intro ⟨hq, hr⟩
    rw [← hq, ← hr]; exact ⟨emod_add_mul_ediv a b, emod_nonneg a (Int.ne_of_gt h), emod_lt_of_pos a h⟩
  · intro ⟨e, h₀, h₁⟩
    have low : b * (a / b) ≤ a := mul_ediv_self_le (Int.ne_of_gt h)
    have high : a < b * (a / b) + b := lt_mul_ediv_self_add h
    have hq : a / b = q := by
      rcases Int.lt_trichotomy (a / b) q with hlt | heq | hgt
      · have := Int.mul_le_mul_of_nonneg_left (add_one_le_of_lt hlt) (Int.le_of_lt h)
        rw [Int.mul_add, Int.mul_one] at this; omega
      · exact heq
      · have := Int.mul_le_mul_of_nonneg_left (add_one_le_of_lt hgt) (Int.le_of_lt h)
        rw [Int.mul_add, Int.mul_one] at this; omega
    exact ⟨hq, by rw [emod_def, hq]; omega⟩
@[simp] theorem zero_ediv (b : Int) : 0 / b = 0 := by cases b with
  | ofNat n => exact congrArg ofNat (Nat.zero_div n)
  | negSucc n => exact congrArg (fun k => -ofNat k) (Nat.zero_div (n + 1))
@[simp] theorem zero_emod (b : Int) : 0 % b = 0 := by rw [emod_def, zero_ediv, Int.mul_zero]; rfl
@[simp] theorem emod_neg (a b : Int) : a % -b = a % b := by rw [emod_def, emod_def, Int.ediv_neg, Int.neg_mul_neg]
@[simp] theorem emod_one (a : Int) : a % 1 = 0 := by omega
@[simp] protected theorem ediv_one (a : Int) : a / 1 = a := by omega
theorem ediv_minus_one (a : Int) : a / (-1) = -a := by omega
theorem emod_minus_one (a : Int) : a % (-1) = 0 := by rw [emod_neg, emod_one]
theorem emod_two_eq (x : Int) : x % 2 = 0 ∨ x % 2 = 1 := by omega
theorem emod_two_eq_zero_or_one (x : Int) : x % 2 = 0 ∨ x % 2 = 1 := by omega
theorem emod_lt (a : Int) {b : Int} (h : b ≠ 0) : a % b < b.natAbs := by
  rcases natAbs_eq b with e | e
  · rw [← e]; exact emod_lt_of_pos a (by omega)
  · have h' : a % -b < -b := emod_lt_of_pos a (by omega)
    rw [emod_neg] at h'; omega
theorem add_mul_ediv_right (a b : Int) {c : Int} (h : c ≠ 0) : (a + b * c) / c = a / c + b := by
  have pos (a b : Int) {c : Int} (h : 0 < c) : (a + b * c) / c = a / c + b := by
    refine ((Int.ediv_emod_unique (r := a % c) h).2 ⟨?_, emod_nonneg a (Int.ne_of_gt h), emod_lt_of_pos a h⟩).1
    rw [Int.mul_add, Int.mul_comm b c, ← Int.add_assoc, emod_add_mul_ediv]
  rcases Int.lt_or_gt_of_ne h with h' | h'
  · have e := pos a (-b) (c := -c) (by omega)
    rw [Int.neg_mul_neg, Int.ediv_neg, Int.ediv_neg] at e; omega
  · exact pos a b h'
theorem add_mul_ediv_left (a : Int) {b : Int} (c : Int) (h : b ≠ 0) : (a + b * c) / b = a / b + c := by
  rw [Int.mul_comm]; exact add_mul_ediv_right a c h
@[simp] theorem mul_ediv_cancel (a : Int) {b : Int} (h : b ≠ 0) : a * b / b = a := by
  have e := add_mul_ediv_right 0 a h
  rwa [Int.zero_add, zero_ediv, Int.zero_add] at e
@[simp] theorem mul_ediv_cancel_left (b : Int) (h : a ≠ 0) : a * b / a = b := by rw [Int.mul_comm]; exact mul_ediv_cancel b h
@[simp] protected theorem ediv_self (h : a ≠ 0) : a / a = 1 := by
  have e := mul_ediv_cancel 1 h
  rwa [Int.one_mul] at e
@[simp] theorem add_mul_emod_self_right (a b c : Int) : (a + b * c) % c = a % c := by
  rcases Decidable.em (c = 0) with h | h
  · rw [h, Int.mul_zero, Int.add_zero]
  · rw [emod_def, emod_def, add_mul_ediv_right a b h, Int.mul_add, Int.mul_comm c b]; omega
@[simp] theorem add_mul_emod_self_left (a b c : Int) : (a + b * c) % b = a % b := by rw [Int.mul_comm, add_mul_emod_self_right]
@[simp] theorem mul_add_emod_self_right (a b c : Int) : (a * b + c) % b = c % b := by rw [Int.add_comm, add_mul_emod_self_right]
@[simp] theorem mul_add_emod_self_left (a b c : Int) : (a * b + c) % a = c % a := by rw [Int.add_comm, add_mul_emod_self_left]
@[simp] theorem mul_emod_left (a b : Int) : a * b % b = 0 := emod_eq_zero_of_dvd (Int.dvd_mul_left b a)
@[simp] theorem mul_emod_right (a b : Int) : a * b % a = 0 := emod_eq_zero_of_dvd (Int.dvd_mul_right a b)
@[simp] theorem emod_self {a : Int} : a % a = 0 := emod_eq_zero_of_dvd (Int.dvd_refl a)
@[simp] theorem add_emod_right (a b : Int) : (a + b) % b = a % b := by
  have e := add_mul_emod_self_right a 1 b
  rwa [Int.one_mul] at e
@[simp] theorem add_emod_left (a b : Int) : (a + b) % a = b % a := by rw [Int.add_comm, add_emod_right]
@[simp] theorem emod_add_emod (m n k : Int) : (m % n + k) % n = (m + k) % n := by
  have e := add_mul_emod_self_left (m % n + k) n (m / n)
  rw [Int.add_right_comm, emod_add_mul_ediv] at e; exact e.symm
@[simp] theorem add_emod_emod (m n k : Int) : (m + n % k) % k = (m + n) % k := by rw [Int.add_comm, emod_add_emod, Int.add_comm]
theorem add_emod (a b n : Int) : (a + b) % n = (a % n + b % n) % n := by rw [add_emod_emod, emod_add_emod]
@[simp] theorem emod_emod (a b : Int) : a % b % b = a % b := by
  have e := emod_add_emod a b 0
  rwa [Int.add_zero, Int.add_zero] at e
@[simp] theorem emod_emod_of_dvd (n : Int) {m k : Int} : m ∣ k → n % k % m = n % m := fun ⟨t, e⟩ => by
  have h := add_mul_emod_self_left (n % k) m (t * (n / k))
  rw [← Int.mul_assoc, ← e, emod_add_mul_ediv] at h; exact h.symm
theorem add_emod_eq_add_emod_right (i : Int) (h : m % n = k % n) : (m + i) % n = (k + i) % n := by
  rw [← emod_add_emod, h, emod_add_emod]
theorem emod_add_cancel_right (i : Int) : (m + i) % n = (k + i) % n ↔ m % n = k % n :=
  ⟨fun h => by
    have e := add_emod_eq_add_emod_right (-i) h
    rwa [Int.add_neg_cancel_right, Int.add_neg_cancel_right] at e, add_emod_eq_add_emod_right i⟩
theorem mul_emod (a b n : Int) : a * b % n = a % n * (b % n) % n := by
  have hb := add_mul_emod_self_left (a % n * (b % n)) n (a % n * (b / n))
  rw [Int.mul_left_comm, ← Int.mul_add, emod_add_mul_ediv] at hb
  have ha := add_mul_emod_self_left (a % n * b) n (a / n * b)
  rw [← Int.mul_assoc, ← Int.add_mul, emod_add_mul_ediv] at ha
  exact ha.trans hb
theorem sub_emod (a b n : Int) : (a - b) % n = (a % n - b % n) % n := by
  rw [← emod_add_cancel_right b, Int.sub_add_cancel, ← add_emod_emod, Int.sub_add_cancel, emod_emod]
theorem emod_emod_eq_sub (a b : Int) : (a - a % b) % b = 0 := by rw [sub_emod, emod_emod, Int.sub_self, zero_emod]
theorem emod_eq_emod_iff_emod_sub_eq_zero : m % n = k % n ↔ (m - k) % n = 0 := by
  rw [← emod_add_cancel_right (-k), Int.add_right_neg, zero_emod]; exact Iff.rfl
theorem emod_eq_of_lt (h₁ : 0 ≤ a) (h₂ : a < b) : a % b = a :=
  ((Int.ediv_emod_unique (q := 0) (Int.lt_of_le_of_lt h₁ h₂)).2 ⟨by rw [Int.mul_zero, Int.add_zero], h₁, h₂⟩).2
theorem ediv_eq_zero_of_lt (h₁ : 0 ≤ a) (h₂ : a < b) : a / b = 0 :=
  ((Int.ediv_emod_unique (r := a) (Int.lt_of_le_of_lt h₁ h₂)).2 ⟨by rw [Int.mul_zero, Int.add_zero], h₁, h₂⟩).1
theorem dvd_sub_of_emod_eq (h : a % b = c) : b ∣ a - c := by
  rw [← h, emod_def, Int.sub_sub_self]; exact Int.dvd_mul_right b _
theorem dvd_self_sub_emod : b ∣ a - a % b := dvd_sub_of_emod_eq rfl
theorem mul_ediv_cancel_of_emod_eq_zero (h : a % b = 0) : b * (a / b) = a := by
  have e := emod_add_mul_ediv a b
  rwa [h, Int.zero_add] at e
protected theorem mul_ediv_cancel' (h : a ∣ b) : a * (b / a) = b := mul_ediv_cancel_of_emod_eq_zero (emod_eq_zero_of_dvd h)
protected theorem ediv_mul_cancel (h : b ∣ a) : a / b * b = a := by rw [Int.mul_comm]; exact Int.mul_ediv_cancel' h
protected theorem ediv_eq_of_eq_mul_right (hb : b ≠ 0) (h : a = b * c) : a / b = c := by rw [h, mul_ediv_cancel_left c hb]
protected theorem ediv_eq_of_eq_mul_left (hb : b ≠ 0) (h : a = c * b) : a / b = c := by rw [h, mul_ediv_cancel c hb]
protected theorem eq_mul_of_ediv_eq_right (hd : b ∣ a) (h : a / b = c) : a = b * c := by rw [← h, Int.mul_ediv_cancel' hd]
protected theorem mul_ediv_assoc (a : Int) : c ∣ b → a * b / c = a * (b / c) := fun ⟨d, e⟩ => by
  rcases Decidable.em (c = 0) with h | h
  · rw [h, Int.ediv_zero, Int.ediv_zero, Int.mul_zero]
  · rw [e, mul_ediv_cancel_left d h, Int.mul_left_comm, mul_ediv_cancel_left _ h]
theorem add_ediv_of_dvd_right : c ∣ b → (a + b) / c = a / c + b / c := fun ⟨d, e⟩ => by
  rcases Decidable.em (c = 0) with h | h
  · rw [h, Int.ediv_zero, Int.ediv_zero, Int.ediv_zero]; rfl
  · rw [e, add_mul_ediv_left a d h, mul_ediv_cancel_left d h]
theorem add_ediv_of_dvd_left (h : c ∣ a) : (a + b) / c = a / c + b / c := by
  rw [Int.add_comm, add_ediv_of_dvd_right h, Int.add_comm]
theorem neg_ediv_of_dvd : b ∣ a → (-a) / b = -(a / b) := fun ⟨c, e⟩ => by
  rcases Decidable.em (b = 0) with h | h
  · rw [h, Int.ediv_zero, Int.ediv_zero]; rfl
  · rw [e, ← Int.mul_neg, mul_ediv_cancel_left _ h, mul_ediv_cancel_left _ h]
theorem sub_ediv_of_dvd (a : Int) (h : c ∣ b) : (a - b) / c = a / c - b / c := by
  rw [Int.sub_eq_add_neg, add_ediv_of_dvd_right (Int.dvd_neg.2 h), neg_ediv_of_dvd h]; rfl

/-! ## Quotients and order -/

theorem ediv_nonneg (ha : 0 ≤ a) (hb : 0 ≤ b) : 0 ≤ a / b := by
  obtain ⟨m, rfl⟩ := eq_ofNat_of_zero_le ha
  obtain ⟨n, rfl⟩ := eq_ofNat_of_zero_le hb
  exact natCast_nonneg _
protected theorem le_ediv_iff_mul_le (h : 0 < c) : a ≤ b / c ↔ a * c ≤ b :=
  ⟨fun h' => by
    have := Int.mul_le_mul_of_nonneg_right h' (Int.le_of_lt h)
    have := mul_ediv_self_le (x := b) (Int.ne_of_gt h)
    rw [Int.mul_comm] at this; omega, le_ediv_of_mul_le h⟩
protected theorem ediv_lt_iff_lt_mul (h : 0 < c) : a / c < b ↔ a < b * c := by
  rw [← Int.not_le, ← Int.not_le, Int.le_ediv_iff_mul_le h]
protected theorem ediv_le_of_le_mul (h : 0 < c) (h' : a ≤ b * c) : a / c ≤ b :=
  Int.not_lt.1 fun hb => by
    have h'' := (Int.le_ediv_iff_mul_le h).1 (add_one_le_of_lt hb)
    rw [Int.add_mul, Int.one_mul] at h''; omega
protected theorem ediv_mul_le (a : Int) {b : Int} (h : b ≠ 0) : a / b * b ≤ a := by rw [Int.mul_comm]; exact mul_ediv_self_le h
theorem ediv_nonneg_iff_of_pos (h : 0 < b) : 0 ≤ a / b ↔ 0 ≤ a := by rw [Int.le_ediv_iff_mul_le h, Int.zero_mul]
protected theorem ediv_le_ediv (h : 0 < c) (h' : a ≤ b) : a / c ≤ b / c :=
  (Int.le_ediv_iff_mul_le h).2 (Int.le_trans (Int.ediv_mul_le a (Int.ne_of_gt h)) h')
theorem lt_ediv_add_one_mul_self (a : Int) (h : 0 < b) : a < (a / b + 1) * b := by
  rw [Int.add_mul, Int.one_mul, Int.mul_comm]; exact lt_mul_ediv_self_add h
theorem ediv_le_self (b : Int) (h : 0 ≤ a) : a / b ≤ a := by
  obtain ⟨m, rfl⟩ := eq_ofNat_of_zero_le h
  cases b with
  | ofNat n => exact ofNat_le.2 (Nat.div_le_self m n)
  | negSucc n =>
    show -((m / (n + 1) : Nat) : Int) ≤ m
    exact Int.le_trans (Int.neg_nonpos_of_nonneg (natCast_nonneg _)) (natCast_nonneg m)

/-! ## Truncating division and the balanced remainder -/

@[simp] protected theorem zero_tdiv (b : Int) : tdiv 0 b = 0 := by cases b with
  | ofNat n => exact congrArg ofNat (Nat.zero_div n)
  | negSucc n => exact congrArg (fun k => -ofNat k) (Nat.zero_div (n + 1))
@[simp] protected theorem tdiv_zero (a : Int) : tdiv a 0 = 0 := by cases a with
  | ofNat m => exact congrArg ofNat (Nat.div_zero m)
  | negSucc m => exact congrArg (fun k => -ofNat k) (Nat.div_zero (m + 1))
theorem tmod_add_mul_tdiv (a b : Int) : tmod a b + b * tdiv a b = a := by
  cases a with
  | ofNat m => cases b with
    | ofNat n => exact congrArg ofNat (Nat.mod_add_div m n)
    | negSucc n =>
      show ((m % (n + 1) : Nat) : Int) + -((n + 1 : Nat) : Int) * -((m / (n + 1) : Nat) : Int) = m
      rw [Int.neg_mul_neg]; exact congrArg ofNat (Nat.mod_add_div m (n + 1))
  | negSucc m => cases b with
    | ofNat n =>
      show -(((m + 1) % n : Nat) : Int) + (n : Int) * -(((m + 1) / n : Nat) : Int) = _
      rw [Int.mul_neg, ← Int.neg_add]; exact congrArg (fun k => -ofNat k) (Nat.mod_add_div (m + 1) n)
    | negSucc n =>
      show -(((m + 1) % (n + 1) : Nat) : Int) + -((n + 1 : Nat) : Int) * (((m + 1) / (n + 1) : Nat) : Int) = _
      rw [Int.neg_mul, ← Int.neg_add]; exact congrArg (fun k => -ofNat k) (Nat.mod_add_div (m + 1) (n + 1))
theorem mul_tdiv_add_tmod (a b : Int) : b * tdiv a b + tmod a b = a := by rw [Int.add_comm]; exact tmod_add_mul_tdiv a b
theorem tmod_def (a b : Int) : tmod a b = a - b * tdiv a b := by
  have e := tmod_add_mul_tdiv a b
  omega
theorem tdiv_eq_ediv_of_nonneg (h : 0 ≤ a) : tdiv a b = a / b := by
  obtain ⟨m, rfl⟩ := eq_ofNat_of_zero_le h
  cases b with
  | ofNat n => rfl
  | negSucc n => rfl
@[simp] protected theorem tdiv_neg (a b : Int) : tdiv a (-b) = -tdiv a b := by
  cases a with
  | ofNat m => cases b with
    | ofNat n => cases n with
      | zero => rw [show -(ofNat 0) = 0 from rfl, show ofNat 0 = 0 from rfl, Int.tdiv_zero]; rfl
      | succ n => rfl
    | negSucc n => exact (Int.neg_neg _).symm
  | negSucc m => cases b with
    | ofNat n => cases n with
      | zero => rw [show -(ofNat 0) = 0 from rfl, show ofNat 0 = 0 from rfl, Int.tdiv_zero]; rfl
      | succ n => exact (Int.neg_neg _).symm
    | negSucc n => rfl
theorem bmod_def (x : Int) (m : Nat) : bmod x m = if x % m < (m + 1) / 2 then x % m else x % m - m := rfl
@[simp] theorem bmod_emod {x : Int} {m : Nat} : bmod x m % m = x % m := by
  obtain ⟨q, e⟩ := bmod_eq_self_sub_mul x m
  conv => rhs; rw [e]
  rw [add_mul_emod_self_left]

/-! ## Greatest common divisor -/

theorem gcd_def (a b : Int) : gcd a b = Nat.gcd a.natAbs b.natAbs := rfl
theorem gcd_dvd_left {a b : Int} : (gcd a b : Int) ∣ a := ofNat_dvd_left.2 (Nat.gcd_dvd_left _ _)
theorem gcd_dvd_right {a b : Int} : (gcd a b : Int) ∣ b := ofNat_dvd_left.2 (Nat.gcd_dvd_right _ _)
theorem dvd_gcd {n : Nat} (ha : (n : Int) ∣ a) (hb : (n : Int) ∣ b) : n ∣ gcd a b := Nat.dvd_gcd (ofNat_dvd_left.1 ha) (ofNat_dvd_left.1 hb)
theorem gcd_comm (a b : Int) : gcd a b = gcd b a := Nat.gcd_comm _ _
@[simp] theorem gcd_neg : gcd a (-b) = gcd a b := by rw [gcd, natAbs_neg]; rfl
@[simp] theorem neg_gcd : gcd (-a) b = gcd a b := by rw [gcd, natAbs_neg]; rfl
@[simp] theorem gcd_self : gcd a a = a.natAbs := Nat.gcd_self _
@[simp] theorem gcd_zero_left : gcd 0 a = a.natAbs := Nat.gcd_zero_left _
@[simp] theorem gcd_zero_right : gcd a 0 = a.natAbs := Nat.gcd_zero_right _
end Int
