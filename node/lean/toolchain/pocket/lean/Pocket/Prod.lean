module
prelude
public import Pocket.Bool
@[expose] public section
/-! Pairs. -/
set_option autoImplicit false
universe u v w x

namespace Prod
variable {α : Type u} {β : Type v} {γ : Type w} {δ : Type x}

@[ext] protected theorem ext : {p q : α × β} → p.fst = q.fst → p.snd = q.snd → p = q
  | (_, _), (_, _), rfl, rfl => rfl
instance instDecidableEq [DecidableEq α] [DecidableEq β] : DecidableEq (α × β) := fun _ _ =>
  decidable_of_decidable_of_iff Prod.ext_iff.symm
@[simp] theorem eta (p : α × β) : (p.1, p.2) = p := rfl
@[simp] protected theorem «forall» {p : α × β → Prop} : (∀ x, p x) ↔ ∀ a b, p (a, b) := ⟨fun h a b => h (a, b), fun h ⟨a, b⟩ => h a b⟩
@[simp] protected theorem «exists» {p : α × β → Prop} : (∃ x, p x) ↔ ∃ a b, p (a, b) :=
  ⟨fun ⟨⟨a, b⟩, h⟩ => ⟨a, b, h⟩, fun ⟨a, b, h⟩ => ⟨(a, b), h⟩⟩
theorem mk_inj {a₁ a₂ : α} {b₁ b₂ : β} : (a₁, b₁) = (a₂, b₂) ↔ a₁ = a₂ ∧ b₁ = b₂ := Prod.ext_iff
theorem mk_inj_left {a : α} {b₁ b₂ : β} : (a, b₁) = (a, b₂) ↔ b₁ = b₂ := mk_inj.trans (and_iff_right rfl)
theorem mk_inj_right {a₁ a₂ : α} {b : β} : (a₁, b) = (a₂, b) ↔ a₁ = a₂ := mk_inj.trans (and_iff_left rfl)
def map (f : α → γ) (g : β → δ) (p : α × β) : γ × δ := (f p.1, g p.2)
@[simp] theorem map_apply (f : α → γ) (g : β → δ) (a : α) (b : β) : map f g (a, b) = (f a, g b) := rfl
@[simp] theorem map_fst (f : α → γ) (g : β → δ) (p : α × β) : (map f g p).1 = f p.1 := rfl
@[simp] theorem map_snd (f : α → γ) (g : β → δ) (p : α × β) : (map f g p).2 = g p.2 := rfl
@[simp] theorem map_id : map (id : α → α) (id : β → β) = id := rfl
theorem map_map {ε : Type u} {ζ : Type v} (f : α → γ) (g : β → δ) (f' : γ → ε) (g' : δ → ζ) (p : α × β) :
    map f' g' (map f g p) = map (f' ∘ f) (g' ∘ g) p := rfl
def swap (p : α × β) : β × α := (p.2, p.1)
@[simp] theorem swap_prod_mk {a : α} {b : β} : swap (a, b) = (b, a) := rfl
@[simp] theorem fst_swap {p : α × β} : p.swap.1 = p.2 := rfl
@[simp] theorem snd_swap {p : α × β} : p.swap.2 = p.1 := rfl
@[simp] theorem swap_swap (p : α × β) : p.swap.swap = p := rfl
@[simp] theorem swap_swap_eq : swap ∘ swap = @id (α × β) := rfl
@[simp] theorem swap_inj {p q : α × β} : swap p = swap q ↔ p = q := ⟨fun h => congrArg swap h, congrArg swap⟩
theorem swap_map (f : α → γ) (g : β → δ) (p : α × β) : (map f g p).swap = map g f p.swap := rfl
end Prod

namespace Sum
variable {α : Type u} {β : Type v}
theorem inl_ne_inr {a : α} {b : β} : inl a ≠ inr b := fun h => nomatch h
theorem inr_ne_inl {a : α} {b : β} : inr b ≠ inl a := fun h => nomatch h
theorem inl_inj {a b : α} : (inl a : Sum α β) = inl b ↔ a = b := ⟨inl.inj, congrArg _⟩
theorem inr_inj {a b : β} : (inr a : Sum α β) = inr b ↔ a = b := ⟨inr.inj, congrArg _⟩
@[simp] protected theorem «forall» {p : Sum α β → Prop} : (∀ x, p x) ↔ (∀ a, p (inl a)) ∧ ∀ b, p (inr b) :=
  ⟨fun h => ⟨fun _ => h _, fun _ => h _⟩, fun ⟨h₁, h₂⟩ x => match x with | inl a => h₁ a | inr b => h₂ b⟩
@[simp] protected theorem «exists» {p : Sum α β → Prop} : (∃ x, p x) ↔ (∃ a, p (inl a)) ∨ ∃ b, p (inr b) :=
  ⟨fun ⟨x, h⟩ => match x, h with | inl a, h => .inl ⟨a, h⟩ | inr b, h => .inr ⟨b, h⟩,
   fun h => h.elim (fun ⟨a, h⟩ => ⟨inl a, h⟩) (fun ⟨b, h⟩ => ⟨inr b, h⟩)⟩
end Sum
