module
prelude
public import Pocket.Nat.Basic
@[expose] public section
/-! Natural numbers: order, decidability, order and arithmetic, `min` and `max`, strong induction. -/
set_option autoImplicit false
universe u

namespace Nat

/-! ## `≤` and `<` -/

attribute [simp] Nat.zero_le not_succ_le_zero sub_le
@[simp] protected theorem le_refl (n : Nat) : n ≤ n := Nat.le.refl
protected theorem le_rfl {n : Nat} : n ≤ n := Nat.le_refl n
@[simp] theorem le_succ (n : Nat) : n ≤ succ n := .step .refl
theorem le_add_one (n : Nat) : n ≤ n + 1 := le_succ n
theorem le_succ_of_le {n m : Nat} (h : n ≤ m) : n ≤ succ m := .step h
theorem le_add_one_of_le {n m : Nat} (h : n ≤ m) : n ≤ m + 1 := .step h
theorem le_of_succ_le {n m : Nat} (h : succ n ≤ m) : n ≤ m := Nat.le_trans (le_succ n) h
theorem le_step {n m : Nat} (h : n ≤ m) : n ≤ succ m := .step h
theorem succ_le_succ_iff {a b : Nat} : succ a ≤ succ b ↔ a ≤ b := ⟨le_of_succ_le_succ, succ_le_succ⟩
@[simp] theorem add_one_le_add_one_iff {a b : Nat} : a + 1 ≤ b + 1 ↔ a ≤ b := succ_le_succ_iff
theorem not_add_one_le_zero (n : Nat) : ¬n + 1 ≤ 0 := not_succ_le_zero n
theorem not_succ_le_self (n : Nat) : ¬succ n ≤ n := by induction n with
  | zero => exact not_succ_le_zero 0
  | succ n ih => exact fun h => ih (le_of_succ_le_succ h)
@[simp] protected theorem lt_irrefl (n : Nat) : ¬n < n := not_succ_le_self n
@[simp] protected theorem not_lt_zero (n : Nat) : ¬n < 0 := not_succ_le_zero n
@[simp] theorem zero_lt_succ (n : Nat) : 0 < succ n := succ_le_succ (Nat.zero_le n)
theorem zero_lt_one : 0 < (1 : Nat) := zero_lt_succ 0
theorem one_pos : 0 < (1 : Nat) := zero_lt_one
theorem two_pos : 0 < (2 : Nat) := zero_lt_succ 1
theorem succ_pos (n : Nat) : 0 < succ n := zero_lt_succ n
theorem add_one_pos (n : Nat) : 0 < n + 1 := zero_lt_succ n
@[simp] theorem lt_add_one (n : Nat) : n < n + 1 := Nat.le_refl (n + 1)
theorem lt_succ_self (n : Nat) : n < succ n := lt_add_one n
theorem lt_succ_of_le {n m : Nat} : n ≤ m → n < succ m := succ_le_succ
theorem lt_add_one_of_le {n m : Nat} : n ≤ m → n < m + 1 := succ_le_succ
theorem le_of_lt_succ {m n : Nat} : m < succ n → m ≤ n := le_of_succ_le_succ
theorem le_of_lt_add_one {m n : Nat} : m < n + 1 → m ≤ n := le_of_succ_le_succ
theorem lt_succ_iff {m n : Nat} : m < succ n ↔ m ≤ n := ⟨le_of_lt_succ, lt_succ_of_le⟩
@[simp] theorem lt_add_one_iff {m n : Nat} : m < n + 1 ↔ m ≤ n := lt_succ_iff
theorem succ_le_of_lt {n m : Nat} (h : n < m) : succ n ≤ m := h
theorem lt_of_succ_le {n m : Nat} (h : succ n ≤ m) : n < m := h
theorem succ_le_iff {n m : Nat} : succ n ≤ m ↔ n < m := Iff.rfl
theorem add_one_le_iff {n m : Nat} : n + 1 ≤ m ↔ n < m := Iff.rfl
theorem succ_lt_succ {n m : Nat} : n < m → succ n < succ m := succ_le_succ
theorem lt_of_succ_lt_succ {n m : Nat} : succ n < succ m → n < m := le_of_succ_le_succ
theorem succ_lt_succ_iff {a b : Nat} : succ a < succ b ↔ a < b := succ_le_succ_iff
@[simp] theorem add_one_lt_add_one_iff {a b : Nat} : a + 1 < b + 1 ↔ a < b := succ_le_succ_iff
protected theorem le_of_lt {n m : Nat} (h : n < m) : n ≤ m := le_of_succ_le h
protected theorem le_of_eq {n m : Nat} (h : n = m) : n ≤ m := h ▸ Nat.le_refl n
theorem lt_succ_of_lt {n m : Nat} (h : n < m) : n < succ m := le_succ_of_le h
theorem lt_add_one_of_lt {n m : Nat} (h : n < m) : n < m + 1 := le_succ_of_le h
theorem lt_of_succ_lt {n m : Nat} (h : succ n < m) : n < m := le_of_succ_le h
protected theorem lt_of_lt_of_le {n m k : Nat} (h₁ : n < m) (h₂ : m ≤ k) : n < k := Nat.le_trans h₁ h₂
protected theorem lt_of_le_of_lt {n m k : Nat} (h₁ : n ≤ m) (h₂ : m < k) : n < k := Nat.le_trans (succ_le_succ h₁) h₂
protected theorem lt_of_lt_of_eq {n m k : Nat} (h₁ : n < m) (h₂ : m = k) : n < k := h₂ ▸ h₁
protected theorem ne_of_lt {a b : Nat} (h : a < b) : a ≠ b := fun e => Nat.lt_irrefl b (e ▸ h)
protected theorem ne_of_gt {a b : Nat} (h : b < a) : a ≠ b := fun e => Nat.lt_irrefl b (e ▸ h)
protected theorem lt_asymm {a b : Nat} (h : a < b) : ¬b < a := fun h' => Nat.lt_irrefl a (Nat.lt_trans h h')
protected theorem not_le_of_gt {n m : Nat} (h : n > m) : ¬n ≤ m := fun h' => Nat.lt_irrefl m (Nat.lt_of_lt_of_le h h')
protected theorem not_le_of_lt {a b : Nat} (h : a < b) : ¬b ≤ a := Nat.not_le_of_gt h
protected theorem not_lt_of_ge {n m : Nat} (h : n ≥ m) : ¬n < m := fun h' => Nat.not_le_of_gt h' h
protected theorem not_lt_of_le {a b : Nat} (h : a ≤ b) : ¬b < a := Nat.not_lt_of_ge h
protected theorem lt_or_ge (a b : Nat) : a < b ∨ a ≥ b := by induction b with
  | zero => exact .inr (Nat.zero_le a)
  | succ b ih => cases ih with
    | inl h => exact .inl (le_succ_of_le h)
    | inr h => cases h with
      | refl => exact .inl (lt_add_one a)
      | step h => exact .inr (succ_le_succ h)
protected theorem le_or_lt (a b : Nat) : a ≤ b ∨ b < a := (Nat.lt_or_ge b a).symm
protected theorem lt_or_le (a b : Nat) : a < b ∨ b ≤ a := Nat.lt_or_ge a b
protected theorem le_total (m n : Nat) : m ≤ n ∨ n ≤ m := (Nat.lt_or_ge m n).imp_left Nat.le_of_lt
protected theorem le_antisymm {n m : Nat} (h₁ : n ≤ m) (h₂ : m ≤ n) : n = m := by
  cases h₁ with
  | refl => rfl
  | step h => exact absurd (Nat.le_trans h₂ h) (not_succ_le_self _)
protected theorem le_antisymm_iff {a b : Nat} : a = b ↔ a ≤ b ∧ b ≤ a :=
  ⟨fun e => ⟨Nat.le_of_eq e, Nat.le_of_eq e.symm⟩, fun ⟨h, h'⟩ => Nat.le_antisymm h h'⟩
protected theorem eq_iff_le_and_ge {a b : Nat} : a = b ↔ a ≤ b ∧ b ≤ a := Nat.le_antisymm_iff
protected theorem eq_or_lt_of_le {n m : Nat} (h : n ≤ m) : n = m ∨ n < m := by
  cases h with
  | refl => exact .inl rfl
  | step h => exact .inr (succ_le_succ h)
protected theorem lt_or_eq_of_le {n m : Nat} (h : n ≤ m) : n < m ∨ n = m := (Nat.eq_or_lt_of_le h).symm
protected theorem le_iff_lt_or_eq {n m : Nat} : n ≤ m ↔ n < m ∨ n = m :=
  ⟨Nat.lt_or_eq_of_le, fun h => h.elim Nat.le_of_lt Nat.le_of_eq⟩
protected theorem lt_of_le_of_ne {n m : Nat} (h₁ : n ≤ m) (h₂ : ¬n = m) : n < m := (Nat.lt_or_eq_of_le h₁).resolve_right h₂
protected theorem lt_iff_le_and_ne {m n : Nat} : m < n ↔ m ≤ n ∧ m ≠ n :=
  ⟨fun h => ⟨Nat.le_of_lt h, Nat.ne_of_lt h⟩, fun ⟨h, hn⟩ => Nat.lt_of_le_of_ne h hn⟩
protected theorem lt_iff_le_not_le {m n : Nat} : m < n ↔ m ≤ n ∧ ¬n ≤ m :=
  ⟨fun h => ⟨Nat.le_of_lt h, Nat.not_le_of_gt h⟩, fun ⟨_, hn⟩ => (Nat.lt_or_ge m n).resolve_right hn⟩
protected theorem lt_of_not_le {n m : Nat} (h : ¬n ≤ m) : m < n := (Nat.lt_or_ge m n).resolve_right h
protected theorem lt_of_not_ge {n m : Nat} (h : ¬n ≥ m) : n < m := (Nat.lt_or_ge n m).resolve_right h
protected theorem le_of_not_lt {n m : Nat} (h : ¬n < m) : m ≤ n := (Nat.lt_or_ge n m).resolve_left h
protected theorem le_of_not_le {a b : Nat} (h : ¬a ≤ b) : b ≤ a := Nat.le_of_lt (Nat.lt_of_not_le h)
@[simp] protected theorem not_le {n m : Nat} : ¬n ≤ m ↔ m < n := ⟨Nat.lt_of_not_le, Nat.not_le_of_gt⟩
@[simp] protected theorem not_lt {n m : Nat} : ¬n < m ↔ m ≤ n := ⟨Nat.le_of_not_lt, Nat.not_lt_of_ge⟩
theorem not_le_eq (a b : Nat) : (¬(a ≤ b)) = (b + 1 ≤ a) := propext Nat.not_le
theorem not_ge_eq (a b : Nat) : (¬(a ≥ b)) = (a + 1 ≤ b) := propext Nat.not_le
theorem not_lt_eq (a b : Nat) : (¬(a < b)) = (b ≤ a) := propext Nat.not_lt
theorem not_gt_eq (a b : Nat) : (¬(a > b)) = (a ≤ b) := propext Nat.not_lt
protected theorem lt_trichotomy (a b : Nat) : a < b ∨ a = b ∨ b < a :=
  (Nat.lt_or_ge a b).imp_right fun h => (Nat.eq_or_lt_of_le h).imp_left Eq.symm
protected theorem lt_or_gt_of_ne {a b : Nat} (h : a ≠ b) : a < b ∨ a > b :=
  (Nat.lt_trichotomy a b).imp_right fun h' => h'.resolve_left h
protected theorem ne_iff_lt_or_gt {a b : Nat} : a ≠ b ↔ a < b ∨ b < a :=
  ⟨Nat.lt_or_gt_of_ne, fun h => h.elim Nat.ne_of_lt Nat.ne_of_gt⟩
protected theorem pos_of_ne_zero {n : Nat} (h : n ≠ 0) : 0 < n := by cases n with
  | zero => exact absurd rfl h
  | succ n => exact zero_lt_succ n
theorem ne_zero_of_lt {a b : Nat} (h : b < a) : a ≠ 0 := fun e => Nat.not_lt_zero b (e ▸ h)
protected theorem pos_iff_ne_zero {n : Nat} : 0 < n ↔ n ≠ 0 := ⟨ne_zero_of_lt, Nat.pos_of_ne_zero⟩
protected theorem ne_zero_iff_zero_lt {n : Nat} : n ≠ 0 ↔ 0 < n := Nat.pos_iff_ne_zero.symm
theorem eq_zero_or_pos (n : Nat) : n = 0 ∨ n > 0 := by cases n with
  | zero => exact .inl rfl
  | succ n => exact .inr (zero_lt_succ n)
protected theorem pos_of_lt {a b : Nat} (h : b < a) : 0 < a := Nat.lt_of_le_of_lt (Nat.zero_le b) h
theorem eq_zero_of_le_zero {n : Nat} (h : n ≤ 0) : n = 0 := Nat.le_antisymm h (Nat.zero_le n)
@[simp] theorem le_zero_eq (a : Nat) : (a ≤ 0) = (a = 0) := propext ⟨eq_zero_of_le_zero, Nat.le_of_eq⟩
protected theorem le_zero {n : Nat} : n ≤ 0 ↔ n = 0 := ⟨eq_zero_of_le_zero, Nat.le_of_eq⟩
protected theorem eq_zero_of_not_pos {n : Nat} (h : ¬0 < n) : n = 0 := eq_zero_of_le_zero (Nat.le_of_not_lt h)
@[simp] theorem lt_one_iff {n : Nat} : n < 1 ↔ n = 0 := lt_succ_iff.trans Nat.le_zero
theorem one_le_iff_ne_zero {n : Nat} : 1 ≤ n ↔ n ≠ 0 := Nat.pos_iff_ne_zero
theorem exists_eq_add_of_le {m n : Nat} (h : m ≤ n) : ∃ k, n = m + k := by
  induction h with
  | refl => exact ⟨0, rfl⟩
  | step _ ih => exact match ih with | ⟨k, e⟩ => ⟨k + 1, congrArg succ e⟩
theorem exists_eq_add_of_lt {m n : Nat} (h : m < n) : ∃ k, n = m + k + 1 :=
  match exists_eq_add_of_le h with | ⟨k, e⟩ => ⟨k, e.trans (succ_add m k)⟩
theorem le.dest {n m : Nat} (h : n ≤ m) : ∃ k, n + k = m := match exists_eq_add_of_le h with | ⟨k, e⟩ => ⟨k, e.symm⟩
theorem pred_le (n : Nat) : pred n ≤ n := by cases n with
  | zero => exact .refl
  | succ n => exact le_succ n
theorem pred_lt {n : Nat} (h : n ≠ 0) : pred n < n := by cases n with
  | zero => exact absurd rfl h
  | succ n => exact lt_add_one n
theorem succ_pred {n : Nat} (h : n ≠ 0) : succ (pred n) = n := ((eq_zero_or_eq_succ_pred n).resolve_left h).symm
theorem succ_pred_eq_of_pos {n : Nat} (h : 0 < n) : succ (pred n) = n := succ_pred (ne_zero_of_lt h)
theorem le_succ_iff {m n : Nat} : m ≤ succ n ↔ m ≤ n ∨ m = succ n :=
  ⟨fun h => (Nat.lt_or_eq_of_le h).imp_left le_of_lt_succ, fun h => h.elim le_succ_of_le Nat.le_of_eq⟩
attribute [refl] Nat.le_refl

/-! ## Decidability -/

theorem ble_self_eq_true (n : Nat) : Nat.ble n n = true := by induction n with
  | zero => rfl
  | succ n ih => exact ih
theorem ble_of_le : (n m : Nat) → n ≤ m → Nat.ble n m = true
  | 0, _, _ => rfl
  | n + 1, 0, h => absurd h (not_succ_le_zero n)
  | n + 1, m + 1, h => ble_of_le n m (le_of_succ_le_succ h)
@[simp] theorem ble_eq {x y : Nat} : (Nat.ble x y = true) = (x ≤ y) := propext ⟨le_of_ble_eq_true, ble_of_le x y⟩
@[simp] theorem beq_eq {x y : Nat} : (Nat.beq x y = true) = (x = y) :=
  propext ⟨eq_of_beq_eq_true x y, fun h => h ▸ beq_self x⟩

/-! ## Order and addition -/

@[simp] theorem le_add_right (n k : Nat) : n ≤ n + k := by induction k with
  | zero => exact .refl
  | succ k ih => exact .step ih
@[simp] theorem le_add_left (n m : Nat) : n ≤ m + n := Nat.add_comm n m ▸ le_add_right n m
theorem le_add_right_of_le {n m k : Nat} (h : n ≤ m) : n ≤ m + k := Nat.le_trans h (le_add_right m k)
theorem le_add_left_of_le {n m k : Nat} (h : n ≤ m) : n ≤ k + m := Nat.le_trans h (le_add_left m k)
theorem le_of_add_right_le {n m k : Nat} (h : n + k ≤ m) : n ≤ m := Nat.le_trans (le_add_right n k) h
theorem le_of_add_left_le {n m k : Nat} (h : k + n ≤ m) : n ≤ m := Nat.le_trans (le_add_left n k) h
protected theorem add_le_add_left {n m : Nat} (h : n ≤ m) (k : Nat) : k + n ≤ k + m := by
  induction h with
  | refl => exact .refl
  | step _ ih => exact .step ih
protected theorem add_le_add_right {n m : Nat} (h : n ≤ m) (k : Nat) : n + k ≤ m + k := by
  rw [Nat.add_comm n k, Nat.add_comm m k]; exact Nat.add_le_add_left h k
protected theorem add_le_add {a b c d : Nat} (h₁ : a ≤ b) (h₂ : c ≤ d) : a + c ≤ b + d :=
  Nat.le_trans (Nat.add_le_add_right h₁ c) (Nat.add_le_add_left h₂ b)
protected theorem add_lt_add_left {n m : Nat} (h : n < m) (k : Nat) : k + n < k + m := Nat.add_le_add_left (n := n + 1) h k
protected theorem add_lt_add_right {n m : Nat} (h : n < m) (k : Nat) : n + k < m + k := by
  rw [Nat.add_comm n k, Nat.add_comm m k]; exact Nat.add_lt_add_left h k
protected theorem add_lt_add_of_le_of_lt {a b c d : Nat} (hle : a ≤ b) (hlt : c < d) : a + c < b + d :=
  Nat.lt_of_le_of_lt (Nat.add_le_add_right hle c) (Nat.add_lt_add_left hlt b)
protected theorem add_lt_add_of_lt_of_le {a b c d : Nat} (hlt : a < b) (hle : c ≤ d) : a + c < b + d :=
  Nat.lt_of_le_of_lt (Nat.add_le_add_left hle a) (Nat.add_lt_add_right hlt d)
protected theorem add_lt_add {a b c d : Nat} (h₁ : a < b) (h₂ : c < d) : a + c < b + d :=
  Nat.add_lt_add_of_lt_of_le h₁ (Nat.le_of_lt h₂)
protected theorem le_of_add_le_add_left {a b c : Nat} (h : a + b ≤ a + c) : b ≤ c := by induction a with
  | zero => rwa [Nat.zero_add, Nat.zero_add] at h
  | succ a ih => rw [succ_add, succ_add] at h; exact ih (le_of_succ_le_succ h)
protected theorem le_of_add_le_add_right {a b c : Nat} (h : a + b ≤ c + b) : a ≤ c := by
  rw [Nat.add_comm a, Nat.add_comm c] at h; exact Nat.le_of_add_le_add_left h
protected theorem lt_of_add_lt_add_left {a b c : Nat} (h : a + b < a + c) : b < c := Nat.le_of_add_le_add_left (b := b + 1) h
protected theorem lt_of_add_lt_add_right {a b c : Nat} (h : a + b < c + b) : a < c := by
  rw [Nat.add_comm a, Nat.add_comm c] at h; exact Nat.lt_of_add_lt_add_left h
@[simp] protected theorem add_le_add_iff_left {m k n : Nat} : n + m ≤ n + k ↔ m ≤ k :=
  ⟨Nat.le_of_add_le_add_left, fun h => Nat.add_le_add_left h n⟩
@[simp] protected theorem add_le_add_iff_right {m k n : Nat} : m + n ≤ k + n ↔ m ≤ k :=
  ⟨Nat.le_of_add_le_add_right, fun h => Nat.add_le_add_right h n⟩
@[simp] protected theorem add_lt_add_iff_left {k n m : Nat} : k + n < k + m ↔ n < m :=
  ⟨Nat.lt_of_add_lt_add_left, fun h => Nat.add_lt_add_left h k⟩
@[simp] protected theorem add_lt_add_iff_right {k n m : Nat} : n + k < m + k ↔ n < m :=
  ⟨Nat.lt_of_add_lt_add_right, fun h => Nat.add_lt_add_right h k⟩
protected theorem lt_add_of_pos_right {n k : Nat} (h : 0 < k) : n < n + k := Nat.add_lt_add_left h n
protected theorem lt_add_of_pos_left {n k : Nat} (h : 0 < k) : n < k + n := by rw [Nat.add_comm]; exact Nat.lt_add_of_pos_right h
theorem lt_add_right {a b : Nat} (c : Nat) (h : a < b) : a < b + c := Nat.lt_of_lt_of_le h (le_add_right b c)
theorem lt_add_left {a b : Nat} (c : Nat) (h : a < b) : a < c + b := Nat.lt_of_lt_of_le h (le_add_left b c)
@[simp] protected theorem lt_add_right_iff_pos {n k : Nat} : n < n + k ↔ 0 < k := Nat.add_lt_add_iff_left (n := 0)
@[simp] protected theorem lt_add_left_iff_pos {n k : Nat} : n < k + n ↔ 0 < k := by rw [Nat.add_comm]; exact Nat.lt_add_right_iff_pos
theorem not_add_lt_self (n m : Nat) : ¬n + m < n := fun h => Nat.lt_irrefl n (Nat.lt_of_le_of_lt (le_add_right n m) h)
protected theorem add_pos_left {m : Nat} (h : 0 < m) (n : Nat) : 0 < m + n := Nat.lt_of_lt_of_le h (le_add_right m n)
protected theorem add_self_le_add_self_iff {a b : Nat} : a + a ≤ b + b ↔ a ≤ b :=
  ⟨fun h => (Nat.le_or_lt a b).elim id fun h' => absurd h (Nat.not_le_of_gt (Nat.add_lt_add h' h')), fun h => Nat.add_le_add h h⟩

/-! ## Order and multiplication -/

protected theorem mul_le_mul_left {m n : Nat} (k : Nat) (h : m ≤ n) : k * m ≤ k * n := by
  induction h with
  | refl => exact .refl
  | step _ ih => exact Nat.le_trans ih (le_add_right _ k)
protected theorem mul_le_mul_right {m n : Nat} (k : Nat) (h : m ≤ n) : m * k ≤ n * k := by
  rw [Nat.mul_comm m, Nat.mul_comm n]; exact Nat.mul_le_mul_left k h
protected theorem mul_le_mul {p q m n : Nat} (h₁ : p ≤ m) (h₂ : q ≤ n) : p * q ≤ m * n :=
  Nat.le_trans (Nat.mul_le_mul_right q h₁) (Nat.mul_le_mul_left m h₂)
protected theorem mul_self_le_mul_self {m n : Nat} (h : m ≤ n) : m * m ≤ n * n := Nat.mul_le_mul h h
protected theorem mul_pos {m n : Nat} (hm : 0 < m) (hn : 0 < n) : 0 < m * n :=
  Nat.pos_of_ne_zero (Nat.mul_ne_zero (ne_zero_of_lt hm) (ne_zero_of_lt hn))
protected theorem mul_lt_mul_of_pos_left {m n k : Nat} (h : m < n) (hk : k > 0) : k * m < k * n :=
  Nat.lt_of_lt_of_le (Nat.lt_add_of_pos_right hk) (Nat.mul_le_mul_left k (m := m + 1) h)
protected theorem mul_lt_mul_of_pos_right {m n k : Nat} (h : m < n) (hk : k > 0) : m * k < n * k := by
  rw [Nat.mul_comm m, Nat.mul_comm n]; exact Nat.mul_lt_mul_of_pos_left h hk
protected theorem le_of_mul_le_mul_left {a b c : Nat} (h : c * a ≤ c * b) (hc : 0 < c) : a ≤ b :=
  Nat.le_of_not_lt fun h' => Nat.not_le_of_gt (Nat.mul_lt_mul_of_pos_left h' hc) h
protected theorem le_of_mul_le_mul_right {a b c : Nat} (h : a * c ≤ b * c) (hc : 0 < c) : a ≤ b := by
  rw [Nat.mul_comm a, Nat.mul_comm b] at h; exact Nat.le_of_mul_le_mul_left h hc
protected theorem lt_of_mul_lt_mul_left {a b c : Nat} (h : a * b < a * c) : b < c :=
  Nat.lt_of_not_ge fun h' => Nat.not_le_of_gt h (Nat.mul_le_mul_left a h')
protected theorem eq_of_mul_eq_mul_left {m k n : Nat} (hn : 0 < n) (h : n * m = n * k) : m = k :=
  Nat.le_antisymm (Nat.le_of_mul_le_mul_left (Nat.le_of_eq h) hn) (Nat.le_of_mul_le_mul_left (Nat.le_of_eq h.symm) hn)
protected theorem eq_of_mul_eq_mul_right {m k n : Nat} (hm : 0 < m) (h : n * m = k * m) : n = k := by
  rw [Nat.mul_comm n, Nat.mul_comm k] at h; exact Nat.eq_of_mul_eq_mul_left hm h
protected theorem mul_left_cancel {n m k : Nat} (hn : 0 < n) (h : n * m = n * k) : m = k := Nat.eq_of_mul_eq_mul_left hn h
protected theorem mul_right_cancel {n m k : Nat} (hm : 0 < m) (h : n * m = k * m) : n = k := Nat.eq_of_mul_eq_mul_right hm h
protected theorem mul_left_cancel_iff {n : Nat} (hn : 0 < n) {m k : Nat} : n * m = n * k ↔ m = k :=
  ⟨Nat.mul_left_cancel hn, fun h => h ▸ rfl⟩
protected theorem mul_le_mul_left_iff {n m k : Nat} (h : 0 < k) : k * n ≤ k * m ↔ n ≤ m :=
  ⟨fun h' => Nat.le_of_mul_le_mul_left h' h, Nat.mul_le_mul_left k⟩
protected theorem le_mul_of_pos_left {n : Nat} (m : Nat) (h : 0 < n) : m ≤ n * m := by
  have h' := Nat.mul_le_mul_right m h
  rwa [Nat.one_mul] at h'
protected theorem le_mul_of_pos_right {n : Nat} (m : Nat) (h : 0 < n) : m ≤ m * n := by
  rw [Nat.mul_comm]; exact Nat.le_mul_of_pos_left m h
theorem le_mul_self (m : Nat) : m ≤ m * m := by cases m with
  | zero => exact .refl
  | succ m => exact Nat.le_mul_of_pos_left _ (zero_lt_succ m)
protected theorem eq_self_of_mul_eq_left {n m : Nat} (hn : 0 < n) (h : n * m = n) : m = 1 :=
  Nat.mul_left_cancel hn (h.trans (Nat.mul_one n).symm)
protected theorem pow_le_pow_left {m n : Nat} (h : m ≤ n) (i : Nat) : m ^ i ≤ n ^ i := by induction i with
  | zero => exact .refl
  | succ i ih => exact Nat.mul_le_mul ih h
protected theorem pow_pos {p n : Nat} (h : 0 < p) : 0 < p ^ n := by induction n with
  | zero => exact zero_lt_one
  | succ n ih => exact Nat.mul_pos ih h
protected theorem pow_le_pow_right {n m k : Nat} (h : n > 0) (hm : m ≤ k) : n ^ m ≤ n ^ k := by
  induction hm with
  | refl => exact .refl
  | step _ ih => exact Nat.le_trans ih (Nat.le_mul_of_pos_right _ h)

/-! ## Order and subtraction -/

@[simp] theorem sub_eq_zero_of_le {n m : Nat} (h : n ≤ m) : n - m = 0 := by
  match exists_eq_add_of_le h with
  | ⟨k, e⟩ => rw [e, Nat.sub_add_eq, Nat.sub_self, Nat.zero_sub]
protected theorem le_of_sub_eq_zero {n m : Nat} (h : n - m = 0) : n ≤ m := by
  refine Nat.le_of_not_lt fun h' => ?_
  match exists_eq_add_of_le h' with
  | ⟨k, e⟩ => rw [e, succ_add, ← add_succ, Nat.add_sub_cancel_left] at h; exact succ_ne_zero k h
protected theorem sub_eq_zero_iff_le {n m : Nat} : n - m = 0 ↔ n ≤ m := ⟨Nat.le_of_sub_eq_zero, sub_eq_zero_of_le⟩
protected theorem add_sub_of_le {a b : Nat} (h : a ≤ b) : a + (b - a) = b := by
  match exists_eq_add_of_le h with
  | ⟨k, e⟩ => rw [e, Nat.add_sub_cancel_left]
@[simp] protected theorem sub_add_cancel {n m : Nat} (h : m ≤ n) : n - m + m = n := by rw [Nat.add_comm, Nat.add_sub_of_le h]
protected theorem add_sub_assoc {m k : Nat} (h : k ≤ m) (n : Nat) : n + m - k = n + (m - k) := by
  match exists_eq_add_of_le h with
  | ⟨l, e⟩ => rw [e, Nat.add_sub_cancel_left, Nat.add_left_comm, Nat.add_sub_cancel_left]
protected theorem sub_add_comm {n m k : Nat} (h : k ≤ n) : n + m - k = n - k + m := by
  rw [Nat.add_comm n, Nat.add_sub_assoc h, Nat.add_comm]
protected theorem eq_add_of_sub_eq {a b c : Nat} (h : c ≤ a) (e : a - c = b) : a = b + c := by rw [← e, Nat.sub_add_cancel h]
protected theorem sub_eq_of_eq_add {a b c : Nat} (h : a = c + b) : a - b = c := by rw [h, Nat.add_sub_cancel]
protected theorem sub_eq_iff_eq_add {a b c : Nat} (h : b ≤ a) : a - b = c ↔ a = c + b :=
  ⟨Nat.eq_add_of_sub_eq h, Nat.sub_eq_of_eq_add⟩
protected theorem sub_eq_iff_eq_add' {a b c : Nat} (h : b ≤ a) : a - b = c ↔ a = b + c := by
  rw [Nat.sub_eq_iff_eq_add h, Nat.add_comm]
theorem succ_sub {m n : Nat} (h : n ≤ m) : succ m - n = succ (m - n) := by
  match exists_eq_add_of_le h with
  | ⟨k, e⟩ => rw [e, Nat.add_sub_cancel_left, ← add_succ, Nat.add_sub_cancel_left]
protected theorem sub_pos_of_lt {m n : Nat} (h : m < n) : 0 < n - m :=
  Nat.pos_of_ne_zero fun e => Nat.not_le_of_gt h (Nat.le_of_sub_eq_zero e)
protected theorem lt_of_sub_pos {m n : Nat} (h : 0 < n - m) : m < n :=
  Nat.lt_of_not_ge fun h' => ne_zero_of_lt h (sub_eq_zero_of_le h')
protected theorem sub_pos_iff_lt {m n : Nat} : 0 < n - m ↔ m < n := ⟨Nat.lt_of_sub_pos, Nat.sub_pos_of_lt⟩
theorem sub_lt {n m : Nat} (hn : 0 < n) (hm : 0 < m) : n - m < n := by
  cases n with
  | zero => exact absurd hn (Nat.lt_irrefl 0)
  | succ n => cases m with
    | zero => exact absurd hm (Nat.lt_irrefl 0)
    | succ m => rw [add_one_sub_add_one]; exact lt_succ_of_le (sub_le n m)
theorem sub_succ_lt_self {a i : Nat} (h : i < a) : a - (i + 1) < a - i := pred_lt (fun e => Nat.not_le_of_gt h (Nat.le_of_sub_eq_zero e))
protected theorem sub_le_sub_right {n m : Nat} (h : n ≤ m) (k : Nat) : n - k ≤ m - k := by induction k with
  | zero => exact h
  | succ k ih => exact pred_le_pred ih
protected theorem sub_le_sub_left {n m : Nat} (h : n ≤ m) (k : Nat) : k - m ≤ k - n := by
  match exists_eq_add_of_le h with
  | ⟨l, e⟩ => rw [e, Nat.sub_add_eq]; exact sub_le (k - n) l
protected theorem sub_le_iff_le_add {a b c : Nat} : a - b ≤ c ↔ a ≤ c + b := by
  constructor
  · intro h
    cases Nat.le_total a b with
    | inl h' => exact Nat.le_trans h' (le_add_left b c)
    | inr h' => rw [← Nat.sub_add_cancel h']; exact Nat.add_le_add_right h b
  · intro h
    have h' := Nat.sub_le_sub_right h b
    rwa [Nat.add_sub_cancel] at h'
protected theorem sub_le_of_le_add {a b c : Nat} (h : a ≤ c + b) : a - b ≤ c := Nat.sub_le_iff_le_add.2 h
protected theorem le_add_of_sub_le {a b c : Nat} (h : a - b ≤ c) : a ≤ c + b := Nat.sub_le_iff_le_add.1 h
protected theorem le_sub_of_add_le {a b c : Nat} (h : a + b ≤ c) : a ≤ c - b := by
  have h' := Nat.sub_le_sub_right h b
  rwa [Nat.add_sub_cancel] at h'
protected theorem add_le_of_le_sub {a b c : Nat} (hle : b ≤ c) (h : a ≤ c - b) : a + b ≤ c := by
  rw [← Nat.sub_add_cancel hle]; exact Nat.add_le_add_right h b
protected theorem le_sub_iff_add_le {x y k : Nat} (h : k ≤ y) : x ≤ y - k ↔ x + k ≤ y := ⟨Nat.add_le_of_le_sub h, Nat.le_sub_of_add_le⟩
protected theorem lt_sub_of_add_lt {a b c : Nat} (h : a + b < c) : a < c - b :=
  Nat.le_sub_of_add_le (a := a + 1) (by rw [succ_add]; exact h)
protected theorem add_lt_of_lt_sub {a b c : Nat} (h : a < c - b) : a + b < c := by
  have hle : b ≤ c := Nat.le_of_lt (Nat.lt_of_sub_pos (Nat.pos_of_lt h))
  have h' := Nat.add_le_of_le_sub hle h
  rwa [succ_add] at h'
protected theorem lt_sub_iff_add_lt {a b c : Nat} : a < c - b ↔ a + b < c := ⟨Nat.add_lt_of_lt_sub, Nat.lt_sub_of_add_lt⟩
protected theorem sub_lt_left_of_lt_add {n k m : Nat} (h : n ≤ k) (h' : k < n + m) : k - n < m := by
  have := Nat.sub_le_sub_right (succ_le_of_lt h') n
  rwa [succ_sub h, Nat.add_sub_cancel_left] at this
protected theorem sub_lt_iff_lt_add {a b c : Nat} (h : b ≤ a) : a - b < c ↔ a < c + b :=
  ⟨fun h' => by rw [← Nat.sub_add_cancel h]; exact Nat.add_lt_add_right h' b,
   fun h' => Nat.sub_lt_left_of_lt_add h (by rw [Nat.add_comm]; exact h')⟩
protected theorem sub_sub_self {n m : Nat} (h : m ≤ n) : n - (n - m) = m := by
  match exists_eq_add_of_le h with
  | ⟨k, e⟩ => rw [e, Nat.add_sub_cancel_left, Nat.add_sub_cancel]
protected theorem sub_add_sub_cancel {a b c : Nat} (hab : b ≤ a) (hcb : c ≤ b) : a - b + (b - c) = a - c := by
  rw [← Nat.add_sub_assoc hcb, Nat.sub_add_cancel hab]
protected theorem add_sub_cancel' {n m : Nat} (h : m ≤ n) : m + (n - m) = n := Nat.add_sub_of_le h
protected theorem sub_one_lt {n : Nat} (h : n ≠ 0) : n - 1 < n := pred_lt h
theorem sub_one_add_one {n : Nat} (h : n ≠ 0) : n - 1 + 1 = n := succ_pred h
theorem sub_one_add_one_eq_of_pos {n : Nat} (h : 0 < n) : n - 1 + 1 = n := succ_pred_eq_of_pos h
theorem le_sub_one_of_lt {a b : Nat} (h : a < b) : a ≤ b - 1 := Nat.le_sub_of_add_le h

end Nat
