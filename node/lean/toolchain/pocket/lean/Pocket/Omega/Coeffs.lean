module
prelude
public import Pocket.Int.Order
public import Pocket.List.Mem
@[expose] public section
/-!
Linear combinations of integers, with which `omega` represents terms: a list of coefficients, one for each atom, and a constant.

The native tactic computes with its own versions of these functions, and cites the theorems here; the kernel evaluates the functions
here to the same literals.
-/
set_option autoImplicit false

instance List.decidableBAll {α : Type} (p : α → Prop) [DecidablePred p] : (l : List α) → Decidable (∀ x, x ∈ l → p x)
  | [] => isTrue fun _ h => nomatch h
  | x :: xs =>
    have := List.decidableBAll p xs
    decidable_of_iff (p x ∧ ∀ y, y ∈ xs → p y)
      ⟨fun ⟨hx, h⟩ y hy => by
        cases hy with
        | head => exact hx
        | tail _ hy => exact h y hy,
       fun h => ⟨h x (.head xs), fun y hy => h y (.tail x hy)⟩⟩

namespace Lean.Omega
abbrev Coeffs := List Int

namespace Coeffs

/-! ## Functions -/

abbrev toList (xs : Coeffs) : List Int := xs
abbrev ofList (xs : List Int) : Coeffs := xs
abbrev isZero (xs : Coeffs) : Prop := ∀ x, x ∈ xs → x = 0
abbrev length (xs : Coeffs) : Nat := List.length xs
/-- The coefficient of atom `i`, zero beyond the end. -/
def get : Coeffs → Nat → Int
  | [], _ => 0
  | x :: _, 0 => x
  | _ :: xs, i + 1 => get xs i
/-- Replace the coefficient of atom `i`; a list that is too short is filled with zeros. -/
def set : Coeffs → Nat → Int → Coeffs
  | [], 0, y => [y]
  | [], i + 1, y => 0 :: set [] i y
  | _ :: xs, 0, y => y :: xs
  | x :: xs, i + 1, y => x :: set xs i y
/-- The first coefficient that is not zero. -/
def leading : Coeffs → Int
  | [] => 0
  | x :: xs => if x = 0 then leading xs else x
def smul (xs : Coeffs) (i : Int) : Coeffs := xs.map (i * ·)
def combo (a : Int) : Coeffs → Int → Coeffs → Coeffs
  | [], b, ys => smul ys b
  | x :: xs, b, [] => (a * x + b * 0) :: combo a xs b []
  | x :: xs, b, y :: ys => (a * x + b * y) :: combo a xs b ys
def dot : Coeffs → Coeffs → Int
  | [], _ => 0
  | _ :: _, [] => 0
  | x :: xs, y :: ys => x * y + dot xs ys
def sdiv (xs : Coeffs) (g : Int) : Coeffs := xs.map (· / g)
def gcd : Coeffs → Nat
  | [] => 0
  | x :: xs => Nat.gcd x.natAbs (gcd xs)
def bmod (xs : Coeffs) (m : Nat) : Coeffs := xs.map (Int.bmod · m)

/-! ## The dot product -/

theorem dot_nil_right (xs : Coeffs) : dot xs [] = 0 := by cases xs <;> rfl
theorem dot_smul (xs ys : Coeffs) (i : Int) : dot (smul xs i) ys = i * dot xs ys := by
  induction xs generalizing ys with
  | nil => exact (Int.mul_zero i).symm
  | cons x xs ih => cases ys with
    | nil => exact (Int.mul_zero i).symm
    | cons y ys =>
      show i * x * y + dot (smul xs i) ys = i * (x * y + dot xs ys)
      rw [ih, Int.mul_add, Int.mul_assoc]
theorem dot_combo (a : Int) (xs : Coeffs) (b : Int) (ys v : Coeffs) : dot (combo a xs b ys) v = a * dot xs v + b * dot ys v := by
  induction xs generalizing ys v with
  | nil => show dot (smul ys b) v = a * 0 + _; rw [dot_smul, Int.mul_zero, Int.zero_add]
  | cons x xs ih => cases v with
    | nil => rw [dot_nil_right, dot_nil_right, dot_nil_right, Int.mul_zero, Int.mul_zero]; rfl
    | cons z v => cases ys with
      | nil =>
        show (a * x + b * 0) * z + dot (combo a xs b []) v = a * (x * z + dot xs v) + b * 0
        rw [ih, Int.mul_zero, Int.add_zero, Int.add_zero, Int.mul_add, Int.mul_assoc]
        show _ + (_ + b * 0) = _
        rw [Int.mul_zero, Int.add_zero]
      | cons y ys =>
        show (a * x + b * y) * z + dot (combo a xs b ys) v = a * (x * z + dot xs v) + b * (y * z + dot ys v)
        rw [ih, Int.add_mul, Int.mul_add, Int.mul_add, Int.mul_assoc, Int.mul_assoc]
        simp only [Int.add_assoc, Int.add_left_comm]
theorem dot_set (xs v : Coeffs) (i : Nat) (y : Int) (h : xs.length ≤ i) : dot (set xs i y) v = dot xs v + y * get v i := by
  induction i generalizing xs v with
  | zero => cases xs with
    | nil => cases v with
      | nil => exact (congrArg (0 + ·) (Int.mul_zero y)).symm
      | cons z v => show y * z + dot [] v = 0 + y * z; rw [Int.zero_add]; exact Int.add_zero _
    | cons x xs => exact absurd h (Nat.not_succ_le_zero _)
  | succ i ih => cases xs with
    | nil => cases v with
      | nil => exact (congrArg (0 + ·) (Int.mul_zero y)).symm
      | cons z v =>
        show 0 * z + dot (set [] i y) v = 0 + y * get v i
        rw [ih [] v (Nat.zero_le i), Int.zero_mul, Int.zero_add]; rfl
    | cons x xs => cases v with
      | nil => exact (congrArg (0 + ·) (Int.mul_zero y)).symm
      | cons z v =>
        show x * z + dot (set xs i y) v = x * z + dot xs v + y * get v i
        rw [ih xs v (Nat.le_of_succ_le_succ h), Int.add_assoc]
theorem dot_of_isZero {xs : Coeffs} (v : Coeffs) (h : isZero xs) : dot xs v = 0 := by
  induction xs generalizing v with
  | nil => rfl
  | cons x xs ih => cases v with
    | nil => rfl
    | cons z v =>
      show x * z + dot xs v = 0
      rw [h x (.head xs), ih v fun y hy => h y (.tail x hy), Int.zero_mul]; rfl

/-! ## Common divisors -/

theorem gcd_dvd {xs : Coeffs} : ∀ {x}, x ∈ xs → (gcd xs : Int) ∣ x := by
  induction xs with
  | nil => exact fun h => nomatch h
  | cons y xs ih =>
    intro x h
    cases h with
    | head => exact Int.natAbs_dvd_natAbs.1 (Nat.gcd_dvd_left _ _)
    | tail _ h => exact Int.dvd_trans (Int.ofNat_dvd.2 (Nat.gcd_dvd_right _ _)) (ih h)
theorem isZero_of_gcd {xs : Coeffs} (h : gcd xs = 0) : isZero xs := fun x hx => by
  have ⟨c, e⟩ := gcd_dvd hx
  rw [e, h]; exact Int.zero_mul c
theorem dot_sdiv (xs v : Coeffs) (d : Int) (h : ∀ x, x ∈ xs → d ∣ x) : dot xs v = d * dot (sdiv xs d) v := by
  induction xs generalizing v with
  | nil => exact (Int.mul_zero d).symm
  | cons x xs ih => cases v with
    | nil => exact (Int.mul_zero d).symm
    | cons z v =>
      show x * z + dot xs v = d * (x / d * z + dot (sdiv xs d) v)
      have e := Int.emod_add_mul_ediv x d
      rw [Int.emod_eq_zero_of_dvd (h x (.head xs)), Int.zero_add] at e
      rw [Int.mul_add, ← Int.mul_assoc, e, ih v fun y hy => h y (.tail x hy)]

/-! ## The balanced remainder -/

abbrev bmod_dot_sub_dot_bmod (m : Nat) (a b : Coeffs) : Int := Int.bmod (dot a b) m - dot (bmod a m) b
theorem dvd_dot_sub_dot_bmod (m : Nat) (xs ys : Coeffs) : (m : Int) ∣ dot xs ys - dot (bmod xs m) ys := by
  induction xs generalizing ys with
  | nil => exact Int.dvd_zero _
  | cons x xs ih => cases ys with
    | nil => exact Int.dvd_zero _
    | cons y ys =>
      show _ ∣ (x * y + dot xs ys) - (Int.bmod x m * y + dot (bmod xs m) ys)
      have e : (x * y + dot xs ys) - (Int.bmod x m * y + dot (bmod xs m) ys) =
          (x - Int.bmod x m) * y + (dot xs ys - dot (bmod xs m) ys) := by
        rw [Int.sub_mul, Int.sub_eq_add_neg, Int.neg_add, Int.sub_eq_add_neg, Int.sub_eq_add_neg]
        simp only [Int.add_assoc, Int.add_left_comm]
      rw [e]; exact Int.dvd_add (Int.dvd_mul_of_dvd_left Int.dvd_self_sub_bmod y) (ih ys)
theorem dvd_bmod_dot_sub_dot_bmod (m : Nat) (xs ys : Coeffs) : (m : Int) ∣ bmod_dot_sub_dot_bmod m xs ys := by
  have h := Int.dvd_sub (dvd_dot_sub_dot_bmod m xs ys) (Int.dvd_self_sub_bmod (x := dot xs ys) (m := m))
  rwa [Int.sub_eq_add_neg (b := dot xs ys - _), Int.neg_sub, Int.add_comm, Int.sub_eq_add_neg, Int.sub_eq_add_neg (a := dot xs ys),
    Int.add_assoc, Int.neg_add_cancel_left] at h
end Coeffs

/-! ## Linear combinations -/

structure LinearCombo where
  const : Int := 0
  coeffs : Coeffs := []

namespace LinearCombo
/-- The value where atom `i` has the value `values.get i`. -/
def eval (lc : LinearCombo) (values : Coeffs) : Int := lc.const + lc.coeffs.dot values
def coordinate (i : Nat) : LinearCombo := ⟨0, Coeffs.set .nil i 1⟩
def add (l₁ l₂ : LinearCombo) : LinearCombo := ⟨l₁.const + l₂.const, .combo 1 l₁.coeffs 1 l₂.coeffs⟩
instance : Add LinearCombo := ⟨add⟩
def sub (l₁ l₂ : LinearCombo) : LinearCombo := ⟨l₁.const - l₂.const, .combo 1 l₁.coeffs (-1) l₂.coeffs⟩
instance : Sub LinearCombo := ⟨sub⟩
def neg (lc : LinearCombo) : LinearCombo := ⟨-lc.const, lc.coeffs.smul (-1)⟩
instance : Neg LinearCombo := ⟨neg⟩
/-- The product, if one of the two is constant. -/
def mul (l₁ l₂ : LinearCombo) : LinearCombo :=
  ⟨l₁.const * l₂.const, .combo l₂.const l₁.coeffs l₁.const l₂.coeffs⟩

theorem coordinate_eval (i : Nat) (v : Coeffs) : (coordinate i).eval v = v.get i := by
  show 0 + Coeffs.dot (Coeffs.set .nil i 1) v = _
  rw [Coeffs.dot_set [] v i 1 (Nat.zero_le i), Int.zero_add, Int.one_mul]; exact Int.zero_add _
section
variable {a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 : Int} {t : List Int}
theorem coordinate_eval_0 : (coordinate 0).eval (.ofList (a0 :: t)) = a0 := coordinate_eval 0 _
theorem coordinate_eval_1 : (coordinate 1).eval (.ofList (a0 :: a1 :: t)) = a1 := coordinate_eval 1 _
theorem coordinate_eval_2 : (coordinate 2).eval (.ofList (a0 :: a1 :: a2 :: t)) = a2 := coordinate_eval 2 _
theorem coordinate_eval_3 : (coordinate 3).eval (.ofList (a0 :: a1 :: a2 :: a3 :: t)) = a3 := coordinate_eval 3 _
theorem coordinate_eval_4 : (coordinate 4).eval (.ofList (a0 :: a1 :: a2 :: a3 :: a4 :: t)) = a4 := coordinate_eval 4 _
theorem coordinate_eval_5 : (coordinate 5).eval (.ofList (a0 :: a1 :: a2 :: a3 :: a4 :: a5 :: t)) = a5 := coordinate_eval 5 _
theorem coordinate_eval_6 : (coordinate 6).eval (.ofList (a0 :: a1 :: a2 :: a3 :: a4 :: a5 :: a6 :: t)) = a6 := coordinate_eval 6 _
theorem coordinate_eval_7 : (coordinate 7).eval (.ofList (a0 :: a1 :: a2 :: a3 :: a4 :: a5 :: a6 :: a7 :: t)) = a7 :=
  coordinate_eval 7 _
theorem coordinate_eval_8 : (coordinate 8).eval (.ofList (a0 :: a1 :: a2 :: a3 :: a4 :: a5 :: a6 :: a7 :: a8 :: t)) = a8 :=
  coordinate_eval 8 _
theorem coordinate_eval_9 : (coordinate 9).eval (.ofList (a0 :: a1 :: a2 :: a3 :: a4 :: a5 :: a6 :: a7 :: a8 :: a9 :: t)) = a9 :=
  coordinate_eval 9 _
end
theorem add_eval (l₁ l₂ : LinearCombo) (v : Coeffs) : (l₁ + l₂).eval v = l₁.eval v + l₂.eval v := by
  show l₁.const + l₂.const + Coeffs.dot (.combo 1 l₁.coeffs 1 l₂.coeffs) v = (l₁.const + _) + (l₂.const + _)
  rw [Coeffs.dot_combo, Int.one_mul, Int.one_mul]
  simp only [Int.add_assoc, Int.add_left_comm]
theorem sub_eval (l₁ l₂ : LinearCombo) (v : Coeffs) : (l₁ - l₂).eval v = l₁.eval v - l₂.eval v := by
  show l₁.const - l₂.const + Coeffs.dot (.combo 1 l₁.coeffs (-1) l₂.coeffs) v = (l₁.const + _) - (l₂.const + _)
  rw [Coeffs.dot_combo, Int.one_mul, Int.neg_one_mul, Int.sub_eq_add_neg, Int.sub_eq_add_neg, Int.neg_add]
  simp only [Int.add_assoc, Int.add_left_comm]
theorem neg_eval (lc : LinearCombo) (v : Coeffs) : (-lc).eval v = -lc.eval v := by
  show -lc.const + Coeffs.dot (lc.coeffs.smul (-1)) v = -(lc.const + _)
  rw [Coeffs.dot_smul, Int.neg_one_mul, Int.neg_add]
theorem mul_eval (l₁ l₂ : LinearCombo) (v : Coeffs) (w : l₁.coeffs.isZero ∨ l₂.coeffs.isZero) :
    (mul l₁ l₂).eval v = l₁.eval v * l₂.eval v := by
  show l₁.const * l₂.const + Coeffs.dot (.combo l₂.const l₁.coeffs l₁.const l₂.coeffs) v = (l₁.const + _) * (l₂.const + _)
  rw [Coeffs.dot_combo]
  cases w with
  | inl w => rw [Coeffs.dot_of_isZero v w, Int.mul_zero, Int.zero_add, Int.add_zero, Int.mul_add]
  | inr w => rw [Coeffs.dot_of_isZero v w, Int.mul_zero, Int.add_zero, Int.add_zero, Int.add_mul, Int.mul_comm l₂.const]
end LinearCombo
end Lean.Omega
