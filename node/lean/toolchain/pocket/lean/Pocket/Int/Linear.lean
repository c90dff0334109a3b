module
prelude
public import Pocket.Nat.Linear
@[expose] public section
/-! What `simp +arith` cites for integers: linear expressions, normal forms, divisibility by constants; compared by coefficients. -/
set_option autoImplicit false

namespace Int.Internal.Linear
open Lean.Omega (Coeffs)
open Nat.Internal.Linear (Form)

/-! ## Expressions and normal forms -/

abbrev Var := Nat
abbrev Context := Lean.RArray Int
abbrev Var.denote (ctx : Context) (x : Var) : Int := ctx.get x
inductive Expr where
  | num (v : Int)
  | var (i : Var)
  | add (a b : Expr)
  | sub (a b : Expr)
  | neg (a : Expr)
  | mulL (k : Int) (a : Expr)
  | mulR (a : Expr) (k : Int)
def Expr.denote (ctx : Context) : Expr → Int
  | .num k => k
  | .var i => ctx.get i
  | .add a b => Int.add (a.denote ctx) (b.denote ctx)
  | .sub a b => Int.sub (a.denote ctx) (b.denote ctx)
  | .neg a => Int.neg (a.denote ctx)
  | .mulL k a => Int.mul k (a.denote ctx)
  | .mulR a k => Int.mul (a.denote ctx) k
inductive Poly where
  | num (k : Int)
  | add (k : Int) (v : Var) (p : Poly)
/-- The product as Lean writes it: without a factor of 1. -/
def monomial (ctx : Context) (k : Int) (v : Var) : Int := cond (decide (k = 1)) (ctx.get v) (k * ctx.get v)
def Poly.denoteFrom (ctx : Context) (r : Int) : Poly → Int
  | .num k => cond (decide (k = 0)) r (r + k)
  | .add k v p => p.denoteFrom ctx (r + monomial ctx k v)
/-- The value, as the sum that Lean writes: without a last summand of 0. -/
def Poly.denote' (ctx : Context) : Poly → Int
  | .num k => k
  | .add k v p => p.denoteFrom ctx (monomial ctx k v)

/-! ## Values of linear forms -/

def value (ctx : Context) (p : Form) : Int := p.const + p.coeffs.valueAt fun i => ctx.get i
def scale (k : Int) (p : Form) : Form := ⟨k * p.const, p.coeffs.smul k⟩
def Expr.form : Expr → Form
  | .num k => ⟨k, []⟩
  | .var i => ⟨0, Coeffs.set [] i 1⟩
  | .add a b => ⟨a.form.const + b.form.const, .combo 1 a.form.coeffs 1 b.form.coeffs⟩
  | .sub a b => a.form.sub b.form
  | .neg a => scale (-1) a.form
  | .mulL k a => scale k a.form
  | .mulR a k => scale k a.form
def Poly.form : Poly → Form
  | .num k => ⟨k, []⟩
  | .add k v p => ⟨p.form.const, .combo k (Coeffs.set [] v 1) 1 p.form.coeffs⟩
def same (p q : Form) : Bool := (p.sub q).isZero
theorem value_sub (ctx : Context) (p q : Form) : value ctx (p.sub q) = value ctx p - value ctx q := by
  show p.const - q.const + Coeffs.valueAt (.combo 1 p.coeffs (-1) q.coeffs) _ = (p.const + _) - (q.const + _)
  rw [Coeffs.valueAt_combo]; omega
theorem value_scale (ctx : Context) (k : Int) (p : Form) : value ctx (scale k p) = k * value ctx p := by
  show k * p.const + Coeffs.valueAt (p.coeffs.smul k) _ = k * (p.const + _)
  rw [Coeffs.valueAt_smul, Int.mul_add]
theorem value_of_same {p q : Form} (ctx : Context) (h : same p q = true) : value ctx p = value ctx q := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  have v := value_sub ctx p q
  rw [value, of_decide_eq_true h₁, Coeffs.valueAt_of_isZero h₂] at v
  omega
theorem Expr.value_form (ctx : Context) (e : Expr) : value ctx e.form = e.denote ctx := by
  induction e with
  | num k => exact Int.add_zero k
  | var i => show 0 + Coeffs.valueAt (Coeffs.set [] i 1) _ = _; rw [Coeffs.valueAt_unit, Int.zero_add]; rfl
  | add a b iha ihb =>
    show _ + _ + Coeffs.valueAt (.combo 1 _ 1 _) _ = a.denote ctx + b.denote ctx
    rw [Coeffs.valueAt_combo, ← iha, ← ihb, value, value]; omega
  | sub a b iha ihb => rw [form, value_sub, iha, ihb]; rfl
  | neg a ih => rw [form, value_scale, ih, Int.neg_one_mul]; rfl
  | mulL k a ih => rw [form, value_scale, ih]; rfl
  | mulR a k ih => rw [form, value_scale, ih, Int.mul_comm]; rfl
theorem monomial_eq (ctx : Context) (k : Int) (v : Var) : monomial ctx k v = k * ctx.get v := by
  unfold monomial
  cases h : decide (k = 1) with
  | true => rw [of_decide_eq_true h, Int.one_mul]; rfl
  | false => rfl
theorem Poly.value_add (ctx : Context) (k : Int) (v : Var) (p : Poly) : value ctx (add k v p).form = k * ctx.get v + value ctx p.form := by
  show p.form.const + Coeffs.valueAt (.combo k (Coeffs.set [] v 1) 1 p.form.coeffs) _ = _ + (p.form.const + _)
  rw [Coeffs.valueAt_combo, Coeffs.valueAt_unit]; omega
theorem Poly.denoteFrom_eq (ctx : Context) (p : Poly) (r : Int) : p.denoteFrom ctx r = r + value ctx p.form := by
  induction p generalizing r with
  | num k =>
    show cond (decide (k = 0)) r (r + k) = r + (k + 0)
    cases h : decide (k = 0) with
    | true => rw [of_decide_eq_true h]; exact (Int.add_zero r).symm
    | false => exact congrArg (r + ·) (Int.add_zero k).symm
  | add k v p ih => rw [denoteFrom, ih, monomial_eq, value_add, Int.add_assoc]
theorem Poly.value_form (ctx : Context) (p : Poly) : value ctx p.form = p.denote' ctx := by
  cases p with
  | num k => exact Int.add_zero k
  | add k v p => rw [denote', denoteFrom_eq, value_add, monomial_eq]

/-! ## The theorems: equations and inequalities -/

variable (ctx : Context) (lhs rhs : Expr) (p : Poly) (k : Int)
def diff (lhs rhs : Expr) : Form := lhs.form.sub rhs.form
theorem value_diff : value ctx (diff lhs rhs) = lhs.denote ctx - rhs.denote ctx := by
  rw [diff, value_sub, Expr.value_form, Expr.value_form]
theorem Expr.eq_of_norm_eq (e : Expr) (p : Poly) (h : same e.form p.form = true) : e.denote ctx = p.denote' ctx := by
  rw [← Expr.value_form, ← Poly.value_form]; exact value_of_same ctx h
theorem norm_eq (h : same (diff lhs rhs) p.form = true) : (lhs.denote ctx = rhs.denote ctx) = (p.denote' ctx = 0) := by
  have v := value_of_same ctx h
  rw [value_diff, Poly.value_form] at v
  exact propext (by omega)
theorem norm_le (h : same (diff lhs rhs) p.form = true) : (lhs.denote ctx ≤ rhs.denote ctx) = (p.denote' ctx ≤ 0) := by
  have v := value_of_same ctx h
  rw [value_diff, Poly.value_form] at v
  exact propext (by omega)
theorem norm_eq_var (x y : Var) (h : same (diff lhs rhs) (diff (.var x) (.var y)) = true) :
    (lhs.denote ctx = rhs.denote ctx) = (x.denote ctx = y.denote ctx) := by
  have v := value_of_same ctx h
  rw [value_diff, value_diff] at v
  have e : (Expr.var x).denote ctx = x.denote ctx := rfl
  have e' : (Expr.var y).denote ctx = y.denote ctx := rfl
  exact propext (by omega)
theorem norm_eq_var_const (x : Var) (k : Int) (h : same (diff lhs rhs) (diff (.var x) (.num k)) = true) :
    (lhs.denote ctx = rhs.denote ctx) = (x.denote ctx = k) := by
  have v := value_of_same ctx h
  rw [value_diff, value_diff] at v
  have e : (Expr.var x).denote ctx = x.denote ctx := rfl
  have e' : (Expr.num k).denote ctx = k := rfl
  exact propext (by omega)
def multipleCert (lhs rhs : Expr) (p : Poly) (k : Int) : Bool := decide (0 < k) && same (diff lhs rhs) (scale k p.form)
theorem value_of_multipleCert (h : multipleCert lhs rhs p k = true) : 0 < k ∧ lhs.denote ctx - rhs.denote ctx = k * p.denote' ctx := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  have v := value_of_same ctx h₂
  rw [value_diff, value_scale, Poly.value_form] at v
  exact ⟨of_decide_eq_true h₁, v⟩
theorem norm_eq_coeff (h : multipleCert lhs rhs p k = true) : (lhs.denote ctx = rhs.denote ctx) = (p.denote' ctx = 0) := by
  have ⟨hk, v⟩ := value_of_multipleCert ctx lhs rhs p k h
  rw [← Int.sub_eq_zero, v, Int.mul_eq_zero]
  exact propext (by omega)
theorem norm_le_coeff (h : multipleCert lhs rhs p k = true) : (lhs.denote ctx ≤ rhs.denote ctx) = (p.denote' ctx ≤ 0) := by
  have ⟨hk, v⟩ := value_of_multipleCert ctx lhs rhs p k h
  have e : lhs.denote ctx ≤ rhs.denote ctx ↔ k * p.denote' ctx ≤ k * 0 := by rw [Int.mul_zero]; omega
  rw [e, Int.mul_le_mul_left hk]
/-- The coefficients are those of `p` times `k`, and the constant of `p` is the other one over `k`, rounded up. -/
def tightCert (lhs rhs : Expr) (p : Poly) (k : Int) : Bool :=
  decide (0 < k) && (same ⟨0, (diff lhs rhs).coeffs⟩ ⟨0, p.form.coeffs.smul k⟩ &&
    (decide (k * p.form.const - k < (diff lhs rhs).const) && decide ((diff lhs rhs).const ≤ k * p.form.const)))
theorem norm_le_coeff_tight (h : tightCert lhs rhs p k = true) : (lhs.denote ctx ≤ rhs.denote ctx) = (p.denote' ctx ≤ 0) := by
  have ⟨h₁, h⟩ := Bool.and_eq_true_iff.1 h
  have ⟨h₂, h⟩ := Bool.and_eq_true_iff.1 h
  have ⟨h₃, h₄⟩ := Bool.and_eq_true_iff.1 h
  have hk : 0 < k := of_decide_eq_true h₁
  have low := of_decide_eq_true h₃
  have high := of_decide_eq_true h₄
  have v := value_of_same ctx h₂
  rw [value, value, Coeffs.valueAt_smul] at v
  have d := value_diff ctx lhs rhs
  rw [value] at d
  have pv := Poly.value_form ctx p
  rw [value] at pv
  rw [← pv]
  dsimp only at v
  generalize Coeffs.valueAt p.form.coeffs _ = x at *
  generalize p.form.const = c at *
  have e : k * (c + x) = k * c + k * x := Int.mul_add k c x
  refine propext ⟨fun h => Int.not_lt.1 fun hx => ?_, fun h => ?_⟩
  · have m := Int.mul_le_mul_of_nonneg_left (Int.add_one_le_of_lt hx) (Int.le_of_lt hk)
    rw [Int.zero_add, Int.mul_one] at m
    omega
  · have m := Int.mul_le_mul_of_nonneg_left h (Int.le_of_lt hk)
    rw [Int.mul_zero] at m
    omega
def constCert (test : Int → Bool) (lhs rhs : Expr) : Bool := test (diff lhs rhs).const && (diff lhs rhs).coeffs.isZero'
theorem value_of_constCert {test : Int → Bool} (h : constCert test lhs rhs = true) :
    test (lhs.denote ctx - rhs.denote ctx) = true := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  rw [← value_diff, value, Coeffs.valueAt_of_isZero h₂, Int.add_zero]; exact h₁
theorem eq_eq_false (h : constCert (fun c => decide (c ≠ 0)) lhs rhs = true) : (lhs.denote ctx = rhs.denote ctx) = False := by
  have v := of_decide_eq_true (value_of_constCert ctx lhs rhs h)
  exact eq_false (by omega)
theorem eq_eq_true (h : constCert (fun c => decide (c = 0)) lhs rhs = true) : (lhs.denote ctx = rhs.denote ctx) = True := by
  have v := of_decide_eq_true (value_of_constCert ctx lhs rhs h)
  exact eq_true (by omega)
theorem le_eq_false (h : constCert (fun c => decide (0 < c)) lhs rhs = true) : (lhs.denote ctx ≤ rhs.denote ctx) = False := by
  have v := of_decide_eq_true (value_of_constCert ctx lhs rhs h)
  exact eq_false (by omega)
theorem le_eq_true (h : constCert (fun c => decide (c ≤ 0)) lhs rhs = true) : (lhs.denote ctx ≤ rhs.denote ctx) = True := by
  have v := of_decide_eq_true (value_of_constCert ctx lhs rhs h)
  exact eq_true (by omega)

/-! ## The theorems: divisibility -/

def dividesAll (k : Int) : Coeffs → Bool
  | [] => true
  | x :: xs => decide (k ∣ x) && dividesAll k xs
theorem dvd_valueAt {k : Int} {xs : Coeffs} (h : dividesAll k xs = true) (f : Nat → Int) : k ∣ xs.valueAt f := by
  induction xs generalizing f with
  | nil => exact Int.dvd_zero k
  | cons x xs ih =>
    have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
    exact Int.dvd_add (Int.dvd_mul_of_dvd_left (of_decide_eq_true h₁) _) (ih h₂ _)
def indivisibleCert (g : Int) (p : Form) : Bool := decide (¬g ∣ p.const) && dividesAll g p.coeffs
theorem not_dvd_value {g : Int} {p : Form} (h : indivisibleCert g p = true) : ¬g ∣ value ctx p := by
  have ⟨h₁, h₂⟩ := Bool.and_eq_true_iff.1 h
  rw [value, Int.dvd_add_left (dvd_valueAt h₂ _)]; exact of_decide_eq_true h₁
theorem eq_eq_false_of_divCoeff (h : indivisibleCert k (diff lhs rhs) = true) : (lhs.denote ctx = rhs.denote ctx) = False :=
  eq_false fun e => not_dvd_value ctx h (by rw [value_diff, e, Int.sub_self]; exact Int.dvd_zero k)
theorem norm_dvd (k : Int) (e : Expr) (p : Poly) (h : same e.form p.form = true) : (k ∣ e.denote ctx) = (k ∣ p.denote' ctx) := by
  rw [Expr.eq_of_norm_eq ctx e p h]
def dvdCert (k₁ : Int) (e₁ : Expr) (k₂ : Int) (p₂ : Poly) (g : Int) : Bool :=
  decide (g ≠ 0) && (decide (k₁ = g * k₂) && same e₁.form (scale g p₂.form))
theorem norm_dvd_gcd (k₁ : Int) (e₁ : Expr) (k₂ : Int) (p₂ : Poly) (g : Int) (h : dvdCert k₁ e₁ k₂ p₂ g = true) :
    (k₁ ∣ e₁.denote ctx) = (k₂ ∣ p₂.denote' ctx) := by
  have ⟨h₁, h⟩ := Bool.and_eq_true_iff.1 h
  have ⟨h₂, h₃⟩ := Bool.and_eq_true_iff.1 h
  have v := value_of_same ctx h₃
  rw [Expr.value_form, value_scale, Poly.value_form] at v
  rw [v, of_decide_eq_true h₂]
  exact propext ⟨Int.dvd_of_mul_dvd_mul_left (of_decide_eq_true h₁), Int.mul_dvd_mul_left g⟩
def unsatDvdCert (k : Int) (p : Form) : Bool :=
  let g : Int := Nat.gcd k.natAbs p.coeffs.gcd
  indivisibleCert g p
theorem dvd_eq_false (k : Int) (e : Expr) (h : unsatDvdCert k e.form = true) : (k ∣ e.denote ctx) = False :=
  eq_false fun d => not_dvd_value ctx h (by
    rw [Expr.value_form]
    exact Int.dvd_trans (Int.ofNat_dvd_left.2 (Nat.gcd_dvd_left _ _)) d)
end Int.Internal.Linear
