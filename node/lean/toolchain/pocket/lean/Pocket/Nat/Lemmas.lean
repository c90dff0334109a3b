module
prelude
public import Pocket.Omega.Facts
public import Pocket.Nat.Simproc
@[expose] public section
/-! Natural numbers: further everyday laws, most of them linear and proved by `omega`. -/
set_option autoImplicit false
universe u
variable {a b c d k l m n : Nat}

namespace Nat

/-! ## Names that differ from a law above in form only -/

theorem lt.base (n : Nat) : n < succ n := Nat.le_refl (succ n)
theorem lt.step (h : n < m) : n < succ m := le_succ_of_le h
theorem zero_lt_of_lt (h : a < b) : 0 < b := by omega
theorem zero_lt_of_ne_zero (h : a ≠ 0) : 0 < a := by omega
theorem le.intro (h : n + k = m) : n ≤ m := by omega
theorem gt_of_not_le (h : ¬n ≤ m) : n > m := by omega
theorem ge_of_not_lt (h : ¬n < m) : n ≥ m := by omega
protected theorem le_of_not_gt (h : ¬b > a) : b ≤ a := by omega
protected theorem le_of_not_ge (h : ¬a ≥ b) : a ≤ b := by omega
protected theorem lt_le_asymm (h : a < b) : ¬b ≤ a := by omega
protected theorem le_lt_asymm (h : a ≤ b) : ¬b < a := by omega
protected theorem lt_or_lt_of_ne (h : a ≠ b) : a < b ∨ b < a := by omega
protected theorem ne_of_lt' (h : a < b) : b ≠ a := by omega
theorem le_or_eq_of_le_succ (h : m ≤ succ n) : m ≤ n ∨ m = succ n := by omega
theorem le_or_eq_of_le_add_one (h : m ≤ n + 1) : m ≤ n ∨ m = n + 1 := by omega
theorem lt_succ_iff_lt_or_eq : a < succ b ↔ a < b ∨ a = b := by omega
theorem lt_add_one_iff_lt_or_eq : a < b + 1 ↔ a < b ∨ a = b := by omega
theorem eq_of_lt_succ_of_not_lt (h₁ : a < b + 1) (h₂ : ¬a < b) : a = b := by omega
theorem eq_of_le_of_lt_succ (h₁ : n ≤ m) (h₂ : m < n + 1) : m = n := by omega
theorem pos_iff_one_le : 0 < n ↔ 1 ≤ n := Iff.rfl
theorem one_le_of_lt (h : a < b) : 1 ≤ b := by omega
theorem one_lt_two : 1 < 2 := by decide
theorem zero_lt_two : 0 < 2 := by decide
theorem two_ne_zero : (2 : Nat) ≠ 0 := by decide
theorem two_le_iff (n : Nat) : 2 ≤ n ↔ n ≠ 0 ∧ n ≠ 1 := by omega
theorem one_lt_iff_ne_zero_and_ne_one : 1 < n ↔ n ≠ 0 ∧ n ≠ 1 := by omega
theorem le_one_iff_eq_zero_or_eq_one : n ≤ 1 ↔ n = 0 ∨ n = 1 := by omega
theorem lt_iff_add_one_le : m < n ↔ m + 1 ≤ n := Iff.rfl
theorem add_one_le_of_lt (h : n < m) : n + 1 ≤ m := h
theorem lt_of_add_one_le (h : n + 1 ≤ m) : n < m := h
theorem le_pred_of_lt (h : n < m) : n ≤ m - 1 := by omega
theorem pred_lt_of_lt (h : m < n) : pred n < n := pred_lt (by omega)
theorem lt_pred_iff : a < pred b ↔ succ a < b := by simp; omega
theorem pred_le_iff : pred m ≤ n ↔ m ≤ succ n := by simp; omega
theorem le_sub_one_iff_lt (h : 0 < b) : a ≤ b - 1 ↔ a < b := by omega
theorem sub_one_lt_iff : n - 1 < n ↔ 0 < n := by omega
theorem sub_one_lt_of_lt (h : m < n) : n - 1 < n := by omega
theorem sub_one_lt_of_le (h₀ : 0 < a) (h₁ : a ≤ b) : a - 1 < b := by omega
theorem le_of_pred_lt (h : pred m < n) : m ≤ n := by simp at h; omega
theorem lt_of_le_pred (h : 0 < m) (h' : n ≤ m - 1) : n < m := by omega

/-! ## Sums and differences -/

theorem add_right_eq_self : a + b = a ↔ b = 0 := by omega
theorem add_left_eq_self : a + b = b ↔ a = 0 := by omega
theorem self_eq_add_right : a = a + b ↔ b = 0 := by omega
theorem self_eq_add_left : a = b + a ↔ b = 0 := by omega
protected theorem add_le_add_iff_le_left (a b n : Nat) : n + a ≤ n + b ↔ a ≤ b := by omega
theorem add_eq_one_iff : m + n = 1 ↔ m = 0 ∧ n = 1 ∨ m = 1 ∧ n = 0 := by omega
theorem add_pos_iff_pos_or_pos : 0 < m + n ↔ 0 < m ∨ 0 < n := by omega
protected theorem le_add_right_of_le' (h : a ≤ b) : a ≤ b + c := by omega
protected theorem sub_add_eq_max (a b : Nat) : a - b + b = max a b := by omega
protected theorem sub_add_min_cancel (n m : Nat) : n - m + min n m = n := by omega
protected theorem sub_eq_sub_min (n m : Nat) : n - m = n - min n m := by omega
protected theorem sub_eq_max_sub (a b : Nat) : a - b = max a b - b := by omega
protected theorem eq_sub_of_add_eq (h : a + b = c) : a = c - b := by omega
protected theorem eq_sub_of_add_eq' (h : b + a = c) : a = c - b := by omega
protected theorem add_sub_sub_cancel (h : c ≤ a) : a + b - (a - c) = b + c := by omega
protected theorem sub_sub_right (a : Nat) (h : c ≤ b) : a - (b - c) = a + c - b := by omega
protected theorem sub_sub_eq_min (a b : Nat) : a - (a - b) = min a b := by omega
protected theorem add_sub_cancel_right (n m : Nat) : n + m - m = n := Nat.add_sub_cancel n m
protected theorem add_sub_add_comm (h₁ : c ≤ a) (h₂ : d ≤ b) : a + b - (c + d) = (a - c) + (b - d) := by omega
protected theorem sub_add_sub_comm (h₁ : b ≤ a) (h₂ : d ≤ c) : a - b + (c - d) = a + c - (b + d) := by omega
protected theorem sub_lt_of_lt (h : a < c) : a - b < c := by omega
protected theorem sub_lt_sub_right (h₁ : c ≤ a) (h₂ : a < b) : a - c < b - c := by omega
protected theorem sub_lt_sub_left (h₁ : k < m) (h₂ : k < n) : m - n < m - k := by omega
protected theorem sub_le_sub_iff_right (h : k ≤ n) : m - k ≤ n - k ↔ m ≤ n := by omega
protected theorem sub_le_sub_iff_left (h : n ≤ k) : k - m ≤ k - n ↔ n ≤ m := by omega
protected theorem sub_lt_self (h₀ : 0 < a) (h₁ : a ≤ b) : b - a < b := by omega
protected theorem sub_lt_add_one (a b : Nat) : a - b < a + 1 := by omega
protected theorem lt_sub_iff_add_lt' : a < c - b ↔ b + a < c := by omega
protected theorem sub_lt_iff_lt_add' (h : b ≤ a) : a - b < c ↔ a < b + c := by omega
protected theorem le_sub_of_add_le' (h : b + a ≤ c) : a ≤ c - b := by omega
protected theorem sub_le_iff_le_add' : a - b ≤ c ↔ a ≤ b + c := by omega
protected theorem le_sub_iff_add_le' (h : k ≤ m) : n ≤ m - k ↔ k + n ≤ m := by omega
protected theorem sub_ne_zero_of_lt (h : a < b) : b - a ≠ 0 := by omega
protected theorem sub_ne_zero_iff_lt : n - m ≠ 0 ↔ m < n := by omega
protected theorem sub_self_add (n m : Nat) : n - (n + m) = 0 := by omega
protected theorem sub_right_cancel_iff (h₁ : c ≤ a) (h₂ : c ≤ b) : a - c = b - c ↔ a = b := by omega
protected theorem sub_left_cancel_iff (h₁ : b ≤ a) (h₂ : c ≤ a) : a - b = a - c ↔ b = c := by omega
theorem exists_eq_add_of_le' (h : m ≤ n) : ∃ k, n = k + m := ⟨n - m, by omega⟩
theorem exists_eq_add_of_lt' (h : m < n) : ∃ k, n = k + m + 1 := ⟨n - m - 1, by omega⟩
theorem le_iff_exists_add : m ≤ n ↔ ∃ k, n = m + k := ⟨exists_eq_add_of_le, fun ⟨k, e⟩ => by omega⟩

/-! ## Minimum and maximum -/

protected theorem lt_min : a < min b c ↔ a < b ∧ a < c := by omega
protected theorem max_lt : max a b < c ↔ a < c ∧ b < c := by omega
protected theorem min_lt : min a b < c ↔ a < c ∨ b < c := by omega
protected theorem lt_max : c < max a b ↔ c < a ∨ c < b := by omega
protected theorem min_le : min a b ≤ c ↔ a ≤ c ∨ b ≤ c := by omega
protected theorem le_max : c ≤ max a b ↔ c ≤ a ∨ c ≤ b := by omega
protected theorem min_le_of_left_le (h : a ≤ c) : min a b ≤ c := by omega
protected theorem min_le_of_right_le (h : b ≤ c) : min a b ≤ c := by omega
protected theorem le_max_of_le_left (h : c ≤ a) : c ≤ max a b := by omega
protected theorem le_max_of_le_right (h : c ≤ b) : c ≤ max a b := by omega
protected theorem min_left_comm (a b c : Nat) : min a (min b c) = min b (min a c) := by
  rw [← Nat.min_assoc, Nat.min_comm a b, Nat.min_assoc]
protected theorem max_left_comm (a b c : Nat) : max a (max b c) = max b (max a c) := by
  rw [← Nat.max_assoc, Nat.max_comm a b, Nat.max_assoc]
protected theorem min_right_comm (a b c : Nat) : min (min a b) c = min (min a c) b := by
  rw [Nat.min_assoc, Nat.min_comm b c, Nat.min_assoc]
protected theorem max_right_comm (a b c : Nat) : max (max a b) c = max (max a c) b := by
  rw [Nat.max_assoc, Nat.max_comm b c, Nat.max_assoc]
protected theorem max_min_distrib_left (a b c : Nat) : max a (min b c) = min (max a b) (max a c) := by omega
protected theorem min_max_distrib_left (a b c : Nat) : min a (max b c) = max (min a b) (min a c) := by omega
protected theorem min_max_self (a b : Nat) : min a (max a b) = a := by omega
protected theorem max_min_self (a b : Nat) : max a (min a b) = a := by omega
protected theorem add_max_add_left (a b c : Nat) : max (a + b) (a + c) = a + max b c := by
  rw [Nat.add_comm a b, Nat.add_comm a c, Nat.add_max_add_right, Nat.add_comm]
protected theorem add_min_add_left (a b c : Nat) : min (a + b) (a + c) = a + min b c := by
  rw [Nat.add_comm a b, Nat.add_comm a c, Nat.add_min_add_right, Nat.add_comm]
protected theorem sub_min_sub_right (a b c : Nat) : min (a - c) (b - c) = min a b - c := by omega
protected theorem sub_max_sub_right (a b c : Nat) : max (a - c) (b - c) = max a b - c := by omega
protected theorem succ_min_succ (a b : Nat) : min (succ a) (succ b) = succ (min a b) := by simp; omega
protected theorem succ_max_succ (a b : Nat) : max (succ a) (succ b) = succ (max a b) := by simp; omega
protected theorem min_eq_min (a b : Nat) : Nat.min a b = min a b := rfl
protected theorem max_eq_max (a b : Nat) : Nat.max a b = max a b := rfl

/-! ## Products -/

protected theorem mul_sub_one' (n m : Nat) : n * (m - 1) = n * m - n := Nat.mul_sub_one n m
protected theorem mul_sub_le (m n k : Nat) : k * m - k * n = k * (m - n) := (Nat.mul_sub k m n).symm
protected theorem mul_sub_left_distrib (m n k : Nat) : k * (m - n) = k * m - k * n := Nat.mul_sub k m n
protected theorem mul_sub_right_distrib (n m k : Nat) : (n - m) * k = n * k - m * k := Nat.sub_mul n m k
protected theorem mul_le_mul_of_nonneg_left (h : a ≤ b) : c * a ≤ c * b := Nat.mul_le_mul_left c h
protected theorem mul_le_mul_of_nonneg_right (h : a ≤ b) : a * c ≤ b * c := Nat.mul_le_mul_right c h
protected theorem mul_lt_mul_of_lt_of_le (hac : a < c) (hbd : b ≤ d) (hd : 0 < d) : a * b < c * d :=
  Nat.lt_of_le_of_lt (Nat.mul_le_mul_left a hbd) (Nat.mul_lt_mul_of_pos_right hac hd)
protected theorem mul_lt_mul_of_le_of_lt (hac : a ≤ c) (hbd : b < d) (hc : 0 < c) : a * b < c * d :=
  Nat.lt_of_le_of_lt (Nat.mul_le_mul_right b hac) (Nat.mul_lt_mul_of_pos_left hbd hc)
protected theorem mul_lt_mul'' (hac : a < c) (hbd : b < d) : a * b < c * d :=
  Nat.mul_lt_mul_of_lt_of_le hac (Nat.le_of_lt hbd) (by omega)
protected theorem mul_self_lt_mul_self (h : a < b) : a * a < b * b := Nat.mul_lt_mul'' h h
protected theorem mul_self_le_mul_self_iff : m * m ≤ n * n ↔ m ≤ n :=
  ⟨fun h => Nat.le_of_not_lt fun h' => Nat.not_le_of_gt (Nat.mul_self_lt_mul_self h') h, Nat.mul_self_le_mul_self⟩
protected theorem mul_self_inj : m * m = n * n ↔ m = n :=
  ⟨fun e => Nat.le_antisymm (Nat.mul_self_le_mul_self_iff.1 (Nat.le_of_eq e)) (Nat.mul_self_le_mul_self_iff.1 (Nat.le_of_eq e.symm)),
   fun e => e ▸ rfl⟩
protected theorem mul_le_mul_right_iff (h : 0 < k) : n * k ≤ m * k ↔ n ≤ m := by
  rw [Nat.mul_comm n, Nat.mul_comm m, Nat.mul_le_mul_left_iff h]
protected theorem mul_lt_mul_left (h : 0 < a) : a * b < a * c ↔ b < c :=
  ⟨Nat.lt_of_mul_lt_mul_left, fun h' => Nat.mul_lt_mul_of_pos_left h' h⟩
protected theorem mul_lt_mul_right (h : 0 < a) : b * a < c * a ↔ b < c := by
  rw [Nat.mul_comm b, Nat.mul_comm c, Nat.mul_lt_mul_left h]
protected theorem lt_of_mul_lt_mul_right (h : b * a < c * a) : b < c := by
  rw [Nat.mul_comm b, Nat.mul_comm c] at h; exact Nat.lt_of_mul_lt_mul_left h
protected theorem mul_right_cancel_iff (hm : 0 < m) {n k : Nat} : n * m = k * m ↔ n = k := ⟨Nat.mul_right_cancel hm, fun h => h ▸ rfl⟩
protected theorem pos_of_mul_pos (h : 0 < a * b) : 0 < b := Nat.pos_of_ne_zero fun e => by rw [e, Nat.mul_zero] at h; omega
protected theorem mul_pos_iff_of_pos_left (h : 0 < c) : 0 < c * b ↔ 0 < b := ⟨Nat.pos_of_mul_pos, Nat.mul_pos h⟩
theorem mul_eq_one_iff : m * n = 1 ↔ m = 1 ∧ n = 1 := by
  refine ⟨fun e => ?_, fun ⟨h, h'⟩ => by rw [h, h']⟩
  have h : m ∣ 1 := ⟨n, e.symm⟩
  have h' : n ∣ 1 := ⟨m, by rw [Nat.mul_comm]; exact e.symm⟩
  exact ⟨Nat.dvd_one.1 h, Nat.dvd_one.1 h'⟩
theorem eq_one_of_mul_eq_one_right (h : m * n = 1) : m = 1 := (mul_eq_one_iff.1 h).1
theorem eq_one_of_mul_eq_one_left (h : m * n = 1) : n = 1 := (mul_eq_one_iff.1 h).2
protected theorem add_mul_self_eq (a b : Nat) : (a + b) * (a + b) = a * a + 2 * (a * b) + b * b := by
  rw [Nat.add_mul, Nat.mul_add, Nat.mul_add, Nat.mul_comm b a]; omega

/-! ## Quotients and remainders -/

theorem mod_eq_iff_lt (h : n ≠ 0) : m % n = m ↔ m < n := ⟨fun e => e ▸ mod_lt m (Nat.pos_of_ne_zero h), mod_eq_of_lt⟩
theorem mod_add_div' (m k : Nat) : m % k + m / k * k = m := by rw [Nat.mul_comm]; exact mod_add_div m k
theorem div_add_mod' (m k : Nat) : m / k * k + m % k = m := by rw [Nat.mul_comm]; exact div_add_mod m k
theorem mod_def (m k : Nat) : m % k = m - k * (m / k) := by
  have e := mod_add_div m k
  omega
theorem mod_two_ne_one : ¬n % 2 = 1 ↔ n % 2 = 0 := by omega
theorem mod_two_ne_zero : ¬n % 2 = 0 ↔ n % 2 = 1 := by omega
theorem mod_two_not_eq_one : ¬n % 2 = 1 ↔ n % 2 = 0 := by omega
theorem succ_mod_two_eq_zero_iff : (m + 1) % 2 = 0 ↔ m % 2 = 1 := by omega
theorem succ_mod_two_eq_one_iff : (m + 1) % 2 = 1 ↔ m % 2 = 0 := by omega
theorem add_mod_two_eq_zero_iff : (m + n) % 2 = 0 ↔ m % 2 = n % 2 := by omega
theorem div_lt_self (hn : 0 < n) (hk : 1 < k) : n / k < n :=
  (div_lt_iff_lt_mul (by omega)).2 (by
    have := Nat.mul_le_mul_left n hk
    rw [Nat.mul_two] at this; omega)
theorem div_pos (hba : b ≤ a) (hb : 0 < b) : 0 < a / b := (le_div_iff_mul_le hb).2 (by omega)
theorem div_eq_of_eq_mul_left (h : 0 < n) (e : m = k * n) : m / n = k := by rw [e, Nat.mul_div_cancel _ h]
theorem div_eq_of_eq_mul_right (h : 0 < n) (e : m = n * k) : m / n = k := by rw [e, Nat.mul_div_cancel_left _ h]
theorem div_eq_zero_iff_lt (h : 0 < b) : a / b = 0 ↔ a < b :=
  ⟨fun e => Nat.lt_of_not_ge fun h' => Nat.ne_of_gt (div_pos h' h) e, div_eq_of_lt⟩
theorem div_lt_of_lt_mul (h : m < n * k) : m / n < k := by
  cases n with
  | zero => rw [Nat.zero_mul] at h; omega
  | succ n => rw [div_lt_iff_lt_mul (by omega), Nat.mul_comm]; exact h
theorem le_of_mod_lt (h : a % b < a) : b ≤ a := Nat.le_of_not_lt fun h' => by rw [mod_eq_of_lt h'] at h; omega
theorem mul_mod_mul_left (z x y : Nat) : (z * x) % (z * y) = z * (x % y) := by
  rw [mod_def, mod_def, Nat.mul_sub]
  cases z with
  | zero => simp
  | succ z =>
    rw [← div_div_eq_div_mul, Nat.mul_div_cancel_left x (by omega), Nat.mul_assoc]
theorem mul_div_mul_left (m n : Nat) (h : 0 < k) : k * m / (k * n) = m / n := by
  rw [← div_div_eq_div_mul, Nat.mul_div_cancel_left m h]
theorem mul_div_mul_right (m n : Nat) (h : 0 < k) : m * k / (n * k) = m / n := by
  rw [Nat.mul_comm m, Nat.mul_comm n, mul_div_mul_left m n h]
protected theorem div_add_div_same (h : c ∣ a) : a / c + b / c = (a + b) / c := by
  obtain ⟨d, e⟩ := h
  cases c with
  | zero => rw [Nat.div_zero, Nat.div_zero, Nat.div_zero]
  | succ c => rw [e, Nat.mul_div_cancel_left d (by omega), Nat.add_comm (_ * d), add_mul_div_left b d (by omega), Nat.add_comm]
protected theorem add_div_of_dvd_right (h : c ∣ a) : (a + b) / c = a / c + b / c := (Nat.div_add_div_same h).symm
protected theorem mul_div_assoc (m : Nat) (h : k ∣ n) : m * n / k = m * (n / k) := by
  obtain ⟨d, e⟩ := h
  cases k with
  | zero => rw [Nat.div_zero, Nat.div_zero, Nat.mul_zero]
  | succ k => rw [e, Nat.mul_div_cancel_left d (by omega), Nat.mul_left_comm, Nat.mul_div_cancel_left _ (by omega)]
theorem sub_mul_mod (x k n : Nat) (h : n * k ≤ x) : (x - n * k) % n = x % n := by
  have e := add_mul_mod_self_left (x - n * k) n k
  rwa [Nat.sub_add_cancel h, eq_comm] at e
theorem even_or_odd (n : Nat) : (∃ k, n = 2 * k) ∨ ∃ k, n = 2 * k + 1 :=
  (mod_two_eq_zero_or_one n).imp (fun h => ⟨n / 2, by omega⟩) fun h => ⟨n / 2, by omega⟩
protected theorem dvd_add_left {m k : Nat} (h : k ∣ n) : k ∣ m + n ↔ k ∣ m := by rw [Nat.add_comm, Nat.dvd_add_right h]
protected theorem dvd_of_mul_dvd_mul_left (hk : 0 < k) : k * m ∣ k * n → m ∣ n := fun ⟨c, e⟩ =>
  ⟨c, Nat.mul_left_cancel hk (by rw [e, Nat.mul_assoc])⟩
protected theorem dvd_sub' (h₁ : k ∣ m) (h₂ : k ∣ n) : k ∣ m - n := Nat.dvd_sub h₁ h₂
protected theorem mul_dvd_mul_right (h : a ∣ b) (c : Nat) : a * c ∣ b * c := Nat.mul_dvd_mul h (Nat.dvd_refl c)
theorem pow_dvd_pow (a : Nat) (h : m ≤ n) : a ^ m ∣ a ^ n := by
  obtain ⟨k, e⟩ := exists_eq_add_of_le h
  exact ⟨a ^ k, by rw [e, Nat.pow_add]⟩
theorem dvd_iff_div_mul_eq (n d : Nat) : d ∣ n ↔ n / d * d = n := ⟨Nat.div_mul_cancel, fun e => ⟨n / d, by rw [Nat.mul_comm]; exact e.symm⟩⟩
theorem two_dvd_mul_succ (n : Nat) : 2 ∣ n * (n + 1) := by
  rcases even_or_odd n with ⟨k, e⟩ | ⟨k, e⟩
  · exact ⟨k * (n + 1), by conv => lhs; arg 1; rw [e]
                           rw [Nat.mul_assoc]⟩
  · exact ⟨n * (k + 1), by rw [Nat.mul_left_comm]; congr 1; omega⟩

/-! ## Powers -/

theorem one_lt_two_pow (h : n ≠ 0) : 1 < 2 ^ n := by
  cases n with
  | zero => exact absurd rfl h
  | succ n =>
    have := Nat.pow_pos (n := n) zero_lt_two
    rw [Nat.pow_succ]; omega
theorem lt_two_pow_self : n < 2 ^ n := by
  induction n with
  | zero => exact zero_lt_one
  | succ n ih => rw [Nat.pow_succ]; omega
theorem two_pow_succ (n : Nat) : 2 ^ (n + 1) = 2 ^ n + 2 ^ n := by rw [Nat.pow_succ]; omega
protected theorem pow_lt_pow_succ (h : 1 < a) : a ^ n < a ^ (n + 1) := by
  have pos : 0 < a ^ n := Nat.pow_pos (by omega)
  have := Nat.mul_le_mul_left (a ^ n) h
  rw [Nat.mul_two] at this
  rw [Nat.pow_succ]; omega
protected theorem pow_lt_pow_right (ha : 1 < a) (h : m < n) : a ^ m < a ^ n :=
  Nat.lt_of_lt_of_le (Nat.pow_lt_pow_succ ha) (Nat.pow_le_pow_right (by omega) h)
protected theorem pow_eq_zero {a n : Nat} : a ^ n = 0 ↔ a = 0 ∧ n ≠ 0 := by
  constructor
  · intro h
    cases n with
    | zero => exact absurd h one_ne_zero
    | succ n =>
      refine ⟨Decidable.byContradiction fun ha => ?_, by omega⟩
      have := Nat.pow_pos (n := n + 1) (Nat.pos_of_ne_zero ha)
      omega
  · intro ⟨ha, hn⟩
    rw [ha, Nat.zero_pow hn]

/-! ## Bounded and iterated statements -/

theorem forall_lt_succ {p : Nat → Prop} : (∀ m, m < n + 1 → p m) ↔ (∀ m, m < n → p m) ∧ p n :=
  ⟨fun h => ⟨fun m hm => h m (by omega), h n (by omega)⟩, fun ⟨h, hn⟩ m hm =>
    (Decidable.em (m = n)).elim (fun e => e ▸ hn) fun ne => h m (by omega)⟩
theorem exists_lt_succ {p : Nat → Prop} : (∃ m, m < n + 1 ∧ p m) ↔ (∃ m, m < n ∧ p m) ∨ p n :=
  ⟨fun ⟨m, hm, h⟩ => (Decidable.em (m = n)).elim (fun e => .inr (e ▸ h)) fun ne => .inl ⟨m, by omega, h⟩,
   fun h => h.elim (fun ⟨m, hm, h⟩ => ⟨m, by omega, h⟩) fun h => ⟨n, by omega, h⟩⟩
instance decidableBallLT : (n : Nat) → (P : ∀ k, k < n → Prop) → [∀ n h, Decidable (P n h)] → Decidable (∀ n h, P n h)
  | 0, _, _ => isTrue fun m h => absurd h (Nat.not_lt_zero m)
  | n + 1, P, inst =>
    have : Decidable (∀ m h, P m (Nat.lt_of_lt_of_le h (le_succ n))) := @decidableBallLT n _ fun m h => inst m _
    decidable_of_iff ((∀ m h, P m (Nat.lt_of_lt_of_le h (le_succ n))) ∧ P n (lt_add_one n))
      ⟨fun ⟨h, hn⟩ m hm => (Decidable.em (m = n)).elim (fun e => by cases e; exact hn) fun ne => h m (by omega),
       fun h => ⟨fun m hm => h m _, h n _⟩⟩
instance decidableForallLT (n : Nat) (P : Nat → Prop) [DecidablePred P] : Decidable (∀ k, k < n → P k) :=
  decidableBallLT n fun k _ => P k
instance decidableBallLE (n : Nat) (P : ∀ k, k ≤ n → Prop) [∀ n h, Decidable (P n h)] : Decidable (∀ n h, P n h) :=
  decidable_of_iff (∀ k (h : k < succ n), P k (le_of_lt_succ h)) ⟨fun h k hk => h k (lt_succ_of_le hk), fun h k _ => h k _⟩
instance decidableExistsLT {p : Nat → Prop} [h : DecidablePred p] : DecidablePred fun n => ∃ m, m < n ∧ p m
  | 0 => isFalse fun ⟨m, hm, _⟩ => Nat.not_lt_zero m hm
  | n + 1 =>
    have : Decidable (∃ m, m < n ∧ p m) := decidableExistsLT n
    decidable_of_iff _ exists_lt_succ.symm
instance decidableExistsLE {p : Nat → Prop} [DecidablePred p] : DecidablePred fun n => ∃ m, m ≤ n ∧ p m := fun n =>
  decidable_of_iff (∃ m, m < n + 1 ∧ p m) ⟨fun ⟨m, hm, h⟩ => ⟨m, by omega, h⟩, fun ⟨m, hm, h⟩ => ⟨m, by omega, h⟩⟩
end Nat
