module
prelude
public import Pocket.Classical
@[expose] public section
/-! Natural numbers: induction, the semiring laws of `+` and `*`, truncated subtraction, powers. -/
set_option autoImplicit false
universe u

/-! ## Induction -/

@[induction_eliminator, elab_as_elim]
def Nat.recAux {motive : Nat → Sort u} (zero : motive 0) (succ : ∀ n, motive n → motive (n + 1)) (t : Nat) : motive t :=
  match t with
  | .zero => zero
  | .succ n => succ n (Nat.recAux zero succ n)
@[cases_eliminator, elab_as_elim]
def Nat.casesAuxOn {motive : Nat → Sort u} (t : Nat) (zero : motive 0) (succ : ∀ n, motive (n + 1)) : motive t :=
  match t with
  | .zero => zero
  | .succ n => succ n

namespace Nat

/-! ## Zero and successor -/

@[simp] theorem zero_eq : Nat.zero = 0 := rfl
@[simp] theorem succ_eq_add_one (n : Nat) : succ n = n + 1 := rfl
theorem add_one (n : Nat) : n + 1 = succ n := rfl
theorem succ_eq_one_add (n : Nat) : succ n = 1 + n := by induction n with
  | zero => rfl
  | succ n ih => exact congrArg succ ih
@[simp] theorem add_eq {x y : Nat} : Nat.add x y = x + y := rfl
@[simp] theorem mul_eq {x y : Nat} : Nat.mul x y = x * y := rfl
@[simp] theorem sub_eq {x y : Nat} : Nat.sub x y = x - y := rfl
@[simp] theorem lt_eq {x y : Nat} : Nat.lt x y = (x < y) := rfl
@[simp] theorem le_eq {x y : Nat} : Nat.le x y = (x ≤ y) := rfl
@[simp] theorem succ_ne_zero (n : Nat) : ¬succ n = 0 := fun h => Nat.noConfusion h
@[simp] theorem add_one_ne_zero (n : Nat) : n + 1 ≠ 0 := fun h => Nat.noConfusion h
theorem zero_ne_add_one (n : Nat) : 0 ≠ n + 1 := fun h => Nat.noConfusion h
theorem one_ne_zero : (1 : Nat) ≠ 0 := add_one_ne_zero 0
theorem zero_ne_one : (0 : Nat) ≠ 1 := zero_ne_add_one 0
theorem succ_inj {m n : Nat} : succ m = succ n ↔ m = n := ⟨fun h => Nat.noConfusion h id, congrArg succ⟩
theorem succ.inj' {m n : Nat} (h : m + 1 = n + 1) : m = n := succ_inj.1 h
@[simp] theorem add_one_inj {m n : Nat} : m + 1 = n + 1 ↔ m = n := succ_inj
theorem succ_ne_succ {m n : Nat} : succ m ≠ succ n ↔ m ≠ n := not_congr succ_inj
theorem succ_ne_self (n : Nat) : succ n ≠ n := by induction n with
  | zero => exact succ_ne_zero 0
  | succ n ih => exact fun h => ih (succ_inj.1 h)
theorem add_one_ne_self (n : Nat) : n + 1 ≠ n := succ_ne_self n
@[simp] theorem pred_zero : pred 0 = 0 := rfl
@[simp] theorem pred_succ (n : Nat) : pred (succ n) = n := rfl
@[simp] theorem pred_eq_sub_one {n : Nat} : pred n = n - 1 := rfl
theorem eq_zero_or_eq_succ_pred (n : Nat) : n = 0 ∨ n = succ (pred n) := by cases n with
  | zero => exact .inl rfl
  | succ n => exact .inr rfl
theorem exists_eq_succ_of_ne_zero {n : Nat} (h : n ≠ 0) : ∃ k, n = succ k := ⟨pred n, (eq_zero_or_eq_succ_pred n).resolve_left h⟩
theorem exists_eq_add_one_of_ne_zero {n : Nat} (h : n ≠ 0) : ∃ k, n = k + 1 := exists_eq_succ_of_ne_zero h

/-! ## Addition -/

@[simp] protected theorem add_zero (n : Nat) : n + 0 = n := rfl
theorem add_succ (n m : Nat) : n + succ m = succ (n + m) := rfl
@[simp] protected theorem zero_add (n : Nat) : 0 + n = n := by induction n with
  | zero => rfl
  | succ n ih => exact congrArg succ ih
theorem succ_add (n m : Nat) : succ n + m = succ (n + m) := by induction m with
  | zero => rfl
  | succ m ih => exact congrArg succ ih
theorem succ_add_eq_add_succ (a b : Nat) : succ a + b = a + succ b := succ_add a b
protected theorem add_comm (n m : Nat) : n + m = m + n := by induction m with
  | zero => exact (Nat.zero_add n).symm
  | succ m ih => exact (congrArg succ ih).trans (succ_add m n).symm
protected theorem add_assoc (n m k : Nat) : n + m + k = n + (m + k) := by induction k with
  | zero => rfl
  | succ k ih => exact congrArg succ ih
protected theorem add_left_comm (n m k : Nat) : n + (m + k) = m + (n + k) := by
  rw [← Nat.add_assoc, Nat.add_comm n m, Nat.add_assoc]
protected theorem add_right_comm (n m k : Nat) : n + m + k = n + k + m := by
  rw [Nat.add_assoc, Nat.add_comm m k, ← Nat.add_assoc]
protected theorem add_add_add_comm (a b c d : Nat) : (a + b) + (c + d) = (a + c) + (b + d) := by
  rw [Nat.add_assoc, Nat.add_assoc, Nat.add_left_comm b]
theorem one_add (n : Nat) : 1 + n = succ n := Nat.add_comm 1 n
protected theorem add_left_cancel {n m k : Nat} (h : n + m = n + k) : m = k := by
  induction n with
  | zero => rwa [Nat.zero_add, Nat.zero_add] at h
  | succ n ih => rw [succ_add, succ_add] at h; exact ih (succ_inj.1 h)
protected theorem add_right_cancel {n m k : Nat} (h : n + m = k + m) : n = k := by
  rw [Nat.add_comm n m, Nat.add_comm k m] at h; exact Nat.add_left_cancel h
protected theorem add_left_cancel_iff {m k n : Nat} : n + m = n + k ↔ m = k := ⟨Nat.add_left_cancel, fun h => h ▸ rfl⟩
protected theorem add_right_cancel_iff {m k n : Nat} : m + n = k + n ↔ m = k := ⟨Nat.add_right_cancel, fun h => h ▸ rfl⟩
@[simp] protected theorem add_left_inj {m k n : Nat} : m + n = k + n ↔ m = k := Nat.add_right_cancel_iff
@[simp] protected theorem add_right_inj {m k n : Nat} : n + m = n + k ↔ m = k := Nat.add_left_cancel_iff
protected theorem eq_zero_of_add_eq_zero_left {n m : Nat} (h : n + m = 0) : m = 0 := by cases m with
  | zero => rfl
  | succ m => exact absurd h (succ_ne_zero _)
protected theorem eq_zero_of_add_eq_zero_right {n m : Nat} (h : n + m = 0) : n = 0 := by
  rw [Nat.add_comm] at h; exact Nat.eq_zero_of_add_eq_zero_left h
theorem eq_zero_of_add_eq_zero {n m : Nat} (h : n + m = 0) : n = 0 ∧ m = 0 :=
  ⟨Nat.eq_zero_of_add_eq_zero_right h, Nat.eq_zero_of_add_eq_zero_left h⟩
@[simp] protected theorem add_eq_zero_iff {n m : Nat} : n + m = 0 ↔ n = 0 ∧ m = 0 :=
  ⟨eq_zero_of_add_eq_zero, fun ⟨hn, hm⟩ => by rw [hn, hm]⟩
@[simp] protected theorem add_eq_left {a b : Nat} : a + b = a ↔ b = 0 := Nat.add_left_cancel_iff (k := 0)
@[simp] protected theorem add_eq_right {a b : Nat} : a + b = b ↔ a = 0 := by
  rw [Nat.add_comm]; exact Nat.add_eq_left
@[simp] protected theorem left_eq_add {a b : Nat} : a = a + b ↔ b = 0 := eq_comm.trans Nat.add_eq_left
@[simp] protected theorem right_eq_add {a b : Nat} : b = a + b ↔ a = 0 := eq_comm.trans Nat.add_eq_right
protected theorem two_mul (n : Nat) : 2 * n = n + n := by induction n with
  | zero => rfl
  | succ n ih => show 2 * n + 2 = (n + 1) + (n + 1); rw [ih, Nat.add_add_add_comm]

/-! ## Multiplication -/

@[simp] protected theorem mul_zero (n : Nat) : n * 0 = 0 := rfl
theorem mul_succ (n m : Nat) : n * succ m = n * m + n := rfl
theorem mul_add_one (n m : Nat) : n * (m + 1) = n * m + n := rfl
@[simp] protected theorem zero_mul (n : Nat) : 0 * n = 0 := by induction n with
  | zero => rfl
  | succ n ih => rw [mul_add_one, ih]
theorem succ_mul (n m : Nat) : succ n * m = n * m + m := by induction m with
  | zero => rfl
  | succ m ih =>
    rw [mul_add_one, ih, mul_add_one, Nat.add_assoc, Nat.add_assoc]
    exact congrArg (n * m + ·) (congrArg succ (Nat.add_comm m n))
theorem add_one_mul (n m : Nat) : (n + 1) * m = n * m + m := succ_mul n m
protected theorem mul_comm (n m : Nat) : n * m = m * n := by induction m with
  | zero => rw [Nat.zero_mul, Nat.mul_zero]
  | succ m ih => rw [mul_add_one, add_one_mul, ih]
@[simp] protected theorem mul_one (n : Nat) : n * 1 = n := Nat.zero_add n
@[simp] protected theorem one_mul (n : Nat) : 1 * n = n := by rw [Nat.mul_comm, Nat.mul_one]
protected theorem mul_two (n : Nat) : n * 2 = n + n := by rw [Nat.mul_comm, Nat.two_mul]
protected theorem left_distrib (n m k : Nat) : n * (m + k) = n * m + n * k := by induction k with
  | zero => rfl
  | succ k ih => rw [← Nat.add_assoc, mul_add_one, ih, mul_add_one, Nat.add_assoc]
protected theorem right_distrib (n m k : Nat) : (n + m) * k = n * k + m * k := by
  rw [Nat.mul_comm, Nat.left_distrib, Nat.mul_comm k n, Nat.mul_comm k m]
protected theorem mul_add (k m n : Nat) : k * (m + n) = k * m + k * n := Nat.left_distrib k m n
protected theorem add_mul (k m n : Nat) : (k + m) * n = k * n + m * n := Nat.right_distrib k m n
protected theorem mul_assoc (n m k : Nat) : n * m * k = n * (m * k) := by induction k with
  | zero => rfl
  | succ k ih => rw [mul_add_one, ih, mul_add_one, Nat.mul_add]
protected theorem mul_left_comm (n m k : Nat) : n * (m * k) = m * (n * k) := by
  rw [← Nat.mul_assoc, Nat.mul_comm n m, Nat.mul_assoc]
protected theorem mul_right_comm (n m k : Nat) : n * m * k = n * k * m := by
  rw [Nat.mul_assoc, Nat.mul_comm m k, ← Nat.mul_assoc]
protected theorem mul_mul_mul_comm (a b c d : Nat) : (a * b) * (c * d) = (a * c) * (b * d) := by
  rw [Nat.mul_assoc, Nat.mul_assoc, Nat.mul_left_comm b]
@[simp] protected theorem mul_eq_zero {m n : Nat} : n * m = 0 ↔ n = 0 ∨ m = 0 := by
  constructor
  · intro h
    cases m with
    | zero => exact .inr rfl
    | succ m => exact .inl (Nat.eq_zero_of_add_eq_zero_left h)
  · intro h
    cases h with
    | inl h => rw [h, Nat.zero_mul]
    | inr h => rw [h, Nat.mul_zero]
protected theorem eq_zero_of_mul_eq_zero {n m : Nat} (h : n * m = 0) : n = 0 ∨ m = 0 := Nat.mul_eq_zero.1 h
protected theorem mul_ne_zero {n m : Nat} (hn : n ≠ 0) (hm : m ≠ 0) : n * m ≠ 0 := fun h => (Nat.mul_eq_zero.1 h).elim hn hm
protected theorem mul_ne_zero_iff {n m : Nat} : n * m ≠ 0 ↔ n ≠ 0 ∧ m ≠ 0 :=
  ⟨fun h => ⟨fun hn => h (by rw [hn, Nat.zero_mul]), fun hm => h (by rw [hm, Nat.mul_zero])⟩, fun h => Nat.mul_ne_zero h.1 h.2⟩
protected theorem mul_self_eq_zero {n : Nat} : n * n = 0 ↔ n = 0 := by rw [Nat.mul_eq_zero, or_self]

/-! ## Subtraction -/

@[simp] protected theorem sub_zero (n : Nat) : n - 0 = n := rfl
theorem sub_succ (n m : Nat) : n - succ m = pred (n - m) := rfl
theorem sub_one (n : Nat) : n - 1 = pred n := rfl
@[simp] theorem succ_sub_one (n : Nat) : succ n - 1 = n := rfl
theorem add_one_sub_one (n : Nat) : n + 1 - 1 = n := rfl
theorem succ_sub_succ (n m : Nat) : succ n - succ m = n - m := succ_sub_succ_eq_sub n m
theorem add_one_sub_add_one (n m : Nat) : (n + 1) - (m + 1) = n - m := succ_sub_succ_eq_sub n m
@[simp] protected theorem zero_sub (n : Nat) : 0 - n = 0 := by induction n with
  | zero => rfl
  | succ n ih => rw [← succ_eq_add_one, sub_succ, ih]; rfl
@[simp] protected theorem sub_self (n : Nat) : n - n = 0 := by induction n with
  | zero => rfl
  | succ n ih => rw [add_one_sub_add_one, ih]
protected theorem add_sub_add_right (n k m : Nat) : (n + k) - (m + k) = n - m := by induction k with
  | zero => rfl
  | succ k ih => exact (succ_sub_succ_eq_sub (n + k) (m + k)).trans ih
protected theorem add_sub_add_left (k n m : Nat) : (k + n) - (k + m) = n - m := by
  rw [Nat.add_comm k n, Nat.add_comm k m, Nat.add_sub_add_right]
@[simp] protected theorem add_sub_cancel (n m : Nat) : n + m - m = n := by
  have h := Nat.add_sub_add_right n m 0
  rwa [Nat.zero_add] at h
@[simp] protected theorem add_sub_cancel_left (n m : Nat) : n + m - n = m := by rw [Nat.add_comm, Nat.add_sub_cancel]
protected theorem sub_add_eq (a b c : Nat) : a - (b + c) = a - b - c := by induction c with
  | zero => rfl
  | succ c ih => exact congrArg pred ih
protected theorem sub_sub (n m k : Nat) : n - m - k = n - (m + k) := (Nat.sub_add_eq n m k).symm
protected theorem sub_right_comm (m n k : Nat) : m - n - k = m - k - n := by rw [Nat.sub_sub, Nat.sub_sub, Nat.add_comm]
protected theorem pred_mul (n m : Nat) : pred n * m = n * m - m := by cases n with
  | zero => rw [pred_zero, Nat.zero_mul, Nat.zero_sub]
  | succ n => rw [add_one_mul, Nat.add_sub_cancel]; rfl
protected theorem sub_mul (n m k : Nat) : (n - m) * k = n * k - m * k := by induction m with
  | zero => rw [Nat.sub_zero, Nat.zero_mul, Nat.sub_zero]
  | succ m ih => show pred (n - m) * k = _; rw [Nat.pred_mul, ih, add_one_mul, Nat.sub_add_eq]
protected theorem mul_sub (k m n : Nat) : k * (m - n) = k * m - k * n := by
  rw [Nat.mul_comm, Nat.sub_mul, Nat.mul_comm m, Nat.mul_comm n]
protected theorem sub_one_mul (n m : Nat) : (n - 1) * m = n * m - m := Nat.pred_mul n m
protected theorem mul_sub_one (n m : Nat) : n * (m - 1) = n * m - n := by rw [Nat.mul_sub, Nat.mul_one]

/-! ## Powers -/

@[simp] protected theorem pow_zero (b : Nat) : b ^ 0 = 1 := rfl
theorem pow_succ {b n : Nat} : b ^ (n + 1) = b ^ n * b := rfl
theorem pow_add_one {b n : Nat} : b ^ (n + 1) = b ^ n * b := rfl
@[simp] protected theorem pow_eq {m n : Nat} : Nat.pow m n = m ^ n := rfl
protected theorem pow_succ' {m n : Nat} : m ^ (n + 1) = m * m ^ n := by rw [Nat.pow_succ, Nat.mul_comm]
@[simp] protected theorem pow_one (a : Nat) : a ^ 1 = a := Nat.one_mul a
protected theorem pow_two (a : Nat) : a ^ 2 = a * a := by rw [Nat.pow_succ, Nat.pow_one]
@[simp] protected theorem one_pow (n : Nat) : 1 ^ n = 1 := by induction n with
  | zero => rfl
  | succ n ih => rw [Nat.pow_succ, ih]
@[simp] protected theorem zero_pow_succ {n : Nat} : 0 ^ (n + 1) = 0 := Nat.mul_zero (0 ^ n)
protected theorem zero_pow {n : Nat} (h : n ≠ 0) : 0 ^ n = 0 := by cases n with
  | zero => exact absurd rfl h
  | succ n => exact Nat.zero_pow_succ
protected theorem pow_add (a m n : Nat) : a ^ (m + n) = a ^ m * a ^ n := by induction n with
  | zero => rw [Nat.add_zero, Nat.pow_zero, Nat.mul_one]
  | succ n ih => rw [← Nat.add_assoc, Nat.pow_succ, ih, Nat.pow_succ, Nat.mul_assoc]
protected theorem pow_mul (a m n : Nat) : a ^ (m * n) = (a ^ m) ^ n := by induction n with
  | zero => rfl
  | succ n ih => rw [mul_add_one, Nat.pow_add, ih, Nat.pow_succ]
protected theorem mul_pow (a b n : Nat) : (a * b) ^ n = a ^ n * b ^ n := by induction n with
  | zero => rfl
  | succ n ih => rw [Nat.pow_succ, ih, Nat.pow_succ, Nat.pow_succ, Nat.mul_mul_mul_comm]
protected theorem pow_right_comm (a m n : Nat) : (a ^ m) ^ n = (a ^ n) ^ m := by rw [← Nat.pow_mul, Nat.mul_comm, Nat.pow_mul]

end Nat
