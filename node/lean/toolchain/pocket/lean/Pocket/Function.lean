module
prelude
public import Pocket.Classical
@[expose] public section
/-! Functions: composition, injective, surjective and bijective functions, inverses. -/
set_option autoImplicit false
universe u v w x

theorem id_def {α : Sort u} (a : α) : id a = a := rfl

namespace Function
variable {α : Sort u} {β : Sort v} {γ : Sort w} {δ : Sort x}

@[simp] theorem comp_apply {f : β → γ} {g : α → β} {x : α} : (f ∘ g) x = f (g x) := rfl
theorem comp_def (f : β → γ) (g : α → β) : f ∘ g = fun x => f (g x) := rfl
theorem comp_assoc (f : γ → δ) (g : β → γ) (h : α → β) : (f ∘ g) ∘ h = f ∘ (g ∘ h) := rfl
@[simp] theorem id_comp (f : α → β) : id ∘ f = f := rfl
@[simp] theorem comp_id (f : α → β) : f ∘ id = f := rfl
@[simp] theorem const_apply {y : β} {x : α} : const α y x = y := rfl
@[simp] theorem const_comp {f : α → β} {c : γ} : const β c ∘ f = const α c := rfl
@[simp] theorem comp_const {f : β → γ} {b : β} : f ∘ const α b = const α (f b) := rfl
@[reducible] def onFun (f : β → β → γ) (g : α → β) : α → α → γ := fun x y => f (g x) (g y)

def Injective (f : α → β) : Prop := ∀ ⦃a₁ a₂⦄, f a₁ = f a₂ → a₁ = a₂
def Surjective (f : α → β) : Prop := ∀ b, ∃ a, f a = b
def Bijective (f : α → β) : Prop := Injective f ∧ Surjective f
def LeftInverse (g : β → α) (f : α → β) : Prop := ∀ x, g (f x) = x
def RightInverse (g : β → α) (f : α → β) : Prop := LeftInverse f g
def HasLeftInverse (f : α → β) : Prop := ∃ g : β → α, LeftInverse g f
def HasRightInverse (f : α → β) : Prop := ∃ g : β → α, RightInverse g f
def Involutive (f : α → α) : Prop := ∀ x, f (f x) = x

theorem injective_id : Injective (@id α) := fun _ _ h => h
theorem Injective.eq_iff {f : α → β} (I : Injective f) {a b : α} : f a = f b ↔ a = b := ⟨fun h => I h, congrArg f⟩
theorem Injective.ne {f : α → β} (hf : Injective f) {a₁ a₂ : α} : a₁ ≠ a₂ → f a₁ ≠ f a₂ := mt fun h => hf h
theorem Injective.ne_iff {f : α → β} (hf : Injective f) {x y : α} : f x ≠ f y ↔ x ≠ y := not_congr hf.eq_iff
theorem Injective.comp {g : β → γ} {f : α → β} (hg : Injective g) (hf : Injective f) : Injective (g ∘ f) := fun _ _ h => hf (hg h)
theorem Injective.of_comp {g : β → γ} {f : α → β} (I : Injective (g ∘ f)) : Injective f := fun _ _ h => I (congrArg g h)
theorem surjective_id : Surjective (@id α) := fun a => ⟨a, rfl⟩
theorem Surjective.comp {g : β → γ} {f : α → β} (hg : Surjective g) (hf : Surjective f) : Surjective (g ∘ f) := fun c =>
  match hg c with
  | ⟨b, hb⟩ => match hf b with
    | ⟨a, ha⟩ => ⟨a, (congrArg g ha).trans hb⟩
theorem Surjective.of_comp {g : β → γ} {f : α → β} (S : Surjective (g ∘ f)) : Surjective g := fun c =>
  match S c with | ⟨a, h⟩ => ⟨f a, h⟩
theorem Surjective.forall {f : α → β} (hf : Surjective f) {p : β → Prop} : (∀ y, p y) ↔ ∀ x, p (f x) :=
  ⟨fun h x => h (f x), fun h y => match hf y with | ⟨x, hx⟩ => hx ▸ h x⟩
theorem Surjective.exists {f : α → β} (hf : Surjective f) {p : β → Prop} : (∃ y, p y) ↔ ∃ x, p (f x) :=
  ⟨fun ⟨y, hy⟩ => match hf y with | ⟨x, hx⟩ => ⟨x, hx.symm ▸ hy⟩, fun ⟨x, hx⟩ => ⟨f x, hx⟩⟩
theorem bijective_id : Bijective (@id α) := ⟨injective_id, surjective_id⟩
theorem Bijective.injective {f : α → β} (hf : Bijective f) : Injective f := hf.1
theorem Bijective.surjective {f : α → β} (hf : Bijective f) : Surjective f := hf.2
theorem Bijective.comp {g : β → γ} {f : α → β} (hg : Bijective g) (hf : Bijective f) : Bijective (g ∘ f) :=
  ⟨hg.1.comp hf.1, hg.2.comp hf.2⟩
theorem LeftInverse.injective {g : β → α} {f : α → β} (h : LeftInverse g f) : Injective f := fun a b e =>
  (h a).symm.trans ((congrArg g e).trans (h b))
theorem LeftInverse.comp_eq_id {f : α → β} {g : β → α} (h : LeftInverse f g) : f ∘ g = id := funext h
theorem LeftInverse.surjective {f : α → β} {g : β → α} (h : LeftInverse f g) : Surjective f := fun a => ⟨g a, h a⟩
theorem LeftInverse.rightInverse {f : α → β} {g : β → α} (h : LeftInverse g f) : RightInverse f g := h
theorem RightInverse.leftInverse {f : α → β} {g : β → α} (h : RightInverse g f) : LeftInverse f g := h
theorem RightInverse.surjective {f : α → β} {g : β → α} (h : RightInverse g f) : Surjective f := fun b => ⟨g b, h b⟩
theorem RightInverse.injective {f : α → β} {g : β → α} (h : RightInverse f g) : Injective f := LeftInverse.injective (g := g) (f := f) h
theorem LeftInverse.comp {f : α → β} {g : β → α} {h : β → γ} {i : γ → β} (hf : LeftInverse f g) (hh : LeftInverse h i) :
    LeftInverse (h ∘ f) (g ∘ i) := fun a => (congrArg h (hf (i a))).trans (hh a)
theorem HasLeftInverse.injective {f : α → β} : HasLeftInverse f → Injective f := fun ⟨_, h⟩ => LeftInverse.injective h
theorem HasRightInverse.surjective {f : α → β} : HasRightInverse f → Surjective f := fun ⟨_, h⟩ => RightInverse.surjective h
theorem Surjective.hasRightInverse {f : α → β} (hf : Surjective f) : HasRightInverse f :=
  ⟨fun b => Classical.choose (hf b), fun b => Classical.choose_spec (hf b)⟩
theorem surjective_iff_hasRightInverse {f : α → β} : Surjective f ↔ HasRightInverse f :=
  ⟨Surjective.hasRightInverse, HasRightInverse.surjective⟩
theorem Involutive.injective {f : α → α} (h : Involutive f) : Injective f := LeftInverse.injective h
theorem Involutive.surjective {f : α → α} (h : Involutive f) : Surjective f := fun x => ⟨f x, h x⟩
theorem Involutive.bijective {f : α → α} (h : Involutive f) : Bijective f := ⟨h.injective, h.surjective⟩
theorem Involutive.comp_self {f : α → α} (h : Involutive f) : f ∘ f = id := funext h
theorem Involutive.eq_iff {f : α → α} (h : Involutive f) {x y : α} : f x = y ↔ x = f y :=
  ⟨fun e => e ▸ (h x).symm, fun e => e.symm ▸ h y⟩
/-- Cantor: no function from a type to its predicates is surjective. -/
theorem cantor_surjective {α : Type u} (f : α → α → Prop) : ¬Surjective f := fun h =>
  match h fun a => ¬f a a with
  | ⟨d, hd⟩ => iff_not_self (Iff.of_eq (congrFun hd d))
end Function
