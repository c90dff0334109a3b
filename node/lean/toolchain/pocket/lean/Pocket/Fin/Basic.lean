module
prelude
public import Pocket.Coe
public import Pocket.Nat.Order
public import Pocket.Nat.Div
@[expose] public section
/-! Numbers below a bound: arithmetic modulo the bound, order, and the maps between types of different bounds. -/
set_option autoImplicit false
universe u

/-! ## Zero and one -/

class Zero (α : Type u) where
  zero : α
instance (priority := 300) Zero.toOfNat0 {α : Type u} [Zero α] : OfNat α (nat_lit 0) := ⟨Zero.zero⟩
instance (priority := 200) Zero.ofOfNat0 {α : Type u} [OfNat α (nat_lit 0)] : Zero α := ⟨0⟩
class One (α : Type u) where
  one : α
instance (priority := 300) One.toOfNat1 {α : Type u} [One α] : OfNat α (nat_lit 1) := ⟨One.one⟩
instance (priority := 200) One.ofOfNat1 {α : Type u} [OfNat α (nat_lit 1)] : One α := ⟨1⟩
class NeZero {R : Type u} [Zero R] (n : R) : Prop where
  out : n ≠ 0
theorem NeZero.ne {R : Type u} [Zero R] (n : R) [h : NeZero n] : n ≠ 0 := h.out
instance Nat.instNeZeroSucc {n : Nat} : NeZero (n + 1) := ⟨Nat.succ_ne_zero n⟩
theorem Nat.pos_of_neZero (n : Nat) [NeZero n] : 0 < n := Nat.pos_of_ne_zero (NeZero.ne n)

/-! ## Operations -/

namespace Fin
variable {n m : Nat}
theorem ne_of_val_ne {i j : Fin n} (h : i.val ≠ j.val) : i ≠ j := fun e => h (Fin.val_eq_of_eq e)
instance coeToNat : CoeOut (Fin n) Nat := ⟨fun v => v.val⟩
def elim0 {α : Sort u} (i : Fin 0) : α := absurd i.isLt (Nat.not_lt_zero _)
protected theorem pos (i : Fin n) : 0 < n := Nat.lt_of_le_of_lt (Nat.zero_le _) i.isLt
def succ (i : Fin n) : Fin (n + 1) := ⟨i.val + 1, Nat.succ_lt_succ i.isLt⟩
protected def ofNat (n : Nat) [NeZero n] (a : Nat) : Fin n := ⟨a % n, Nat.mod_lt a (Nat.pos_of_neZero n)⟩
protected def toNat (i : Fin n) : Nat := i.val
protected def add (a b : Fin n) : Fin n := ⟨(a.val + b.val) % n, Nat.mod_lt _ a.pos⟩
protected def mul (a b : Fin n) : Fin n := ⟨(a.val * b.val) % n, Nat.mod_lt _ a.pos⟩
protected def sub (a b : Fin n) : Fin n := ⟨((n - b.val) + a.val) % n, Nat.mod_lt _ a.pos⟩
protected def mod (a b : Fin n) : Fin n := ⟨a.val % b.val, Nat.lt_of_le_of_lt (Nat.mod_le _ _) a.isLt⟩
protected def div (a b : Fin n) : Fin n := ⟨a.val / b.val, Nat.lt_of_le_of_lt (Nat.div_le_self _ _) a.isLt⟩
instance instAdd : Add (Fin n) := ⟨Fin.add⟩
instance instSub : Sub (Fin n) := ⟨Fin.sub⟩
instance instMul : Mul (Fin n) := ⟨Fin.mul⟩
instance instMod : Mod (Fin n) := ⟨Fin.mod⟩
instance instDiv : Div (Fin n) := ⟨Fin.div⟩
instance instOfNat {n : Nat} [NeZero n] {i : Nat} : OfNat (Fin n) i := ⟨Fin.ofNat n i⟩
instance neg (n : Nat) : Neg (Fin n) := ⟨fun a => ⟨(n - a.val) % n, Nat.mod_lt _ a.pos⟩⟩
instance instInhabited {n : Nat} [NeZero n] : Inhabited (Fin n) := ⟨0⟩
def last (n : Nat) : Fin (n + 1) := ⟨n, Nat.lt_succ_self n⟩
def castLT (i : Fin m) (h : i.val < n) : Fin n := ⟨i.val, h⟩
def castLE (h : n ≤ m) (i : Fin n) : Fin m := ⟨i.val, Nat.lt_of_lt_of_le i.isLt h⟩
protected def cast (eq : n = m) (i : Fin n) : Fin m := ⟨i.val, eq ▸ i.isLt⟩
def castAdd (m : Nat) : Fin n → Fin (n + m) := castLE (Nat.le_add_right n m)
def castSucc : Fin n → Fin (n + 1) := castAdd 1
def addNat (i : Fin n) (m : Nat) : Fin (n + m) := ⟨i.val + m, Nat.add_lt_add_right i.isLt m⟩
def natAdd (n : Nat) (i : Fin m) : Fin (n + m) := ⟨n + i.val, Nat.add_lt_add_left i.isLt n⟩
def rev (i : Fin n) : Fin n := ⟨n - (i.val + 1), Nat.sub_lt i.pos (Nat.succ_pos _)⟩
def subNat (m : Nat) (i : Fin (n + m)) (h : m ≤ i.val) : Fin n :=
  ⟨i.val - m, (Nat.sub_lt_iff_lt_add h).2 i.isLt⟩
def pred {n : Nat} (i : Fin (n + 1)) (h : i ≠ 0) : Fin n :=
  subNat 1 i (Nat.pos_of_ne_zero fun e => h (Fin.eq_of_val_eq (e.trans (Nat.zero_mod (n + 1)).symm)))

/-! ## Values -/

@[ext] protected theorem ext {a b : Fin n} (h : a.val = b.val) : a = b := eq_of_val_eq h
theorem val_inj {a b : Fin n} : a.val = b.val ↔ a = b := ⟨eq_of_val_eq, val_eq_of_eq⟩
theorem val_ne_of_ne {i j : Fin n} (h : i ≠ j) : i.val ≠ j.val := fun e => h (eq_of_val_eq e)
theorem val_ne_iff {a b : Fin n} : a.val ≠ b.val ↔ a ≠ b := not_congr val_inj
theorem val_congr {n : Nat} {a b : Fin n} (h : a = b) : (a : Nat) = (b : Nat) := val_eq_of_eq h
theorem val_le_of_le {n : Nat} {a b : Fin n} (h : a ≤ b) : (a : Nat) ≤ (b : Nat) := h
theorem val_le_of_ge {n : Nat} {a b : Fin n} (h : a ≥ b) : (b : Nat) ≤ (a : Nat) := h
theorem val_add_one_le_of_lt {n : Nat} {a b : Fin n} (h : a < b) : (a : Nat) + 1 ≤ (b : Nat) := h
theorem val_add_one_le_of_gt {n : Nat} {a b : Fin n} (h : a > b) : (b : Nat) + 1 ≤ (a : Nat) := h
theorem val_lt_of_le {b : Nat} (i : Fin b) (h : b ≤ n) : i.val < n := Nat.lt_of_lt_of_le i.isLt h
@[simp] theorem is_lt (a : Fin n) : (a : Nat) < n := a.isLt
@[simp] protected theorem eta (a : Fin n) (h : a.val < n) : (⟨a.val, h⟩ : Fin n) = a := rfl
theorem mk_val (i : Fin n) : (⟨i.val, i.isLt⟩ : Fin n) = i := rfl
theorem val_mk {m n : Nat} (h : m < n) : (⟨m, h⟩ : Fin n).val = m := rfl
@[simp] theorem mk_eq_mk {a b : Nat} {ha : a < n} {hb : b < n} : (⟨a, ha⟩ : Fin n) = ⟨b, hb⟩ ↔ a = b := Fin.ext_iff
@[simp] theorem toNat_eq_val {i : Fin n} : i.toNat = i.val := rfl
theorem le_def {a b : Fin n} : a ≤ b ↔ a.val ≤ b.val := Iff.rfl
theorem lt_def {a b : Fin n} : a < b ↔ a.val < b.val := Iff.rfl
theorem le_iff_val_le_val {a b : Fin n} : a ≤ b ↔ a.val ≤ b.val := Iff.rfl
theorem lt_iff_val_lt_val {a b : Fin n} : a < b ↔ a.val < b.val := Iff.rfl
@[simp] theorem val_fin_le {a b : Fin n} : (a : Nat) ≤ (b : Nat) ↔ a ≤ b := Iff.rfl
@[simp] theorem val_fin_lt {a b : Fin n} : (a : Nat) < (b : Nat) ↔ a < b := Iff.rfl
@[simp] protected theorem not_le {a b : Fin n} : ¬a ≤ b ↔ b < a := Nat.not_le
@[simp] protected theorem not_lt {a b : Fin n} : ¬a < b ↔ b ≤ a := Nat.not_lt
@[simp] protected theorem le_refl (a : Fin n) : a ≤ a := Nat.le_refl a.val
protected theorem le_rfl {a : Fin n} : a ≤ a := Fin.le_refl a
protected theorem lt_irrefl (a : Fin n) : ¬a < a := Nat.lt_irrefl a.val
protected theorem le_trans {a b c : Fin n} : a ≤ b → b ≤ c → a ≤ c := Nat.le_trans
protected theorem lt_trans {a b c : Fin n} : a < b → b < c → a < c := Nat.lt_trans
protected theorem le_total (a b : Fin n) : a ≤ b ∨ b ≤ a := Nat.le_total a.val b.val
protected theorem le_antisymm {a b : Fin n} (h₁ : a ≤ b) (h₂ : b ≤ a) : a = b := eq_of_val_eq (Nat.le_antisymm h₁ h₂)
protected theorem le_of_lt {a b : Fin n} : a < b → a ≤ b := Nat.le_of_lt
protected theorem ne_of_lt {a b : Fin n} (h : a < b) : a ≠ b := fun e => Nat.ne_of_lt h (val_eq_of_eq e)
protected theorem ne_of_gt {a b : Fin n} (h : b < a) : a ≠ b := fun e => Nat.ne_of_gt h (val_eq_of_eq e)
protected theorem lt_of_le_of_lt {a b c : Fin n} : a ≤ b → b < c → a < c := Nat.lt_of_le_of_lt
protected theorem lt_of_lt_of_le {a b c : Fin n} : a < b → b ≤ c → a < c := Nat.lt_of_lt_of_le
protected theorem lt_or_ge (a b : Fin n) : a < b ∨ b ≤ a := Nat.lt_or_ge a.val b.val
theorem le_of_lt_succ {n : Nat} {a : Fin n} {b : Fin n} (h : a.val < b.val + 1) : a ≤ b := Nat.le_of_lt_succ h
theorem exists_iff {p : Fin n → Prop} : (∃ i, p i) ↔ ∃ i, ∃ h, p ⟨i, h⟩ :=
  ⟨fun ⟨⟨i, hi⟩, h⟩ => ⟨i, hi, h⟩, fun ⟨i, hi, h⟩ => ⟨⟨i, hi⟩, h⟩⟩
theorem forall_iff {p : Fin n → Prop} : (∀ i, p i) ↔ ∀ i, ∀ h, p ⟨i, h⟩ := ⟨fun h i hi => h ⟨i, hi⟩, fun h ⟨i, hi⟩ => h i hi⟩
@[simp] theorem val_ofNat (n : Nat) [NeZero n] (a : Nat) : (Fin.ofNat n a).val = a % n := rfl
theorem val_add (a b : Fin n) : (a + b).val = (a.val + b.val) % n := rfl
theorem val_mul (a b : Fin n) : (a * b).val = (a.val * b.val) % n := rfl
theorem val_sub (a b : Fin n) : (a - b).val = ((n - b.val) + a.val) % n := rfl
theorem add_def (a b : Fin n) : a + b = ⟨(a.val + b.val) % n, Nat.mod_lt _ a.pos⟩ := rfl
theorem mul_def (a b : Fin n) : a * b = ⟨(a.val * b.val) % n, Nat.mod_lt _ a.pos⟩ := rfl
theorem sub_def (a b : Fin n) : a - b = ⟨((n - b.val) + a.val) % n, Nat.mod_lt _ a.pos⟩ := rfl
@[simp] theorem val_zero (n : Nat) [NeZero n] : ((0 : Fin n) : Nat) = 0 := Nat.zero_mod n
@[simp] theorem val_one (n : Nat) : ((1 : Fin (n + 2)) : Nat) = 1 := Nat.mod_eq_of_lt (Nat.succ_lt_succ (Nat.succ_pos n))
@[simp] theorem val_succ (j : Fin n) : (j.succ : Nat) = j.val + 1 := rfl
@[simp] theorem val_last (n : Nat) : (last n : Nat) = n := rfl
@[simp] theorem val_castLT (i : Fin m) (h : i.val < n) : (castLT i h : Nat) = i.val := rfl
@[simp] theorem val_castLE (h : n ≤ m) (i : Fin n) : (castLE h i : Nat) = i.val := rfl
@[simp] theorem val_cast (h : n = m) (i : Fin n) : (Fin.cast h i : Nat) = i.val := rfl
@[simp] theorem val_castAdd (m : Nat) (i : Fin n) : (castAdd m i : Nat) = i.val := rfl
@[simp] theorem val_castSucc (i : Fin n) : (castSucc i : Nat) = i.val := rfl
@[simp] theorem val_addNat (m : Nat) (i : Fin n) : (addNat i m : Nat) = i.val + m := rfl
@[simp] theorem val_natAdd (n : Nat) (i : Fin m) : (natAdd n i : Nat) = n + i.val := rfl
@[simp] theorem val_rev (i : Fin n) : (rev i : Nat) = n - (i.val + 1) := rfl
@[simp] theorem val_subNat (m : Nat) (i : Fin (n + m)) (h : m ≤ i.val) : (subNat m i h : Nat) = i.val - m := rfl
theorem le_last (i : Fin (n + 1)) : i ≤ last n := Nat.le_of_lt_succ i.isLt
@[simp] protected theorem zero_le (a : Fin (n + 1)) : 0 ≤ a := by
  show (0 : Fin (n + 1)).val ≤ a.val
  rw [val_zero]; exact Nat.zero_le _
theorem succ_inj {a b : Fin n} : a.succ = b.succ ↔ a = b := by
  rw [Fin.ext_iff, Fin.ext_iff, val_succ, val_succ, Nat.add_one_inj]
theorem succ_ne_zero (k : Fin n) : k.succ ≠ 0 := fun e => Nat.succ_ne_zero k.val ((val_eq_of_eq e).trans (val_zero (n + 1)))
theorem castSucc_inj {a b : Fin n} : a.castSucc = b.castSucc ↔ a = b := by
  rw [Fin.ext_iff, Fin.ext_iff, val_castSucc, val_castSucc]
theorem rev_rev (i : Fin n) : rev (rev i) = i := by
  refine eq_of_val_eq ?_
  show n - (n - (i.val + 1) + 1) = i.val
  match n, i with
  | n + 1, ⟨i, h⟩ =>
    show n + 1 - (n + 1 - (i + 1) + 1) = i
    rw [Nat.add_sub_add_right, Nat.add_sub_add_right]; exact Nat.sub_sub_self (Nat.le_of_lt_succ h)
theorem eq_zero (k : Fin 1) : k = 0 := eq_of_val_eq (Nat.lt_one_iff.1 k.isLt)
instance : Subsingleton (Fin 1) := ⟨fun a b => (eq_zero a).trans (eq_zero b).symm⟩

/-! ## Case distinction, and decidable statements about all numbers below a bound -/

@[elab_as_elim] def cases {n : Nat} {motive : Fin (n + 1) → Sort u} (zero : motive 0) (succ : ∀ i : Fin n, motive i.succ) (i : Fin (n + 1)) :
    motive i :=
  match i with
  | ⟨0, _⟩ => zero
  | ⟨k + 1, h⟩ => succ ⟨k, Nat.lt_of_succ_lt_succ h⟩
theorem forall_fin_succ {P : Fin (n + 1) → Prop} : (∀ i, P i) ↔ P 0 ∧ ∀ i : Fin n, P i.succ :=
  ⟨fun h => ⟨h 0, fun i => h i.succ⟩, fun ⟨h₀, h⟩ i => Fin.cases h₀ h i⟩
theorem exists_fin_succ {P : Fin (n + 1) → Prop} : (∃ i, P i) ↔ P 0 ∨ ∃ i : Fin n, P i.succ :=
  ⟨fun ⟨i, h⟩ => Fin.cases (motive := fun i => P i → _) .inl (fun i h => .inr ⟨i, h⟩) i h,
   fun h => h.elim (fun h => ⟨0, h⟩) fun ⟨i, h⟩ => ⟨i.succ, h⟩⟩
end Fin
instance Nat.decidableForallFin : {n : Nat} → (P : Fin n → Prop) → [DecidablePred P] → Decidable (∀ i, P i)
  | 0, _, _ => isTrue fun i => i.elim0
  | n + 1, P, inst =>
    have : Decidable (∀ i : Fin n, P i.succ) := @Nat.decidableForallFin n (fun i => P i.succ) (fun i => inst i.succ)
    decidable_of_iff (P 0 ∧ ∀ i : Fin n, P i.succ) Fin.forall_fin_succ.symm
instance Nat.decidableExistsFin : {n : Nat} → (P : Fin n → Prop) → [DecidablePred P] → Decidable (∃ i, P i)
  | 0, _, _ => isFalse fun ⟨i, _⟩ => i.elim0
  | n + 1, P, inst =>
    have : Decidable (∃ i : Fin n, P i.succ) := @Nat.decidableExistsFin n (fun i => P i.succ) (fun i => inst i.succ)
    decidable_of_iff (P 0 ∨ ∃ i : Fin n, P i.succ) Fin.exists_fin_succ.symm
