module
prelude
public import Pocket.Int.Basic
@[expose] public section
/-! Integers: order, absolute value, and the quotient and remainder of `/` and `%`. What `omega` builds on is proved here, without it. -/
set_option autoImplicit false
universe u

namespace Int

/-! ## Order -/

theorem nonneg_def {a : Int} : NonNeg a ↔ ∃ n : Nat, a = n := ⟨fun h => by cases h with | mk n => exact ⟨n, rfl⟩, fun ⟨n, e⟩ => e ▸ ⟨n⟩⟩
theorem NonNeg.elim {a : Int} : NonNeg a → ∃ n : Nat, a = n := nonneg_def.1
theorem le_def {a b : Int} : a ≤ b ↔ NonNeg (b - a) := Iff.rfl
theorem lt_iff_add_one_le {a b : Int} : a < b ↔ a + 1 ≤ b := Iff.rfl
theorem le.intro {a b : Int} (n : Nat) (h : a + n = b) : a ≤ b := by
  rw [le_def, ← h, Int.add_sub_cancel_left]; exact ⟨n⟩
theorem le.dest {a b : Int} (h : a ≤ b) : ∃ n : Nat, a + n = b := by
  obtain ⟨n, e⟩ := nonneg_def.1 (le_def.1 h)
  exact ⟨n, by rw [← e, Int.add_comm, Int.sub_add_cancel]⟩
@[simp, norm_cast] theorem ofNat_le {m n : Nat} : (m : Int) ≤ (n : Int) ↔ m ≤ n := by
  rw [natCast_eq_subNatNat, natCast_eq_subNatNat, subNatNat_le_subNatNat, Nat.add_zero, Nat.add_zero]
@[simp, norm_cast] theorem ofNat_lt {m n : Nat} : (m : Int) < (n : Int) ↔ m < n := by
  rw [natCast_eq_subNatNat, natCast_eq_subNatNat, subNatNat_lt_subNatNat, Nat.add_zero, Nat.add_zero]
theorem natCast_le {m n : Nat} : (m : Int) ≤ (n : Int) ↔ m ≤ n := ofNat_le
theorem natCast_lt {m n : Nat} : (m : Int) < (n : Int) ↔ m < n := ofNat_lt
@[simp, norm_cast] theorem natCast_pos {n : Nat} : (0 : Int) < n ↔ 0 < n := ofNat_lt
theorem ofNat_pos {n : Nat} : (0 : Int) < n ↔ 0 < n := ofNat_lt
@[simp] theorem natCast_nonneg (n : Nat) : 0 ≤ (n : Int) := ofNat_le.2 (Nat.zero_le n)
theorem ofNat_nonneg (n : Nat) : 0 ≤ (n : Int) := natCast_nonneg n
theorem ofNat_zero_le (n : Nat) : 0 ≤ (n : Int) := natCast_nonneg n
theorem ofNat_succ_pos (n : Nat) : 0 < ((Nat.succ n : Nat) : Int) := natCast_pos.2 (Nat.succ_pos n)
@[simp] protected theorem le_refl (a : Int) : a ≤ a := le.intro 0 (Int.add_zero a)
protected theorem le_rfl {a : Int} : a ≤ a := Int.le_refl a
protected theorem le_of_eq {a b : Int} (h : a = b) : a ≤ b := h ▸ Int.le_refl a
protected theorem ge_of_eq {a b : Int} (h : a = b) : b ≤ a := h ▸ Int.le_refl a
protected theorem le_trans {a b c : Int} (h₁ : a ≤ b) (h₂ : b ≤ c) : a ≤ c := by
  obtain ⟨n, rfl⟩ := le.dest h₁
  obtain ⟨m, rfl⟩ := le.dest h₂
  exact le.intro (n + m) (by rw [natCast_add, Int.add_assoc])
protected theorem le_total (a b : Int) : a ≤ b ∨ b ≤ a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  rw [subNatNat_le_subNatNat, subNatNat_le_subNatNat]; exact Nat.le_total _ _
protected theorem le_antisymm {a b : Int} (h₁ : a ≤ b) (h₂ : b ≤ a) : a = b := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  exact subNatNat_congr (Nat.le_antisymm (subNatNat_le_subNatNat.1 h₁) (subNatNat_le_subNatNat.1 h₂))
@[simp] protected theorem not_le {a b : Int} : ¬a ≤ b ↔ b < a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  rw [subNatNat_le_subNatNat, subNatNat_lt_subNatNat, Nat.not_le]
@[simp] protected theorem not_lt {a b : Int} : ¬a < b ↔ b ≤ a := by rw [← Int.not_le, Decidable.not_not]
@[simp] protected theorem lt_irrefl (a : Int) : ¬a < a := Int.not_lt.2 (Int.le_refl a)
protected theorem le_of_lt {a b : Int} (h : a < b) : a ≤ b := (Int.le_total a b).resolve_right (Int.not_le.2 h)
protected theorem ne_of_lt {a b : Int} (h : a < b) : a ≠ b := fun e => Int.lt_irrefl b (e ▸ h)
protected theorem ne_of_gt {a b : Int} (h : b < a) : a ≠ b := fun e => Int.lt_irrefl b (e ▸ h)
protected theorem lt_of_le_of_lt {a b c : Int} (h₁ : a ≤ b) (h₂ : b < c) : a < c :=
  Int.not_le.1 fun h => Int.not_le.2 h₂ (Int.le_trans h h₁)
protected theorem lt_of_lt_of_le {a b c : Int} (h₁ : a < b) (h₂ : b ≤ c) : a < c :=
  Int.not_le.1 fun h => Int.not_le.2 h₁ (Int.le_trans h₂ h)
protected theorem lt_trans {a b c : Int} (h₁ : a < b) (h₂ : b < c) : a < c := Int.lt_of_le_of_lt (Int.le_of_lt h₁) h₂
protected theorem lt_trichotomy (a b : Int) : a < b ∨ a = b ∨ b < a :=
  (Decidable.em (b ≤ a)).elim (fun h => (Decidable.em (a ≤ b)).elim (fun h' => .inr (.inl (Int.le_antisymm h' h)))
    (fun h' => .inr (.inr (Int.not_le.1 h')))) (fun h => .inl (Int.not_le.1 h))
protected theorem lt_or_gt_of_ne {a b : Int} (h : a ≠ b) : a < b ∨ b < a := (Int.lt_trichotomy a b).imp_right (·.resolve_left h)
protected theorem lt_or_lt_of_ne {a b : Int} (h : a ≠ b) : a < b ∨ b < a := Int.lt_or_gt_of_ne h
protected theorem add_le_add_left {a b : Int} (h : a ≤ b) (c : Int) : c + a ≤ c + b := by
  obtain ⟨n, rfl⟩ := le.dest h
  exact le.intro n (Int.add_assoc c a n)
protected theorem add_le_add_right {a b : Int} (h : a ≤ b) (c : Int) : a + c ≤ b + c := by
  rw [Int.add_comm a, Int.add_comm b]; exact Int.add_le_add_left h c
protected theorem add_le_add {a b c d : Int} (h₁ : a ≤ b) (h₂ : c ≤ d) : a + c ≤ b + d :=
  Int.le_trans (Int.add_le_add_right h₁ c) (Int.add_le_add_left h₂ b)
protected theorem neg_le_neg {a b : Int} (h : a ≤ b) : -b ≤ -a := by
  have h' := Int.add_le_add_left h (-a + -b)
  rwa [Int.neg_add_cancel_right, Int.add_comm (-a), Int.neg_add_cancel_right] at h'
protected theorem sub_nonneg_of_le {a b : Int} (h : b ≤ a) : 0 ≤ a - b := by
  rw [← Int.add_right_neg b]; exact Int.add_le_add_right h (-b)
protected theorem le_of_sub_nonneg {a b : Int} (h : 0 ≤ a - b) : b ≤ a := by
  have h' := Int.add_le_add_right h b
  rwa [Int.zero_add, Int.sub_add_cancel] at h'
theorem add_one_le_of_lt {a b : Int} (h : a < b) : a + 1 ≤ b := h
theorem lt_of_add_one_le {a b : Int} (h : a + 1 ≤ b) : a < b := h
theorem eq_ofNat_of_zero_le {a : Int} (h : 0 ≤ a) : ∃ n : Nat, a = n := by
  obtain ⟨n, e⟩ := le.dest h
  exact ⟨n, by rw [← e, Int.zero_add]⟩
theorem eq_succ_of_zero_lt {a : Int} (h : 0 < a) : ∃ n : Nat, a = ((Nat.succ n : Nat) : Int) := by
  obtain ⟨n, rfl⟩ := eq_ofNat_of_zero_le (Int.le_of_lt h)
  match n, natCast_pos.1 h with
  | n + 1, _ => exact ⟨n, rfl⟩
protected theorem mul_nonneg {a b : Int} (ha : 0 ≤ a) (hb : 0 ≤ b) : 0 ≤ a * b := by
  obtain ⟨n, rfl⟩ := eq_ofNat_of_zero_le ha
  obtain ⟨m, rfl⟩ := eq_ofNat_of_zero_le hb
  exact natCast_nonneg (n * m)
protected theorem mul_pos {a b : Int} (ha : 0 < a) (hb : 0 < b) : 0 < a * b := by
  obtain ⟨n, rfl⟩ := eq_succ_of_zero_lt ha
  obtain ⟨m, rfl⟩ := eq_succ_of_zero_lt hb
  exact natCast_pos.2 (Nat.mul_pos (Nat.succ_pos n) (Nat.succ_pos m))
protected theorem mul_le_mul_of_nonneg_left {a b c : Int} (h : a ≤ b) (hc : 0 ≤ c) : c * a ≤ c * b := by
  refine Int.le_of_sub_nonneg ?_
  rw [← Int.mul_sub]; exact Int.mul_nonneg hc (Int.sub_nonneg_of_le h)
protected theorem mul_le_mul_of_nonneg_right {a b c : Int} (h : a ≤ b) (hc : 0 ≤ c) : a * c ≤ b * c := by
  rw [Int.mul_comm a, Int.mul_comm b]; exact Int.mul_le_mul_of_nonneg_left h hc
protected theorem mul_le_mul_of_nonpos_left {a b c : Int} (ha : a ≤ 0) (h : c ≤ b) : a * b ≤ a * c := by
  have h' := Int.neg_le_neg (Int.mul_le_mul_of_nonneg_left h (Int.neg_le_neg ha))
  rwa [Int.neg_mul, Int.neg_mul, Int.neg_neg, Int.neg_neg] at h'
protected theorem lt_of_mul_lt_mul_left {a b c : Int} (h : c * a < c * b) (hc : 0 ≤ c) : a < b :=
  Int.not_le.1 fun h' => Int.not_le.2 h (Int.mul_le_mul_of_nonneg_left h' hc)
@[simp] theorem negSucc_lt_zero (n : Nat) : negSucc n < 0 := Int.not_le.1 fun h => by
  obtain ⟨m, e⟩ := eq_ofNat_of_zero_le h
  exact Int.noConfusion e

/-! ## `min`, `max`, `toNat`, `natAbs` -/

protected theorem min_def (a b : Int) : min a b = if a ≤ b then a else b := rfl
protected theorem max_def (a b : Int) : max a b = if a ≤ b then b else a := rfl
protected theorem min_le_left (a b : Int) : min a b ≤ a := by
  rw [Int.min_def]; split
  · exact Int.le_refl a
  · next h => exact Int.le_of_lt (Int.not_le.1 h)
protected theorem min_le_right (a b : Int) : min a b ≤ b := by
  rw [Int.min_def]; split
  · assumption
  · exact Int.le_refl b
protected theorem le_max_left (a b : Int) : a ≤ max a b := by
  rw [Int.max_def]; split
  · assumption
  · exact Int.le_refl a
protected theorem le_max_right (a b : Int) : b ≤ max a b := by
  rw [Int.max_def]; split
  · exact Int.le_refl b
  · next h => exact Int.le_of_lt (Int.not_le.1 h)
protected theorem le_min {a b c : Int} : a ≤ min b c ↔ a ≤ b ∧ a ≤ c :=
  ⟨fun h => ⟨Int.le_trans h (Int.min_le_left b c), Int.le_trans h (Int.min_le_right b c)⟩, fun ⟨h₁, h₂⟩ => by
    rw [Int.min_def]; split <;> assumption⟩
protected theorem max_le {a b c : Int} : max a b ≤ c ↔ a ≤ c ∧ b ≤ c :=
  ⟨fun h => ⟨Int.le_trans (Int.le_max_left a b) h, Int.le_trans (Int.le_max_right a b) h⟩, fun ⟨h₁, h₂⟩ => by
    rw [Int.max_def]; split <;> assumption⟩
theorem toNat_eq_max (a : Int) : (toNat a : Int) = max a 0 := by
  cases a with
  | ofNat n => cases n with
    | zero => rfl
    | succ n => exact (if_neg (Int.not_le.2 (natCast_pos.2 (Nat.succ_pos n)))).symm
  | negSucc n => exact (if_pos (Int.le_of_lt (negSucc_lt_zero n))).symm
@[simp] theorem toNat_of_nonneg {a : Int} (h : 0 ≤ a) : (toNat a : Int) = a := by
  obtain ⟨n, rfl⟩ := eq_ofNat_of_zero_le h; rfl
theorem le_natAbs {a : Int} : a ≤ natAbs a := by
  cases a with
  | ofNat n => exact Int.le_refl _
  | negSucc n => exact Int.le_trans (Int.le_of_lt (negSucc_lt_zero n)) (natCast_nonneg _)
@[simp] theorem natAbs_neg (a : Int) : natAbs (-a) = natAbs a := by
  cases a with
  | ofNat n => cases n with
    | zero => rfl
    | succ n => rfl
  | negSucc n => rfl
theorem natAbs_mul (a b : Int) : natAbs (a * b) = natAbs a * natAbs b := by
  cases a with
  | ofNat m => cases b with
    | ofNat n => rfl
    | negSucc n => exact natAbs_neg ((m * (n + 1) : Nat) : Int)
  | negSucc m => cases b with
    | ofNat n => exact natAbs_neg (((m + 1) * n : Nat) : Int)
    | negSucc n => rfl
@[simp] theorem natAbs_eq_zero {a : Int} : natAbs a = 0 ↔ a = 0 := by
  cases a with
  | ofNat n => exact ofNat_inj.symm
  | negSucc n => exact iff_of_false (Nat.succ_ne_zero n) fun e => Int.noConfusion e
theorem natAbs_of_nonneg {a : Int} (h : 0 ≤ a) : (natAbs a : Int) = a := by
  obtain ⟨n, rfl⟩ := eq_ofNat_of_zero_le h; rfl
theorem natAbs_eq (a : Int) : a = natAbs a ∨ a = -(natAbs a : Int) := by
  cases a with
  | ofNat n => exact .inl rfl
  | negSucc n => exact .inr rfl

/-! ## Quotient and remainder -/

@[simp, norm_cast] theorem natCast_ediv (m n : Nat) : ((m / n : Nat) : Int) = m / n := rfl
theorem ofNat_ediv (m n : Nat) : ((m / n : Nat) : Int) = m / n := rfl
@[simp, norm_cast] theorem natCast_emod (m n : Nat) : ((m % n : Nat) : Int) = m % n := rfl
theorem ofNat_emod (m n : Nat) : ((m % n : Nat) : Int) = m % n := rfl
@[simp] protected theorem ediv_zero (a : Int) : a / 0 = 0 := by cases a with
  | ofNat m => exact congrArg ofNat (Nat.div_zero m)
  | negSucc m => rfl
@[simp] protected theorem ediv_neg (a b : Int) : a / -b = -(a / b) := by
  cases a with
  | ofNat m => cases b with
    | ofNat n => cases n with
      | zero => exact (congrArg (-ofNat ·) (Nat.div_zero m)).symm ▸ congrArg ofNat (Nat.div_zero m)
      | succ n => rfl
    | negSucc n => exact (Int.neg_neg _).symm
  | negSucc m => cases b with
    | ofNat n => cases n with
      | zero => rfl
      | succ n => rfl
    | negSucc n => rfl
theorem emod_add_mul_ediv (a b : Int) : a % b + b * (a / b) = a := by
  have step (q r n m : Nat) (h : r + n * q = m) : subNatNat n (r + 1) + subNatNat 0 (n * (q + 1)) = negSucc m := by
    rw [subNatNat_add_subNatNat, show negSucc m = subNatNat 0 (m + 1) from rfl, ← h]
    exact subNatNat_congr (by simp only [Nat.mul_add, Nat.mul_one, Nat.zero_add, Nat.add_zero, Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  cases a with
  | ofNat m => cases b with
    | ofNat n => exact congrArg ofNat (Nat.mod_add_div m n)
    | negSucc n =>
      show ((m % (n + 1) : Nat) : Int) + -((n + 1 : Nat) : Int) * -((m / (n + 1) : Nat) : Int) = m
      rw [Int.neg_mul_neg]; exact congrArg ofNat (Nat.mod_add_div m (n + 1))
  | negSucc m => cases b with
    | ofNat n => cases n with
      | zero =>
        show subNatNat 0 (m % 0 + 1) + 0 * _ = _
        rw [Int.zero_mul, Int.add_zero, Nat.mod_zero]; rfl
      | succ n =>
        exact step (m / (n + 1)) (m % (n + 1)) (n + 1) m (Nat.mod_add_div m (n + 1))
    | negSucc n =>
      exact step (m / (n + 1)) (m % (n + 1)) (n + 1) m (Nat.mod_add_div m (n + 1))
theorem emod_def (a b : Int) : a % b = a - b * (a / b) := by
  have h := congrArg (· - b * (a / b)) (emod_add_mul_ediv a b)
  simp only [Int.add_sub_cancel] at h
  exact h
theorem emod_nonneg (a : Int) {b : Int} (h : b ≠ 0) : 0 ≤ a % b := by
  have pos : 0 < natAbs b := Nat.pos_of_ne_zero fun e => h (natAbs_eq_zero.1 e)
  cases a with
  | ofNat m => exact natCast_nonneg _
  | negSucc m =>
    show 0 ≤ subNatNat (natAbs b) (m % natAbs b + 1)
    rw [subNatNat_of_le (Nat.succ_le_of_lt (Nat.mod_lt m pos))]; exact natCast_nonneg _
theorem emod_lt_of_pos (a : Int) {b : Int} (h : 0 < b) : a % b < b := by
  obtain ⟨n, rfl⟩ := eq_succ_of_zero_lt h
  cases a with
  | ofNat m => exact ofNat_lt.2 (Nat.mod_lt m (Nat.succ_pos n))
  | negSucc m =>
    show subNatNat (n + 1) (m % (n + 1) + 1) < _
    rw [subNatNat_of_le (Nat.succ_le_of_lt (Nat.mod_lt m (Nat.succ_pos n)))]
    exact ofNat_lt.2 (Nat.sub_lt (Nat.succ_pos n) (Nat.succ_pos _))
theorem mul_ediv_self_le {x k : Int} (h : k ≠ 0) : k * (x / k) ≤ x := by
  have e := Int.add_le_add_right (emod_nonneg x h) (k * (x / k))
  rwa [emod_add_mul_ediv, Int.zero_add] at e
theorem lt_mul_ediv_self_add {x k : Int} (h : 0 < k) : x < k * (x / k) + k := by
  have e := Int.add_le_add_right (add_one_le_of_lt (emod_lt_of_pos x h)) (k * (x / k))
  rw [Int.add_right_comm, emod_add_mul_ediv, Int.add_comm k] at e
  exact lt_of_add_one_le e
theorem le_ediv_of_mul_le {a b c : Int} (hc : 0 < c) (h : a * c ≤ b) : a ≤ b / c := by
  have e : c * a < c * (b / c + 1) := by
    rw [Int.mul_add, Int.mul_one, Int.mul_comm c a]; exact Int.lt_of_le_of_lt h (lt_mul_ediv_self_add hc)
  have e' := Int.add_le_add_right (add_one_le_of_lt (Int.lt_of_mul_lt_mul_left e (Int.le_of_lt hc))) (-1)
  rwa [Int.add_neg_cancel_right, Int.add_neg_cancel_right] at e'

/-! ## Divisibility -/

protected theorem dvd_refl (a : Int) : a ∣ a := ⟨1, (Int.mul_one a).symm⟩
protected theorem dvd_trans {a b c : Int} : a ∣ b → b ∣ c → a ∣ c := fun ⟨d, hd⟩ ⟨e, he⟩ => ⟨d * e, by rw [he, hd, Int.mul_assoc]⟩
@[simp] protected theorem dvd_zero (a : Int) : a ∣ 0 := ⟨0, (Int.mul_zero a).symm⟩
protected theorem dvd_mul_right (a b : Int) : a ∣ a * b := ⟨b, rfl⟩
protected theorem dvd_mul_left (a b : Int) : a ∣ b * a := ⟨b, Int.mul_comm b a⟩
protected theorem dvd_mul_of_dvd_left {a b : Int} (h : a ∣ b) (c : Int) : a ∣ b * c := Int.dvd_trans h (Int.dvd_mul_right b c)
protected theorem dvd_add {a b c : Int} : a ∣ b → a ∣ c → a ∣ b + c := fun ⟨d, hd⟩ ⟨e, he⟩ => ⟨d + e, by rw [Int.mul_add, hd, he]⟩
protected theorem dvd_neg_of_dvd {a b : Int} : a ∣ b → a ∣ -b := fun ⟨d, hd⟩ => ⟨-d, by rw [Int.mul_neg, hd]⟩
protected theorem dvd_sub {a b c : Int} (h₁ : a ∣ b) (h₂ : a ∣ c) : a ∣ b - c := Int.dvd_add h₁ (Int.dvd_neg_of_dvd h₂)
@[norm_cast] theorem ofNat_dvd {m n : Nat} : (m : Int) ∣ (n : Int) ↔ m ∣ n := by
  refine ⟨fun ⟨c, h⟩ => ⟨natAbs c, ?_⟩, fun ⟨c, h⟩ => ⟨c, congrArg ofNat h⟩⟩
  have e := congrArg natAbs h
  rwa [natAbs_mul] at e
theorem natCast_dvd_natCast {m n : Nat} : (m : Int) ∣ (n : Int) ↔ m ∣ n := ofNat_dvd
theorem natAbs_dvd_natAbs {a b : Int} : natAbs a ∣ natAbs b ↔ a ∣ b := by
  constructor
  · intro ⟨c, h⟩
    have h' : (natAbs b : Int) = natAbs a * c := congrArg ofNat h
    have hb : (natAbs a : Int) ∣ b := by
      rcases natAbs_eq b with e | e <;> rw [e, h']
      · exact Int.dvd_mul_right _ _
      · exact Int.dvd_neg_of_dvd (Int.dvd_mul_right _ _)
    rcases natAbs_eq a with e | e <;> rw [e]
    · exact hb
    · have ⟨d, hd⟩ := hb
      exact ⟨-d, by rw [hd, Int.neg_mul_neg]⟩
  · intro ⟨c, h⟩
    exact ⟨natAbs c, by rw [h, natAbs_mul]⟩
theorem emod_eq_zero_of_dvd {a b : Int} (h : a ∣ b) : b % a = 0 := by
  have h' : natAbs a ∣ natAbs b := natAbs_dvd_natAbs.2 h
  cases b with
  | ofNat m => exact congrArg ofNat (Nat.mod_eq_zero_of_dvd h')
  | negSucc m =>
    obtain ⟨c, e⟩ := h'
    show subNatNat (natAbs a) (m % natAbs a + 1) = subNatNat 0 0
    refine subNatNat_congr ?_
    rw [Nat.add_zero, Nat.zero_add]
    cases c with
    | zero => exact absurd e (Nat.succ_ne_zero m)
    | succ c =>
      generalize natAbs a = n at e
      cases n with
      | zero => rw [Nat.zero_mul] at e; exact absurd e (Nat.succ_ne_zero m)
      | succ n =>
        have em : m = n + (n + 1) * c := Nat.succ_inj.1 (e.trans (by rw [Nat.mul_add, Nat.mul_one, Nat.add_comm, Nat.succ_add]))
        rw [em, Nat.add_mul_mod_self_left, Nat.mod_eq_of_lt (Nat.lt_add_one n)]
theorem dvd_of_emod_eq_zero {a b : Int} (h : b % a = 0) : a ∣ b := by
  have e := emod_add_mul_ediv b a
  rw [h, Int.zero_add] at e
  exact ⟨b / a, e.symm⟩
theorem dvd_iff_emod_eq_zero {a b : Int} : a ∣ b ↔ b % a = 0 := ⟨emod_eq_zero_of_dvd, dvd_of_emod_eq_zero⟩
instance decidableDvd (a b : Int) : Decidable (a ∣ b) := decidable_of_decidable_of_iff dvd_iff_emod_eq_zero.symm
theorem emod_pos_of_not_dvd {a b : Int} (h : ¬a ∣ b) : a = 0 ∨ 0 < b % a :=
  (Decidable.em (a = 0)).imp_right fun ha =>
    (Int.lt_or_gt_of_ne fun e => h (dvd_of_emod_eq_zero e)).resolve_left (Int.not_lt.2 (emod_nonneg b ha))
theorem bmod_eq_self_sub_mul (x : Int) (m : Nat) : ∃ q, x = bmod x m + m * q := by
  unfold bmod
  have e := emod_add_mul_ediv x m
  dsimp only
  split
  · exact ⟨x / m, e.symm⟩
  · refine ⟨x / m + 1, ?_⟩
    rw [Int.mul_add, Int.mul_one, Int.add_comm (↑m * _), ← Int.add_assoc, Int.sub_add_cancel]; exact e.symm
theorem dvd_self_sub_bmod {x : Int} {m : Nat} : (m : Int) ∣ x - bmod x m := by
  obtain ⟨q, e⟩ := bmod_eq_self_sub_mul x m
  refine ⟨q, ?_⟩
  conv => lhs; arg 1; rw [e]
  rw [Int.add_sub_cancel_left]
end Int
