module
prelude
public import Pocket.Int.DivMod
@[expose] public section
/-!
What `simp +arith` cites for natural numbers: linear expressions over atoms, compared by their coefficients.

The native simplifier computes a normal form and leaves the comparison to the kernel, which evaluates the functions here. Two
constraints are the same if the differences of their sides have the same coefficients.
-/
set_option autoImplicit false
universe u

/-- A tree with values at its leaves; a branch says which positions are on its right side. -/
inductive Lean.RArray (α : Type u) : Type u where
  | leaf : α → Lean.RArray α
  | branch : Nat → Lean.RArray α → Lean.RArray α → Lean.RArray α
def Lean.RArray.get {α : Type u} : Lean.RArray α → Nat → α
  | leaf a, _ => a
  | branch p l r, n => cond (Nat.ble p n) (r.get n) (l.get n)

namespace Lean.Omega.Coeffs
/-- The value of a linear form where atom `i` has the value `f i`. -/
def valueAt : Coeffs → (Nat → Int) → Int
  | [], _ => 0
  | x :: xs, f => x * f 0 + valueAt xs fun i => f (i + 1)
theorem valueAt_smul (xs : Coeffs) (k : Int) (f : Nat → Int) : valueAt (smul xs k) f = k * valueAt xs f := by
  induction xs generalizing f with
  | nil => exact (Int.mul_zero k).symm
  | cons x xs ih =>
    show k * x * f 0 + valueAt (smul xs k) _ = k * (x * f 0 + _)
    rw [ih, Int.mul_add, Int.mul_assoc]
theorem valueAt_combo (a : Int) (xs : Coeffs) (b : Int) (ys : Coeffs) (f : Nat → Int) :
    valueAt (combo a xs b ys) f = a * valueAt xs f + b * valueAt ys f := by
  induction xs generalizing ys f with
  | nil => show valueAt (smul ys b) f = a * 0 + _; rw [valueAt_smul, Int.mul_zero, Int.zero_add]
  | cons x xs ih => cases ys with
    | nil =>
      show (a * x + b * 0) * f 0 + valueAt (combo a xs b []) _ = a * (x * f 0 + valueAt xs _) + b * 0
      rw [ih, Int.mul_zero, Int.add_zero, Int.mul_add, Int.mul_assoc]
      show _ + (_ + b * 0) = _
      rw [Int.mul_zero, Int.add_zero, Int.add_zero]
    | cons y ys =>
      show (a * x + b * y) * f 0 + valueAt (combo a xs b ys) _ = a * (x * f 0 + valueAt xs _) + b * (y * f 0 + valueAt ys _)
      rw [ih, Int.add_mul, Int.mul_add, Int.mul_add, Int.mul_assoc, Int.mul_assoc]; omega
theorem valueAt_unit (i : Nat) (f : Nat → Int) : valueAt (set [] i 1) f = f i := by
  induction i generalizing f with
  | zero => show 1 * f 0 + 0 = _; rw [Int.one_mul, Int.add_zero]
  | succ i ih => show 0 * f 0 + valueAt (set [] i 1) _ = _; rw [ih, Int.zero_mul, Int.zero_add]
def isZero' : Coeffs → Bool
  | [] => true
  | x :: xs => decide (x = 0) && isZero' xs
def isNonneg : Coeffs → Bool
  | [] => true
  | x :: xs => decide (0 ≤ x) && isNonneg xs
theorem valueAt_of_isZero {xs : Coeffs} (h : isZero' xs = true) (f : Nat → Int) : valueAt xs f = 0 := by
  induction xs generalizing f with
  | nil => rfl
  | cons x xs ih =>
    have ⟨hx, hxs⟩ := Bool.and_eq_true_iff.1 h
    show x * f 0 + valueAt xs _ = 0
    rw [of_decide_eq_true hx, ih hxs, Int.zero_mul]; rfl
theorem valueAt_nonneg {xs : Coeffs} (h : isNonneg xs = true) (f : Nat → Int) (hf : ∀ i, 0 ≤ f i) : 0 ≤ valueAt xs f := by
  induction xs generalizing f with
  | nil => exact Int.le_refl 0
  | cons x xs ih =>
    have ⟨hx, hxs⟩ := Bool.and_eq_true_iff.1 h
    exact Int.add_nonneg (Int.mul_nonneg (of_decide_eq_true hx) (hf 0)) (ih hxs _ fun i => hf (i + 1))
end Lean.Omega.Coeffs

namespace Nat.Internal.Linear
open Lean.Omega (Coeffs)

/-! ## Expressions -/

abbrev Var := Nat
abbrev Context := Lean.RArray Nat
inductive Expr where
  | num (v : Nat)
  | var (i : Var)
  | add (a b : Expr)
  | mulL (k : Nat) (a : Expr)
  | mulR (a : Expr) (k : Nat)
def Expr.denote (ctx : Context) : Expr → Nat
  | .num k => k
  | .var i => ctx.get i
  | .add a b => Nat.add (a.denote ctx) (b.denote ctx)
  | .mulL k a => Nat.mul k (a.denote ctx)
  | .mulR a k => Nat.mul (a.denote ctx) k
structure ExprCnstr where
  eq : Bool
  lhs : Expr
  rhs : Expr
def ExprCnstr.denote (ctx : Context) (c : ExprCnstr) : Prop :=
  match c.eq with
  | true => c.lhs.denote ctx = c.rhs.denote ctx
  | false => c.lhs.denote ctx ≤ c.rhs.denote ctx

/-! ## Linear forms: a constant and coefficients -/

structure Form where
  const : Int
  coeffs : Coeffs
def Form.value (ctx : Context) (p : Form) : Int := p.const + p.coeffs.valueAt fun i => (ctx.get i : Int)
def Form.sub (p q : Form) : Form := ⟨p.const - q.const, .combo 1 p.coeffs (-1) q.coeffs⟩
def Form.isZero (p : Form) : Bool := decide (p.const = 0) && p.coeffs.isZero'
def Form.isNonneg (p : Form) : Bool := decide (0 ≤ p.const) && p.coeffs.isNonneg
def Form.isPos (p : Form) : Bool := decide (0 < p.const) && p.coeffs.isNonneg
def Form.neg (p : Form) : Form := ⟨-p.const, p.coeffs.smul (-1)⟩
def Expr.form : Expr → Form
  | .num k => ⟨k, []⟩
  | .var i => ⟨0, Coeffs.set [] i 1⟩
  | .add a b => ⟨a.form.const + b.form.const, .combo 1 a.form.coeffs 1 b.form.coeffs⟩
  | .mulL k a => ⟨k * a.form.const, a.form.coeffs.smul k⟩
  | .mulR a k => ⟨k * a.form.const, a.form.coeffs.smul k⟩

theorem Form.value_sub (ctx : Context) (p q : Form) : (p.sub q).value ctx = p.value ctx - q.value ctx := by
  show p.const - q.const + Coeffs.valueAt (.combo 1 p.coeffs (-1) q.coeffs) _ = (p.const + _) - (q.const + _)
  rw [Coeffs.valueAt_combo]; omega
theorem Form.value_neg (ctx : Context) (p : Form) : p.neg.value ctx = -p.value ctx := by
  show -p.const + Coeffs.valueAt (p.coeffs.smul (-1)) _ = -(p.const + _)
  rw [Coeffs.valueAt_smul]; omega
theorem Form.value_of_isZero {p : Form} (ctx : Context) (h : p.isZero = true) : p.value ctx = 0 := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  rw [Form.value, of_decide_eq_true h₁, Coeffs.valueAt_of_isZero h₂]; rfl
theorem Form.value_of_isNonneg {p : Form} (ctx : Context) (h : p.isNonneg = true) : 0 ≤ p.value ctx := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  exact Int.add_nonneg (of_decide_eq_true h₁) (Coeffs.valueAt_nonneg h₂ _ fun i => Int.natCast_nonneg _)
theorem Form.value_of_isPos {p : Form} (ctx : Context) (h : p.isPos = true) : 0 < p.value ctx := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  exact Int.add_pos_of_pos_of_nonneg (of_decide_eq_true h₁) (Coeffs.valueAt_nonneg h₂ _ fun i => Int.natCast_nonneg _)
theorem Expr.value_form (ctx : Context) (e : Expr) : e.form.value ctx = e.denote ctx := by
  induction e with
  | num k => exact Int.add_zero _
  | var i => show 0 + Coeffs.valueAt (Coeffs.set [] i 1) _ = _; rw [Coeffs.valueAt_unit, Int.zero_add]; rfl
  | add a b iha ihb =>
    show _ + _ + Coeffs.valueAt (.combo 1 _ 1 _) _ = ((a.denote ctx + b.denote ctx : Nat) : Int)
    rw [Coeffs.valueAt_combo, Int.natCast_add, ← iha, ← ihb, Form.value, Form.value]; omega
  | mulL k a ih =>
    show _ + Coeffs.valueAt (Coeffs.smul _ _) _ = ((k * a.denote ctx : Nat) : Int)
    rw [Coeffs.valueAt_smul, Int.natCast_mul, ← ih, Form.value, Int.mul_add]; rfl
  | mulR a k ih =>
    show _ + Coeffs.valueAt (Coeffs.smul _ _) _ = ((a.denote ctx * k : Nat) : Int)
    rw [Coeffs.valueAt_smul, Int.natCast_mul, ← ih, Form.value, Int.mul_comm _ (k : Int), Int.mul_add]; rfl

/-! ## The theorems -/

theorem Expr.eq_of_toNormPoly_eq (ctx : Context) (e e' : Expr) (h : (e.form.sub e'.form).isZero = true) :
    e.denote ctx = e'.denote ctx := by
  have v := Form.value_of_isZero ctx h
  rw [Form.value_sub, Expr.value_form, Expr.value_form] at v
  omega
/-- Left side minus right side. -/
def ExprCnstr.form (c : ExprCnstr) : Form := c.lhs.form.sub c.rhs.form
theorem ExprCnstr.value_form (ctx : Context) (c : ExprCnstr) : c.form.value ctx = (c.lhs.denote ctx : Int) - c.rhs.denote ctx := by
  rw [ExprCnstr.form, Form.value_sub, Expr.value_form, Expr.value_form]
def ExprCnstr.same (c d : ExprCnstr) : Bool := decide (c.eq = d.eq) && (c.form.sub d.form).isZero
def ExprCnstr.isValid (c : ExprCnstr) : Bool :=
  match c.eq with
  | true => c.form.isZero
  | false => c.form.neg.isNonneg
def ExprCnstr.isUnsat (c : ExprCnstr) : Bool :=
  match c.eq with
  | true => c.form.isPos || c.form.neg.isPos
  | false => c.form.isPos
theorem ExprCnstr.eq_of_toNormPoly_eq (ctx : Context) (c d : ExprCnstr) (h : c.same d = true) : c.denote ctx = d.denote ctx := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  have v := Form.value_of_isZero ctx h₂
  rw [Form.value_sub, value_form, value_form] at v
  rw [denote, denote, of_decide_eq_true h₁]
  cases d.eq <;> exact propext (by dsimp only; omega)
theorem ExprCnstr.eq_true_of_isValid (ctx : Context) (c : ExprCnstr) (h : c.isValid = true) : c.denote ctx = True := by
  refine eq_true ?_
  rw [denote]
  rw [isValid] at h
  cases e : c.eq <;> rw [e] at h <;> dsimp only at h ⊢
  · have v := Form.value_of_isNonneg ctx h
    rw [Form.value_neg, value_form] at v
    omega
  · have v := Form.value_of_isZero ctx h
    rw [value_form] at v
    omega
theorem ExprCnstr.eq_false_of_isUnsat (ctx : Context) (c : ExprCnstr) (h : c.isUnsat = true) : c.denote ctx = False := by
  refine eq_false ?_
  rw [denote]
  rw [isUnsat] at h
  cases e : c.eq <;> rw [e] at h <;> dsimp only at h ⊢
  · have v := Form.value_of_isPos ctx h
    rw [value_form] at v
    omega
  · rcases Bool.or_eq_true_iff.1 h with h | h
    · have v := Form.value_of_isPos ctx h
      rw [value_form] at v
      omega
    · have v := Form.value_of_isPos ctx h
      rw [Form.value_neg, value_form] at v
      omega
end Nat.Internal.Linear
