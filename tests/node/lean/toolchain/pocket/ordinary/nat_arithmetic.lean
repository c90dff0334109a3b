/-! Natural numbers: sums, products, powers, minima, bounded searches. -/
namespace NatArithmetic
open Nat

def sum : (Nat → Nat) → Nat → Nat
  | _, 0 => 0
  | f, n + 1 => sum f n + f n

theorem sum_add (f g : Nat → Nat) (n : Nat) : sum (fun k => f k + g k) n = sum f n + sum g n := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [sum, ih]; omega

theorem sum_const (c n : Nat) : sum (fun _ => c) n = n * c := by
  induction n with
  | zero => simp [sum]
  | succ n ih => rw [sum, ih, Nat.succ_mul]

theorem sum_odd (n : Nat) : sum (fun k => 2 * k + 1) n = n * n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [sum, ih, Nat.mul_add, Nat.add_mul]
    omega

theorem sum_le (f g : Nat → Nat) (n : Nat) (h : ∀ k, k < n → f k ≤ g k) : sum f n ≤ sum g n := by
  induction n with
  | zero => exact Nat.le_refl 0
  | succ n ih =>
    have h₁ := ih fun k hk => h k (Nat.lt_succ_of_lt hk)
    have h₂ := h n (Nat.lt_succ_self n)
    simp only [sum]
    omega

theorem pow_gt (n : Nat) : n < 2 ^ n := by
  induction n with
  | zero => decide
  | succ n ih =>
    rw [Nat.pow_succ]
    omega

theorem geometric (n : Nat) : sum (fun k => 2 ^ k) n + 1 = 2 ^ n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [sum, Nat.pow_succ]
    omega

def fib : Nat → Nat
  | 0 => 0
  | 1 => 1
  | n + 2 => fib n + fib (n + 1)

theorem fib_pos (n : Nat) : 0 < fib (n + 1) := by
  induction n with
  | zero => decide
  | succ n ih =>
    rw [fib]
    omega

theorem fib_sum (n : Nat) : sum fib n + 1 = fib (n + 1) := by
  induction n with
  | zero => rfl
  | succ n ih =>
    have h : fib (n + 2) = fib n + fib (n + 1) := rfl
    rw [sum, h]
    omega

def clamp (lo hi x : Nat) : Nat := max lo (min hi x)

theorem clamp_le (lo hi x : Nat) (h : lo ≤ hi) : clamp lo hi x ≤ hi := by
  unfold clamp
  omega
theorem le_clamp (lo hi x : Nat) : lo ≤ clamp lo hi x := Nat.le_max_left _ _
theorem clamp_idempotent (lo hi x : Nat) : clamp lo hi (clamp lo hi x) = clamp lo hi x := by
  simp only [clamp]
  omega

theorem mul_sub_one_add (n : Nat) (h : 0 < n) : n * (n - 1) + n = n * n := by
  rw [Nat.mul_sub_one, Nat.sub_add_cancel (Nat.le_mul_of_pos_left n h)]

theorem even_product (n : Nat) : n * (n + 1) % 2 = 0 := by
  rcases Nat.mod_two_eq_zero_or_one n with h | h
  · rw [Nat.mul_mod, h, Nat.zero_mul]
  · rw [Nat.mul_mod, show (n + 1) % 2 = 0 by omega, Nat.mul_zero]

theorem div_lt (n : Nat) (h : n ≠ 0) : n / 2 < n := Nat.div_lt_self (Nat.pos_of_ne_zero h) (by decide)

theorem strong (P : Nat → Prop) (zero : P 0) (half : ∀ n, 0 < n → P (n / 2) → P n) (n : Nat) : P n := by
  induction n using Nat.strongRecOn with
  | ind n ih =>
    by_cases h : n = 0
    · exact h ▸ zero
    · exact half n (by omega) (ih (n / 2) (by omega))

/-- Every amount of at least 8 can be paid with coins of 3 and 5. -/
theorem coins (n : Nat) (h : 8 ≤ n) : ∃ a b, n = 3 * a + 5 * b := by
  have : n % 3 = 0 ∨ n % 3 = 1 ∨ n % 3 = 2 := by omega
  rcases this with h' | h' | h'
  · exact ⟨n / 3, 0, by omega⟩
  · exact ⟨n / 3 - 3, 2, by omega⟩
  · exact ⟨n / 3 - 1, 1, by omega⟩

example : ∀ n, n < 20 → n * n < 400 := by decide
example : ∃ n, n < 30 ∧ n * n = 529 := by decide
example (a b : Nat) (h : a * b = 1) : a = 1 := Nat.eq_one_of_mul_eq_one_right h
example (a b : Nat) (h : a * a = b * b) : a = b := Nat.mul_self_inj.1 h
example (a b : Nat) (h : a < b) : a * a < b * b := Nat.mul_self_lt_mul_self h
example (n : Nat) : n <<< 3 = 8 * n := by rw [Nat.shiftLeft_eq]; omega
example (n : Nat) (h : ¬n % 2 = 1) : (n + 1) % 2 = 1 := by omega
example (a b c : Nat) (h : c ∣ a) (h' : c ∣ b) : c ∣ a + b := Nat.dvd_add h h'
example (a b : Nat) : a - b + b = max a b := Nat.sub_add_eq_max a b
example : Nat.gcd 48 36 = 12 ∧ 2 ^ 20 = 1048576 ∧ 100 / 7 = 14 ∧ 100 % 7 = 2 := by decide

end NatArithmetic
