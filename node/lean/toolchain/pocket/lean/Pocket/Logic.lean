module
prelude
public import Pocket.Eq
@[expose] public section
/-! Laws of the connectives and the quantifiers that hold without choice. Names, statements and simp attributes as in Lean's core. -/
set_option autoImplicit false
universe u v
variable {a b c d p q r : Prop}

/-! ## The constants -/

@[simp] theorem ne_eq {α : Sort u} (a b : α) : (a ≠ b) = ¬(a = b) := rfl
attribute [simp] eq_self cast_eq
@[simp] theorem not_true_eq_false : (¬True) = False := eq_false fun h => h trivial
@[simp] theorem not_false_eq_true : (¬False) = True := eq_true id
theorem not_false : ¬False := id
theorem not_false_iff : ¬False ↔ True := iff_true_intro not_false
theorem not_true : ¬True ↔ False := iff_false_intro fun h => h trivial
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨fun h => h.1, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨fun h => h.2, fun h => ⟨trivial, h⟩⟩
@[simp] theorem and_false (p : Prop) : (p ∧ False) = False := eq_false fun h => h.2
@[simp] theorem false_and (p : Prop) : (False ∧ p) = False := eq_false fun h => h.1
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext ⟨fun h => h.1, fun h => ⟨h, h⟩⟩
theorem Or.elim {a b c : Prop} (h : a ∨ b) (f : a → c) (g : b → c) : c := h.rec f g
@[simp] theorem or_true (p : Prop) : (p ∨ True) = True := eq_true (.inr trivial)
@[simp] theorem true_or (p : Prop) : (True ∨ p) = True := eq_true (.inl trivial)
@[simp] theorem or_false (p : Prop) : (p ∨ False) = p := propext ⟨fun h => h.elim id False.elim, .inl⟩
@[simp] theorem false_or (p : Prop) : (False ∨ p) = p := propext ⟨fun h => h.elim False.elim id, .inr⟩
@[simp] theorem or_self (p : Prop) : (p ∨ p) = p := propext ⟨fun h => h.elim id id, .inl⟩
@[simp] theorem iff_self (p : Prop) : (p ↔ p) = True := eq_true Iff.rfl
@[simp] theorem iff_true (p : Prop) : (p ↔ True) = p := propext ⟨fun h => h.2 trivial, fun h => iff_true_intro h⟩
@[simp] theorem true_iff (p : Prop) : (True ↔ p) = p := propext ⟨fun h => h.1 trivial, fun h => (iff_true_intro h).symm⟩
@[simp] theorem iff_false (p : Prop) : (p ↔ False) = ¬p := propext ⟨fun h => h.1, fun h => iff_false_intro h⟩
@[simp] theorem false_iff (p : Prop) : (False ↔ p) = ¬p := propext ⟨fun h => h.2, fun h => (iff_false_intro h).symm⟩
@[simp] theorem implies_true (α : Sort u) : (α → True) = True := eq_true fun _ => trivial
@[simp] theorem true_implies (p : Prop) : (True → p) = p := propext ⟨fun h => h trivial, fun h _ => h⟩
@[simp] theorem false_implies (p : Prop) : (False → p) = True := eq_true False.elim
@[simp] theorem forall_false (p : False → Prop) : (∀ h : False, p h) = True := eq_true fun h => h.elim
@[simp] theorem eq_true_eq_id : Eq True = id := funext fun _ => propext ⟨fun h => h ▸ trivial, fun h => (eq_true h).symm⟩
@[simp] theorem heq_eq_eq {α : Sort u} (a b : α) : HEq a b = (a = b) := propext ⟨eq_of_heq, heq_of_eq⟩
@[simp] theorem id_eq {α : Sort u} (a : α) : id a = a := rfl
theorem true_iff_false : (True ↔ False) ↔ False := iff_false_intro fun h => h.1 trivial
theorem false_iff_true : (False ↔ True) ↔ False := iff_false_intro fun h => h.2 trivial

/-! ## Implication and negation -/

theorem mt (h₁ : a → b) (h₂ : ¬b) : ¬a := fun ha => h₂ (h₁ ha)
theorem Not.imp (h₁ : ¬b) (h₂ : a → b) : ¬a := mt h₂ h₁
theorem imp_intro (h : a) : b → a := fun _ => h
theorem imp_imp_imp (h₀ : c → a) (h₁ : b → d) : (a → b) → (c → d) := fun f hc => h₁ (f (h₀ hc))
@[simp] theorem imp_self : (a → a) ↔ True := iff_true_intro id
@[simp] theorem imp_false : (a → False) ↔ ¬a := Iff.rfl
theorem imp.swap : (a → b → c) ↔ (b → a → c) := ⟨fun h hb ha => h ha hb, fun h ha hb => h hb ha⟩
theorem imp_not_comm : (a → ¬b) ↔ (b → ¬a) := imp.swap
theorem not_imp_of_and_not : a ∧ ¬b → ¬(a → b) := fun ⟨ha, hb⟩ h => hb (h ha)
theorem imp_congr_left (h : a ↔ b) : (a → c) ↔ (b → c) := ⟨fun f hb => f (h.2 hb), fun f ha => f (h.1 ha)⟩
theorem imp_congr_right (h : a → (b ↔ c)) : (a → b) ↔ (a → c) :=
  ⟨fun f ha => (h ha).1 (f ha), fun f ha => (h ha).2 (f ha)⟩
theorem imp_congr_ctx (h₁ : a ↔ c) (h₂ : c → (b ↔ d)) : (a → b) ↔ (c → d) := (imp_congr_left h₁).trans (imp_congr_right h₂)
theorem imp_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : (a → b) ↔ (c → d) := imp_congr_ctx h₁ fun _ => h₂
theorem imp_iff_not (hb : ¬b) : (a → b) ↔ ¬a := ⟨fun h ha => hb (h ha), fun h ha => (h ha).elim⟩
theorem imp_iff_right (ha : a) : (a → b) ↔ b := ⟨fun h => h ha, fun h _ => h⟩
theorem imp_and {α : Sort u} : (α → b ∧ c) ↔ (α → b) ∧ (α → c) :=
  ⟨fun h => ⟨fun ha => (h ha).1, fun ha => (h ha).2⟩, fun h ha => ⟨h.1 ha, h.2 ha⟩⟩
theorem true_imp_iff : (True → a) ↔ a := imp_iff_right trivial
theorem false_imp_iff : (False → a) ↔ True := iff_true_intro False.elim
theorem not_not_intro (h : p) : ¬¬p := fun n => n h
theorem not_not_of_not_imp : ¬(a → b) → ¬¬a := mt Not.elim
theorem not_of_not_imp : ¬(a → b) → ¬b := mt fun hb _ => hb
theorem not_not_not : ¬¬¬a ↔ ¬a := ⟨mt not_not_intro, not_not_intro⟩
theorem not_not_em (a : Prop) : ¬¬(a ∨ ¬a) := fun h => h (.inr fun ha => h (.inl ha))
theorem not_congr (h : a ↔ b) : ¬a ↔ ¬b := h.not
theorem imp_not_self : (a → ¬a) ↔ ¬a := ⟨fun h ha => h ha ha, fun h _ => h⟩

/-! ## Conjunction -/

def And.elim {α : Sort u} (f : a → b → α) (h : a ∧ b) : α := f h.1 h.2
theorem And.symm (h : a ∧ b) : b ∧ a := ⟨h.2, h.1⟩
theorem And.comm : a ∧ b ↔ b ∧ a := ⟨And.symm, And.symm⟩
theorem and_comm : a ∧ b ↔ b ∧ a := And.comm
theorem And.imp (f : a → c) (g : b → d) (h : a ∧ b) : c ∧ d := ⟨f h.1, g h.2⟩
theorem And.imp_left (h : a → b) : a ∧ c → b ∧ c := And.imp h id
theorem And.imp_right (h : a → b) : c ∧ a → c ∧ b := And.imp id h
theorem and_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : a ∧ b ↔ c ∧ d := ⟨And.imp h₁.1 h₂.1, And.imp h₁.2 h₂.2⟩
theorem and_congr_right (h : a → (b ↔ c)) : a ∧ b ↔ a ∧ c :=
  ⟨fun ⟨ha, hb⟩ => ⟨ha, (h ha).1 hb⟩, fun ⟨ha, hc⟩ => ⟨ha, (h ha).2 hc⟩⟩
theorem and_congr_left (h : c → (a ↔ b)) : a ∧ c ↔ b ∧ c :=
  ⟨fun ⟨ha, hc⟩ => ⟨(h hc).1 ha, hc⟩, fun ⟨hb, hc⟩ => ⟨(h hc).2 hb, hc⟩⟩
theorem and_congr_left' (h : a ↔ b) : a ∧ c ↔ b ∧ c := and_congr h .rfl
theorem and_congr_right' (h : b ↔ c) : a ∧ b ↔ a ∧ c := and_congr .rfl h
theorem and_congr_right_eq (h : a → b = c) : (a ∧ b) = (a ∧ c) := propext (and_congr_right fun ha => Iff.of_eq (h ha))
theorem and_congr_left_eq (h : c → a = b) : (a ∧ c) = (b ∧ c) := propext (and_congr_left fun hc => Iff.of_eq (h hc))
theorem and_assoc : (a ∧ b) ∧ c ↔ a ∧ (b ∧ c) := ⟨fun ⟨⟨ha, hb⟩, hc⟩ => ⟨ha, hb, hc⟩, fun ⟨ha, hb, hc⟩ => ⟨⟨ha, hb⟩, hc⟩⟩
theorem and_left_comm : a ∧ b ∧ c ↔ b ∧ a ∧ c := ⟨fun ⟨ha, hb, hc⟩ => ⟨hb, ha, hc⟩, fun ⟨hb, ha, hc⟩ => ⟨ha, hb, hc⟩⟩
theorem and_right_comm : (a ∧ b) ∧ c ↔ (a ∧ c) ∧ b :=
  ⟨fun ⟨⟨ha, hb⟩, hc⟩ => ⟨⟨ha, hc⟩, hb⟩, fun ⟨⟨ha, hc⟩, hb⟩ => ⟨⟨ha, hb⟩, hc⟩⟩
theorem and_rotate : a ∧ b ∧ c ↔ b ∧ c ∧ a := ⟨fun ⟨ha, hb, hc⟩ => ⟨hb, hc, ha⟩, fun ⟨hb, hc, ha⟩ => ⟨ha, hb, hc⟩⟩
theorem and_and_and_comm : (a ∧ b) ∧ c ∧ d ↔ (a ∧ c) ∧ b ∧ d :=
  ⟨fun ⟨⟨ha, hb⟩, hc, hd⟩ => ⟨⟨ha, hc⟩, hb, hd⟩, fun ⟨⟨ha, hc⟩, hb, hd⟩ => ⟨⟨ha, hb⟩, hc, hd⟩⟩
theorem and_and_left : a ∧ (b ∧ c) ↔ (a ∧ b) ∧ a ∧ c := ⟨fun ⟨ha, hb, hc⟩ => ⟨⟨ha, hb⟩, ha, hc⟩, fun ⟨⟨ha, hb⟩, _, hc⟩ => ⟨ha, hb, hc⟩⟩
theorem and_and_right : (a ∧ b) ∧ c ↔ (a ∧ c) ∧ b ∧ c := ⟨fun ⟨⟨ha, hb⟩, hc⟩ => ⟨⟨ha, hc⟩, hb, hc⟩, fun ⟨⟨ha, _⟩, hb, hc⟩ => ⟨⟨ha, hb⟩, hc⟩⟩
theorem and_self_iff : a ∧ a ↔ a := Iff.of_eq (and_self a)
@[simp] theorem and_self_left : a ∧ (a ∧ b) ↔ a ∧ b := ⟨fun h => h.2, fun h => ⟨h.1, h⟩⟩
@[simp] theorem and_self_right : (a ∧ b) ∧ b ↔ a ∧ b := ⟨fun h => h.1, fun h => ⟨h, h.2⟩⟩
@[simp] theorem and_not_self : ¬(a ∧ ¬a) := fun ⟨ha, hn⟩ => hn ha
@[simp] theorem not_and_self : ¬(¬a ∧ a) := fun ⟨hn, ha⟩ => hn ha
theorem and_not_self_iff (a : Prop) : a ∧ ¬a ↔ False := iff_false_intro and_not_self
theorem not_and_self_iff (a : Prop) : ¬a ∧ a ↔ False := iff_false_intro not_and_self
@[simp] theorem and_imp : (a ∧ b → c) ↔ (a → b → c) := ⟨fun h ha hb => h ⟨ha, hb⟩, fun h ⟨ha, hb⟩ => h ha hb⟩
@[simp] theorem not_and : ¬(a ∧ b) ↔ (a → ¬b) := and_imp
theorem not_and' : ¬(a ∧ b) ↔ b → ¬a := not_and.trans imp_not_comm
theorem not_and_of_not_left (b : Prop) : ¬a → ¬(a ∧ b) := mt And.left
theorem not_and_of_not_right (a : Prop) {b : Prop} : ¬b → ¬(a ∧ b) := mt And.right
theorem and_iff_left_of_imp (h : a → b) : (a ∧ b) ↔ a := ⟨And.left, fun ha => ⟨ha, h ha⟩⟩
theorem and_iff_right_of_imp (h : b → a) : (a ∧ b) ↔ b := ⟨And.right, fun hb => ⟨h hb, hb⟩⟩
@[simp] theorem and_iff_left_iff_imp : ((a ∧ b) ↔ a) ↔ (a → b) := ⟨fun h ha => (h.2 ha).2, and_iff_left_of_imp⟩
@[simp] theorem and_iff_right_iff_imp : ((a ∧ b) ↔ b) ↔ (b → a) := ⟨fun h hb => (h.2 hb).1, and_iff_right_of_imp⟩
@[simp] theorem iff_self_and : (p ↔ p ∧ q) ↔ (p → q) := ⟨fun h hp => (h.1 hp).2, fun h => (and_iff_left_of_imp h).symm⟩
@[simp] theorem iff_and_self : (p ↔ q ∧ p) ↔ (p → q) := ⟨fun h hp => (h.1 hp).1, fun h => (and_iff_right_of_imp h).symm⟩
@[simp] theorem and_congr_right_iff : (a ∧ b ↔ a ∧ c) ↔ (a → (b ↔ c)) :=
  ⟨fun h ha => ⟨fun hb => (h.1 ⟨ha, hb⟩).2, fun hc => (h.2 ⟨ha, hc⟩).2⟩, and_congr_right⟩
@[simp] theorem and_congr_left_iff : (a ∧ c ↔ b ∧ c) ↔ c → (a ↔ b) :=
  ⟨fun h hc => ⟨fun ha => (h.1 ⟨ha, hc⟩).1, fun hb => (h.2 ⟨hb, hc⟩).1⟩, and_congr_left⟩
theorem and_iff_left (hb : b) : a ∧ b ↔ a := and_iff_left_of_imp fun _ => hb
theorem and_iff_right (ha : a) : a ∧ b ↔ b := and_iff_right_of_imp fun _ => ha

/-! ## Disjunction -/

theorem Or.intro_left (b : Prop) (h : a) : a ∨ b := .inl h
theorem Or.intro_right (a : Prop) (h : b) : a ∨ b := .inr h
theorem Or.symm (h : a ∨ b) : b ∨ a := h.elim .inr .inl
theorem Or.comm : a ∨ b ↔ b ∨ a := ⟨Or.symm, Or.symm⟩
theorem or_comm : a ∨ b ↔ b ∨ a := Or.comm
theorem Or.imp (f : a → c) (g : b → d) (h : a ∨ b) : c ∨ d := h.elim (fun ha => .inl (f ha)) (fun hb => .inr (g hb))
theorem Or.imp_left (f : a → b) : a ∨ c → b ∨ c := .imp f id
theorem Or.imp_right (f : b → c) : a ∨ b → a ∨ c := .imp id f
theorem Or.resolve_left (h : a ∨ b) (na : ¬a) : b := h.elim (fun ha => (na ha).elim) id
theorem Or.resolve_right (h : a ∨ b) (nb : ¬b) : a := h.elim id (fun hb => (nb hb).elim)
theorem Or.neg_resolve_left (h : ¬a ∨ b) (ha : a) : b := h.elim (fun na => (na ha).elim) id
theorem Or.neg_resolve_right (h : a ∨ ¬b) (hb : b) : a := h.elim id (fun nb => (nb hb).elim)
theorem or_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : (a ∨ b) ↔ (c ∨ d) := ⟨.imp h₁.1 h₂.1, .imp h₁.2 h₂.2⟩
theorem or_congr_left (h : a ↔ b) : a ∨ c ↔ b ∨ c := or_congr h .rfl
theorem or_congr_right (h : b ↔ c) : a ∨ b ↔ a ∨ c := or_congr .rfl h
theorem or_assoc : (a ∨ b) ∨ c ↔ a ∨ (b ∨ c) :=
  ⟨fun h => h.elim (fun h => h.elim .inl fun hb => .inr (.inl hb)) fun hc => .inr (.inr hc),
   fun h => h.elim (fun ha => .inl (.inl ha)) fun h => h.elim (fun hb => .inl (.inr hb)) .inr⟩
theorem or_left_comm : a ∨ (b ∨ c) ↔ b ∨ (a ∨ c) := by rw [← or_assoc, ← or_assoc, @or_comm a b]
theorem or_right_comm : (a ∨ b) ∨ c ↔ (a ∨ c) ∨ b := by rw [or_assoc, or_assoc, @or_comm b]
theorem or_or_or_comm : (a ∨ b) ∨ c ∨ d ↔ (a ∨ c) ∨ b ∨ d := by rw [← or_assoc, @or_right_comm a, or_assoc]
theorem or_or_distrib_left : a ∨ b ∨ c ↔ (a ∨ b) ∨ a ∨ c := by rw [or_or_or_comm, or_self]
theorem or_or_distrib_right : (a ∨ b) ∨ c ↔ (a ∨ c) ∨ b ∨ c := by rw [or_or_or_comm, or_self]
theorem or_rotate : a ∨ b ∨ c ↔ b ∨ c ∨ a := by rw [or_comm, or_assoc]
theorem or_self_iff : a ∨ a ↔ a := Iff.of_eq (or_self a)
@[simp] theorem or_self_left : a ∨ (a ∨ b) ↔ a ∨ b := by rw [← or_assoc, or_self]
@[simp] theorem or_self_right : (a ∨ b) ∨ b ↔ a ∨ b := by rw [or_assoc, or_self]
theorem or_iff_right_of_imp (h : a → b) : (a ∨ b) ↔ b := ⟨fun x => x.elim h id, .inr⟩
theorem or_iff_left_of_imp (h : b → a) : (a ∨ b) ↔ a := ⟨fun x => x.elim id h, .inl⟩
@[simp] theorem or_iff_left_iff_imp : (a ∨ b ↔ a) ↔ (b → a) := ⟨fun h hb => h.1 (.inr hb), or_iff_left_of_imp⟩
@[simp] theorem or_iff_right_iff_imp : (a ∨ b ↔ b) ↔ (a → b) := ⟨fun h ha => h.1 (.inl ha), or_iff_right_of_imp⟩
@[simp] theorem iff_self_or {a b : Prop} : (a ↔ a ∨ b) ↔ (b → a) := ⟨fun h hb => h.2 (.inr hb), fun h => (or_iff_left_of_imp h).symm⟩
@[simp] theorem iff_or_self {a b : Prop} : (b ↔ a ∨ b) ↔ (a → b) := ⟨fun h ha => h.2 (.inl ha), fun h => (or_iff_right_of_imp h).symm⟩
theorem or_iff_left (hb : ¬b) : a ∨ b ↔ a := or_iff_left_of_imp fun h => (hb h).elim
theorem or_iff_right (ha : ¬a) : a ∨ b ↔ b := or_iff_right_of_imp fun h => (ha h).elim
theorem or_imp : (a ∨ b → c) ↔ (a → c) ∧ (b → c) :=
  ⟨fun h => ⟨fun ha => h (.inl ha), fun hb => h (.inr hb)⟩, fun ⟨f, g⟩ h => h.elim f g⟩
theorem not_or_intro (ha : ¬a) (hb : ¬b) : ¬(a ∨ b) := fun h => h.elim ha hb
@[simp] theorem not_or : ¬(p ∨ q) ↔ ¬p ∧ ¬q := or_imp
theorem not_and_of_not_or_not (h : ¬a ∨ ¬b) : ¬(a ∧ b) := h.elim (mt And.left) (mt And.right)

/-! ## Distributivity -/

theorem and_or_left : a ∧ (b ∨ c) ↔ (a ∧ b) ∨ (a ∧ c) :=
  ⟨fun ⟨ha, h⟩ => h.elim (fun hb => .inl ⟨ha, hb⟩) (fun hc => .inr ⟨ha, hc⟩),
   fun h => h.elim (fun h => ⟨h.1, .inl h.2⟩) (fun h => ⟨h.1, .inr h.2⟩)⟩
theorem or_and_right : (a ∨ b) ∧ c ↔ (a ∧ c) ∨ (b ∧ c) := by rw [@and_comm (a ∨ b), and_or_left, @and_comm c, @and_comm c]
theorem or_and_left : a ∨ (b ∧ c) ↔ (a ∨ b) ∧ (a ∨ c) :=
  ⟨fun h => h.elim (fun ha => ⟨.inl ha, .inl ha⟩) (fun h => ⟨.inr h.1, .inr h.2⟩),
   fun ⟨h₁, h₂⟩ => h₁.elim .inl fun hb => h₂.elim .inl fun hc => .inr ⟨hb, hc⟩⟩
theorem and_or_right : (a ∧ b) ∨ c ↔ (a ∨ c) ∧ (b ∨ c) := by rw [@or_comm (a ∧ b), or_and_left, @or_comm c, @or_comm c]

/-! ## Equivalence -/

theorem Iff.comm : (a ↔ b) ↔ (b ↔ a) := ⟨Iff.symm, Iff.symm⟩
theorem iff_comm : (a ↔ b) ↔ (b ↔ a) := Iff.comm
theorem iff_congr (h₁ : a ↔ c) (h₂ : b ↔ d) : (a ↔ b) ↔ (c ↔ d) :=
  ⟨fun h => h₁.symm.trans (h.trans h₂), fun h => h₁.trans (h.trans h₂.symm)⟩
theorem iff_def : (a ↔ b) ↔ (a → b) ∧ (b → a) := ⟨fun h => ⟨h.1, h.2⟩, fun h => ⟨h.1, h.2⟩⟩
theorem iff_def' : (a ↔ b) ↔ (b → a) ∧ (a → b) := ⟨fun h => ⟨h.2, h.1⟩, fun h => ⟨h.2, h.1⟩⟩
theorem iff_iff_implies_and_implies {a b : Prop} : (a ↔ b) ↔ (a → b) ∧ (b → a) := iff_def
theorem iff_true_left (ha : a) : (a ↔ b) ↔ b := ⟨fun h => h.1 ha, fun hb => iff_of_true ha hb⟩
theorem iff_true_right (ha : a) : (b ↔ a) ↔ b := Iff.comm.trans (iff_true_left ha)
theorem iff_false_left (ha : ¬a) : (a ↔ b) ↔ ¬b := ⟨fun h => mt h.2 ha, fun hb => iff_of_false ha hb⟩
theorem iff_false_right (ha : ¬a) : (b ↔ a) ↔ ¬b := Iff.comm.trans (iff_false_left ha)
theorem not_iff_false_intro (h : a) : ¬a ↔ False := iff_false_intro (not_not_intro h)
@[simp] theorem iff_not_self : ¬(a ↔ ¬a) := fun h => have hn : ¬a := fun ha => h.1 ha ha; hn (h.2 hn)
@[simp] theorem not_iff_self : ¬(¬a ↔ a) := fun h => iff_not_self h.symm

/-! ## Quantifiers -/

section quantifiers
variable {α : Sort u} {β : Sort v} {s t : α → Prop}

theorem Exists.elim {b : Prop} (h₁ : ∃ x, s x) (h₂ : ∀ a, s a → b) : b := match h₁ with | ⟨a, h⟩ => h₂ a h
theorem Exists.imp (h : ∀ a, s a → t a) : (∃ a, s a) → ∃ a, t a := fun ⟨a, hs⟩ => ⟨a, h a hs⟩
theorem Exists.imp' {u : β → Prop} (f : α → β) (h : ∀ a, s a → u (f a)) : (∃ a, s a) → ∃ b, u b := fun ⟨a, hs⟩ => ⟨f a, h a hs⟩
theorem Exists.nonempty : (∃ x, s x) → Nonempty α := fun ⟨x, _⟩ => ⟨x⟩
theorem forall_imp (h : ∀ a, s a → t a) : (∀ a, s a) → ∀ a, t a := fun f a => h a (f a)
@[simp] theorem forall_exists_index {q : (∃ x, s x) → Prop} : (∀ h, q h) ↔ ∀ x (h : s x), q ⟨x, h⟩ :=
  ⟨fun h x hs => h ⟨x, hs⟩, fun h ⟨x, hs⟩ => h x hs⟩
theorem exists_imp {b : Prop} : ((∃ x, s x) → b) ↔ ∀ x, s x → b := forall_exists_index
@[simp] theorem exists_const (α : Sort u) [i : Nonempty α] {b : Prop} : (∃ _ : α, b) ↔ b :=
  ⟨fun ⟨_, h⟩ => h, fun h => i.rec fun x => ⟨x, h⟩⟩
@[simp] theorem forall_const (α : Sort u) [i : Nonempty α] {b : Prop} : (α → b) ↔ b :=
  ⟨fun h => i.rec h, fun hb _ => hb⟩
theorem forall_congr' (h : ∀ a, s a ↔ t a) : (∀ a, s a) ↔ ∀ a, t a := ⟨fun f a => (h a).1 (f a), fun f a => (h a).2 (f a)⟩
theorem exists_congr (h : ∀ a, s a ↔ t a) : (∃ a, s a) ↔ ∃ a, t a := ⟨Exists.imp fun x => (h x).1, Exists.imp fun x => (h x).2⟩
@[congr] theorem exists_prop_congr {p p' : Prop} {q q' : p → Prop} (h : ∀ h, q h ↔ q' h) (hp : p ↔ p') :
    Exists q ↔ ∃ h : p', q' (hp.2 h) := ⟨fun ⟨x, y⟩ => ⟨hp.1 x, (h x).1 y⟩, fun ⟨x, y⟩ => ⟨hp.2 x, (h _).2 y⟩⟩
theorem exists_prop {b : Prop} : (∃ _h : a, b) ↔ a ∧ b := ⟨fun ⟨ha, hb⟩ => ⟨ha, hb⟩, fun ⟨ha, hb⟩ => ⟨ha, hb⟩⟩
theorem exists_prop_of_true {p : Prop} {q : p → Prop} (h : p) : (∃ h' : p, q h') ↔ q h := ⟨fun ⟨_, h⟩ => h, fun hq => ⟨h, hq⟩⟩
theorem forall_prop_of_true {p : Prop} {q : p → Prop} (h : p) : (∀ h' : p, q h') ↔ q h := ⟨fun f => f h, fun hq _ => hq⟩
theorem forall_prop_of_false {p : Prop} {q : p → Prop} (hn : ¬p) : (∀ h' : p, q h') ↔ True := iff_true_intro fun h => (hn h).elim
@[simp] theorem exists_true_left (p : True → Prop) : Exists p ↔ p True.intro := exists_prop_of_true trivial
@[simp] theorem not_exists : (¬∃ x, s x) ↔ ∀ x, ¬s x := exists_imp
theorem forall_not_of_not_exists (h : ¬∃ x, s x) : ∀ x, ¬s x := not_exists.1 h
theorem not_exists_of_forall_not (h : ∀ x, ¬s x) : ¬∃ x, s x := not_exists.2 h
theorem not_forall_of_exists_not : (∃ x, ¬s x) → ¬∀ x, s x := fun ⟨x, hn⟩ h => hn (h x)
theorem forall_and : (∀ x, s x ∧ t x) ↔ (∀ x, s x) ∧ (∀ x, t x) :=
  ⟨fun h => ⟨fun x => (h x).1, fun x => (h x).2⟩, fun h x => ⟨h.1 x, h.2 x⟩⟩
theorem exists_or : (∃ x, s x ∨ t x) ↔ (∃ x, s x) ∨ ∃ x, t x :=
  ⟨fun ⟨x, h⟩ => h.elim (fun h => .inl ⟨x, h⟩) (fun h => .inr ⟨x, h⟩),
   fun h => h.elim (fun ⟨x, h⟩ => ⟨x, .inl h⟩) (fun ⟨x, h⟩ => ⟨x, .inr h⟩)⟩
@[simp] theorem exists_false : ¬(∃ _a : α, False) := fun ⟨_, h⟩ => h
@[simp] theorem exists_and_left {b : Prop} : (∃ x, b ∧ s x) ↔ b ∧ (∃ x, s x) :=
  ⟨fun ⟨x, hb, hs⟩ => ⟨hb, x, hs⟩, fun ⟨hb, x, hs⟩ => ⟨x, hb, hs⟩⟩
@[simp] theorem exists_and_right {b : Prop} : (∃ x, s x ∧ b) ↔ (∃ x, s x) ∧ b :=
  ⟨fun ⟨x, hs, hb⟩ => ⟨⟨x, hs⟩, hb⟩, fun ⟨⟨x, hs⟩, hb⟩ => ⟨x, hs, hb⟩⟩
theorem forall_comm {p : α → β → Prop} : (∀ a b, p a b) ↔ (∀ b a, p a b) := ⟨fun h b a => h a b, fun h a b => h b a⟩
theorem exists_comm {p : α → β → Prop} : (∃ a b, p a b) ↔ (∃ b a, p a b) :=
  ⟨fun ⟨a, b, h⟩ => ⟨b, a, h⟩, fun ⟨b, a, h⟩ => ⟨a, b, h⟩⟩
@[simp] theorem forall_eq {a' : α} : (∀ a, a = a' → s a) ↔ s a' := ⟨fun h => h a' rfl, fun h _ e => e.symm ▸ h⟩
@[simp] theorem forall_eq' {a' : α} : (∀ a, a' = a → s a) ↔ s a' := ⟨fun h => h a' rfl, fun h _ e => e ▸ h⟩
@[simp] theorem exists_eq {a' : α} : ∃ a, a = a' := ⟨_, rfl⟩
@[simp] theorem exists_eq' {a' : α} : ∃ a, a' = a := ⟨_, rfl⟩
@[simp] theorem exists_eq_left {a' : α} : (∃ a, a = a' ∧ s a) ↔ s a' := ⟨fun ⟨_, e, h⟩ => e ▸ h, fun h => ⟨_, rfl, h⟩⟩
@[simp] theorem exists_eq_left' {a' : α} : (∃ a, a' = a ∧ s a) ↔ s a' := ⟨fun ⟨_, e, h⟩ => e.symm ▸ h, fun h => ⟨_, rfl, h⟩⟩
@[simp] theorem exists_eq_right {a' : α} : (∃ a, s a ∧ a = a') ↔ s a' := ⟨fun ⟨_, h, e⟩ => e ▸ h, fun h => ⟨_, h, rfl⟩⟩
@[simp] theorem exists_eq_right' {a' : α} : (∃ a, s a ∧ a' = a) ↔ s a' := ⟨fun ⟨_, h, e⟩ => e.symm ▸ h, fun h => ⟨_, h, rfl⟩⟩
@[simp] theorem forall_eq_or_imp {a' : α} : (∀ a, a = a' ∨ t a → s a) ↔ s a' ∧ ∀ a, t a → s a :=
  ⟨fun h => ⟨h a' (.inl rfl), fun a ht => h a (.inr ht)⟩, fun ⟨h, f⟩ a e => e.elim (fun e => e ▸ h) (f a)⟩
@[simp] theorem exists_eq_or_imp {a' : α} : (∃ a, (a = a' ∨ t a) ∧ s a) ↔ s a' ∨ ∃ a, t a ∧ s a :=
  ⟨fun ⟨a, e, hs⟩ => e.elim (fun e => .inl (e ▸ hs)) (fun ht => .inr ⟨a, ht, hs⟩),
   fun h => h.elim (fun hs => ⟨a', .inl rfl, hs⟩) (fun ⟨a, ht, hs⟩ => ⟨a, .inr ht, hs⟩)⟩
@[simp] theorem exists_apply_eq_apply (f : α → β) (a' : α) : ∃ a, f a = f a' := ⟨a', rfl⟩
@[simp] theorem exists_apply_eq_apply' (f : α → β) (a' : α) : ∃ a, f a' = f a := ⟨a', rfl⟩
@[simp] theorem forall_apply_eq_imp_iff {f : α → β} {p : β → Prop} : (∀ b a, f a = b → p b) ↔ ∀ a, p (f a) :=
  ⟨fun h a => h _ a rfl, fun h _ a e => e ▸ h a⟩
@[simp] theorem forall_eq_apply_imp_iff {f : α → β} {p : β → Prop} : (∀ b a, b = f a → p b) ↔ ∀ a, p (f a) :=
  ⟨fun h a => h _ a rfl, fun h _ a e => e.symm ▸ h a⟩
@[simp] theorem nonempty_prop {p : Prop} : Nonempty p ↔ p := ⟨fun ⟨h⟩ => h, fun h => ⟨h⟩⟩
end quantifiers

/-! ## Inhabited types -/

theorem Nonempty.elim {α : Sort u} {p : Prop} (h₁ : Nonempty α) (h₂ : α → p) : p := h₁.rec h₂
theorem Nonempty.map {α : Sort u} {β : Sort v} (f : α → β) : Nonempty α → Nonempty β := fun ⟨a⟩ => ⟨f a⟩
theorem nonempty_of_exists {α : Sort u} {p : α → Prop} : (∃ x, p x) → Nonempty α := fun ⟨x, _⟩ => ⟨x⟩
instance : Inhabited True := ⟨trivial⟩

/-! ## Constructors are injective: `Option.some.inj`, `Option.some.injEq`, ... for the types declared before this module -/

theorem Lean.injEq_helper {P Q R : Prop} (h : P → Q → R) : P ∧ Q → R := fun ⟨hp, hq⟩ => h hp hq
gen_injective_theorems% Nat
gen_injective_theorems% Prod
gen_injective_theorems% PProd
gen_injective_theorems% MProd
gen_injective_theorems% Subtype
gen_injective_theorems% Option
gen_injective_theorems% List
gen_injective_theorems% Sum
gen_injective_theorems% Sigma
gen_injective_theorems% PSigma
gen_injective_theorems% PULift
gen_injective_theorems% ULift
gen_injective_theorems% PLift
gen_injective_theorems% Fin
gen_injective_theorems% BitVec
gen_injective_theorems% UInt8
gen_injective_theorems% UInt16
gen_injective_theorems% UInt32
gen_injective_theorems% UInt64
gen_injective_theorems% USize
gen_injective_theorems% Char
gen_injective_theorems% Array
gen_injective_theorems% ByteArray
gen_injective_theorems% String
gen_injective_theorems% String.Pos.Raw
gen_injective_theorems% Substring.Raw
gen_injective_theorems% Except
gen_injective_theorems% EStateM.Result
gen_injective_theorems% Lean.Name
gen_injective_theorems% Lean.SourceInfo
gen_injective_theorems% Lean.Syntax.Preresolved
gen_injective_theorems% Lean.Syntax
gen_injective_theorems% Lean.TSyntax
