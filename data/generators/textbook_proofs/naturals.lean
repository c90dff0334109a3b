/-! # Natural numbers -/

/-! ## One step -/

theorem two_and_two : 2 + 2 = 4 := by rfl

theorem seventeen_is_odd : 17 % 2 = 1 := by rfl

theorem some_square_is_49 : ∃ n : Nat, n * n = 49 := by
  exact ⟨7, rfl⟩

theorem successor_is_larger (n : Nat) : n < n + 1 := by simp

theorem zero_is_least (n : Nat) : 0 ≤ n := by simp

theorem rewrite_sum (a b c : Nat) (h : a = b + c) (h' : c = 0) : a = b := by omega

theorem substitute_twice (x y z : Nat) (hx : x = y + 1) (hy : y = z + 1) : x = z + 2 := by omega

theorem subtract_nothing (n : Nat) : n - 0 = n := by rfl

theorem divides_itself (n : Nat) : n ∣ n := by simp

theorem larger_not_smaller (a b : Nat) (h : a < b) : ¬b < a := by omega

/-! ## A few steps -/

theorem middle_terms_swap (a b c d : Nat) : (a + b) + (c + d) = (a + c) + (b + d) := by omega

theorem linear_equation (x : Nat) (h : 3 * x + 4 = 19) : x = 5 := by omega

theorem two_equations (x y : Nat) (h₁ : x + y = 10) (h₂ : x = y + 4) : x = 7 ∧ y = 3 := by omega

theorem product_regrouped (a b c d : Nat) : (a * b) * (c * d) = (a * c) * (b * d) := by simp only [Nat.mul_add, Nat.add_mul, Nat.mul_assoc, Nat.mul_left_comm] <;> omega

theorem square_of_double (n : Nat) : (2 * n) * (2 * n) = 4 * (n * n) := by ac_rfl

theorem lt_is_succ_le (a b : Nat) : a < b ↔ ∃ k, b = a + k + 1 := by
  constructor
  · induction b with
    | zero => simp
    | succ b ih =>
      intro h
      exact ⟨b - a, by omega⟩
  · simp_all

theorem between_is_nothing (n m : Nat) (h₁ : n < m) (h₂ : m < n + 1) : False := by omega

theorem factor_of_multiple (a b : Nat) (h : 6 ∣ a) (hb : b = a) : 3 ∣ b := by omega

theorem product_is_positive (a b : Nat) (ha : 0 < a) (hb : 0 < b) : 0 < a * b := by
  cases a with
  | zero => contradiction
  | succ a' => simp only [Nat.mul_add, Nat.add_mul] <;> omega

theorem one_of_two_is_large (a b : Nat) (h : a + b > 20) : a > 10 ∨ b > 10 := by omega

theorem no_half_way (n : Nat) : 2 * n ≠ 7 := by omega

theorem subtract_in_two_parts (a b c : Nat) : a - b - c = a - (b + c) := by omega

theorem double_by_function (f : Nat → Nat) (h : ∀ n, f n = n + n) : f (f 3) = 12 := by simp_all

theorem multiple_of_both (a b : Nat) : a ∣ b * a ∧ b ∣ b * a := by
  constructor
  · apply Nat.dvd_mul_left_of_dvd
    simp
  · apply Nat.dvd_mul_right_of_dvd
    simp

theorem larger_power (n : Nat) : 2 ^ n < 2 ^ (n + 1) := by induction n <;> omega

/-! ## Several steps -/

theorem even_times_anything (m n : Nat) (h : ∃ k, m = k + k) : ∃ k, m * n = k + k := by
  obtain ⟨k_1, rfl⟩ := h
  exact ⟨((k_1 + k_1) * n) / 2, by simp only [Nat.mul_add, Nat.add_mul] <;> omega⟩

theorem odd_square_is_odd (n : Nat) (h : n % 2 = 1) : n * n % 2 = 1 := by
  obtain ⟨k, rfl | rfl⟩ : ∃ k, n = 2 * k ∨ n = 2 * k + 1 := ⟨n / 2, by omega⟩
  · simp_all
  · simp only [Nat.mul_add, Nat.add_mul, Nat.mul_assoc] at h ⊢ <;> omega

theorem even_square_has_even_root (n : Nat) (h : n * n % 2 = 0) : n % 2 = 0 := by
  obtain ⟨k, rfl | rfl⟩ : ∃ k, n = 2 * k ∨ n = 2 * k + 1 := ⟨n / 2, by omega⟩
  · simp
  · simp only [Nat.mul_add, Nat.add_mul, Nat.mul_assoc, Nat.mul_comm, Nat.mul_left_comm, Nat.two_mul, Nat.mul_two] at h ⊢ <;> omega

theorem three_consecutive (n : Nat) : 3 ∣ n + (n + 1) + (n + 2) := by omega

theorem divides_difference (d a b : Nat) (ha : d ∣ a) (hab : d ∣ a + b) : d ∣ b := by
  exact (Nat.dvd_add_right ha).mp hab

theorem divisor_is_not_larger (a b : Nat) (hb : 0 < b) (h : a ∣ b) : a ≤ b := by
  exact Nat.le_of_dvd hb h

theorem mutual_divisors (a b : Nat) (h₁ : a ∣ b) (h₂ : b ∣ a) : a = b := by exact Nat.dvd_antisymm h₁ h₂

theorem product_is_one (a b : Nat) (h : a * b = 1) : a = 1 ∧ b = 1 := by exact Nat.mul_eq_one_iff.mp h

theorem cubes_preserve_order (a b : Nat) (h : a ≤ b) : a * a * a ≤ b * b * b := by
  exact Nat.mul_le_mul (Nat.mul_le_mul h h) h

theorem difference_of_squares (a b : Nat) (h : b ≤ a) : (a - b) * (a + b) = a * a - b * b := by
  obtain ⟨k, rfl⟩ := Nat.exists_eq_add_of_le h
  have e : (b + k) * (b + k) = b * b + k * (b + k + b) := by
    simp only [Nat.mul_add, Nat.add_mul, Nat.mul_comm]
    omega
  rw [e, Nat.add_sub_cancel_left, Nat.add_sub_cancel_left]

theorem strictly_increasing_is_injective (f : Nat → Nat) (h : ∀ m n, m < n → f m < f n) :
    ∀ m n, f m = f n → m = n := by
  intro m n e
  rcases Nat.lt_trichotomy m n with less | equal | more
  · have := h m n less
    omega
  · exact equal
  · have := h n m more
    omega

theorem induction_from_three (P : Nat → Prop) (h₃ : P 3) (step : ∀ n, 3 ≤ n → P n → P (n + 1)) :
    ∀ n, 3 ≤ n → P n := by
  intro n hn
  induction n with
  | zero => omega
  | succ n ih =>
    by_cases h : 3 ≤ n
    · exact step n h (ih h)
    · have e : n = 2 := by omega
      subst e
      exact h₃

theorem period_of_two (f : Nat → Nat) (h : ∀ n, f (n + 2) = f n) : ∀ n, f (2 * n) = f 0 := by
  intro n
  induction n with
  | zero => rfl
  | succ n ih =>
    rw [Nat.mul_add, h]
    exact ih

theorem doubling_sequence (f : Nat → Nat) (h₀ : f 0 = 1) (h : ∀ n, f (n + 1) = f n + f n) :
    ∀ n, f n = 2 ^ n := by
      intro n
      induction n with
      | zero => assumption
      | succ n' ih => simp only [h] at ih ⊢ <;> omega

/-! ## Many steps -/

theorem grows_by_two (f : Nat → Nat) (h : ∀ n, f n + 2 ≤ f (n + 1)) : ∀ n, 2 * n ≤ f n := by
  intro n
  induction n with
  | zero => omega
  | succ n ih =>
    have := h n
    omega

theorem down_to_the_first (P : Nat → Prop) (n : Nat) (h : P n) :
    ∃ m, P m ∧ ∀ k, k < m → ¬P k := by
  induction n using Nat.strongRecOn with
  | _ n ih =>
    by_cases smaller : ∃ k, k < n ∧ P k
    · obtain ⟨k, hk, pk⟩ := smaller
      exact ih k hk pk
    · exact ⟨n, h, fun k hk pk => smaller ⟨k, hk, pk⟩⟩

theorem sum_of_cubes_step (t c : Nat → Nat) (ht₀ : t 0 = 0) (ht : ∀ n, t (n + 1) = t n + (n + 1))
    (hc₀ : c 0 = 0) (hc : ∀ n, c (n + 1) = c n + (n + 1) * (n + 1) * (n + 1)) :
    ∀ n, c n = t n * t n := by
  have double : ∀ n, 2 * t n = n * (n + 1) := by
    intro n
    induction n with
    | zero => rw [ht₀]
    | succ n ih =>
      have e : (n + 1) * (n + 1 + 1) = n * (n + 1) + 2 * (n + 1) := by
        simp only [Nat.mul_add, Nat.add_mul]
        omega
      rw [ht, Nat.mul_add, ih, e]
  intro n
  induction n with
  | zero => rw [hc₀, ht₀]
  | succ n ih =>
    have d : 2 * t n * (n + 1) = n * (n + 1) * (n + 1) := by rw [double n]
    rw [hc, ht, ih]
    generalize hm : n + 1 = m at *
    generalize t n = s at *
    have e₁ : (s + m) * (s + m) = s * s + s * m + (s * m + m * m) := by
      rw [Nat.add_mul, Nat.mul_add, Nat.mul_add, Nat.mul_comm m s]
    have e₂ : 2 * s * m = s * m + s * m := by rw [Nat.mul_assoc, Nat.two_mul]
    have e₃ : m * m * m = n * m * m + m * m := by
      have : m * m = n * m + m := by
        conv => lhs; lhs; rw [← hm]
        rw [Nat.add_mul, Nat.one_mul]
      conv => lhs; lhs; rw [this]
      rw [Nat.add_mul]
    omega

theorem sum_of_squares (s : Nat → Nat) (h₀ : s 0 = 0) (h : ∀ n, s (n + 1) = s n + (n + 1) * (n + 1)) :
    ∀ n, 6 * s n = n * (n + 1) * (2 * n + 1) := by
  intro n
  induction n with
  | zero => rw [h₀]
  | succ n ih =>
    rw [h, Nat.mul_add, ih]
    simp only [Nat.mul_add, Nat.add_mul, Nat.mul_one, Nat.one_mul, Nat.mul_assoc, Nat.mul_left_comm n 2,
      Nat.mul_comm n 2]
    omega

theorem geometric_sum (s : Nat → Nat) (h₀ : s 0 = 1) (h : ∀ n, s (n + 1) = s n + 2 ^ (n + 1)) :
    ∀ n, s n + 1 = 2 ^ (n + 1) := by
  intro n
  induction n with
  | zero => rw [h₀]
  | succ n ih =>
    have e : 2 ^ (n + 1 + 1) = 2 ^ (n + 1) * 2 := Nat.pow_succ
    rw [h]
    omega

theorem four_to_the_n (n : Nat) : 3 ∣ 4 ^ n + 2 := by induction n <;> omega

theorem fibonacci_sum (f s : Nat → Nat) (f₀ : f 0 = 0) (f₁ : f 1 = 1) (hf : ∀ n, f (n + 2) = f (n + 1) + f n)
    (s₀ : s 0 = 0) (hs : ∀ n, s (n + 1) = s n + f (n + 1)) : ∀ n, s n + 1 = f (n + 2) := by
  intro n
  induction n with
  | zero => rw [s₀, hf, f₀, f₁]
  | succ n ih =>
    have e₁ : f (n + 1 + 2) = f (n + 2) + f (n + 1) := hf (n + 1)
    have e₂ := hs n
    omega

theorem even_or_odd_predicate (E : Nat → Prop) (h₀ : E 0) (h₁ : ¬E 1) (h : ∀ n, E (n + 2) ↔ E n) :
    ∀ n, E n ∨ E (n + 1) := by
  intro n
  induction n with
  | zero => exact Or.inl h₀
  | succ n ih =>
    rcases ih with even | odd
    · exact Or.inr ((h n).mpr even)
    · exact Or.inl odd

theorem factorial_is_positive (f : Nat → Nat) (h₀ : f 0 = 1) (h : ∀ n, f (n + 1) = (n + 1) * f n) :
    ∀ n, 0 < f n := by
  intro n
  induction n with
  | zero =>
    rw [h₀]
    decide
  | succ n ih =>
    rw [h]
    exact Nat.mul_pos (Nat.succ_pos n) ih

theorem square_below_power (n : Nat) (h : 4 ≤ n) : n * n ≤ 2 ^ n := by
  induction n with
  | zero => omega
  | succ n ih =>
    by_cases large : 4 ≤ n
    · have ih := ih large
      have four : 4 * n ≤ n * n := Nat.mul_le_mul_right n large
      have square : (n + 1) * (n + 1) = n * n + n + (n + 1) := by rw [Nat.add_mul, Nat.mul_add]; omega
      rw [Nat.pow_succ]
      omega
    · have e : n = 3 := by omega
      subst e
      decide

theorem coins_of_three_and_five (n : Nat) (h : 8 ≤ n) : ∃ a b, n = 3 * a + 5 * b := by
  induction n with
  | zero => omega
  | succ n ih =>
    by_cases large : 8 ≤ n
    · obtain ⟨a, b, e⟩ := ih large
      by_cases five : 1 ≤ b
      · exact ⟨a + 2, b - 1, by omega⟩
      · exact ⟨a - 3, b + 2, by omega⟩
    · exact ⟨1, 1, by omega⟩
