module
prelude
public import Pocket.Decidable
@[expose] public section
/-! Elements with a property. -/
set_option autoImplicit false
universe u v

namespace Subtype
variable {α : Sort u} {p q : α → Prop}

@[ext] protected theorem ext : {a₁ a₂ : Subtype p} → a₁.val = a₂.val → a₁ = a₂
  | ⟨_, _⟩, ⟨_, _⟩, rfl => rfl
protected theorem eq {a₁ a₂ : Subtype p} (h : a₁.val = a₂.val) : a₁ = a₂ := Subtype.ext h
@[simp] theorem eta (a : Subtype p) (h : p a.val) : mk a.val h = a := rfl
@[simp] protected theorem «forall» {q : Subtype p → Prop} : (∀ x, q x) ↔ ∀ a b, q ⟨a, b⟩ := ⟨fun h a b => h ⟨a, b⟩, fun h ⟨a, b⟩ => h a b⟩
@[simp] protected theorem «exists» {q : Subtype p → Prop} : (∃ x, q x) ↔ ∃ a b, q ⟨a, b⟩ :=
  ⟨fun ⟨⟨a, b⟩, h⟩ => ⟨a, b, h⟩, fun ⟨a, b, h⟩ => ⟨⟨a, b⟩, h⟩⟩
theorem mk_eq_mk {a : α} {h : p a} {a' : α} {h' : p a'} : (mk a h : Subtype p) = mk a' h' ↔ a = a' := Subtype.ext_iff
theorem prop (a : Subtype p) : p a.val := a.property
theorem exists_of_subtype : Subtype p → ∃ x, p x := fun ⟨a, h⟩ => ⟨a, h⟩
def impEmbedding (h : ∀ a, p a → q a) (x : Subtype p) : Subtype q := ⟨x.val, h x.val x.property⟩
instance {α : Type u} {p : α → Prop} [DecidableEq α] : DecidableEq (Subtype p) := fun _ _ =>
  decidable_of_decidable_of_iff Subtype.ext_iff.symm
end Subtype
