/-! Divisibility and congruences of integers. -/

def Even (n : Int) : Prop := ∃ k, n = 2 * k
def Odd (n : Int) : Prop := ∃ k, n = 2 * k + 1
/-- Congruence modulo `m`. -/
def Congruent (m a b : Int) : Prop := m ∣ a - b

namespace Congruent
variable {m a b c d : Int}

theorem refl (m a : Int) : Congruent m a a := by
  unfold Congruent
  simp
theorem symm (h : Congruent m a b) : Congruent m b a := by
  obtain ⟨k, hk⟩ := h
  exact ⟨-k, by rw [Int.mul_neg, ← hk, Int.neg_sub]⟩
theorem trans (h₁ : Congruent m a b) (h₂ : Congruent m b c) : Congruent m a c := by
  have h := Int.dvd_add h₁ h₂
  have e : a - b + (b - c) = a - c := by omega
  rwa [e] at h
theorem add (h₁ : Congruent m a b) (h₂ : Congruent m c d) : Congruent m (a + c) (b + d) := by
  have e : a + c - (b + d) = (a - b) + (c - d) := by omega
  rw [Congruent, e]
  exact Int.dvd_add h₁ h₂
theorem iff_emod : Congruent m a b ↔ a % m = b % m := by
  rw [Int.emod_eq_emod_iff_emod_sub_eq_zero, Congruent, Int.dvd_iff_emod_eq_zero]
end Congruent

theorem even_or_odd (n : Int) : Even n ∨ Odd n := by
  rcases Int.emod_two_eq n with h | h
  · left; exact ⟨n / 2, by omega⟩
  · right; exact ⟨n / 2, by omega⟩

theorem not_even_and_odd (n : Int) : ¬(Even n ∧ Odd n) := by
  rintro ⟨⟨k, hk⟩, l, hl⟩
  omega

theorem even_add {m n : Int} (hm : Even m) (hn : Even n) : Even (m + n) := by
  obtain ⟨k, rfl⟩ := hm
  obtain ⟨l, rfl⟩ := hn
  exact ⟨k + l, by omega⟩

theorem odd_add_odd {m n : Int} : Odd m → Odd n → Even (m + n)
  | ⟨k, hk⟩, ⟨l, hl⟩ => ⟨k + l + 1, by omega⟩

theorem even_mul {m : Int} (n : Int) (hm : Even m) : Even (m * n) := by
  obtain ⟨k, rfl⟩ := hm
  exact ⟨k * n, Int.mul_assoc 2 k n⟩

theorem odd_mul {m n : Int} (hm : Odd m) (hn : Odd n) : Odd (m * n) := by
  obtain ⟨k, rfl⟩ := hm
  obtain ⟨l, rfl⟩ := hn
  refine ⟨2 * (k * l) + k + l, ?_⟩
  rw [Int.add_mul, Int.mul_add, Int.mul_assoc, Int.mul_left_comm k]
  omega

theorem even_of_even_square {n : Int} (h : Even (n * n)) : Even n := by
  rcases even_or_odd n with hn | hn
  · exact hn
  · exact absurd ⟨h, odd_mul hn hn⟩ (not_even_and_odd _)

theorem dvd_linear (a b c x y : Int) (hb : a ∣ b) (hc : a ∣ c) : a ∣ x * b + y * c :=
  Int.dvd_add (Int.dvd_mul_of_dvd_right hb) (Int.dvd_mul_of_dvd_right hc)

theorem division (a : Int) : ∃ q r, a = 7 * q + r ∧ 0 ≤ r ∧ r < 7 := ⟨a / 7, a % 7, by omega, by omega, by omega⟩

theorem division_any (a b : Int) (hb : 0 < b) : ∃ q r, a = b * q + r ∧ 0 ≤ r ∧ r < b :=
  ⟨a / b, a % b, (Int.mul_ediv_add_emod a b).symm, Int.emod_nonneg a (Int.ne_of_gt hb), Int.emod_lt_of_pos a hb⟩

example (a b : Int) (h : 6 ∣ a) (h' : a ∣ b) : 3 ∣ b := by
  obtain ⟨c, rfl⟩ := h'
  obtain ⟨d, rfl⟩ := h
  exact ⟨2 * d * c, by rw [← Int.mul_assoc, ← Int.mul_assoc]; rfl⟩

example (x : Int) (h : x % 6 = 5) : x % 3 = 2 ∧ x % 2 = 1 := by omega
example (x : Int) : (x * 4 + 2) % 4 = 2 := by omega
example (x : Int) : x / 2 + (x + 1) / 2 = x := by omega
example (x : Int) (h : 0 < x) : x / 3 < x := by omega
example : (12345 : Int) % 7 = 4 := by decide
example : Int.gcd (-12) 18 = 6 := by decide
