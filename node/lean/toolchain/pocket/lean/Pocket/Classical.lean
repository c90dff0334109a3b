module
prelude
public import Pocket.Decidable
@[expose] public section
/-! Excluded middle from choice (Diaconescu's argument), and the classical laws of the connectives and the quantifiers. -/
set_option autoImplicit false
universe u v
variable {a b c p q : Prop}

namespace Classical
noncomputable def indefiniteDescription {α : Sort u} (p : α → Prop) (h : ∃ x, p x) : Subtype p :=
  choice (let ⟨x, px⟩ := h; ⟨⟨x, px⟩⟩)
noncomputable def choose {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : α := (indefiniteDescription p h).1
theorem choose_spec {α : Sort u} {p : α → Prop} (h : ∃ x, p x) : p (choose h) := (indefiniteDescription p h).2

/-- Choose from `{x | x = True ∨ p}` and from `{x | x = False ∨ p}`: the choices are equal if `p` holds, because then the sets are. -/
theorem em (p : Prop) : p ∨ ¬p :=
  let U (x : Prop) : Prop := x = True ∨ p
  let V (x : Prop) : Prop := x = False ∨ p
  have exU : ∃ x, U x := ⟨True, .inl rfl⟩
  have exV : ∃ x, V x := ⟨False, .inl rfl⟩
  have same (hp : p) : choose exU = choose exV :=
    have hUV : U = V := funext fun _ => propext ⟨fun _ => .inr hp, fun _ => .inr hp⟩
    have general : ∀ (A B : Prop → Prop) (eA : ∃ x, A x) (eB : ∃ x, B x), A = B → choose eA = choose eB := by
      intro A B eA eB e
      subst e
      rfl
    general U V exU exV hUV
  (choose_spec exU).elim
    (fun hu => (choose_spec exV).elim
      (fun hv => .inr fun hp => false_of_true_eq_false (hu.symm.trans ((same hp).trans hv)))
      .inl)
    .inl

@[reducible] noncomputable def propDecidable (a : Prop) : Decidable a :=
  choice (match em a with | .inl h => ⟨isTrue h⟩ | .inr h => ⟨isFalse h⟩)
attribute [scoped instance low] propDecidable

theorem byCases {p q : Prop} (h₁ : p → q) (h₂ : ¬p → q) : q := (em p).elim h₁ h₂
theorem byContradiction {p : Prop} (h : ¬p → False) : p := (em p).elim id fun n => (h n).elim
protected theorem by_contradiction {p : Prop} (h : ¬p → False) : p := byContradiction h
theorem of_not_not (h : ¬¬p) : p := byContradiction h
@[simp] theorem not_not : ¬¬p ↔ p := ⟨of_not_not, not_not_intro⟩
@[simp] theorem not_imp : ¬(a → b) ↔ a ∧ ¬b := Decidable.not_imp_iff_and_not
protected theorem or_not (p : Prop) : p ∨ ¬p := em p
theorem not_and_iff_not_or_not : ¬(a ∧ b) ↔ ¬a ∨ ¬b := Decidable.not_and_iff_or_not_not
theorem not_iff : ¬(a ↔ b) ↔ (¬a ↔ b) := Decidable.not_iff
theorem or_iff_not_imp_left : a ∨ b ↔ (¬a → b) := Decidable.or_iff_not_imp_left
theorem or_iff_not_imp_right : a ∨ b ↔ (¬b → a) := Decidable.or_iff_not_imp_right
protected theorem imp_iff_not_or : (a → b) ↔ ¬a ∨ b := Decidable.imp_iff_not_or
protected theorem imp_iff_or_not : (b → a) ↔ a ∨ ¬b := Decidable.imp_iff_or_not
protected theorem imp_or : (a → b ∨ c) ↔ (a → b) ∨ (a → c) := Decidable.imp_or
protected theorem peirce (a b : Prop) : ((a → b) → a) → a := Decidable.peirce a b
theorem propComplete (a : Prop) : a = True ∨ a = False := (em a).elim (fun h => .inl (eq_true h)) (fun h => .inr (eq_false h))
section
variable {α : Sort u} {s : α → Prop}
@[simp] theorem not_forall : (¬∀ x, s x) ↔ ∃ x, ¬s x :=
  ⟨fun h => byContradiction fun n => h fun x => byContradiction fun hs => n ⟨x, hs⟩, not_forall_of_exists_not⟩
theorem not_forall_not : (¬∀ x, ¬s x) ↔ ∃ x, s x := ⟨fun h => byContradiction fun n => h fun x hs => n ⟨x, hs⟩, fun ⟨x, h⟩ f => f x h⟩
theorem not_exists_not : (¬∃ x, ¬s x) ↔ ∀ x, s x := ⟨fun h x => byContradiction fun n => h ⟨x, n⟩, fun h ⟨x, n⟩ => n (h x)⟩
theorem exists_not_of_not_forall : (¬∀ x, s x) → ∃ x, ¬s x := not_forall.1
theorem forall_or_exists_not (P : α → Prop) : (∀ a, P a) ∨ ∃ a, ¬P a := (em (∀ a, P a)).imp_right not_forall.1
theorem exists_or_forall_not (P : α → Prop) : (∃ a, P a) ∨ ∀ a, ¬P a := (em (∃ a, P a)).imp_right not_exists.1
theorem skolem {α : Sort u} {b : α → Sort v} {p : ∀ x, b x → Prop} : (∀ x, ∃ y, p x y) ↔ ∃ (f : ∀ x, b x), ∀ x, p x (f x) :=
  ⟨fun h => ⟨fun x => choose (h x), fun x => choose_spec (h x)⟩, fun ⟨f, h⟩ x => ⟨f x, h x⟩⟩
theorem axiomOfChoice {α : Sort u} {β : α → Sort v} {r : ∀ x, β x → Prop} (h : ∀ x, ∃ y, r x y) :
    ∃ (f : ∀ x, β x), ∀ x, r x (f x) := skolem.1 h
end
end Classical
theorem Exists.choose_spec {α : Sort u} {p : α → Prop} (P : ∃ a, p a) : p (Classical.choose P) := Classical.choose_spec P
noncomputable abbrev Exists.choose {α : Sort u} {p : α → Prop} (P : ∃ a, p a) : α := Classical.choose P

/-! ## Laws that core does not have, protected: `open Classical` must not make a name of the user's ambiguous -/

namespace Classical
protected theorem not_imp_not {a b : Prop} : (¬a → ¬b) ↔ (b → a) := ⟨fun h hb => byContradiction fun n => h n hb, mt⟩
protected theorem not_imp_comm {a b : Prop} : (¬a → b) ↔ (¬b → a) :=
  ⟨fun h hb => byContradiction fun n => hb (h n), fun h ha => byContradiction fun n => ha (h n)⟩
protected theorem not_iff_not {a b : Prop} : (¬a ↔ ¬b) ↔ (a ↔ b) :=
  ⟨fun h => ⟨Classical.not_imp_not.1 h.2, Classical.not_imp_not.1 h.1⟩, not_congr⟩
protected theorem or_iff_not_and_not {a b : Prop} : a ∨ b ↔ ¬(¬a ∧ ¬b) := by rw [← not_or, not_not]
protected theorem and_iff_not_or_not {a b : Prop} : a ∧ b ↔ ¬(¬a ∨ ¬b) := by rw [← not_and_iff_not_or_not, not_not]
protected theorem forall_or_left {α : Sort u} {q : Prop} {s : α → Prop} : (∀ x, q ∨ s x) ↔ q ∨ ∀ x, s x :=
  ⟨fun h => (em q).elim .inl fun n => .inr fun x => (h x).resolve_left n, fun h x => h.imp_right fun f => f x⟩
protected theorem forall_or_right {α : Sort u} {q : Prop} {s : α → Prop} : (∀ x, s x ∨ q) ↔ (∀ x, s x) ∨ q :=
  ⟨fun h => (em q).elim .inr fun n => .inl fun x => (h x).resolve_right n, fun h x => h.imp_left fun f => f x⟩
end Classical
