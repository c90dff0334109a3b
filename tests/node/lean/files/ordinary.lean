import Init
/-! # A file about macros and syntax: `#eval`, `@[extern "x"]`, `run_cmd` /- nested: macro foo -/ -/

open Nat (succ) in
/-- The `macro` of all things, `elab` and `syntax`. -/
@[simp, ext high] theorem run_pure (x y : Nat) : x + 0 = x := by
  simp only [Nat.add_zero] -- no native_decide here

-- unsafe extern implemented_by
universe u v
variable {α : Type u} [Inhabited α]
namespace A.B
section
set_option maxRecDepth 200 in
@[inline, reducible,
  deprecated run_pure (since := "2024-01-01")]
protected def quote : Char := '"'
def macroExpand (c : Char) : Bool := c == '"' || c == '\'' || c == '\\'
def said := "macro \"x\" : term => `(1) /- "
def raw := r#"run_cmd " macro"#
def shown (n : Nat) := s!"the value {n} and {quote}"
structure Point where
  x : Nat := 1
  y : Nat
deriving Repr, DecidableEq
instance : Inhabited Point := ⟨{ x := 1, y := 2 }⟩
deriving instance BEq for Point
class inductive T : Prop
  | mk
inductive Tree
  | leaf
  | node (l r : Tree)
  deriving Repr
@[to_additive (attr := simp) add_foo] theorem mul_foo (xs : List Nat) (h : 0 < xs.length) : xs[0]'h = xs[0] := rfl
local notation "‖" x "‖" => Nat.succ x
infixl:65 " ⊕ " => Nat.add
notation:max "∑ " x => Nat.succ x
-- macro, again
attribute [local simp] Nat.add_comm
attribute [-simp] Nat.add_comm
theorem two : 1 ⊕ 1 = 2 :=
by rfl
example : f x ⁻¹' s = t := rfl
#check two
/-- info: 'macro' -/
#guard_msgs in
#print axioms two
mutual
  theorem m1 : True := trivial
  private theorem m2 (n : Nat) : n = n := rfl
end
noncomputable section
open Classical in
lemma three : (1 : Nat)
    = 1 := by
  have h : 1 = 1 := by decide
  exact h
end
end
end A.B
initialize_simps_projections Point (x → fst)
