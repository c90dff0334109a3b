module
prelude
public import Pocket.Nat.Induction
@[expose] public section
/-! Natural numbers: division with remainder, divisibility, greatest common divisor, logarithm, shifts. -/
set_option autoImplicit false
universe u

namespace Nat

/-! ## Defining equations: enough fuel is as good as any -/

theorem div.go_succ (y fuel x : Nat) : div.go y (fuel + 1) x = if y ≤ x then div.go y fuel (x - y) + 1 else 0 := by
  show (match Nat.ble y x with | true => succ (div.go y fuel (x - y)) | false => 0) = _
  cases Nat.lt_or_ge x y with
  | inl h =>
    rw [if_neg (Nat.not_le_of_gt h)]
    cases e : Nat.ble y x
    · rfl
    · exact absurd (le_of_ble_eq_true e) (Nat.not_le_of_gt h)
  | inr h => rw [if_pos h, ble_of_le y x h]
theorem mod.go_succ (y fuel x : Nat) : mod.go y (fuel + 1) x = if y ≤ x then mod.go y fuel (x - y) else x := by
  show (match Nat.ble y x with | true => mod.go y fuel (x - y) | false => x) = _
  cases Nat.lt_or_ge x y with
  | inl h =>
    rw [if_neg (Nat.not_le_of_gt h)]
    cases e : Nat.ble y x
    · rfl
    · exact absurd (le_of_ble_eq_true e) (Nat.not_le_of_gt h)
  | inr h => rw [if_pos h, ble_of_le y x h]
theorem div.go_fuel (y : Nat) : ∀ fuel fuel' x, x < fuel → x < fuel' → div.go (y + 1) fuel x = div.go (y + 1) fuel' x := by
  intro fuel
  induction fuel with
  | zero => exact fun _ x h => absurd h (Nat.not_lt_zero x)
  | succ fuel ih => intro fuel' x h h'; cases fuel' with
    | zero => exact absurd h' (Nat.not_lt_zero x)
    | succ fuel' =>
      rw [div.go_succ, div.go_succ]
      cases Nat.lt_or_ge x (y + 1) with
      | inl hx => rw [if_neg (Nat.not_le_of_gt hx), if_neg (Nat.not_le_of_gt hx)]
      | inr hx =>
        have smaller : x - (y + 1) < x := sub_lt (Nat.lt_of_lt_of_le (zero_lt_succ y) hx) (zero_lt_succ y)
        rw [if_pos hx, if_pos hx, ih fuel' _ (Nat.lt_of_lt_of_le smaller (le_of_lt_succ h)) (Nat.lt_of_lt_of_le smaller (le_of_lt_succ h'))]
theorem mod.go_fuel (y : Nat) : ∀ fuel fuel' x, x < fuel → x < fuel' → mod.go (y + 1) fuel x = mod.go (y + 1) fuel' x := by
  intro fuel
  induction fuel with
  | zero => exact fun _ x h => absurd h (Nat.not_lt_zero x)
  | succ fuel ih => intro fuel' x h h'; cases fuel' with
    | zero => exact absurd h' (Nat.not_lt_zero x)
    | succ fuel' =>
      rw [mod.go_succ, mod.go_succ]
      cases Nat.lt_or_ge x (y + 1) with
      | inl hx => rw [if_neg (Nat.not_le_of_gt hx), if_neg (Nat.not_le_of_gt hx)]
      | inr hx =>
        have smaller : x - (y + 1) < x := sub_lt (Nat.lt_of_lt_of_le (zero_lt_succ y) hx) (zero_lt_succ y)
        rw [if_pos hx, if_pos hx, ih fuel' _ (Nat.lt_of_lt_of_le smaller (le_of_lt_succ h)) (Nat.lt_of_lt_of_le smaller (le_of_lt_succ h'))]
@[simp] protected theorem div_zero (n : Nat) : n / 0 = 0 := rfl
@[simp] theorem mod_zero (n : Nat) : n % 0 = n := rfl
theorem div_eq (x y : Nat) : x / y = if 0 < y ∧ y ≤ x then (x - y) / y + 1 else 0 := by
  cases y with
  | zero => rw [if_neg fun h => Nat.lt_irrefl 0 h.1]; rfl
  | succ y =>
    show div.go (y + 1) (x + 1) x = _
    rw [div.go_succ]
    cases Nat.lt_or_ge x (y + 1) with
    | inl h => rw [if_neg (Nat.not_le_of_gt h), if_neg fun h' => Nat.not_le_of_gt h h'.2]
    | inr h =>
      rw [if_pos h, if_pos ⟨zero_lt_succ y, h⟩]
      have smaller : x - (y + 1) < x := sub_lt (Nat.lt_of_lt_of_le (zero_lt_succ y) h) (zero_lt_succ y)
      exact congrArg succ (div.go_fuel y x (x - (y + 1) + 1) (x - (y + 1)) smaller (lt_add_one _))
theorem mod_eq (x y : Nat) : x % y = if 0 < y ∧ y ≤ x then (x - y) % y else x := by
  cases y with
  | zero => rw [if_neg fun h => Nat.lt_irrefl 0 h.1]; rfl
  | succ y =>
    show mod.go (y + 1) (x + 1) x = _
    rw [mod.go_succ]
    cases Nat.lt_or_ge x (y + 1) with
    | inl h => rw [if_neg (Nat.not_le_of_gt h), if_neg fun h' => Nat.not_le_of_gt h h'.2]
    | inr h =>
      rw [if_pos h, if_pos ⟨zero_lt_succ y, h⟩]
      have smaller : x - (y + 1) < x := sub_lt (Nat.lt_of_lt_of_le (zero_lt_succ y) h) (zero_lt_succ y)
      exact mod.go_fuel y x (x - (y + 1) + 1) (x - (y + 1)) smaller (lt_add_one _)
theorem div_eq_of_lt {a b : Nat} (h : a < b) : a / b = 0 := by rw [div_eq, if_neg fun h' => Nat.not_le_of_gt h h'.2]
theorem mod_eq_of_lt {a b : Nat} (h : a < b) : a % b = a := by rw [mod_eq, if_neg fun h' => Nat.not_le_of_gt h h'.2]
theorem div_eq_sub_div {a b : Nat} (h₁ : 0 < b) (h₂ : b ≤ a) : a / b = (a - b) / b + 1 := by rw [div_eq a, if_pos ⟨h₁, h₂⟩]
theorem mod_eq_sub_mod {a b : Nat} (h : a ≥ b) : a % b = (a - b) % b := by
  cases b with
  | zero => rfl
  | succ b => rw [mod_eq a, if_pos ⟨zero_lt_succ b, h⟩]

/-! ## Division with remainder -/

theorem div_add_mod (m n : Nat) : n * (m / n) + m % n = m := by
  induction m using Nat.strongRecOn with
  | ind m ih =>
    cases n with
    | zero => rw [Nat.zero_mul, mod_zero, Nat.zero_add]
    | succ n =>
      cases Nat.lt_or_ge m (n + 1) with
      | inl h => rw [div_eq_of_lt h, mod_eq_of_lt h, Nat.mul_zero, Nat.zero_add]
      | inr h =>
        have pos : 0 < n + 1 := zero_lt_succ n
        rw [div_eq_sub_div pos h, mod_eq_sub_mod h, mul_add_one, Nat.add_right_comm, ih _ (sub_lt (Nat.lt_of_lt_of_le pos h) pos),
          Nat.sub_add_cancel h]
theorem mod_add_div (m k : Nat) : m % k + k * (m / k) = m := by rw [Nat.add_comm]; exact div_add_mod m k
theorem mod_le (x y : Nat) : x % y ≤ x := by
  have h := le_add_left (x % y) (y * (x / y))
  rwa [div_add_mod] at h
@[simp] theorem zero_mod (b : Nat) : 0 % b = 0 := eq_zero_of_le_zero (mod_le 0 b)
@[simp] protected theorem zero_div (b : Nat) : 0 / b = 0 := by
  cases b with
  | zero => rfl
  | succ b => exact div_eq_of_lt (zero_lt_succ b)
@[simp] theorem mod_self (n : Nat) : n % n = 0 := by rw [mod_eq_sub_mod (Nat.le_refl n), Nat.sub_self, zero_mod]
@[simp] theorem mod_one (x : Nat) : x % 1 = 0 := lt_one_iff.1 (mod_lt x zero_lt_one)
@[simp] protected theorem div_one (n : Nat) : n / 1 = n := by
  have h := div_add_mod n 1
  rwa [mod_one, Nat.add_zero, Nat.one_mul] at h
@[simp] protected theorem div_self {n : Nat} (h : 0 < n) : n / n = 1 := by rw [div_eq_sub_div h (Nat.le_refl n), Nat.sub_self, Nat.zero_div]
@[simp] theorem add_mod_right (x z : Nat) : (x + z) % z = x % z := by rw [mod_eq_sub_mod (le_add_left z x), Nat.add_sub_cancel]
@[simp] theorem add_mod_left (x z : Nat) : (x + z) % x = z % x := by rw [Nat.add_comm, add_mod_right]
@[simp] theorem add_mul_mod_self_left (x y z : Nat) : (x + y * z) % y = x % y := by induction z with
  | zero => rfl
  | succ z ih => rw [mul_add_one, ← Nat.add_assoc, add_mod_right, ih]
@[simp] theorem add_mul_mod_self_right (x y z : Nat) : (x + y * z) % z = x % z := by rw [Nat.mul_comm, add_mul_mod_self_left]
@[simp] theorem mul_mod_right (m n : Nat) : (m * n) % m = 0 := by
  have h := add_mul_mod_self_left 0 m n
  rwa [Nat.zero_add, zero_mod] at h
@[simp] theorem mul_mod_left (m n : Nat) : (m * n) % n = 0 := by rw [Nat.mul_comm, mul_mod_right]
theorem add_div_right (x : Nat) {z : Nat} (h : 0 < z) : (x + z) / z = x / z + 1 := by
  rw [div_eq_sub_div h (le_add_left z x), Nat.add_sub_cancel]
theorem add_div_left (x : Nat) {z : Nat} (h : 0 < z) : (z + x) / z = x / z + 1 := by rw [Nat.add_comm, add_div_right x h]
theorem add_mul_div_left (x z : Nat) {y : Nat} (h : 0 < y) : (x + y * z) / y = x / y + z := by induction z with
  | zero => rfl
  | succ z ih => rw [mul_add_one, ← Nat.add_assoc, add_div_right _ h, ih]; rfl
theorem add_mul_div_right (x y : Nat) {z : Nat} (h : 0 < z) : (x + y * z) / z = x / z + y := by rw [Nat.mul_comm, add_mul_div_left _ _ h]
@[simp] protected theorem mul_div_right (n : Nat) {m : Nat} (h : 0 < m) : m * n / m = n := by
  have h' := add_mul_div_left 0 n h
  rwa [Nat.zero_add, Nat.zero_div, Nat.zero_add] at h'
@[simp] protected theorem mul_div_left (m : Nat) {n : Nat} (h : 0 < n) : m * n / n = m := by rw [Nat.mul_comm, Nat.mul_div_right m h]
protected theorem mul_div_cancel (m : Nat) {n : Nat} (h : 0 < n) : m * n / n = m := Nat.mul_div_left m h
protected theorem mul_div_cancel_left (m : Nat) {n : Nat} (h : 0 < n) : n * m / n = m := Nat.mul_div_right m h
theorem div_mul_le_self (m n : Nat) : m / n * n ≤ m := by
  have h := le_add_right (n * (m / n)) (m % n)
  rw [div_add_mod, Nat.mul_comm] at h; exact h
theorem mul_div_le (m n : Nat) : n * (m / n) ≤ m := by rw [Nat.mul_comm]; exact div_mul_le_self m n
theorem div_le_self (n k : Nat) : n / k ≤ n := by
  cases k with
  | zero => exact Nat.zero_le n
  | succ k => exact Nat.le_trans (Nat.le_mul_of_pos_right _ (zero_lt_succ k)) (div_mul_le_self n (k + 1))
theorem lt_mul_div_succ (a : Nat) {b : Nat} (h : 0 < b) : a < b * (a / b + 1) := by
  rw [mul_add_one]
  have h' := Nat.add_lt_add_left (mod_lt a h) (b * (a / b))
  rwa [div_add_mod] at h'
theorem le_div_iff_mul_le {k x y : Nat} (h : 0 < k) : x ≤ y / k ↔ x * k ≤ y :=
  ⟨fun h' => Nat.le_trans (Nat.mul_le_mul_right k h') (div_mul_le_self y k),
   fun h' => le_of_lt_succ (Nat.lt_of_mul_lt_mul_left (a := k) (by
    rw [Nat.mul_comm k x]; exact Nat.lt_of_le_of_lt h' (lt_mul_div_succ y h)))⟩
theorem div_lt_iff_lt_mul {k x y : Nat} (h : 0 < k) : x / k < y ↔ x < y * k := by
  rw [← Nat.not_le, ← Nat.not_le]; exact not_congr (le_div_iff_mul_le h)
protected theorem div_le_of_le_mul {m n k : Nat} (h : m ≤ k * n) : m / k ≤ n := by
  cases k with
  | zero => exact Nat.zero_le n
  | succ k =>
    refine le_of_lt_succ ((div_lt_iff_lt_mul (zero_lt_succ k)).2 (Nat.lt_of_le_of_lt h ?_))
    rw [Nat.mul_comm]; exact Nat.mul_lt_mul_of_pos_right (lt_add_one n) (zero_lt_succ k)
theorem div_le_div_right {a b : Nat} (c : Nat) (h : a ≤ b) : a / c ≤ b / c := by
  cases c with
  | zero => exact Nat.le_refl 0
  | succ c => exact (le_div_iff_mul_le (zero_lt_succ c)).2 (Nat.le_trans (div_mul_le_self a (c + 1)) h)
@[simp] theorem mod_mod (a n : Nat) : (a % n) % n = a % n := by
  cases n with
  | zero => rfl
  | succ n => exact mod_eq_of_lt (mod_lt a (zero_lt_succ n))
@[simp] theorem mod_add_mod (m n k : Nat) : (m % n + k) % n = (m + k) % n := by
  have h := add_mul_mod_self_left (m % n + k) n (m / n)
  rw [Nat.add_right_comm, mod_add_div] at h; exact h.symm
@[simp] theorem add_mod_mod (m n k : Nat) : (m + n % k) % k = (m + n) % k := by rw [Nat.add_comm, mod_add_mod, Nat.add_comm]
theorem add_mod (a b n : Nat) : (a + b) % n = (a % n + b % n) % n := by rw [add_mod_mod, mod_add_mod]
theorem mul_mod (a b n : Nat) : (a * b) % n = (a % n) * (b % n) % n := by
  have hb : (a % n * b) % n = (a % n) * (b % n) % n := by
    have h := add_mul_mod_self_left (a % n * (b % n)) n (a % n * (b / n))
    rwa [Nat.mul_left_comm, ← Nat.mul_add, mod_add_div] at h
  have ha := add_mul_mod_self_left (a % n * b) n (a / n * b)
  rw [← Nat.mul_assoc, ← Nat.add_mul, mod_add_div] at ha
  exact ha.trans hb
theorem mod_two_eq_zero_or_one (n : Nat) : n % 2 = 0 ∨ n % 2 = 1 := by
  match n % 2, mod_lt n (zero_lt_succ 1) with
  | 0, _ => exact .inl rfl
  | 1, _ => exact .inr rfl
  | k + 2, h => exact absurd (lt_of_succ_lt_succ (lt_of_succ_lt_succ h)) (Nat.not_lt_zero k)

/-! ## Divisibility -/

protected theorem dvd_def {a b : Nat} : (a ∣ b) = ∃ c, b = a * c := rfl
@[simp] protected theorem dvd_refl (a : Nat) : a ∣ a := ⟨1, (Nat.mul_one a).symm⟩
@[simp] protected theorem dvd_zero (a : Nat) : a ∣ 0 := ⟨0, rfl⟩
@[simp] protected theorem one_dvd (n : Nat) : 1 ∣ n := ⟨n, (Nat.one_mul n).symm⟩
protected theorem dvd_mul_left (a b : Nat) : a ∣ b * a := ⟨b, Nat.mul_comm b a⟩
protected theorem dvd_mul_right (a b : Nat) : a ∣ a * b := ⟨b, rfl⟩
protected theorem dvd_trans {a b c : Nat} : a ∣ b → b ∣ c → a ∣ c := fun ⟨d, hd⟩ ⟨e, he⟩ => ⟨d * e, by rw [he, hd, Nat.mul_assoc]⟩
theorem dvd_mul_right_of_dvd {a b : Nat} (h : a ∣ b) (c : Nat) : a ∣ b * c := Nat.dvd_trans h (Nat.dvd_mul_right b c)
theorem dvd_mul_left_of_dvd {a b : Nat} (h : a ∣ b) (c : Nat) : a ∣ c * b := Nat.dvd_trans h (Nat.dvd_mul_left b c)
protected theorem eq_zero_of_zero_dvd {a : Nat} : 0 ∣ a → a = 0 := fun ⟨c, h⟩ => h.trans (Nat.zero_mul c)
@[simp] protected theorem zero_dvd {n : Nat} : 0 ∣ n ↔ n = 0 := ⟨Nat.eq_zero_of_zero_dvd, fun h => h ▸ Nat.dvd_refl 0⟩
protected theorem dvd_add {m n k : Nat} : m ∣ n → m ∣ k → m ∣ n + k := fun ⟨d, hd⟩ ⟨e, he⟩ => ⟨d + e, by rw [Nat.mul_add, hd, he]⟩
protected theorem dvd_sub {m n k : Nat} : m ∣ n → m ∣ k → m ∣ n - k := fun ⟨d, hd⟩ ⟨e, he⟩ => ⟨d - e, by rw [Nat.mul_sub, hd, he]⟩
protected theorem dvd_add_right {m k : Nat} (h : k ∣ m) {n : Nat} : k ∣ m + n ↔ k ∣ n :=
  ⟨fun h' => by
    have h'' := Nat.dvd_sub h' h
    rwa [Nat.add_sub_cancel_left] at h'', Nat.dvd_add h⟩
protected theorem dvd_add_iff_right {k m : Nat} (h : k ∣ m) {n : Nat} : k ∣ n ↔ k ∣ m + n := (Nat.dvd_add_right h).symm
protected theorem mul_dvd_mul {a b c d : Nat} : a ∣ b → c ∣ d → a * c ∣ b * d := fun ⟨e, he⟩ ⟨f, hf⟩ =>
  ⟨e * f, by rw [he, hf, Nat.mul_mul_mul_comm]⟩
protected theorem mul_dvd_mul_left {b c : Nat} (a : Nat) (h : b ∣ c) : a * b ∣ a * c := Nat.mul_dvd_mul (Nat.dvd_refl a) h
theorem le_of_dvd {m n : Nat} (h : 0 < n) : m ∣ n → m ≤ n := fun ⟨k, e⟩ => by
  cases k with
  | zero => rw [e] at h; exact absurd h (Nat.lt_irrefl 0)
  | succ k => rw [e]; exact Nat.le_mul_of_pos_right m (zero_lt_succ k)
protected theorem dvd_antisymm {m n : Nat} (h₁ : m ∣ n) (h₂ : n ∣ m) : m = n := by
  cases m with
  | zero => exact (Nat.eq_zero_of_zero_dvd h₁).symm
  | succ m => cases n with
    | zero => exact Nat.eq_zero_of_zero_dvd h₂
    | succ n => exact Nat.le_antisymm (le_of_dvd (zero_lt_succ n) h₁) (le_of_dvd (zero_lt_succ m) h₂)
theorem pos_of_dvd_of_pos {m n : Nat} (h₁ : m ∣ n) (h₂ : 0 < n) : 0 < m :=
  Nat.pos_of_ne_zero fun e => ne_zero_of_lt h₂ (Nat.eq_zero_of_zero_dvd (e ▸ h₁))
@[simp] protected theorem dvd_one {n : Nat} : n ∣ 1 ↔ n = 1 := ⟨fun h => Nat.dvd_antisymm h (Nat.one_dvd n), fun h => h ▸ Nat.dvd_refl 1⟩
theorem dvd_of_mod_eq_zero {k n : Nat} (h : n % k = 0) : k ∣ n := ⟨n / k, by
  have h' := div_add_mod n k
  rw [h, Nat.add_zero] at h'; exact h'.symm⟩
theorem mod_eq_zero_of_dvd {k n : Nat} : k ∣ n → n % k = 0 := fun ⟨c, h⟩ => h ▸ mul_mod_right k c
theorem dvd_iff_mod_eq_zero {k n : Nat} : k ∣ n ↔ n % k = 0 := ⟨mod_eq_zero_of_dvd, dvd_of_mod_eq_zero⟩
instance decidable_dvd : (k n : Nat) → Decidable (k ∣ n) := fun _ _ => decidable_of_decidable_of_iff dvd_iff_mod_eq_zero.symm
protected theorem mul_div_cancel' {n m : Nat} (h : n ∣ m) : n * (m / n) = m := by
  have h' := div_add_mod m n
  rwa [mod_eq_zero_of_dvd h, Nat.add_zero] at h'
protected theorem div_mul_cancel {n m : Nat} (h : n ∣ m) : m / n * n = m := by rw [Nat.mul_comm, Nat.mul_div_cancel' h]
theorem dvd_eq_true_of_mod_eq_zero {m n : Nat} (h : (n % m == 0) = true) : (m ∣ n) = True :=
  eq_true (dvd_of_mod_eq_zero (of_decide_eq_true h))
theorem dvd_eq_false_of_mod_ne_zero {m n : Nat} (h : (n % m != 0) = true) : (m ∣ n) = False :=
  eq_false fun h' => by
    have e : (n % m == 0) = true := decide_eq_true (mod_eq_zero_of_dvd h')
    rw [bne, e] at h
    exact Bool.noConfusion h

/-! ## Greatest common divisor -/

theorem gcd.go_fuel : ∀ fuel fuel' m n, m < fuel → m < fuel' → gcd.go fuel m n = gcd.go fuel' m n := by
  intro fuel
  induction fuel with
  | zero => exact fun _ m _ h => absurd h (Nat.not_lt_zero m)
  | succ fuel ih => intro fuel' m n h h'; cases fuel' with
    | zero => exact absurd h' (Nat.not_lt_zero m)
    | succ fuel' => cases m with
      | zero => rfl
      | succ m =>
        have smaller : n % (m + 1) < m + 1 := mod_lt n (zero_lt_succ m)
        exact ih fuel' _ _ (Nat.lt_of_lt_of_le smaller (le_of_lt_succ h)) (Nat.lt_of_lt_of_le smaller (le_of_lt_succ h'))
@[simp] theorem gcd_zero_left (n : Nat) : gcd 0 n = n := rfl
theorem gcd_succ (m n : Nat) : gcd (m + 1) n = gcd (n % (m + 1)) (m + 1) :=
  gcd.go_fuel (m + 1) (n % (m + 1) + 1) _ _ (mod_lt n (zero_lt_succ m)) (lt_add_one _)
theorem gcd_rec (m n : Nat) : gcd m n = gcd (n % m) m := by
  cases m with
  | zero =>
    rw [mod_zero]
    cases n with
    | zero => rfl
    | succ n => rw [gcd_succ, zero_mod, gcd_zero_left]
  | succ m => exact gcd_succ m n
@[simp] theorem gcd_zero_right (n : Nat) : gcd n 0 = n := by rw [gcd_rec, zero_mod]; rfl
@[elab_as_elim] theorem gcd.induction {P : Nat → Nat → Prop} (m n : Nat) (H0 : ∀ n, P 0 n)
    (H1 : ∀ m n, 0 < m → P (n % m) m → P m n) : P m n := by
  induction m using Nat.strongRecOn generalizing n with
  | ind m ih =>
    cases m with
    | zero => exact H0 n
    | succ m => exact H1 (m + 1) n (zero_lt_succ m) (ih _ (mod_lt n (zero_lt_succ m)) (m + 1))
theorem dvd_mod_iff {k m n : Nat} (h : k ∣ n) : k ∣ m % n ↔ k ∣ m := by
  have h' : k ∣ n * (m / n) + m % n ↔ k ∣ m % n := Nat.dvd_add_right (dvd_mul_right_of_dvd h _)
  rw [div_add_mod] at h'; exact h'.symm
theorem gcd_dvd (m n : Nat) : gcd m n ∣ m ∧ gcd m n ∣ n := by
  induction m, n using gcd.induction with
  | H0 n => exact ⟨Nat.dvd_zero _, Nat.dvd_refl n⟩
  | H1 m n _ ih => rw [← gcd_rec] at ih; exact ⟨ih.2, (dvd_mod_iff ih.2).1 ih.1⟩
theorem gcd_dvd_left (m n : Nat) : gcd m n ∣ m := (gcd_dvd m n).1
theorem gcd_dvd_right (m n : Nat) : gcd m n ∣ n := (gcd_dvd m n).2
theorem dvd_gcd {k m n : Nat} : k ∣ m → k ∣ n → k ∣ gcd m n := by
  induction m, n using gcd.induction with
  | H0 n => exact fun _ h => h
  | H1 m n _ ih => exact fun hm hn => gcd_rec m n ▸ ih ((dvd_mod_iff hm).2 hn) hm
theorem dvd_gcd_iff {k m n : Nat} : k ∣ gcd m n ↔ k ∣ m ∧ k ∣ n :=
  ⟨fun h => ⟨Nat.dvd_trans h (gcd_dvd_left m n), Nat.dvd_trans h (gcd_dvd_right m n)⟩, fun h => dvd_gcd h.1 h.2⟩
protected theorem gcd_comm (m n : Nat) : gcd m n = gcd n m :=
  Nat.dvd_antisymm (dvd_gcd (gcd_dvd_right m n) (gcd_dvd_left m n)) (dvd_gcd (gcd_dvd_right n m) (gcd_dvd_left n m))
protected theorem gcd_assoc (m n k : Nat) : gcd (gcd m n) k = gcd m (gcd n k) :=
  Nat.dvd_antisymm
    (dvd_gcd (Nat.dvd_trans (gcd_dvd_left _ k) (gcd_dvd_left m n))
      (dvd_gcd (Nat.dvd_trans (gcd_dvd_left _ k) (gcd_dvd_right m n)) (gcd_dvd_right _ k)))
    (dvd_gcd (dvd_gcd (gcd_dvd_left m _) (Nat.dvd_trans (gcd_dvd_right m _) (gcd_dvd_left n k)))
      (Nat.dvd_trans (gcd_dvd_right m _) (gcd_dvd_right n k)))
@[simp] theorem gcd_self (n : Nat) : gcd n n = n := Nat.dvd_antisymm (gcd_dvd_left n n) (dvd_gcd (Nat.dvd_refl n) (Nat.dvd_refl n))
@[simp] theorem gcd_one_left (n : Nat) : gcd 1 n = 1 := Nat.dvd_one.1 (gcd_dvd_left 1 n)
@[simp] theorem gcd_one_right (n : Nat) : gcd n 1 = 1 := Nat.dvd_one.1 (gcd_dvd_right n 1)
theorem gcd_pos_of_pos_left {m : Nat} (n : Nat) (h : 0 < m) : 0 < gcd m n := pos_of_dvd_of_pos (gcd_dvd_left m n) h
theorem gcd_pos_of_pos_right (m : Nat) {n : Nat} (h : 0 < n) : 0 < gcd m n := pos_of_dvd_of_pos (gcd_dvd_right m n) h

/-! ## Logarithm and shifts -/

theorem shiftLeft_eq_mul_pow (n m : Nat) : Nat.shiftLeft n m = n * 2 ^ m := by
  induction m generalizing n with
  | zero => exact (Nat.mul_one n).symm
  | succ m ih => exact (ih (2 * n)).trans (by rw [Nat.pow_succ, Nat.mul_comm 2 n, Nat.mul_assoc, Nat.mul_comm 2])
theorem div_div_eq_div_mul (m n k : Nat) : m / n / k = m / (n * k) := by
  cases n with
  | zero => rw [Nat.div_zero, Nat.zero_div, Nat.zero_mul, Nat.div_zero]
  | succ n => cases k with
    | zero => rfl
    | succ k =>
      have hn := zero_lt_succ n
      have hk := zero_lt_succ k
      refine Nat.le_antisymm ((le_div_iff_mul_le (Nat.mul_pos hn hk)).2 ?_) ((le_div_iff_mul_le hk).2 ((le_div_iff_mul_le hn).2 ?_))
      · rw [Nat.mul_comm (succ n), ← Nat.mul_assoc]
        exact Nat.le_trans (Nat.mul_le_mul_right _ (div_mul_le_self _ _)) (div_mul_le_self m _)
      · rw [Nat.mul_assoc, Nat.mul_comm (succ k)]; exact div_mul_le_self m _
theorem shiftRight_eq_div_pow (m n : Nat) : Nat.shiftRight m n = m / 2 ^ n := by induction n with
  | zero => exact (Nat.div_one m).symm
  | succ n ih => show Nat.shiftRight m n / 2 = _; rw [ih, div_div_eq_div_mul]; rfl
end Nat
