module
prelude
public import Pocket.Syntax
@[expose] public section
/-! Axioms, equality, equivalence, and the congruence lemmas with which `rw`, `simp`, `congr` and `subst` build their proofs. -/
set_option autoImplicit false
universe u v w u₁ u₂
variable {α β γ : Sort u}

/-! ## The three axioms -/

axiom propext {a b : Prop} : (a ↔ b) → a = b
axiom Quot.sound : ∀ {α : Sort u} {r : α → α → Prop} {a b : α}, r a b → Quot.mk r a = Quot.mk r b
axiom Classical.choice {α : Sort u} : Nonempty α → α

/-! ## Equivalence -/

theorem Iff.refl (a : Prop) : a ↔ a := ⟨fun h => h, fun h => h⟩
theorem Iff.rfl {a : Prop} : a ↔ a := Iff.refl a
theorem Iff.symm {a b : Prop} (h : a ↔ b) : b ↔ a := ⟨h.mpr, h.mp⟩
theorem Iff.trans {a b c : Prop} (h₁ : a ↔ b) (h₂ : b ↔ c) : a ↔ c :=
  ⟨fun ha => h₂.mp (h₁.mp ha), fun hc => h₁.mpr (h₂.mpr hc)⟩
theorem Iff.of_eq {a b : Prop} (h : a = b) : a ↔ b := h ▸ Iff.rfl
theorem iff_of_eq {a b : Prop} (h : a = b) : a ↔ b := Iff.of_eq h
theorem Iff.elim {a b c : Prop} (f : (a → b) → (b → a) → c) (h : a ↔ b) : c := f h.mp h.mpr
theorem iff_of_true {a b : Prop} (ha : a) (hb : b) : a ↔ b := ⟨fun _ => hb, fun _ => ha⟩
theorem iff_of_false {a b : Prop} (ha : ¬a) (hb : ¬b) : a ↔ b := ⟨fun h => (ha h).elim, fun h => (hb h).elim⟩
theorem iff_true_intro {a : Prop} (h : a) : a ↔ True := iff_of_true h .intro
theorem iff_false_intro {a : Prop} (h : ¬a) : a ↔ False := iff_of_false h fun f => f
theorem of_iff_true {a : Prop} (h : a ↔ True) : a := h.mpr .intro
theorem not_of_iff_false {a : Prop} (h : a ↔ False) : ¬a := h.mp
theorem Iff.not {a b : Prop} (h : a ↔ b) : ¬a ↔ ¬b := ⟨fun n hb => n (h.mpr hb), fun n ha => n (h.mp ha)⟩
theorem iff_iff_eq {a b : Prop} : (a ↔ b) ↔ a = b := ⟨propext, Iff.of_eq⟩
theorem eq_iff_iff {a b : Prop} : (a = b) ↔ (a ↔ b) := iff_iff_eq.symm
theorem Eq.propIntro {a b : Prop} (h₁ : a → b) (h₂ : b → a) : a = b := propext ⟨h₁, h₂⟩
theorem Iff.subst {a b : Prop} {p : Prop → Prop} (h₁ : a ↔ b) (h₂ : p a) : p b := (propext h₁) ▸ h₂

/-! ## Equality -/

theorem Eq.mpr_prop {p q : Prop} (h₁ : p = q) (h₂ : q) : p := h₁ ▸ h₂
theorem Eq.mpr_not {p q : Prop} (h₁ : p = q) (h₂ : ¬q) : ¬p := h₁ ▸ h₂
@[macro_inline] def Eq.mp {α β : Sort u} (h : α = β) (a : α) : β := cast h a
@[macro_inline] def Eq.mpr {α β : Sort u} (h : α = β) (b : β) : α := cast h.symm b
theorem Eq.substr {α : Sort u} {p : α → Prop} {a b : α} (h₁ : b = a) (h₂ : p a) : p b := h₁ ▸ h₂
theorem Eq.comm {α : Sort u} {a b : α} : a = b ↔ b = a := ⟨Eq.symm, Eq.symm⟩
theorem eq_comm {α : Sort u} {a b : α} : a = b ↔ b = a := Eq.comm
theorem Eq.congr {α : Sort u} {x₁ y₁ x₂ y₂ : α} (h₁ : x₁ = y₁) (h₂ : x₂ = y₂) : x₁ = x₂ ↔ y₁ = y₂ := h₁ ▸ h₂ ▸ Iff.rfl
theorem Eq.congr_left {α : Sort u} {x y z : α} (h : x = y) : x = z ↔ y = z := h ▸ Iff.rfl
theorem Eq.congr_right {α : Sort u} {x y z : α} (h : x = y) : z = x ↔ z = y := h ▸ Iff.rfl
theorem congrFun' {α : Sort u} {β : Sort v} {f g : α → β} (h : f = g) (a : α) : f a = g a := h ▸ rfl
theorem congr_arg {α : Sort u} {β : Sort v} {a₁ a₂ : α} (f : α → β) (h : a₁ = a₂) : f a₁ = f a₂ := congrArg f h
theorem congr_fun {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : f = g) (a : α) : f a = g a := congrFun h a
theorem congrArg₂ {α : Sort u} {β : Sort v} {γ : Sort w} (f : α → β → γ) {x x' : α} {y y' : β} (hx : x = x') (hy : y = y') :
    f x y = f x' y' := hx ▸ hy ▸ rfl
theorem cast_eq {α : Sort u} (h : α = α) (a : α) : cast h a = a := rfl
theorem proof_irrel {a : Prop} (h₁ h₂ : a) : h₁ = h₂ := rfl

theorem Ne.symm {α : Sort u} {a b : α} (h : a ≠ b) : b ≠ a := fun e => h e.symm
theorem Ne.intro {α : Sort u} {a b : α} (h : a = b → False) : a ≠ b := h
theorem Ne.elim {α : Sort u} {a b : α} (h : a ≠ b) : a = b → False := h
theorem Ne.irrefl {α : Sort u} {a : α} (h : a ≠ a) : False := h rfl
theorem ne_comm {α : Sort u} {a b : α} : a ≠ b ↔ b ≠ a := ⟨Ne.symm, Ne.symm⟩
theorem false_of_ne {α : Sort u} {a : α} (h : a ≠ a) : False := h rfl
theorem ne_false_of_self {p : Prop} (hp : p) : p ≠ False := fun e => e ▸ hp
theorem ne_true_of_not {p : Prop} (hn : ¬p) : p ≠ True := fun e => hn (e ▸ True.intro)
theorem true_ne_false : ¬True = False := ne_false_of_self True.intro
theorem ne_of_apply_ne {α : Sort u} {β : Sort v} (f : α → β) {x y : α} (h : f x ≠ f y) : x ≠ y := fun e => h (e ▸ rfl)

theorem HEq.symm {α β : Sort u} {a : α} {b : β} (h : HEq a b) : HEq b a := h.rec (HEq.refl a)
theorem HEq.trans {α β γ : Sort u} {a : α} {b : β} {c : γ} (h₁ : HEq a b) (h₂ : HEq b c) : HEq a c := h₂.rec h₁
/-- The two eliminators with a reversed equation, and the two for `HEq` between terms of one type: `cases` and `injection` use them. -/
abbrev Eq.ndrec_symm.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α} (h : b = a) : motive b :=
  h.symm.ndrec m
abbrev HEq.homo_ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α} (h : HEq a b) : motive b :=
  (eq_of_heq h).ndrec m
abbrev HEq.homo_ndrec_symm.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α} (h : HEq b a) :
    motive b := (eq_of_heq h).symm.ndrec m
theorem heq_of_heq_of_eq {α β : Sort u} {a : α} {b b' : β} (h₁ : HEq a b) (h₂ : b = b') : HEq a b' := h₂ ▸ h₁
theorem heq_of_eq_of_heq {α β : Sort u} {a a' : α} {b : β} (h₁ : a = a') (h₂ : HEq a' b) : HEq a b := h₁ ▸ h₂
theorem type_eq_of_heq {α β : Sort u} {a : α} {b : β} (h : HEq a b) : α = β := h.rec rfl
theorem cast_heq {α β : Sort u} : (h : α = β) → (a : α) → HEq (cast h a) a
  | rfl, a => HEq.refl a
theorem proof_irrel_heq {p q : Prop} (hp : p) (hq : q) : HEq hp hq :=
  have e : p = q := propext (iff_of_true hp hq)
  (fun (q : Prop) (e : p = q) (hq : q) => (Eq.ndrec (motive := fun q => (hq : q) → HEq hp hq) (fun _ => HEq.refl hp) e hq :
    HEq hp hq)) q e hq

/-! ## Absurdity and functions -/

theorem trivial : True := True.intro
def Not.elim {a : Prop} {α : Sort u} (h₁ : ¬a) (h₂ : a) : α := absurd h₂ h₁
theorem Not.intro {a : Prop} (h : a → False) : ¬a := h

theorem funext {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : ∀ x, f x = g x) : f = g :=
  congrArg (f := fun (q : Quot (fun (f g : (x : α) → β x) => ∀ x, f x = g x)) (x : α) =>
      Quot.lift (fun (k : (x : α) → β x) => k x) (fun _ _ hk => hk x) q)
    (Quot.sound (r := fun (f g : (x : α) → β x) => ∀ x, f x = g x) h)
theorem funext_iff {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} : f = g ↔ ∀ x, f x = g x :=
  ⟨fun h _ => h ▸ rfl, funext⟩

/-! ## Congruence -/

theorem implies_congr {p₁ p₂ : Sort u} {q₁ q₂ : Sort v} (h₁ : p₁ = p₂) (h₂ : q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) :=
  h₁ ▸ h₂ ▸ rfl
theorem implies_congr_left {p₁ p₂ : Sort u} {q : Sort v} (h : p₁ = p₂) : (p₁ → q) = (p₂ → q) := h ▸ rfl
theorem implies_congr_right {p : Sort u} {q₁ q₂ : Sort v} (h : q₁ = q₂) : (p → q₁) = (p → q₂) := h ▸ rfl
theorem implies_dep_congr_ctx {p₁ p₂ q₁ : Prop} (h₁ : p₁ = p₂) {q₂ : p₂ → Prop} (h₂ : (h : p₂) → q₁ = q₂ h) :
    (p₁ → q₁) = ((h : p₂) → q₂ h) :=
  propext ⟨fun f hp => (h₂ hp) ▸ f (h₁ ▸ hp), fun f hp => (h₂ (h₁ ▸ hp)) ▸ f (h₁ ▸ hp)⟩
theorem implies_congr_ctx {p₁ p₂ q₁ q₂ : Prop} (h₁ : p₁ = p₂) (h₂ : p₂ → q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) :=
  implies_dep_congr_ctx h₁ h₂
theorem forall_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) : (∀ a, p a) = (∀ a, q a) := (funext h : p = q) ▸ rfl
theorem forall_prop_domain_congr {p₁ p₂ : Prop} {q₁ : p₁ → Prop} {q₂ : p₂ → Prop} (h₁ : p₁ = p₂)
    (h₂ : ∀ a : p₂, q₁ (h₁.mpr_prop a) = q₂ a) : (∀ a : p₁, q₁ a) = (∀ a : p₂, q₂ a) :=
  propext ⟨fun f a => h₂ a ▸ f (h₁ ▸ a), fun f a => (h₂ (h₁ ▸ a)) ▸ f (h₁ ▸ a)⟩
theorem forall_prop_congr_dom {p₁ p₂ : Prop} (h : p₁ = p₂) (q : p₁ → Prop) : (∀ a : p₁, q a) = ∀ a : p₂, q (h.mpr_prop a) :=
  propext ⟨fun f a => f (h ▸ a), fun f a => f (h ▸ a)⟩
theorem pi_congr {α : Sort u} {β β' : α → Sort v} (h : ∀ a, β a = β' a) : (∀ a, β a) = ∀ a, β' a := (funext h : β = β') ▸ rfl
theorem let_congr {α : Sort u} {β : Sort v} {a a' : α} {b b' : α → β} (h₁ : a = a') (h₂ : ∀ x, b x = b' x) :
    (let x := a; b x) = (let x := a'; b' x) := h₁ ▸ (funext h₂ : b = b') ▸ rfl
theorem let_val_congr {α : Sort u} {β : Sort v} {a a' : α} (b : α → β) (h : a = a') :
    (let x := a; b x) = (let x := a'; b x) := h ▸ rfl
theorem let_body_congr {α : Sort u} {β : α → Sort v} {b b' : (a : α) → β a} (a : α) (h : ∀ x, b x = b' x) :
    (let x := a; b x) = (let x := a; b' x) := (funext h : b = b') ▸ rfl

/-! ## Truth values -/

theorem of_eq_true {p : Prop} (h : p = True) : p := h.symm ▸ trivial
theorem eq_true {p : Prop} (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem eq_false {p : Prop} (h : ¬p) : p = False := propext ⟨h, False.elim⟩
theorem eq_false' {p : Prop} (h : p → False) : p = False := eq_false h
theorem of_eq_false {p : Prop} (h : p = False) : ¬p := fun hp => h ▸ hp
theorem false_of_true_eq_false (h : True = False) : False := h ▸ trivial
theorem ne_of_eq_false {α : Sort u} {a b : α} (h : (a = b) = False) : a ≠ b := of_eq_false h
theorem eq_self {α : Sort u} (a : α) : (a = a) = True := eq_true rfl

/-! ## Chains of `calc`, and `symm` -/

instance {α : Sort u} {γ : Sort v} (r : α → γ → Sort w) : Trans Eq r r where
  trans h r := h ▸ r
instance {α : Sort u} {β : Sort v} (r : α → β → Sort w) : Trans r Eq r where
  trans r h := h ▸ r
instance : Trans Iff Iff Iff where
  trans := Iff.trans
attribute [symm] Eq.symm Iff.symm HEq.symm Ne.symm
attribute [refl] Iff.refl
attribute [ext] funext

theorem Subsingleton.elim {α : Sort u} [h : Subsingleton α] (a b : α) : a = b := h.allEq a b
theorem Subsingleton.helim {α β : Sort u} [h₁ : Subsingleton α] (h₂ : α = β) (a : α) (b : β) : HEq a b :=
  (Eq.ndrec (motive := fun β => (b : β) → HEq a b) (fun b => heq_of_eq (Subsingleton.elim a b)) h₂) b
instance (p : Prop) : Subsingleton p := ⟨fun _ _ => rfl⟩
