module
prelude
public import Pocket.Decidable
@[expose] public section
/-!
Coercions: the classes whose instances the elaborator chains (`CoeHead` once, `CoeOut` and `Coe` any number of times, `CoeTail` once),
and the casts of natural numbers and integers.
-/
set_option autoImplicit false
universe u v w

class Coe (α : semiOutParam (Sort u)) (β : Sort v) where
  coe : α → β
attribute [coe_decl] Coe.coe

class CoeTC (α : Sort u) (β : Sort v) where
  coe : α → β
attribute [coe_decl] CoeTC.coe
instance {α : Sort u} {β : Sort v} {γ : Sort w} [Coe β γ] [CoeTC α β] : CoeTC α γ := ⟨fun a => Coe.coe (CoeTC.coe a : β)⟩
instance {α : Sort u} {β : Sort v} [Coe α β] : CoeTC α β := ⟨fun a => Coe.coe a⟩
instance {α : Sort u} : CoeTC α α := ⟨fun a => a⟩

class CoeOut (α : Sort u) (β : semiOutParam (Sort v)) where
  coe : α → β
attribute [coe_decl] CoeOut.coe

class CoeOTC (α : Sort u) (β : Sort v) where
  coe : α → β
attribute [coe_decl] CoeOTC.coe
instance {α : Sort u} {β : Sort v} {γ : Sort w} [CoeOut α β] [CoeOTC β γ] : CoeOTC α γ := ⟨fun a => CoeOTC.coe (CoeOut.coe a : β)⟩
instance {α : Sort u} {β : Sort v} [CoeTC α β] : CoeOTC α β := ⟨fun a => CoeTC.coe a⟩
instance {α : Sort u} : CoeOTC α α := ⟨fun a => a⟩

class CoeHead (α : Sort u) (β : semiOutParam (Sort v)) where
  coe : α → β
attribute [coe_decl] CoeHead.coe

class CoeHTC (α : Sort u) (β : Sort v) where
  coe : α → β
attribute [coe_decl] CoeHTC.coe
instance {α : Sort u} {β : Sort v} {γ : Sort w} [CoeHead α β] [CoeOTC β γ] : CoeHTC α γ := ⟨fun a => CoeOTC.coe (CoeHead.coe a : β)⟩
instance {α : Sort u} {β : Sort v} [CoeOTC α β] : CoeHTC α β := ⟨fun a => CoeOTC.coe a⟩
instance {α : Sort u} : CoeHTC α α := ⟨fun a => a⟩

class CoeTail (α : semiOutParam (Sort u)) (β : Sort v) where
  coe : α → β
attribute [coe_decl] CoeTail.coe

class CoeHTCT (α : Sort u) (β : Sort v) where
  coe : α → β
attribute [coe_decl] CoeHTCT.coe
instance {α : Sort u} {β : Sort v} {γ : Sort w} [CoeTail β γ] [CoeHTC α β] : CoeHTCT α γ := ⟨fun a => CoeTail.coe (CoeHTC.coe a : β)⟩
instance {α : Sort u} {β : Sort v} [CoeHTC α β] : CoeHTCT α β := ⟨fun a => CoeHTC.coe a⟩
instance {α : Sort u} : CoeHTCT α α := ⟨fun a => a⟩

/-- A coercion that may depend on the value. -/
class CoeDep (α : Sort u) (_ : α) (β : Sort v) where
  coe : β
attribute [coe_decl] CoeDep.coe

/-- What the elaborator asks for. -/
class CoeT (α : Sort u) (_ : α) (β : Sort v) where
  coe : β
attribute [coe_decl] CoeT.coe
instance {α : Sort u} {a : α} {β : Sort v} [CoeHTCT α β] : CoeT α a β := ⟨CoeHTCT.coe a⟩
instance {α : Sort u} {a : α} {β : Sort v} [CoeDep α a β] : CoeT α a β := ⟨CoeDep.coe a⟩
instance {α : Sort u} {a : α} : CoeT α a α := ⟨a⟩

class CoeFun (α : Sort u) (γ : outParam (α → Sort v)) where
  coe : (f : α) → γ f
attribute [coe_decl] CoeFun.coe
class CoeSort (α : Sort u) (β : outParam (Sort v)) where
  coe : α → β
attribute [coe_decl] CoeSort.coe

/-! ## Instances -/

instance boolToProp : Coe Bool Prop := ⟨fun b => b = true⟩
instance boolToSort : CoeSort Bool Prop := ⟨fun b => b = true⟩
instance decPropToBool (p : Prop) [Decidable p] : CoeDep Prop p Bool := ⟨decide p⟩
instance optionCoe {α : Type u} : Coe α (Option α) := ⟨some⟩
instance subtypeCoe {α : Sort u} {p : α → Prop} : CoeOut (Subtype p) α := ⟨fun v => v.val⟩

/-! ## Casts of numbers -/

class NatCast (R : Type u) where
  natCast : Nat → R
instance instNatCastNat : NatCast Nat := ⟨id⟩
@[coe, reducible, match_pattern] protected def Nat.cast {R : Type u} [NatCast R] : Nat → R := NatCast.natCast
instance {R : Type u} [NatCast R] : CoeTail Nat R := ⟨Nat.cast⟩
instance {R : Type u} [NatCast R] : CoeHTCT Nat R := ⟨Nat.cast⟩
