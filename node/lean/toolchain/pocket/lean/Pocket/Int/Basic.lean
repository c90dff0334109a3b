module
prelude
public import Pocket.Coe
public import Pocket.Int.Type
public import Pocket.Nat.Div
public import Pocket.Nat.MinMax
@[expose] public section
/-!
Integers: the type, its operations and the ring laws.

Every integer is a difference of two natural numbers, `subNatNat a b`. Sums, products and the order of differences are computed in
`Nat`, so each ring law is an identity of natural numbers.
-/
set_option autoImplicit false
set_option linter.unusedSimpArgs false
universe u

instance instNatCastInt : NatCast Int := ⟨Int.ofNat⟩

/-- The canonical map of the integers into `R`. -/
class IntCast (R : Type u) where
  intCast : Int → R
instance instIntCastInt : IntCast Int := ⟨id⟩
@[coe, reducible, match_pattern] protected def Int.cast {R : Type u} [IntCast R] : Int → R := IntCast.intCast
instance {R : Type u} [IntCast R] : CoeTail Int R := ⟨Int.cast⟩
instance {R : Type u} [IntCast R] : CoeHTCT Int R := ⟨Int.cast⟩

namespace Int
instance : Inhabited Int := ⟨ofNat 0⟩

/-! ## Operations -/

def negOfNat : Nat → Int
  | 0 => 0
  | .succ m => negSucc m
@[extern "lean_int_neg"] protected def neg (n : Int) : Int :=
  match n with
  | ofNat n => negOfNat n
  | negSucc n => ofNat (Nat.succ n)
@[default_instance 500] instance instNegInt : Neg Int := ⟨Int.neg⟩
/-- The difference of two natural numbers. -/
def subNatNat (m n : Nat) : Int :=
  match n - m with
  | 0 => ofNat (m - n)
  | .succ k => negSucc k
@[extern "lean_int_add"] protected def add (m n : Int) : Int :=
  match m, n with
  | ofNat m, ofNat n => ofNat (m + n)
  | ofNat m, negSucc n => subNatNat m (Nat.succ n)
  | negSucc m, ofNat n => subNatNat n (Nat.succ m)
  | negSucc m, negSucc n => negSucc (Nat.succ (m + n))
instance instAdd : Add Int := ⟨Int.add⟩
@[extern "lean_int_mul"] protected def mul (m n : Int) : Int :=
  match m, n with
  | ofNat m, ofNat n => ofNat (m * n)
  | ofNat m, negSucc n => negOfNat (m * Nat.succ n)
  | negSucc m, ofNat n => negOfNat (Nat.succ m * n)
  | negSucc m, negSucc n => ofNat (Nat.succ m * Nat.succ n)
instance instMul : Mul Int := ⟨Int.mul⟩
@[extern "lean_int_sub"] protected def sub (m n : Int) : Int := m + -n
instance instSub : Sub Int := ⟨Int.sub⟩
inductive NonNeg : Int → Prop where
  | mk (n : Nat) : NonNeg (ofNat n)
protected def le (a b : Int) : Prop := NonNeg (b - a)
instance instLEInt : LE Int := ⟨Int.le⟩
protected def lt (a b : Int) : Prop := a + 1 ≤ b
instance instLTInt : LT Int := ⟨Int.lt⟩
@[extern "lean_int_dec_eq"] protected def decEq (a b : Int) : Decidable (a = b) :=
  match a, b with
  | ofNat a, ofNat b => match Nat.decEq a b with
    | isTrue h => isTrue (congrArg ofNat h)
    | isFalse h => isFalse fun e => Int.noConfusion e h
  | ofNat _, negSucc _ => isFalse fun e => Int.noConfusion e
  | negSucc _, ofNat _ => isFalse fun e => Int.noConfusion e
  | negSucc a, negSucc b => match Nat.decEq a b with
    | isTrue h => isTrue (congrArg negSucc h)
    | isFalse h => isFalse fun e => Int.noConfusion e h
instance instDecidableEq : DecidableEq Int := Int.decEq
@[extern "lean_int_dec_nonneg"] def decNonneg (m : Int) : Decidable (NonNeg m) :=
  match m with
  | ofNat m => isTrue (.mk m)
  | negSucc _ => isFalse fun h => nomatch h
@[extern "lean_int_dec_le"] instance decLe (a b : Int) : Decidable (a ≤ b) := decNonneg _
@[extern "lean_int_dec_lt"] instance decLt (a b : Int) : Decidable (a < b) := decNonneg _
@[extern "lean_nat_abs"] def natAbs (m : Int) : Nat :=
  match m with
  | ofNat m => m
  | negSucc m => Nat.succ m
def sign : Int → Int
  | ofNat (.succ _) => 1
  | ofNat .zero => 0
  | negSucc _ => negSucc 0
def toNat : Int → Nat
  | ofNat n => n
  | negSucc _ => 0
def toNat? : Int → Option Nat
  | ofNat n => some n
  | negSucc _ => none
instance instDvd : Dvd Int := ⟨fun a b => ∃ c, b = a * c⟩
protected def pow (m : Int) : Nat → Int
  | 0 => 1
  | .succ n => Int.pow m n * m
instance instNatPow : NatPow Int := ⟨Int.pow⟩
instance instMinInt : Min Int := ⟨fun a b => if a ≤ b then a else b⟩
instance instMaxInt : Max Int := ⟨fun a b => if a ≤ b then b else a⟩

/-! ## Division: rounded down for positive divisors (`/`), towards zero (`tdiv`), down (`fdiv`), to the nearest (`bdiv`) -/

@[extern "lean_int_ediv"] def ediv : Int → Int → Int
  | ofNat m, ofNat n => ofNat (Nat.div m n)
  | ofNat m, negSucc n => -ofNat (Nat.div m (Nat.succ n))
  | negSucc _, ofNat 0 => 0
  | negSucc m, ofNat (.succ n) => negSucc (Nat.div m (Nat.succ n))
  | negSucc m, negSucc n => ofNat (Nat.succ (Nat.div m (Nat.succ n)))
@[extern "lean_int_emod"] def emod : Int → Int → Int
  | ofNat m, n => ofNat (m % natAbs n)
  | negSucc m, n => subNatNat (natAbs n) (Nat.succ (m % natAbs n))
instance instDiv : Div Int := ⟨Int.ediv⟩
instance instMod : Mod Int := ⟨Int.emod⟩
@[extern "lean_int_div"] def tdiv : Int → Int → Int
  | ofNat m, ofNat n => ofNat (m / n)
  | ofNat m, negSucc n => -ofNat (m / Nat.succ n)
  | negSucc m, ofNat n => -ofNat (Nat.succ m / n)
  | negSucc m, negSucc n => ofNat (Nat.succ m / Nat.succ n)
@[extern "lean_int_mod"] def tmod : Int → Int → Int
  | ofNat m, ofNat n => ofNat (m % n)
  | ofNat m, negSucc n => ofNat (m % Nat.succ n)
  | negSucc m, ofNat n => -ofNat (Nat.succ m % n)
  | negSucc m, negSucc n => -ofNat (Nat.succ m % Nat.succ n)
def fdiv : Int → Int → Int
  | ofNat 0, _ => 0
  | ofNat (.succ m), ofNat n => ofNat (Nat.succ m / n)
  | ofNat (.succ m), negSucc n => negSucc (m / Nat.succ n)
  | negSucc _, ofNat 0 => 0
  | negSucc m, ofNat (.succ n) => negSucc (m / Nat.succ n)
  | negSucc m, negSucc n => ofNat (Nat.succ m / Nat.succ n)
def fmod : Int → Int → Int
  | ofNat 0, _ => 0
  | ofNat (.succ m), ofNat n => ofNat (Nat.succ m % n)
  | ofNat (.succ m), negSucc n => subNatNat (m % Nat.succ n) n
  | negSucc m, ofNat n => subNatNat n (Nat.succ (m % n))
  | negSucc m, negSucc n => -ofNat (Nat.succ m % Nat.succ n)
def bmod (x : Int) (m : Nat) : Int :=
  let r := x % m
  if r < (m + 1) / 2 then r else r - m
def bdiv (x : Int) (m : Nat) : Int :=
  if m = 0 then 0 else
    let q := x / m
    let r := x % m
    if r < (m + 1) / 2 then q else q + 1
def gcd (m n : Int) : Nat := Nat.gcd m.natAbs n.natAbs
end Int

/-! ## Casts of natural numbers -/

@[simp, norm_cast] theorem Nat.cast_ofNat_Int {n : Nat} : (Nat.cast (no_index (OfNat.ofNat n)) : Int) = OfNat.ofNat n := rfl
@[simp] theorem Nat.cast_id {n : Nat} : (Nat.cast n : Nat) = n := rfl
@[simp] theorem Int.cast_id {n : Int} : (Int.cast n : Int) = n := rfl

namespace Int
@[simp] theorem ofNat_eq_coe {n : Nat} : ofNat n = (n : Int) := rfl
@[simp] theorem ofNat_eq_natCast (n : Nat) : ofNat n = (n : Int) := rfl
theorem natCast_inj {m n : Nat} : (m : Int) = (n : Int) ↔ m = n := ⟨ofNat.inj, congrArg _⟩
@[simp, norm_cast] theorem ofNat_inj {m n : Nat} : (m : Int) = (n : Int) ↔ m = n := natCast_inj
@[simp, norm_cast] theorem natCast_eq_zero {n : Nat} : (n : Int) = 0 ↔ n = 0 := ofNat_inj
theorem ofNat_eq_zero {n : Nat} : (n : Int) = 0 ↔ n = 0 := ofNat_inj
theorem natCast_ne_zero {n : Nat} : (n : Int) ≠ 0 ↔ n ≠ 0 := not_congr ofNat_inj
theorem ofNat_ne_zero {n : Nat} : (n : Int) ≠ 0 ↔ n ≠ 0 := natCast_ne_zero
@[simp] theorem natCast_zero : ((0 : Nat) : Int) = 0 := rfl
theorem ofNat_zero : ((0 : Nat) : Int) = 0 := rfl
@[simp] theorem natCast_one : ((1 : Nat) : Int) = 1 := rfl
theorem ofNat_one : ((1 : Nat) : Int) = 1 := rfl
theorem ofNat_two : ((2 : Nat) : Int) = 2 := rfl
@[simp, norm_cast] theorem natCast_add (n m : Nat) : ((n + m : Nat) : Int) = n + m := rfl
theorem ofNat_add (n m : Nat) : ((n + m : Nat) : Int) = n + m := rfl
@[simp, norm_cast] theorem natCast_mul (n m : Nat) : ((n * m : Nat) : Int) = n * m := rfl
theorem ofNat_mul (n m : Nat) : ((n * m : Nat) : Int) = n * m := rfl
theorem natCast_succ (n : Nat) : ((Nat.succ n : Nat) : Int) = n + 1 := rfl
theorem ofNat_succ (n : Nat) : ((Nat.succ n : Nat) : Int) = n + 1 := rfl
theorem natCast_add_one (n : Nat) : ((n + 1 : Nat) : Int) = n + 1 := rfl
@[simp] theorem neg_ofNat_zero : -((0 : Nat) : Int) = 0 := rfl
@[simp] theorem neg_ofNat_succ (n : Nat) : -((Nat.succ n : Nat) : Int) = negSucc n := rfl
@[simp] theorem neg_negSucc (n : Nat) : -negSucc n = ((Nat.succ n : Nat) : Int) := rfl
theorem negSucc_eq (n : Nat) : negSucc n = -((n : Int) + 1) := rfl
theorem negSucc_coe (n : Nat) : negSucc n = -((n + 1 : Nat) : Int) := rfl
theorem negOfNat_eq {n : Nat} : negOfNat n = -ofNat n := rfl
@[simp] theorem negSucc_inj {m n : Nat} : negSucc m = negSucc n ↔ m = n := ⟨negSucc.inj, congrArg _⟩
@[simp] theorem natCast_pow (b n : Nat) : ((b ^ n : Nat) : Int) = (b : Int) ^ n := by
  induction n with
  | zero => rfl
  | succ n ih => exact congrArg (· * (b : Int)) ih
@[simp] theorem natAbs_natCast (n : Nat) : natAbs (n : Int) = n := rfl
theorem natAbs_ofNat (n : Nat) : natAbs (n : Int) = n := rfl
@[simp] theorem natAbs_negSucc (n : Nat) : natAbs (negSucc n) = n + 1 := rfl
@[simp] theorem natAbs_zero : natAbs (0 : Int) = 0 := rfl
@[simp] theorem natAbs_one : natAbs (1 : Int) = 1 := rfl
@[simp] theorem toNat_natCast (n : Nat) : toNat (n : Int) = n := rfl
@[simp] theorem toNat_negSucc (n : Nat) : toNat (negSucc n) = 0 := rfl
@[simp] theorem toNat_zero : toNat 0 = 0 := rfl
@[simp] theorem toNat_one : toNat 1 = 1 := rfl

/-! ## Differences of natural numbers -/

@[simp] theorem subNatNat_add_add (m n k : Nat) : subNatNat (m + k) (n + k) = subNatNat m n := by
  unfold subNatNat; rw [Nat.add_sub_add_right, Nat.add_sub_add_right]
theorem subNatNat_add_left {m n : Nat} : subNatNat (m + n) m = n := by
  unfold subNatNat
  rw [Nat.sub_eq_zero_of_le (Nat.le_add_right m n), Nat.add_sub_cancel_left]
  rfl
theorem subNatNat_add_right {m n : Nat} : subNatNat m (m + n + 1) = negSucc n := by
  unfold subNatNat
  rw [Nat.add_assoc, Nat.add_sub_cancel_left]
theorem subNatNat_of_le {m n : Nat} (h : n ≤ m) : subNatNat m n = ((m - n : Nat) : Int) := by
  match Nat.exists_eq_add_of_le h with
  | ⟨k, e⟩ => rw [e, subNatNat_add_left, Nat.add_sub_cancel_left]
theorem subNatNat_cases (m n : Nat) :
    (∃ k, m = n + k ∧ subNatNat m n = ofNat k) ∨ (∃ k, n = m + k + 1 ∧ subNatNat m n = negSucc k) := by
  cases Nat.lt_or_ge m n with
  | inl h => match Nat.exists_eq_add_of_le h with
    | ⟨k, e⟩ =>
      refine .inr ⟨k, e.trans (Nat.succ_add m k), ?_⟩
      rw [e, Nat.succ_add]; exact subNatNat_add_right
  | inr h => match Nat.exists_eq_add_of_le h with
    | ⟨k, e⟩ => exact .inl ⟨k, e, e ▸ subNatNat_add_left⟩
theorem exists_subNatNat (x : Int) : ∃ m n, x = subNatNat m n := by
  cases x with
  | ofNat n => exact ⟨n, 0, by rw [← Nat.zero_add n, subNatNat_add_left, Nat.zero_add]; rfl⟩
  | negSucc n => exact ⟨0, n + 1, rfl⟩
theorem subNatNat_congr {a b c d : Nat} (h : a + d = c + b) : subNatNat a b = subNatNat c d := by
  rw [← subNatNat_add_add a b d, h, Nat.add_comm b d, subNatNat_add_add]
theorem subNatNat_eq_iff {a b c d : Nat} : subNatNat a b = subNatNat c d ↔ a + d = c + b := by
  refine ⟨fun e => ?_, subNatNat_congr⟩
  rcases subNatNat_cases a b with ⟨k, h, e₁⟩ | ⟨k, h, e₁⟩ <;> rcases subNatNat_cases c d with ⟨l, h', e₂⟩ | ⟨l, h', e₂⟩ <;>
    rw [e₁, e₂] at e <;> cases e <;> rw [h, h'] <;> simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm]
theorem subNatNat_add_subNatNat (a b c d : Nat) : subNatNat a b + subNatNat c d = subNatNat (a + c) (b + d) := by
  rcases subNatNat_cases a b with ⟨k, h, e₁⟩ | ⟨k, h, e₁⟩ <;> rcases subNatNat_cases c d with ⟨l, h', e₂⟩ | ⟨l, h', e₂⟩ <;>
    rw [e₁, e₂, h, h']
  · show ((k + l : Nat) : Int) = _
    rw [← subNatNat_add_left (m := 0)]
    exact subNatNat_congr (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  · exact subNatNat_congr (a := k) (b := l + 1) (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  · exact subNatNat_congr (a := l) (b := k + 1) (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  · exact subNatNat_congr (a := 0) (b := k + l + 1 + 1) (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
theorem neg_subNatNat (a b : Nat) : -subNatNat a b = subNatNat b a := by
  rcases subNatNat_cases a b with ⟨k, h, e⟩ | ⟨k, h, e⟩ <;> rw [e, h]
  · cases k with
    | zero => exact subNatNat_congr (a := 0) (b := 0) (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
    | succ k => exact (subNatNat_add_right (m := b) (n := k)).symm
  · exact (subNatNat_add_left (m := a) (n := k + 1)).symm
theorem neg_natCast_eq_subNatNat (n : Nat) : -(n : Int) = subNatNat 0 n := by cases n with
  | zero => rfl
  | succ n => rfl
theorem subNatNat_mul_subNatNat (a b c d : Nat) :
    subNatNat a b * subNatNat c d = subNatNat (a * c + b * d) (a * d + b * c) := by
  rcases subNatNat_cases a b with ⟨k, h, e₁⟩ | ⟨k, h, e₁⟩ <;> rcases subNatNat_cases c d with ⟨l, h', e₂⟩ | ⟨l, h', e₂⟩ <;>
    rw [e₁, e₂, h, h']
  · show ((k * l : Nat) : Int) = _
    rw [← subNatNat_add_left (m := 0)]
    exact subNatNat_congr (by
      simp only [Nat.mul_add, Nat.add_mul, Nat.zero_add, Nat.add_zero, Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  · show -((k * (l + 1) : Nat) : Int) = _
    rw [neg_natCast_eq_subNatNat]
    exact subNatNat_congr (by
      simp only [Nat.mul_add, Nat.add_mul, Nat.mul_one, Nat.one_mul, Nat.zero_add, Nat.add_zero, Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  · show -(((k + 1) * l : Nat) : Int) = _
    rw [neg_natCast_eq_subNatNat]
    exact subNatNat_congr (by
      simp only [Nat.mul_add, Nat.add_mul, Nat.mul_one, Nat.one_mul, Nat.zero_add, Nat.add_zero, Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
  · show (((k + 1) * (l + 1) : Nat) : Int) = _
    rw [← subNatNat_add_left (m := 0)]
    exact subNatNat_congr (by
      simp only [Nat.mul_add, Nat.add_mul, Nat.mul_one, Nat.one_mul, Nat.zero_add, Nat.add_zero, Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
theorem natCast_eq_subNatNat (n : Nat) : (n : Int) = subNatNat n 0 := by
  rw [← subNatNat_add_left (m := 0) (n := n), Nat.zero_add]
theorem nonNeg_subNatNat {a b : Nat} : NonNeg (subNatNat a b) ↔ b ≤ a := by
  rcases subNatNat_cases a b with ⟨k, h, e⟩ | ⟨k, h, e⟩ <;> rw [e, h]
  · exact iff_of_true ⟨k⟩ (Nat.le_add_right b k)
  · exact iff_of_false (fun h => nomatch h) (Nat.not_le_of_gt (Nat.lt_succ_of_le (Nat.le_add_right a k)))
theorem subNatNat_le_subNatNat {a b c d : Nat} : subNatNat a b ≤ subNatNat c d ↔ a + d ≤ c + b := by
  show NonNeg (subNatNat c d + -subNatNat a b) ↔ _
  rw [neg_subNatNat, subNatNat_add_subNatNat, nonNeg_subNatNat, Nat.add_comm d a]
theorem subNatNat_lt_subNatNat {a b c d : Nat} : subNatNat a b < subNatNat c d ↔ a + d < c + b := by
  show subNatNat a b + subNatNat 1 0 ≤ subNatNat c d ↔ _
  rw [subNatNat_add_subNatNat, subNatNat_le_subNatNat, Nat.add_right_comm]; rfl

/-! ## Ring laws -/

protected theorem sub_eq_add_neg {a b : Int} : a - b = a + -b := rfl
protected theorem add_comm (a b : Int) : a + b = b + a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  rw [subNatNat_add_subNatNat, subNatNat_add_subNatNat, Nat.add_comm a, Nat.add_comm a']
protected theorem add_assoc (a b c : Int) : a + b + c = a + (b + c) := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  obtain ⟨c, c', rfl⟩ := exists_subNatNat c
  simp only [subNatNat_add_subNatNat, Nat.add_assoc]
@[simp] protected theorem add_zero (a : Int) : a + 0 = a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  exact subNatNat_add_subNatNat a a' 0 0
@[simp] protected theorem zero_add (a : Int) : 0 + a = a := by rw [Int.add_comm, Int.add_zero]
protected theorem add_left_comm (a b c : Int) : a + (b + c) = b + (a + c) := by
  rw [← Int.add_assoc, Int.add_comm a b, Int.add_assoc]
protected theorem add_right_comm (a b c : Int) : a + b + c = a + c + b := by
  rw [Int.add_assoc, Int.add_comm b c, ← Int.add_assoc]
@[simp] protected theorem neg_neg (a : Int) : - -a = a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  rw [neg_subNatNat, neg_subNatNat]
protected theorem add_right_neg (a : Int) : a + -a = 0 := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  rw [neg_subNatNat, subNatNat_add_subNatNat, Nat.add_comm a' a]
  exact subNatNat_congr (c := 0) (d := 0) (by rw [Nat.add_zero, Nat.zero_add])
protected theorem add_left_neg (a : Int) : -a + a = 0 := by rw [Int.add_comm, Int.add_right_neg]
@[simp] protected theorem neg_zero : -(0 : Int) = 0 := rfl
protected theorem neg_add {a b : Int} : -(a + b) = -a + -b := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  rw [subNatNat_add_subNatNat, neg_subNatNat, neg_subNatNat, neg_subNatNat, subNatNat_add_subNatNat]
protected theorem mul_comm (a b : Int) : a * b = b * a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  rw [subNatNat_mul_subNatNat, subNatNat_mul_subNatNat, Nat.mul_comm a b, Nat.mul_comm a' b', Nat.mul_comm a b', Nat.mul_comm a' b,
    Nat.add_comm (b' * a)]
protected theorem mul_assoc (a b c : Int) : a * b * c = a * (b * c) := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  obtain ⟨c, c', rfl⟩ := exists_subNatNat c
  simp only [subNatNat_mul_subNatNat, Nat.mul_add, Nat.add_mul, Nat.mul_assoc]
  exact subNatNat_congr (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
protected theorem mul_add (a b c : Int) : a * (b + c) = a * b + a * c := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  obtain ⟨c, c', rfl⟩ := exists_subNatNat c
  simp only [subNatNat_mul_subNatNat, subNatNat_add_subNatNat, Nat.mul_add]
  exact subNatNat_congr (by simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm])
protected theorem add_mul (a b c : Int) : (a + b) * c = a * c + b * c := by
  rw [Int.mul_comm, Int.mul_add, Int.mul_comm c a, Int.mul_comm c b]
@[simp] protected theorem mul_one (a : Int) : a * 1 = a := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  exact (subNatNat_mul_subNatNat a a' 1 0).trans (by rw [Nat.mul_one, Nat.mul_one, Nat.mul_zero, Nat.mul_zero, Nat.add_zero, Nat.zero_add])
@[simp] protected theorem one_mul (a : Int) : 1 * a = a := by rw [Int.mul_comm, Int.mul_one]
@[simp] protected theorem mul_zero (a : Int) : a * 0 = 0 := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  exact subNatNat_mul_subNatNat a a' 0 0
@[simp] protected theorem zero_mul (a : Int) : 0 * a = 0 := by rw [Int.mul_comm, Int.mul_zero]
protected theorem mul_left_comm (a b c : Int) : a * (b * c) = b * (a * c) := by
  rw [← Int.mul_assoc, Int.mul_comm a b, Int.mul_assoc]
protected theorem mul_right_comm (a b c : Int) : a * b * c = a * c * b := by
  rw [Int.mul_assoc, Int.mul_comm b c, ← Int.mul_assoc]
protected theorem neg_mul_eq_neg_mul (a b : Int) : -(a * b) = -a * b := by
  obtain ⟨a, a', rfl⟩ := exists_subNatNat a
  obtain ⟨b, b', rfl⟩ := exists_subNatNat b
  rw [subNatNat_mul_subNatNat, neg_subNatNat, neg_subNatNat, subNatNat_mul_subNatNat, Nat.add_comm (a * b'), Nat.add_comm (a * b)]
protected theorem neg_mul_eq_mul_neg (a b : Int) : -(a * b) = a * -b := by
  rw [Int.mul_comm, Int.neg_mul_eq_neg_mul, Int.mul_comm]
@[simp] protected theorem neg_mul (a b : Int) : -a * b = -(a * b) := (Int.neg_mul_eq_neg_mul a b).symm
@[simp] protected theorem mul_neg (a b : Int) : a * -b = -(a * b) := (Int.neg_mul_eq_mul_neg a b).symm
protected theorem neg_mul_neg (a b : Int) : -a * -b = a * b := by rw [Int.neg_mul, Int.mul_neg, Int.neg_neg]
protected theorem neg_mul_comm (a b : Int) : -a * b = a * -b := by rw [Int.neg_mul, Int.mul_neg]
protected theorem neg_eq_neg_one_mul : ∀ a : Int, -a = -1 * a := fun a => by
  rw [show (-1 : Int) * a = -(1 * a) from Int.neg_mul 1 a, Int.one_mul]
protected theorem neg_one_mul (a : Int) : -1 * a = -a := (Int.neg_eq_neg_one_mul a).symm
protected theorem mul_neg_one (a : Int) : a * -1 = -a := by rw [Int.mul_comm, Int.neg_one_mul]
protected theorem two_mul (a : Int) : 2 * a = a + a := by
  rw [show (2 : Int) = 1 + 1 from rfl, Int.add_mul, Int.one_mul]
protected theorem mul_two (a : Int) : a * 2 = a + a := by rw [Int.mul_comm, Int.two_mul]
@[simp] protected theorem sub_self (a : Int) : a - a = 0 := Int.add_right_neg a
@[simp] protected theorem sub_zero (a : Int) : a - 0 = a := Int.add_zero a
@[simp] protected theorem zero_sub (a : Int) : 0 - a = -a := Int.zero_add (-a)
@[simp] protected theorem sub_neg (a b : Int) : a - -b = a + b := by rw [Int.sub_eq_add_neg, Int.neg_neg]
protected theorem mul_sub (a b c : Int) : a * (b - c) = a * b - a * c := by
  rw [Int.sub_eq_add_neg, Int.mul_add, Int.mul_neg]; rfl
protected theorem sub_mul (a b c : Int) : (a - b) * c = a * c - b * c := by
  rw [Int.sub_eq_add_neg, Int.add_mul, Int.neg_mul]; rfl
@[simp] protected theorem neg_add_cancel_left (a b : Int) : -a + (a + b) = b := by
  rw [← Int.add_assoc, Int.add_left_neg, Int.zero_add]
@[simp] protected theorem add_neg_cancel_left (a b : Int) : a + (-a + b) = b := by
  rw [← Int.add_assoc, Int.add_right_neg, Int.zero_add]
@[simp] protected theorem add_neg_cancel_right (a b : Int) : a + b + -b = a := by
  rw [Int.add_assoc, Int.add_right_neg, Int.add_zero]
@[simp] protected theorem neg_add_cancel_right (a b : Int) : a + -b + b = a := by
  rw [Int.add_assoc, Int.add_left_neg, Int.add_zero]
@[simp] protected theorem sub_add_cancel (a b : Int) : a - b + b = a := Int.neg_add_cancel_right a b
@[simp] protected theorem add_sub_cancel (a b : Int) : a + b - b = a := Int.add_neg_cancel_right a b
@[simp] protected theorem add_sub_cancel_left (a b : Int) : a + b - a = b := by rw [Int.add_comm, Int.add_sub_cancel]
protected theorem add_left_cancel {a b c : Int} (h : a + b = a + c) : b = c := by
  rw [← Int.neg_add_cancel_left a b, h, Int.neg_add_cancel_left]
protected theorem add_right_cancel {a b c : Int} (h : a + b = c + b) : a = c := by
  rw [← Int.add_neg_cancel_right a b, h, Int.add_neg_cancel_right]
protected theorem add_sub_assoc (a b c : Int) : a + b - c = a + (b - c) := Int.add_assoc a b (-c)
protected theorem sub_sub (a b c : Int) : a - b - c = a - (b + c) := by
  rw [Int.sub_eq_add_neg, Int.sub_eq_add_neg, Int.sub_eq_add_neg, Int.neg_add, Int.add_assoc]
protected theorem neg_sub (a b : Int) : -(a - b) = b - a := by
  rw [Int.sub_eq_add_neg, Int.neg_add, Int.neg_neg, Int.add_comm]; rfl
protected theorem sub_eq_zero_of_eq {a b : Int} (h : a = b) : a - b = 0 := by rw [h, Int.sub_self]
protected theorem eq_of_sub_eq_zero {a b : Int} (h : a - b = 0) : a = b := by
  rw [← Int.sub_add_cancel a b, h, Int.zero_add]
theorem sub_eq_zero {a b : Int} : a - b = 0 ↔ a = b := ⟨Int.eq_of_sub_eq_zero, Int.sub_eq_zero_of_eq⟩
@[simp, norm_cast] theorem natCast_sub {n m : Nat} (h : m ≤ n) : ((n - m : Nat) : Int) = n - m := by
  rw [← subNatNat_of_le h, Int.sub_eq_add_neg, natCast_eq_subNatNat, natCast_eq_subNatNat, neg_subNatNat, subNatNat_add_subNatNat,
    Nat.add_zero, Nat.zero_add]
theorem ofNat_sub {n m : Nat} (h : m ≤ n) : ((n - m : Nat) : Int) = n - m := natCast_sub h
theorem subNatNat_eq_coe {m n : Nat} : subNatNat m n = ↑m - ↑n := by
  rw [Int.sub_eq_add_neg, natCast_eq_subNatNat, natCast_eq_subNatNat, neg_subNatNat, subNatNat_add_subNatNat, Nat.add_zero, Nat.zero_add]
@[simp] protected theorem pow_zero (b : Int) : b ^ 0 = 1 := rfl
protected theorem pow_succ (b : Int) (e : Nat) : b ^ (e + 1) = b ^ e * b := rfl
protected theorem pow_succ' (b : Int) (e : Nat) : b ^ (e + 1) = b * b ^ e := by rw [Int.pow_succ, Int.mul_comm]
end Int
