module
prelude
public import Pocket.Omega.Coeffs
@[expose] public section
/-!
Constraints: a lower and an upper bound for a linear combination of the atoms. The steps of `omega` (scaling, adding, intersecting,
dividing by the common divisor, the balanced remainder) preserve them.
-/
set_option autoImplicit false

namespace Lean.Omega
abbrev LowerBound : Type := Option Int
abbrev UpperBound : Type := Option Int
def LowerBound.sat : LowerBound → Int → Prop
  | none, _ => True
  | some x, t => x ≤ t
def UpperBound.sat : UpperBound → Int → Prop
  | none, _ => True
  | some y, t => t ≤ y

structure Constraint where
  lowerBound : LowerBound
  upperBound : UpperBound

namespace Constraint
def sat (c : Constraint) (t : Int) : Prop := LowerBound.sat c.lowerBound t ∧ UpperBound.sat c.upperBound t
/-- A constraint on a linear combination with coefficients `x` of atoms with values `y`. -/
abbrev sat' (c : Constraint) (x y : Coeffs) : Prop := c.sat (Coeffs.dot x y)
def trivial : Constraint := ⟨none, none⟩
def impossible : Constraint := ⟨some 1, some 0⟩
def exact (r : Int) : Constraint := ⟨some r, some r⟩
def isImpossible : Constraint → Bool
  | ⟨some x, some y⟩ => y < x
  | ⟨none, _⟩ => false
  | ⟨some _, none⟩ => false
def map (c : Constraint) (f : Int → Int) : Constraint := ⟨c.lowerBound.map f, c.upperBound.map f⟩
def flip (c : Constraint) : Constraint := ⟨c.upperBound, c.lowerBound⟩
def neg (c : Constraint) : Constraint := c.flip.map (-·)
def scale (k : Int) (c : Constraint) : Constraint :=
  if k = 0 then if c.isImpossible then c else ⟨some 0, some 0⟩
  else if 0 < k then c.map (k * ·) else c.flip.map (k * ·)
def add (x y : Constraint) : Constraint :=
  ⟨x.lowerBound.bind fun a => y.lowerBound.map (a + ·), x.upperBound.bind fun a => y.upperBound.map (a + ·)⟩
def combo (a : Int) (x : Constraint) (b : Int) (y : Constraint) : Constraint := add (scale a x) (scale b y)
def combineBound (f : Int → Int → Int) : Option Int → Option Int → Option Int
  | none, y => y
  | some x, none => some x
  | some x, some y => some (f x y)
def combine (x y : Constraint) : Constraint := ⟨combineBound max x.lowerBound y.lowerBound, combineBound min x.upperBound y.upperBound⟩
def div (c : Constraint) (k : Nat) : Constraint := ⟨c.lowerBound.map fun x => -((-x) / k), c.upperBound.map fun y => y / k⟩

instance decidableSat : (c : Constraint) → (t : Int) → Decidable (c.sat t)
  | ⟨none, none⟩, _ => inferInstanceAs (Decidable (True ∧ True))
  | ⟨none, some u⟩, t => inferInstanceAs (Decidable (True ∧ t ≤ u))
  | ⟨some l, none⟩, t => inferInstanceAs (Decidable (l ≤ t ∧ True))
  | ⟨some l, some u⟩, t => inferInstanceAs (Decidable (l ≤ t ∧ t ≤ u))

theorem not_sat_of_isImpossible {c : Constraint} (h : isImpossible c = true) {t : Int} : ¬c.sat t := by
  match c, h with
  | ⟨some x, some y⟩, h => exact fun ⟨hx, hy⟩ => Int.not_le.2 (of_decide_eq_true h) (Int.le_trans hx hy)
theorem not_sat'_of_isImpossible {c : Constraint} (h : isImpossible c = true) {x y : Coeffs} : ¬c.sat' x y := not_sat_of_isImpossible h
theorem neg_sat {c : Constraint} {t : Int} (h : c.sat t) : c.neg.sat (-t) := by
  match c, h with
  | ⟨l, u⟩, ⟨hl, hu⟩ =>
    refine ⟨?_, ?_⟩
    · cases u with
      | none => exact True.intro
      | some u => exact Int.neg_le_neg hu
    · cases l with
      | none => exact True.intro
      | some l => exact Int.neg_le_neg hl
theorem scale_sat {c : Constraint} {t : Int} (k : Int) (h : c.sat t) : (scale k c).sat (k * t) := by
  unfold scale
  split
  · next hk =>
    rw [hk, Int.zero_mul]; split
    · next h' => exact absurd h (not_sat_of_isImpossible h')
    · exact ⟨Int.le_refl 0, Int.le_refl 0⟩
  · match c, h with
    | ⟨l, u⟩, ⟨hl, hu⟩ =>
      split
      · next hk =>
        refine ⟨?_, ?_⟩
        · cases l with
          | none => exact True.intro
          | some l => exact Int.mul_le_mul_of_nonneg_left hl (Int.le_of_lt hk)
        · cases u with
          | none => exact True.intro
          | some u => exact Int.mul_le_mul_of_nonneg_left hu (Int.le_of_lt hk)
      · next hk =>
        refine ⟨?_, ?_⟩
        · cases u with
          | none => exact True.intro
          | some u => exact Int.mul_le_mul_of_nonpos_left (Int.not_lt.1 hk) hu
        · cases l with
          | none => exact True.intro
          | some l => exact Int.mul_le_mul_of_nonpos_left (Int.not_lt.1 hk) hl
theorem add_sat {c d : Constraint} {t u : Int} (h₁ : c.sat t) (h₂ : d.sat u) : (add c d).sat (t + u) := by
  match c, d, h₁, h₂ with
  | ⟨l₁, u₁⟩, ⟨l₂, u₂⟩, ⟨hl₁, hu₁⟩, ⟨hl₂, hu₂⟩ =>
    refine ⟨?_, ?_⟩
    · cases l₁ with
      | none => exact True.intro
      | some l₁ => cases l₂ with
        | none => exact True.intro
        | some l₂ => exact Int.add_le_add hl₁ hl₂
    · cases u₁ with
      | none => exact True.intro
      | some u₁ => cases u₂ with
        | none => exact True.intro
        | some u₂ => exact Int.add_le_add hu₁ hu₂
theorem combine_sat' {s t : Constraint} {x y : Coeffs} (ws : s.sat' x y) (wt : t.sat' x y) : (s.combine t).sat' x y := by
  match s, t, ws, wt with
  | ⟨l₁, u₁⟩, ⟨l₂, u₂⟩, ⟨hl₁, hu₁⟩, ⟨hl₂, hu₂⟩ =>
    refine ⟨?_, ?_⟩
    · cases l₁ with
      | none => exact hl₂
      | some l₁ => cases l₂ with
        | none => exact hl₁
        | some l₂ => exact Int.max_le.2 ⟨hl₁, hl₂⟩
    · cases u₁ with
      | none => exact hu₂
      | some u₁ => cases u₂ with
        | none => exact hu₁
        | some u₂ => exact Int.le_min.2 ⟨hu₁, hu₂⟩
theorem div_sat {c : Constraint} {t : Int} {k : Nat} (hk : k ≠ 0) (h : c.sat (k * t)) : (c.div k).sat t := by
  have pos : (0 : Int) < k := Int.natCast_pos.2 (Nat.pos_of_ne_zero hk)
  match c, h with
  | ⟨l, u⟩, ⟨hl, hu⟩ =>
    refine ⟨?_, ?_⟩
    · cases l with
      | none => exact True.intro
      | some l =>
        have h' := Int.neg_le_neg (Int.le_ediv_of_mul_le (a := -t) pos (by
          rw [Int.neg_mul, Int.mul_comm]; exact Int.neg_le_neg hl))
        rwa [Int.neg_neg] at h'
    · cases u with
      | none => exact True.intro
      | some u => exact Int.le_ediv_of_mul_le pos (by rw [Int.mul_comm]; exact hu)
theorem addInequality_sat {c : Int} {x y : Coeffs} (w : c + Coeffs.dot x y ≥ 0) : sat' ⟨some (-c), none⟩ x y := by
  refine ⟨?_, True.intro⟩
  have h := Int.add_le_add_left w (-c)
  rwa [Int.add_zero, Int.neg_add_cancel_left] at h
theorem addEquality_sat {c : Int} {x y : Coeffs} (w : c + Coeffs.dot x y = 0) : sat' ⟨some (-c), some (-c)⟩ x y := by
  have h : Coeffs.dot x y = -c := by rw [← Int.neg_add_cancel_left c (Coeffs.dot x y), w, Int.add_zero]
  exact ⟨Int.le_of_eq h.symm, Int.le_of_eq h⟩
end Constraint

/-! ## Normal forms -/

/-- Make the leading coefficient positive. -/
def positivize (p : Constraint × Coeffs) : Constraint × Coeffs := if 0 ≤ p.2.leading then p else (p.1.neg, p.2.smul (-1))
/-- Divide by the common divisor of the coefficients. -/
def normalize (p : Constraint × Coeffs) : Constraint × Coeffs :=
  if p.2.gcd = 0 then (if p.1.sat 0 then .trivial else .impossible, p.2)
  else if p.2.gcd = 1 then p else (p.1.div p.2.gcd, p.2.sdiv p.2.gcd)
def tidy (p : Constraint × Coeffs) : Constraint × Coeffs := normalize (positivize p)
abbrev tidyConstraint (s : Constraint) (x : Coeffs) : Constraint := (tidy (s, x)).1
abbrev tidyCoeffs (s : Constraint) (x : Coeffs) : Coeffs := (tidy (s, x)).2

theorem positivize_sat {s : Constraint} {x v : Coeffs} (w : s.sat' x v) : (positivize (s, x)).1.sat' (positivize (s, x)).2 v := by
  unfold positivize
  split
  · exact w
  · show s.neg.sat (Coeffs.dot (x.smul (-1)) v)
    rw [Coeffs.dot_smul, Int.neg_one_mul]; exact Constraint.neg_sat w
theorem normalize_sat {p : Constraint × Coeffs} {v : Coeffs} (w : p.1.sat' p.2 v) : (normalize p).1.sat' (normalize p).2 v := by
  unfold normalize
  split
  · next h =>
    rw [Constraint.sat', Coeffs.dot_of_isZero v (Coeffs.isZero_of_gcd h)] at w
    dsimp only
    rw [if_pos w]; exact ⟨True.intro, True.intro⟩
  · next h =>
    split
    · exact w
    · refine Constraint.div_sat h ?_
      rw [← Coeffs.dot_sdiv p.2 v p.2.gcd fun x hx => Coeffs.gcd_dvd hx]; exact w
theorem tidy_sat {s : Constraint} {x v : Coeffs} (w : s.sat' x v) : (tidyConstraint s x).sat' (tidyCoeffs s x) v :=
  normalize_sat (positivize_sat w)
theorem combo_sat' (s t : Constraint) (a : Int) (x : Coeffs) (b : Int) (y v : Coeffs) (wx : s.sat' x v) (wy : t.sat' y v) :
    (Constraint.combo a s b t).sat' (Coeffs.combo a x b y) v := by
  rw [Constraint.sat', Coeffs.dot_combo]
  exact Constraint.add_sat (Constraint.scale_sat a wx) (Constraint.scale_sat b wy)

/-! ## Equations without a coefficient of 1 -/

/-- The value of the atom that such an equation introduces. -/
abbrev bmod_div_term (m : Nat) (a b : Coeffs) : Int := Coeffs.bmod_dot_sub_dot_bmod m a b / m
def bmod_coeffs (m : Nat) (i : Nat) (x : Coeffs) : Coeffs := Coeffs.set (Coeffs.bmod x m) i m
theorem bmod_sat (m : Nat) (r : Int) (i : Nat) (x v : Coeffs) (h : x.length ≤ i) (p : Coeffs.get v i = bmod_div_term m x v)
    (w : (Constraint.exact r).sat' x v) : (Constraint.exact (Int.bmod r m)).sat' (bmod_coeffs m i x) v := by
  have hr : Coeffs.dot x v = r := Int.le_antisymm w.2 w.1
  have e : Coeffs.dot (bmod_coeffs m i x) v = Int.bmod r m := by
    have d := Int.emod_add_mul_ediv (Coeffs.bmod_dot_sub_dot_bmod m x v) m
    rw [Int.emod_eq_zero_of_dvd (Coeffs.dvd_bmod_dot_sub_dot_bmod m x v), Int.zero_add] at d
    rw [bmod_coeffs, Coeffs.dot_set _ v i m (by show List.length (List.map _ x) ≤ i; rw [List.length_map]; exact h), p, d]
    show _ + (Int.bmod (Coeffs.dot x v) m - _) = _
    rw [hr, Int.add_comm, Int.sub_add_cancel]
  rw [Constraint.sat', e]; exact ⟨Int.le_refl _, Int.le_refl _⟩
end Lean.Omega
