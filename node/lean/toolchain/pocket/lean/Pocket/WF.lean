module
prelude
public import Pocket.Function
public import Pocket.Subtype
public import Pocket.Prod
public import Pocket.Nat.Div
public import Pocket.Monad
public import Pocket.Format
@[expose] public section
/-!
Well-founded recursion: sizes of values, accessible elements, well-founded relations, and how `termination_by` proves that arguments fall.
-/
set_option autoImplicit false
universe u v w

inductive PSum (α : Sort u) (β : Sort v) where
  | inl (val : α) : PSum α β
  | inr (val : β) : PSum α β

/-! ## Sizes -/

class SizeOf (α : Sort u) where
  sizeOf : α → Nat
export SizeOf (sizeOf)
protected def default.sizeOf (α : Sort u) : α → Nat
  | _ => 0
instance (priority := low) instSizeOfDefault (α : Sort u) : SizeOf α := ⟨default.sizeOf α⟩
@[simp] theorem sizeOf_default {α : Sort u} (n : α) : sizeOf n = 0 := rfl
instance instSizeOfNat : SizeOf Nat := ⟨fun n => n⟩
@[simp] theorem sizeOf_nat (n : Nat) : sizeOf n = n := rfl
instance instSizeOfForallUnit {α : Sort u} [SizeOf α] : SizeOf (Unit → α) := ⟨fun f => sizeOf (f ())⟩
@[simp] theorem sizeOf_thunk {α : Sort u} [SizeOf α] (f : Unit → α) : sizeOf f = sizeOf (f ()) := rfl
deriving instance SizeOf for PUnit, Bool, Prod, PProd, MProd, Sum, PSum, Sigma, PSigma, Subtype, Option, List, Array, Except, EStateM.Result
deriving instance SizeOf for Fin, BitVec, UInt8, UInt16, UInt32, UInt64, USize, Char, ByteArray, String, Decidable, Int
deriving instance SizeOf for Lean.Name, String.Pos.Raw, Substring.Raw, Lean.SourceInfo, Lean.Syntax.Preresolved, Lean.Syntax, Lean.TSyntax, Std.Format

/-! ## Accessible elements and well-founded relations -/

/-- A mark for parameters on which a function recurses. -/
def wfParam {α : Sort u} (a : α) : α := a

/-- Branches of `if` know its condition while termination is proved. -/
@[wf_preprocess] theorem ite_eq_dite {α : Sort u} (p : Prop) [Decidable p] (a b : α) : (if p then a else b) = if _ : p then a else b := rfl

inductive Acc {α : Sort u} (r : α → α → Prop) : α → Prop where
  | intro (x : α) (h : (y : α) → r y x → Acc r y) : Acc r x
noncomputable abbrev Acc.ndrec.{u1, u2} {α : Sort u2} {r : α → α → Prop} {C : α → Sort u1}
    (m : (x : α) → ((y : α) → r y x → Acc r y) → ((y : α) → r y x → C y) → C x) {a : α} (n : Acc r a) : C a := n.rec m
noncomputable abbrev Acc.ndrecOn.{u1, u2} {α : Sort u2} {r : α → α → Prop} {C : α → Sort u1} {a : α} (n : Acc r a)
    (m : (x : α) → ((y : α) → r y x → Acc r y) → ((y : α) → r y x → C y) → C x) : C a := n.rec m
theorem Acc.inv {α : Sort u} {r : α → α → Prop} {x y : α} (h₁ : Acc r x) (h₂ : r y x) : Acc r y := by
  cases h₁ with
  | intro _ h => exact h y h₂
inductive WellFounded {α : Sort u} (r : α → α → Prop) : Prop where
  | intro (h : ∀ a, Acc r a) : WellFounded r
class WellFoundedRelation (α : Sort u) where
  rel : α → α → Prop
  wf : WellFounded rel

namespace WellFounded
theorem apply {α : Sort u} {r : α → α → Prop} (wf : WellFounded r) (a : α) : Acc r a := by
  cases wf with
  | intro h => exact h a
variable {α : Sort u} {C : α → Sort v} {r : α → α → Prop}
noncomputable def recursion (hwf : WellFounded r) (a : α) (h : ∀ x, (∀ y, r y x → C y) → C x) : C a :=
  (hwf.apply a).rec fun x _ ih => h x ih
theorem induction {C : α → Prop} (hwf : WellFounded r) (a : α) (h : ∀ x, (∀ y, r y x → C y) → C x) : C a := recursion hwf a h
noncomputable def fixF (F : ∀ x, (∀ y, r y x → C y) → C x) (x : α) (a : Acc r x) : C x := a.rec fun x _ ih => F x ih
theorem fixF_eq (F : ∀ x, (∀ y, r y x → C y) → C x) (x : α) (acx : Acc r x) :
    fixF F x acx = F x fun y p => fixF F y (Acc.inv acx p) := by
  cases acx with
  | intro _ _ => rfl
noncomputable def fix (hwf : WellFounded r) (F : ∀ x, (∀ y, r y x → C y) → C x) (x : α) : C x := fixF F x (hwf.apply x)
theorem fix_eq (hwf : WellFounded r) (F : ∀ x, (∀ y, r y x → C y) → C x) (x : α) : fix hwf F x = F x fun y _ => fix hwf F y :=
  fixF_eq F x (hwf.apply x)
end WellFounded
@[reducible] def emptyRelation {α : Sort u} (_ _ : α) : Prop := False
@[instance_reducible] def emptyWf {α : Sort u} : WellFoundedRelation α := ⟨emptyRelation, ⟨fun a => ⟨a, fun _ h => h.elim⟩⟩⟩
abbrev Subrelation {α : Sort u} (q r : α → α → Prop) : Prop := ∀ {x y}, q x y → r x y
namespace Subrelation
variable {α : Sort u} {r q : α → α → Prop}
theorem accessible {a : α} (h₁ : Subrelation q r) (ac : Acc r a) : Acc q a := by
  induction ac with
  | intro x _ ih => exact ⟨x, fun y h => ih y (h₁ h)⟩
theorem wf (h₁ : Subrelation q r) (h₂ : WellFounded r) : WellFounded q := ⟨fun a => accessible h₁ (h₂.apply a)⟩
end Subrelation
def InvImage {α : Sort u} {β : Sort v} (r : β → β → Prop) (f : α → β) (a b : α) : Prop := r (f a) (f b)
namespace InvImage
variable {α : Sort u} {β : Sort v} {r : β → β → Prop}
theorem accessible {a : α} (f : α → β) (ac : Acc r (f a)) : Acc (InvImage r f) a := by
  have all : ∀ b, Acc r b → ∀ x, f x = b → Acc (InvImage r f) x := by
    intro b ac
    induction ac with
    | intro b _ ih => intro x e; exact ⟨x, fun y h => ih (f y) (e ▸ h) y rfl⟩
  exact all (f a) ac a rfl
theorem wf (f : α → β) (h : WellFounded r) : WellFounded (InvImage r f) := ⟨fun a => accessible f (h.apply (f a))⟩
end InvImage
@[reducible] def invImage {α : Sort u} {β : Sort v} (f : α → β) (h : WellFoundedRelation β) : WellFoundedRelation α :=
  ⟨InvImage h.rel f, InvImage.wf f h.wf⟩
namespace Nat
theorem lt_wf : WellFounded Nat.lt := ⟨fun n => by
  induction n with
  | zero => exact ⟨0, fun _ h => absurd h (Nat.not_lt_zero _)⟩
  | succ n ih =>
    refine ⟨n + 1, fun m h => ?_⟩
    cases Nat.lt_or_eq_of_le (Nat.le_of_lt_succ h) with
    | inl h => exact ih.inv h
    | inr e => exact e ▸ ih⟩
@[instance_reducible] def lt_wfRel : WellFoundedRelation Nat := ⟨Nat.lt, lt_wf⟩
end Nat
abbrev measure {α : Sort u} (f : α → Nat) : WellFoundedRelation α := invImage f Nat.lt_wfRel
abbrev sizeOfWFRel {α : Sort u} [SizeOf α] : WellFoundedRelation α := measure sizeOf
instance (priority := low) instWellFoundedRelationOfSizeOf {α : Sort u} [SizeOf α] : WellFoundedRelation α := sizeOfWFRel

/-! ## Lexicographic order -/

namespace Prod
variable {α : Type u} {β : Type v}
inductive Lex (ra : α → α → Prop) (rb : β → β → Prop) : α × β → α × β → Prop where
  | left {a₁ : α} (b₁ : β) {a₂ : α} (b₂ : β) (h : ra a₁ a₂) : Lex ra rb (a₁, b₁) (a₂, b₂)
  | right (a : α) {b₁ b₂ : β} (h : rb b₁ b₂) : Lex ra rb (a, b₁) (a, b₂)
variable {ra : α → α → Prop} {rb : β → β → Prop}
theorem Lex.right' {a₁ a₂ : Nat} {b₁ b₂ : β} (h₁ : a₁ ≤ a₂) (h₂ : rb b₁ b₂) : Prod.Lex Nat.lt rb (a₁, b₁) (a₂, b₂) := by
  cases Nat.lt_or_eq_of_le h₁ with
  | inl h => exact .left b₁ b₂ h
  | inr e => exact e ▸ .right a₁ h₂
theorem lexAccessible {a : α} (aca : Acc ra a) (acb : (b : β) → Acc rb b) (b : β) : Acc (Lex ra rb) (a, b) := by
  induction aca generalizing b with
  | intro a _ iha =>
    induction acb b with
    | intro b _ ihb =>
      refine ⟨(a, b), fun p h => ?_⟩
      cases h with
      | left _ _ h => exact iha _ h _
      | right _ h => exact ihb _ h
@[reducible] def lex (ha : WellFoundedRelation α) (hb : WellFoundedRelation β) : WellFoundedRelation (α × β) :=
  ⟨Lex ha.rel hb.rel, ⟨fun (a, b) => lexAccessible (ha.wf.apply a) hb.wf.apply b⟩⟩
instance instWellFoundedRelation [ha : WellFoundedRelation α] [hb : WellFoundedRelation β] : WellFoundedRelation (α × β) := lex ha hb
end Prod
namespace PSigma
variable {α : Sort u} {β : α → Sort v}
inductive Lex (r : α → α → Prop) (s : ∀ a, β a → β a → Prop) : PSigma β → PSigma β → Prop where
  | left {a₁ : α} (b₁ : β a₁) {a₂ : α} (b₂ : β a₂) : r a₁ a₂ → Lex r s ⟨a₁, b₁⟩ ⟨a₂, b₂⟩
  | right (a : α) {b₁ b₂ : β a} : s a b₁ b₂ → Lex r s ⟨a, b₁⟩ ⟨a, b₂⟩
theorem lexAccessible {r : α → α → Prop} {s : ∀ a, β a → β a → Prop} {a : α} (aca : Acc r a) (acb : (a : α) → WellFounded (s a)) (b : β a) :
    Acc (Lex r s) (PSigma.mk a b) := by
  induction aca with
  | intro a _ iha =>
    induction (acb a).apply b with
    | intro b _ ihb =>
      refine ⟨PSigma.mk a b, fun p h => ?_⟩
      cases h with
      | left _ _ h => exact iha _ h _
      | right _ h => exact ihb _ h
@[reducible] def lex (ha : WellFoundedRelation α) (hb : (a : α) → WellFoundedRelation (β a)) : WellFoundedRelation (PSigma β) :=
  ⟨Lex ha.rel fun a => (hb a).rel, ⟨fun p => lexAccessible (ha.wf.apply p.1) (fun a => (hb a).wf) p.2⟩⟩
instance instWellFoundedRelation [ha : WellFoundedRelation α] [hb : (a : α) → WellFoundedRelation (β a)] : WellFoundedRelation (PSigma β) := lex ha hb
end PSigma

/-! ## Recursion on a measure: it computes wherever the measure has a value -/

@[reducible] def WellFounded.wrap {α : Sort u} {r : α → α → Prop} (h : WellFounded r) : WellFoundedRelation α := ⟨r, h⟩
/-- Keeps the well-foundedness proof of a definition from being unfolded. -/
opaque Lean.opaqueId {α : Sort u} (x : α) : α := x
namespace WellFounded.Nat
variable {α : Sort u} {motive : α → Sort v} (h : α → Nat) (F : (x : α) → ((y : α) → InvImage (· < ·) h y x → motive y) → motive x)
/-- `n`, in a form that reduces only if `n` is a numeral. -/
def eager (n : Nat) : Nat := if Nat.beq n n = true then n else n
theorem eager_eq (n : Nat) : eager n = n := ite_self n
def fix.go : (fuel : Nat) → (x : α) → h x < fuel → motive x
  | 0, _, hx => (Nat.not_lt_zero _ hx).elim
  | fuel + 1, x, hx => F x fun y hy => fix.go fuel y (Nat.lt_of_lt_of_le hy (Nat.le_of_lt_succ hx))
def fix (x : α) : motive x := fix.go h F (eager (h x + 1)) x ((eager_eq (h x + 1)).symm ▸ Nat.lt_add_one (h x))
theorem fix.go_congr (x : α) (fuel fuel' : Nat) (h₁ : h x < fuel) (h₂ : h x < fuel') : fix.go h F fuel x h₁ = fix.go h F fuel' x h₂ := by
  induction fuel generalizing x fuel' with
  | zero => exact absurd h₁ (Nat.not_lt_zero _)
  | succ fuel ih =>
    cases fuel' with
    | zero => exact absurd h₂ (Nat.not_lt_zero _)
    | succ fuel' => exact congrArg (F x) (funext fun y => funext fun hy => ih y fuel' _ _)
theorem fix_eq (x : α) : fix h F x = F x fun y _ => fix h F y := by
  have step : ∀ (n : Nat) (e : n = h x + 1) (hn : h x < n), fix.go h F n x hn = F x fun y _ => fix h F y := by
    intro n e hn
    subst e
    exact congrArg (F x) (funext fun y => funext fun hy => fix.go_congr h F y _ _ _ _)
  exact step _ (eager_eq _) _
end WellFounded.Nat
