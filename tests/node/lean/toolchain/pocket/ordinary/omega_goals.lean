/-! Linear arithmetic in its usual shapes. -/
section Nat
variable (a b c d n m k x y z : Nat)

example (h : a < b) (h' : b < c) : a + 1 < c := by omega
example (h : a ≤ b) : a - b = 0 := by omega
example (h : b ≤ a) : a - b + b = a := by omega
example : a - b - c = a - (b + c) := by omega
example (h : 2 * a + 1 = 2 * b) : False := by omega
example (h : a + b = 10) (h' : a - b = 4) (h'' : b ≤ a) : a = 7 ∧ b = 3 := by omega
example (h : a < 3) (h₀ : a ≠ 0) (h₁ : a ≠ 1) : a = 2 := by omega
example : a < b ∨ a = b ∨ a > b := by omega
example (h : ¬a ≤ b) : b < a := by omega
example (h : a ≤ b → c ≤ d) (h' : a < b) : c < d + 1 := by omega
example (h : a = b ↔ c = d) (h' : c = d) : b = a := by omega
example : a / 2 ≤ a := by omega
example (h : a % 2 = 1) : 1 ≤ a := by omega
example : a % 4 < 4 ∧ a = 4 * (a / 4) + a % 4 := by omega
example (h : a % 2 = 0) (h' : a % 3 = 0) : a % 6 = 0 := by omega
example (h : 3 ∣ a) (h' : 3 ∣ b) : 3 ∣ a + b := by omega
example (h : 12 ∣ a) : 4 ∣ a ∧ 3 ∣ a := by omega
example : min a b ≤ a ∧ b ≤ max a b := by omega
example : max a b - min a b = (a - b) + (b - a) := by omega
example (h : 5 * a + 3 * b = 34) (h' : b < 5) : a = 5 ∧ b = 3 := by omega
example (h : n = 2 * k) (h' : n = 2 * m + 1) : False := by omega
example (h : 0 < n) : n - 1 + 1 = n := by omega
example (h : n ≠ 0) : ∃ k, n = k + 1 := ⟨n - 1, by omega⟩
example (h : x * y = 5) (h' : x * y ≤ z) : 5 ≤ z := by omega
example (p : Prop) (h : a < b ∧ p) : a ≠ b := by omega
example (h : 7 * x + 11 * y = 100) (h' : y ≤ 4) : x = 8 ∧ y = 4 := by omega
example (h : if a < b then c = 1 else c = 2) : c ≤ 2 := by split at h <;> omega
example (h : (if a < b then 1 else 2) = c) : 1 ≤ c := by split at h <;> omega
example (f : Nat → Nat) (h : f a < f b) (h' : f b ≤ 3) : f a ≤ 2 := by omega
example (h : 2 ^ (n + 1) ≤ 16) : 2 ^ n ≤ 8 := by omega
end Nat

section Int
variable (a b c x y z : Int)

example (h : a < b) : a + 1 ≤ b := by omega
example (h : 2 * a + 3 * b = 7) (h' : a - b = 1) : a = 2 := by omega
example (h : 3 * x + 6 * y = 4) : False := by omega
example (h : 4 * x + 6 * y = 2) (h' : 5 * x + 7 * y = 2) : x = -1 ∧ y = 1 := by omega
example (h : -3 < x) (h' : x < 0) : x = -1 ∨ x = -2 := by omega
example : x / 3 * 3 ≤ x ∧ x < x / 3 * 3 + 3 := by omega
example (h : x / (-2) = 3) : x = -6 ∨ x = -5 := by omega
example (h : x % 5 = 3) : (x + 2) % 5 = 0 := by omega
example : (x.natAbs : Int) = x ∨ (x.natAbs : Int) = -x := by omega
example (h : x ≤ 0) : x.toNat = 0 := by omega
example : -(max x y) = min (-x) (-y) := by omega
example : (if x ≤ y then x else y) ≤ x := by omega
example (h : 2 ∣ x) (h' : 2 ∣ x + y) : 2 ∣ y := by omega
example (h : ¬2 ∣ x) (h' : ¬2 ∣ y) : 2 ∣ x + y := by omega
example (n : Nat) (h : x = n) (h' : x ≤ -1) : False := by omega
example (m n : Nat) (h : (m : Int) - n = 3) : m = n + 3 := by omega
example (h : 10 * x + 7 * y - 3 * z = 1) (h' : 2 * x + y = 0) (h'' : z = 1) : y = 2 := by omega
end Int
