/-! Integers: calculation, order, absolute value, as in a first week of exercises. -/
namespace IntRing

variable (a b c d : Int)

example : (3 : Int) - 5 = -2 := rfl
example : (-3 : Int) * -4 = 12 := by decide
example : (2 : Int) ^ 10 - 1000 = 24 := by decide
example : (-7 : Int) / 2 = -4 ∧ (-7 : Int) % 2 = 1 := by decide
example : Int.tdiv (-7) 2 = -3 ∧ Int.tmod (-7) 2 = -1 := by decide
example : Int.fdiv 7 (-2) = -4 ∧ Int.fmod 7 (-2) = -1 := by decide
example : Int.natAbs (-5) = 5 ∧ Int.toNat (-5) = 0 ∧ Int.sign (-5) = -1 := by decide
example : min (-3 : Int) 2 = -3 ∧ max (-3 : Int) 2 = 2 := by decide
example : (-4 : Int) ∣ 12 ∧ ¬(5 : Int) ∣ 12 := by decide
example : (-3 : Int) < 2 ∧ ¬(2 : Int) ≤ -3 ∧ (1 : Int) ≠ -1 := by decide

theorem add_swap : a + b + c = c + b + a := by
  rw [Int.add_comm a b, Int.add_comm (b + a) c, Int.add_assoc]

theorem square_of_sum : (a + b) * (a + b) = a * a + 2 * (a * b) + b * b := by
  rw [Int.add_mul, Int.mul_add, Int.mul_add, Int.mul_comm b a, Int.two_mul]
  simp only [Int.add_assoc]

theorem difference_of_squares : (a + b) * (a - b) = a * a - b * b := by
  rw [Int.mul_sub, Int.add_mul, Int.add_mul, Int.mul_comm b a]
  omega

theorem cancel (h : a + b = a + c) : b = c := Int.add_left_cancel h

theorem neg_sub_swap : -(a - b) = b - a := Int.neg_sub a b

theorem sub_chain : a - b + (b - c) = a - c := Int.sub_add_sub_cancel a b c

theorem zero_product (h : a * b = 0) (ha : a ≠ 0) : b = 0 := by
  rcases Int.mul_eq_zero.1 h with h | h
  · exact absurd h ha
  · exact h

theorem cancel_factor (h : 3 * a = 3 * b) : a = b := by omega

theorem cancel_any_factor (hc : c ≠ 0) (h : c * a = c * b) : a = b := Int.eq_of_mul_eq_mul_left hc h

theorem squares_are_nonnegative : 0 ≤ a * a := by
  rcases Int.le_total 0 a with h | h
  · exact Int.mul_nonneg h h
  · exact Int.mul_nonneg_of_nonpos_of_nonpos h h

theorem sum_of_squares (h : a * a + b * b = 0) : a = 0 ∧ b = 0 := by
  have ha := Int.mul_self_nonneg a
  have hb := Int.mul_self_nonneg b
  have ha' : a * a = 0 := by omega
  have hb' : b * b = 0 := by omega
  exact ⟨(Int.mul_eq_zero.1 ha').elim id id, (Int.mul_eq_zero.1 hb').elim id id⟩

theorem order_chain (h₁ : a ≤ b) (h₂ : b < c) (h₃ : c ≤ d) : a < d :=
  calc a ≤ b := h₁
    _ < c := h₂
    _ ≤ d := h₃

theorem add_mono (h₁ : a ≤ b) (h₂ : c ≤ d) : a + c ≤ b + d := Int.add_le_add h₁ h₂

theorem trichotomy : a < b ∨ a = b ∨ b < a := Int.lt_trichotomy a b

theorem antisymmetric (h₁ : a ≤ b) (h₂ : b ≤ a) : a = b := by
  apply Int.le_antisymm
  · exact h₁
  · exact h₂

def distance (x y : Int) : Nat := (x - y).natAbs

theorem distance_self : distance a a = 0 := by simp [distance]
theorem distance_comm : distance a b = distance b a := by
  unfold distance
  omega
theorem distance_triangle : distance a c ≤ distance a b + distance b c := by
  unfold distance
  omega
theorem distance_eq_zero (h : distance a b = 0) : a = b := by
  unfold distance at h
  omega
example : distance 3 (-4) = 7 := rfl

/-- A cast of a natural number, and back. -/
theorem cast_roundtrip (n : Nat) : ((n : Int).toNat : Int) = n := by simp
theorem cast_sum (m n : Nat) : ((m + n : Nat) : Int) = (m : Int) + n := by push_cast; rfl
theorem cast_product (m n : Nat) (h : (m : Int) * n = 6) : m * n = 6 := by exact_mod_cast h
theorem cast_order (m n : Nat) (h : (m : Int) < n + 1) : m ≤ n := by omega

theorem split_sign (x : Int) : ∃ n : Nat, x = n ∨ x = -(n : Int) := by
  cases x with
  | ofNat n => exact ⟨n, .inl rfl⟩
  | negSucc n => exact ⟨n + 1, .inr rfl⟩

theorem power_law (m n : Nat) : a ^ (m + n) = a ^ m * a ^ n := Int.pow_add a m n
theorem even_power (n : Nat) : 0 ≤ a ^ (2 * n) := by
  rw [Int.pow_mul]
  exact Int.pow_nonneg (Int.sq_nonneg a)

def sumTo : Nat → Int
  | 0 => 0
  | n + 1 => sumTo n + (n + 1)

theorem gauss (n : Nat) : 2 * sumTo n = n * (n + 1) := by
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [sumTo, Int.mul_add, ih, Int.natCast_add_one, ← Int.add_mul, Int.mul_comm, Int.add_assoc]
    rfl

end IntRing
