module
prelude
public import Pocket.Int.DivMod
public import Pocket.Nat.Lemmas
public import Pocket.List.Mem
public import Pocket.Control
@[expose] public section
/-!
Associative and commutative operations: their classes and instances, and the normal form by which `ac_rfl` and `ac_nf` compare terms.

The value of a list of variables is an optional element, `none` for the empty list, so that lists form a monoid.
-/
set_option autoImplicit false
universe u v

/-! ## Classes -/

namespace Std
class Associative {α : Sort u} (op : α → α → α) : Prop where
  assoc : (a b c : α) → op (op a b) c = op a (op b c)
class Commutative {α : Sort u} (op : α → α → α) : Prop where
  comm : (a b : α) → op a b = op b a
class IdempotentOp {α : Sort u} (op : α → α → α) : Prop where
  idempotent : (x : α) → op x x = x
class LawfulIdentity {α : Sort u} (op : α → α → α) (o : outParam α) : Prop where
  left_id : (a : α) → op o a = a
  right_id : (a : α) → op a o = a
end Std

namespace Lean.Data.AC
inductive Expr where
  | var (x : Nat)
  | op (lhs rhs : Expr)
structure Variable {α : Sort u} (op : α → α → α) : Type u where
  value : α
  neutral : Option (PLift (Std.LawfulIdentity op value))
structure Context (α : Sort u) where
  op : α → α → α
  assoc : Std.Associative op
  comm : Option (PLift (Std.Commutative op))
  idem : Option (PLift (Std.IdempotentOp op))
  vars : List (Variable op)
  arbitrary : α

/-! ## Values and normal forms -/

variable {α : Sort u}
def Context.lookup (ctx : Context α) : List (Variable ctx.op) → Nat → Variable ctx.op
  | [], _ => ⟨ctx.arbitrary, none⟩
  | v :: _, 0 => v
  | _ :: vs, i + 1 => ctx.lookup vs i
def Context.var (ctx : Context α) (x : Nat) : Variable ctx.op := ctx.lookup ctx.vars x
def eval (ctx : Context α) : Expr → α
  | .var x => (ctx.var x).value
  | .op l r => ctx.op (eval ctx l) (eval ctx r)
def Expr.toList : Expr → List Nat
  | .var x => [x]
  | .op l r => l.toList ++ r.toList
def insert (x : Nat) : List Nat → List Nat
  | [] => [x]
  | a :: as => cond (Nat.ble x a) (x :: a :: as) (a :: insert x as)
def sort : List Nat → List Nat
  | [] => []
  | x :: xs => insert x (sort xs)
/-- Keep one of equal neighbours. -/
def merge : List Nat → List Nat
  | [] => []
  | x :: xs => match merge xs with
    | [] => [x]
    | y :: ys => cond (Nat.beq x y) (y :: ys) (x :: y :: ys)
def dropNeutral (ctx : Context α) : List Nat → List Nat
  | [] => []
  | x :: xs => match (ctx.var x).neutral with
    | none => x :: dropNeutral ctx xs
    | some _ => dropNeutral ctx xs
/-- Without neutral elements, but not empty. -/
def removeNeutral (ctx : Context α) (xs : List Nat) : List Nat :=
  match dropNeutral ctx xs with
  | [] => match xs with
    | [] => []
    | x :: _ => [x]
  | y :: ys => y :: ys
def norm (ctx : Context α) (e : Expr) : List Nat :=
  let xs := removeNeutral ctx e.toList
  let xs := match ctx.comm with
    | none => xs
    | some _ => sort xs
  match ctx.idem with
  | none => xs
  | some _ => merge xs

/-! ## The normal form keeps the value -/

inductive Value (α : Sort u) where
  | none : Value α
  | some (a : α) : Value α
def Value.combine (op : α → α → α) : Value α → Value α → Value α
  | .none, b => b
  | .some a, .none => .some a
  | .some a, .some b => .some (op a b)
def value (ctx : Context α) : List Nat → Value α
  | [] => .none
  | x :: xs => .combine ctx.op (.some (ctx.var x).value) (value ctx xs)

theorem Value.combine_none (op : α → α → α) (a : Value α) : combine op a .none = a := by cases a <;> rfl
theorem Value.combine_assoc (ctx : Context α) (a b c : Value α) :
    combine ctx.op (combine ctx.op a b) c = combine ctx.op a (combine ctx.op b c) := by
  cases a with
  | none => rfl
  | some a => cases b with
    | none => rfl
    | some b => cases c with
      | none => rfl
      | some c => exact congrArg Value.some (ctx.assoc.assoc a b c)
theorem Value.combine_comm {op : α → α → α} (h : Std.Commutative op) (a b : Value α) : combine op a b = combine op b a := by
  cases a with
  | none => cases b <;> rfl
  | some a => cases b with
    | none => rfl
    | some b => exact congrArg Value.some (h.comm a b)
theorem value_append (ctx : Context α) (xs ys : List Nat) : value ctx (xs ++ ys) = .combine ctx.op (value ctx xs) (value ctx ys) := by
  induction xs with
  | nil => rfl
  | cons x xs ih =>
    show Value.combine ctx.op _ (value ctx (xs ++ ys)) = Value.combine ctx.op (.combine ctx.op _ _) _
    rw [ih, Value.combine_assoc]
theorem value_toList (ctx : Context α) (e : Expr) : value ctx e.toList = .some (eval ctx e) := by
  induction e with
  | var x => rfl
  | op l r ihl ihr => rw [Expr.toList, value_append, ihl, ihr]; rfl
theorem value_insert (ctx : Context α) (h : Std.Commutative ctx.op) (x : Nat) (xs : List Nat) :
    value ctx (insert x xs) = value ctx (x :: xs) := by
  induction xs with
  | nil => rfl
  | cons a as ih =>
    unfold insert
    cases Nat.ble x a with
    | true => rfl
    | false =>
      show Value.combine ctx.op (.some (ctx.var a).value) (value ctx (insert x as)) = _
      rw [ih]
      show Value.combine ctx.op _ (.combine ctx.op _ _) = Value.combine ctx.op _ (.combine ctx.op _ _)
      rw [← Value.combine_assoc, Value.combine_comm h (.some (ctx.var a).value), Value.combine_assoc]
theorem value_sort (ctx : Context α) (h : Std.Commutative ctx.op) (xs : List Nat) : value ctx (sort xs) = value ctx xs := by
  induction xs with
  | nil => rfl
  | cons x xs ih => rw [sort, value_insert ctx h]; exact congrArg (Value.combine ctx.op (.some (ctx.var x).value)) ih
theorem value_merge (ctx : Context α) (h : Std.IdempotentOp ctx.op) (xs : List Nat) : value ctx (merge xs) = value ctx xs := by
  induction xs with
  | nil => rfl
  | cons x xs ih =>
    have e : value ctx (x :: xs) = Value.combine ctx.op (.some (ctx.var x).value) (value ctx (merge xs)) := by rw [ih]; rfl
    rw [e, merge]
    cases merge xs with
    | nil => rfl
    | cons y ys =>
      show value ctx (cond (Nat.beq x y) (y :: ys) (x :: y :: ys)) = _
      cases hxy : Nat.beq x y with
      | false => rfl
      | true =>
        rw [Nat.eq_of_beq_eq_true x y hxy]
        show Value.combine ctx.op _ _ = Value.combine ctx.op _ (.combine ctx.op _ _)
        rw [← Value.combine_assoc]
        exact congrArg (Value.combine ctx.op · (value ctx ys)) (congrArg Value.some (h.idempotent _).symm)
/-- Without neutral elements the value is the same, unless nothing is left: then the value was neutral. -/
theorem value_dropNeutral (ctx : Context α) (xs : List Nat) :
    value ctx (dropNeutral ctx xs) = value ctx xs ∨
      dropNeutral ctx xs = [] ∧ ∃ o, value ctx xs = .some o ∧ Std.LawfulIdentity ctx.op o := by
  induction xs with
  | nil => exact .inl rfl
  | cons x xs ih =>
    cases hx : (ctx.var x).neutral with
    | none =>
      have e : dropNeutral ctx (x :: xs) = x :: dropNeutral ctx xs := by rw [dropNeutral, hx]
      rw [e]
      refine .inl ?_
      show Value.combine ctx.op _ _ = Value.combine ctx.op _ _
      rcases ih with ih | ⟨ih, o, ho, id⟩
      · rw [ih]
      · rw [ih, ho]; exact congrArg Value.some (id.right_id _).symm
    | some n =>
      have e : dropNeutral ctx (x :: xs) = dropNeutral ctx xs := by rw [dropNeutral, hx]
      rw [e]
      cases hv : value ctx xs with
      | none =>
        rw [hv] at ih
        cases hd : dropNeutral ctx xs with
        | nil => exact .inr ⟨rfl, _, by show Value.combine ctx.op _ (value ctx xs) = _; rw [hv]; rfl, n.down⟩
        | cons y ys =>
          rw [hd] at ih
          rcases ih with ih | ⟨ih, _⟩
          · have ih : Value.combine ctx.op (.some (ctx.var y).value) (value ctx ys) = .none := ih
            cases hy : value ctx ys <;> rw [hy] at ih <;> exact nomatch ih
          · exact nomatch ih
      | some b =>
        have e' : value ctx (x :: xs) = .some b := by
          show Value.combine ctx.op _ (value ctx xs) = _
          rw [hv]; exact congrArg Value.some (n.down.left_id b)
        rw [hv] at ih
        rw [e']; exact ih
theorem value_removeNeutral (ctx : Context α) (xs : List Nat) : value ctx (removeNeutral ctx xs) = value ctx xs := by
  unfold removeNeutral
  cases hd : dropNeutral ctx xs with
  | cons y ys =>
    rcases value_dropNeutral ctx xs with h | ⟨h, _⟩
    · rw [hd] at h; exact h
    · rw [hd] at h; exact nomatch h
  | nil => cases xs with
    | nil => rfl
    | cons x xs =>
      have hd' : dropNeutral ctx xs = [] := by
        rw [dropNeutral] at hd
        cases hx : (ctx.var x).neutral with
        | none => rw [hx] at hd; exact nomatch hd
        | some n => rw [hx] at hd; exact hd
      show Value.combine ctx.op _ Value.none = Value.combine ctx.op _ (value ctx xs)
      rcases value_dropNeutral ctx xs with h | ⟨_, o, ho, id⟩
      · rw [← h, hd']; rfl
      · rw [ho]; exact congrArg Value.some (id.right_id _).symm
theorem value_norm (ctx : Context α) (e : Expr) : value ctx (norm ctx e) = .some (eval ctx e) := by
  rw [← value_toList ctx e, ← value_removeNeutral ctx e.toList]
  unfold norm
  cases ctx.comm with
  | none => cases ctx.idem with
    | none => rfl
    | some h => exact value_merge ctx h.down _
  | some h' => cases ctx.idem with
    | none => exact value_sort ctx h'.down _
    | some h => exact (value_merge ctx h.down _).trans (value_sort ctx h'.down _)
theorem Context.eq_of_norm (ctx : Context α) (a b : Expr) (h : (norm ctx a == norm ctx b) = true) : eval ctx a = eval ctx b := by
  have e := congrArg (value ctx) (of_decide_eq_true h)
  rw [value_norm, value_norm] at e
  exact Value.some.inj e
end Lean.Data.AC

/-! ## Instances -/

namespace Std
instance : Associative (α := Nat) (· + ·) := ⟨Nat.add_assoc⟩
instance : Commutative (α := Nat) (· + ·) := ⟨Nat.add_comm⟩
instance : LawfulIdentity (α := Nat) (· + ·) 0 := ⟨Nat.zero_add, Nat.add_zero⟩
instance : Associative (α := Nat) (· * ·) := ⟨Nat.mul_assoc⟩
instance : Commutative (α := Nat) (· * ·) := ⟨Nat.mul_comm⟩
instance : LawfulIdentity (α := Nat) (· * ·) 1 := ⟨Nat.one_mul, Nat.mul_one⟩
instance : Associative (α := Nat) min := ⟨Nat.min_assoc⟩
instance : Commutative (α := Nat) min := ⟨Nat.min_comm⟩
instance : IdempotentOp (α := Nat) min := ⟨Nat.min_self⟩
instance : Associative (α := Nat) max := ⟨Nat.max_assoc⟩
instance : Commutative (α := Nat) max := ⟨Nat.max_comm⟩
instance : IdempotentOp (α := Nat) max := ⟨Nat.max_self⟩
instance : LawfulIdentity (α := Nat) max 0 := ⟨Nat.zero_max, Nat.max_zero⟩
instance : Associative Nat.gcd := ⟨Nat.gcd_assoc⟩
instance : Commutative Nat.gcd := ⟨Nat.gcd_comm⟩
instance : Associative (α := Int) (· + ·) := ⟨Int.add_assoc⟩
instance : Commutative (α := Int) (· + ·) := ⟨Int.add_comm⟩
instance : LawfulIdentity (α := Int) (· + ·) 0 := ⟨Int.zero_add, Int.add_zero⟩
instance : Associative (α := Int) (· * ·) := ⟨Int.mul_assoc⟩
instance : Commutative (α := Int) (· * ·) := ⟨Int.mul_comm⟩
instance : LawfulIdentity (α := Int) (· * ·) 1 := ⟨Int.one_mul, Int.mul_one⟩
instance : Associative (α := Int) min := ⟨Int.min_assoc⟩
instance : Commutative (α := Int) min := ⟨Int.min_comm⟩
instance : IdempotentOp (α := Int) min := ⟨Int.min_self⟩
instance : Associative (α := Int) max := ⟨Int.max_assoc⟩
instance : Commutative (α := Int) max := ⟨Int.max_comm⟩
instance : IdempotentOp (α := Int) max := ⟨Int.max_self⟩
instance : Associative And := ⟨fun _ _ _ => propext and_assoc⟩
instance : Commutative And := ⟨fun _ _ => propext and_comm⟩
instance : IdempotentOp And := ⟨and_self⟩
instance : Associative Or := ⟨fun _ _ _ => propext or_assoc⟩
instance : Commutative Or := ⟨fun _ _ => propext or_comm⟩
instance : IdempotentOp Or := ⟨or_self⟩
instance : Associative and := ⟨Bool.and_assoc⟩
instance : Commutative and := ⟨Bool.and_comm⟩
instance : IdempotentOp and := ⟨Bool.and_self⟩
instance : Associative or := ⟨Bool.or_assoc⟩
instance : Commutative or := ⟨Bool.or_comm⟩
instance : IdempotentOp or := ⟨Bool.or_self⟩
instance {α : Type u} : Associative (α := List α) (· ++ ·) := ⟨List.append_assoc⟩
instance {α : Type u} : LawfulIdentity (α := List α) (· ++ ·) [] := ⟨List.nil_append, List.append_nil⟩
end Std
