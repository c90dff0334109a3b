-- Texts that try to have something accepted that is not proved, or that means something else than it says.
-- `--! attack NOTE | NAME` begins one; NOTE is part of what each accepted bad theorem must be said to rest on.
-- `--! honest` begins a file whose theorems rest on nothing of the file.
-- `--! served`: what `proofmesh serve` must refuse, like all attacks; `--! plain`: what it must accept, like `honest`.
--! attack instance : CoeSort Bool Prop | a coercion of the file, which Lean unfolds
theorem ok : True := trivial
instance : CoeSort Bool Prop := ⟨fun _ => True⟩
theorem bad : false := trivial
theorem ok2 : 1 + 1 = 2 := rfl
--! attack CoeSort | a coercion in a namespace that is opened
namespace Z
scoped instance : CoeSort Bool Prop := ⟨fun _ => True⟩
end Z
open Z in
theorem bad : false := trivial
open Z in
theorem ok : 1 = 1 := rfl
open scoped Z in
theorem bad2 : false := trivial
--! attack cc (n : Nat | a coercion of one number
instance (priority := 99999) cc (n : Nat) : CoeDep Nat n Int := ⟨0⟩
example (n : Nat) : (n : Int) = 0 := rfl
theorem ok (n : Nat) : n = n := rfl
--! attack match_pattern | a pattern with another meaning
namespace A
@[match_pattern] def Nat.zero : Nat := 1
theorem bad : (match 1 with | Nat.zero => True | _ => False) := trivial
theorem ok : 1 = 1 := rfl
end A
--! attack Int.Pred | a type that the compiled statement does not show
namespace A
abbrev Int.Pred := Nat → Prop
theorem bad : ∃ p : Nat, (fun x => x - 1 = 0 : Int.Pred) p := ⟨0, rfl⟩
theorem ok : 1 = 1 := rfl
end A
--! attack renaming | renamed names for one theorem
open Nat renaming le → lt in
theorem bad : lt 1 1 := Nat.le_refl 1
theorem ok : 1 = 1 := rfl
--! attack variable {a : False} | a hypothesis named as a bound variable
theorem ok : ∀ a : Nat, a = a := fun _ => rfl
variable {a : False}
include a
theorem bad : ∀ a : Nat, a = a + 1 := a.elim
--! attack variable {h : False} | a hypothesis for one theorem
variable {h : False} in
include h in
theorem bad : 1 = 2 := h.elim
theorem ok : 1 = 1 := rfl
--! attack Nonempty | an instance that is a proposition
variable {p : Prop} [Nonempty p]
theorem bad : p := Classical.choice inferInstance
variable {α : Type} [Nonempty α]
theorem ok (a : α) : a = a := rfl
--! attack checkBinderAnnotations | a hypothesis as an instance
theorem ok : 1 = 1 := rfl
set_option checkBinderAnnotations false
variable {m n : Nat} [h : Nat.le m n]
theorem bad : m ≤ n := h
--! attack class | a relation of the library as a class
theorem ok : 1 = 1 := rfl
attribute [class] Nat.le
variable {m n : Nat} [h : Nat.le m n]
theorem bad : m ≤ n := h
--! attack variable {h : False} | another option that hides commands
set_option trace.profiler.output "x"
variable {h : False}
include h
theorem bad : 1 = 2 := h.elim
example : 1 = 2 := sorry
--! attack  | a macro that hides commands
macro "foo" : command => `(set_option trace.profiler.output "x")
foo
example : 1 = 2 := sorry
theorem ok : True := trivial
--! attack  | theorems behind `#exit` in its line
theorem ok : True := trivial
#exit theorem bad : 1 = 2 := rfl
 foo example : 1 = 2 := rfl
--! attack  | errors that `#guard_msgs` drops
#guard_msgs (drop all) in
theorem bad : 1 = 2 := rfl
#guard_msgs (drop all) in
example : Nat.foo = 2 := rfl
theorem ok : 1 = 1 := rfl
--! attack OfNat | an instance for the library's numbers
instance (n : Nat) : OfNat Nat n := ⟨0⟩
theorem bad : (2 : Nat) = 3 := rfl
theorem ok : True := trivial
--! attack default_instance | a default instance
@[default_instance 2000] instance : OfNat Int n := ⟨0⟩
theorem bad : 2 = 3 := rfl
--! attack instance | an attribute for one theorem
def z : CoeSort Bool Prop := ⟨fun _ => True⟩
attribute [local instance] z in
theorem bad : false := trivial
theorem ok : 1 = 1 := rfl
--! attack  | proofs that an option leaves out
set_option debug.byAsSorry true in
theorem bad : 1 = 2 := by simp
set_option debug.skipKernelTC true
theorem ok : True := trivial
--! attack  | an axiom as an instance
class Magic : Prop where
  f : False
axiom magic : Magic
attribute [instance] magic
theorem bad : 1 = 2 := Magic.f.elim
--! attack A.False | a namespace that hides the library's
namespace A
inductive False : Prop | intro
theorem bad : False := .intro
theorem ok : True := trivial
end A
--! honest |
universe u v
variable {α : Type u} [DecidableEq α] [Inhabited α]
section
variable (a b : α) {p : Nat → Prop}
variable [DecidablePred p]
theorem t : a = b → b = a := Eq.symm
theorem w (n : Nat) : (if p n then 1 else 1) = 1 := by split <;> rfl
end
--! honest |
variable {α β : Type} {f : α → β} {n : Nat} (v : Fin n) (xs ys : List α) [BEq α] [LawfulBEq α]
theorem t : v = v := rfl
theorem u : xs ++ [] = xs := by simp
theorem w (x : α) (h : xs = []) : f x = f x := rfl
--! honest |
namespace My
inductive T | a | b deriving Repr, DecidableEq
open T
def f : T → Nat | a => 0 | b => 1
theorem lib (n : Nat) : n + 0 = n := rfl
namespace T
theorem lib2 (xs : List Nat) : xs ++ [] = xs := by simp
end T
open My.T in
theorem lib3 : 2 < 3 := by decide
mutual
theorem m1 : True := trivial
theorem m2 (n : Nat) : n = n := rfl
end
@[simp] theorem s (n : Nat) : n * 1 = n := Nat.mul_one n
end My
open My T in
example : 6 = 6 := rfl
open My (f) in
theorem z : 1 = 1 := rfl
open Nat hiding add
example : 7 = 7 := rfl
--! honest |
def g := 1
theorem t : ∀ n : Nat, n = n
  | 0 => rfl
  | _ + 1 => rfl
theorem w : 1 = 1 ∧ 2 = 2 where
  left := rfl
  right := rfl
theorem x : let y := 1; y = 1 := rfl
theorem q {xs : List Nat} (h : 0 < xs.length) : xs[0]'h = xs[0] := rfl
theorem «an example» : 1 = 1 := rfl
--! honest |
set_option maxRecDepth 900 in
theorem t : 1 = 1 := rfl
set_option pp.all true in
/-- doc -/
@[simp] theorem u : 2 = 2 := rfl
set_option linter.all true
theorem v (n : Nat) : n + 0 = n := by simp
--! honest |
variable {α : Type} [Inhabited α]
omit [Inhabited α] in
theorem t (a : α) : a = a := rfl
--! served |
abbrev N := Nat
instance : Add N := ⟨fun _ _ => (0 : Nat)⟩
theorem t (a b : Nat) : a + b = 0 := rfl
--! served |
class Foo (α : Type) where
  op : α → α → α
instance (priority := 9999) [Foo α] : Mul α := ⟨Foo.op⟩
instance : Foo Nat := ⟨fun _ _ => 0⟩
theorem t (a b : Nat) : a * b = 0 := rfl
--! served |
def zero (_ : Nat) : Int := 0
instance (priority := 99999) cc (n : Nat) : CoeDep Nat n Int := ⟨zero n⟩
theorem v (n : Nat) : (n : Int) = 0 := rfl
--! plain |
structure P where
  x : Nat
  y : Nat
instance : Add P := ⟨fun p q => ⟨p.x + q.x, p.y + q.y⟩⟩
theorem t (p q : P) : (p + q).x = p.x + q.x := rfl
abbrev N := Nat
theorem u (a b : N) : a + b = b + a := Nat.add_comm a b
--! plain |
class Grp (G : Type) extends Mul G where
  one : G
  assoc : ∀ a b c : G, a * b * c = a * (b * c)
variable {G : Type} [Grp G]
theorem t (a b c : G) : a * b * c = a * (b * c) := Grp.assoc a b c
--! plain |
structure Hom where
  f : Nat → Nat
instance : CoeFun Hom (fun _ => Nat → Nat) := ⟨Hom.f⟩
theorem t (h : Hom) : h 1 = h.f 1 := rfl
