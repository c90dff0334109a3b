/-! Instances that Lean derives, and how values are shown. -/

inductive Weekday where
  | monday | tuesday | wednesday | thursday | friday | saturday | sunday
deriving Repr, BEq, DecidableEq, Inhabited, Ord, Hashable

namespace Weekday
def next : Weekday → Weekday
  | monday => tuesday
  | tuesday => wednesday
  | wednesday => thursday
  | thursday => friday
  | friday => saturday
  | saturday => sunday
  | sunday => monday

theorem next_ne (d : Weekday) : d.next ≠ d := by cases d <;> decide
theorem next_seven (d : Weekday) : d.next.next.next.next.next.next.next = d := by cases d <;> rfl
example : monday ≠ sunday := by decide
example : (monday == monday) = true := rfl
example : compare monday sunday = .lt := by decide
example : (default : Weekday) = monday := rfl
end Weekday

/-- info: Weekday.tuesday -/
#guard_msgs in
#eval Weekday.monday.next

structure Book where
  title : String
  year : Nat
  tags : List String := []
deriving Repr, BEq, DecidableEq, Inhabited

def elements : Book := { title := "Elements", year := 1482, tags := ["geometry"] }
#guard elements == { elements with tags := ["geometry"] }
#guard elements != { elements with year := 1483 }
example : elements ≠ { elements with title := "Data" } := by decide

/-- info: { title := "Elements", year := 1482, tags := ["geometry"] } -/
#guard_msgs in
#eval elements

inductive Expr where
  | num (n : Nat)
  | var (x : String)
  | add (a b : Expr)
  | mul (a b : Expr)
deriving Repr, BEq, DecidableEq

namespace Expr
def eval (env : String → Nat) : Expr → Nat
  | num n => n
  | var x => env x
  | add a b => a.eval env + b.eval env
  | mul a b => a.eval env * b.eval env

def simplify : Expr → Expr
  | add (num 0) e => e.simplify
  | add a b => add a.simplify b.simplify
  | mul a b => mul a.simplify b.simplify
  | e => e

def toString : Expr → String
  | num n => s!"{n}"
  | var x => x
  | add a b => s!"({a.toString} + {b.toString})"
  | mul a b => s!"{a.toString} * {b.toString}"
instance : ToString Expr := ⟨toString⟩

#guard toString (mul (num 2) (add (var "x") (num 1))) == "2 * (x + 1)"
#guard eval (fun _ => 5) (mul (num 2) (add (var "x") (num 1))) == 12
example : add (num 1) (num 2) ≠ mul (num 1) (num 2) := by decide
end Expr

inductive Tree (α : Type) where
  | leaf
  | node (left : Tree α) (value : α) (right : Tree α)
deriving Repr, BEq, DecidableEq, Inhabited

#guard Tree.node .leaf 1 .leaf == Tree.node .leaf 1 .leaf
example : (Tree.leaf : Tree Nat) ≠ Tree.node .leaf 1 .leaf := by decide
