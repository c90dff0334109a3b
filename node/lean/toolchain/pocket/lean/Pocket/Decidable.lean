module
prelude
public import Pocket.Logic
@[expose] public section
/-! Decidable propositions: instances, `decide`, `if-then-else`, and the classical laws that hold for them without choice. -/
set_option autoImplicit false
universe u v
variable {p q r a b c : Prop}

/-! ## `decide` -/

theorem decide_eq_true {p : Prop} [i : Decidable p] (h : p) : decide p = true :=
  match i with | isTrue _ => rfl | isFalse n => absurd h n
theorem decide_eq_false {p : Prop} [i : Decidable p] (h : ¬p) : decide p = false :=
  match i with | isTrue h' => absurd h' h | isFalse _ => rfl
theorem eq_true_of_decide {p : Prop} [Decidable p] (h : decide p = true) : p = True := eq_true (of_decide_eq_true h)
theorem eq_false_of_decide {p : Prop} [Decidable p] (h : decide p = false) : p = False := eq_false (of_decide_eq_false h)
theorem of_decide_eq_self_eq_true {α : Sort u} [i : DecidableEq α] (a : α) : decide (a = a) = true := decide_eq_true rfl
@[simp] theorem decide_eq_true_eq [Decidable p] : (decide p = true) = p := propext ⟨of_decide_eq_true, decide_eq_true⟩
@[simp] theorem decide_eq_false_iff_not [Decidable p] : (decide p = false) ↔ ¬p := ⟨of_decide_eq_false, decide_eq_false⟩
theorem decide_eq_true_iff [Decidable p] : (decide p = true) ↔ p := ⟨of_decide_eq_true, decide_eq_true⟩

/-! ## Instances -/

instance instDecidableTrue : Decidable True := isTrue trivial
instance instDecidableFalse : Decidable False := isFalse id
instance instDecidableAnd {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ∧ q) :=
  match dp with
  | isFalse np => isFalse fun h => np h.1
  | isTrue hp => match dq with
    | isTrue hq => isTrue ⟨hp, hq⟩
    | isFalse nq => isFalse fun h => nq h.2
instance instDecidableOr {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ∨ q) :=
  match dp with
  | isTrue hp => isTrue (.inl hp)
  | isFalse np => match dq with
    | isTrue hq => isTrue (.inr hq)
    | isFalse nq => isFalse fun h => h.elim np nq
instance instDecidableNot {p : Prop} [dp : Decidable p] : Decidable (¬p) :=
  match dp with
  | isTrue hp => isFalse fun np => np hp
  | isFalse np => isTrue np
instance instDecidableForall {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p → q) :=
  match dp with
  | isFalse np => isTrue fun hp => absurd hp np
  | isTrue hp => match dq with
    | isTrue hq => isTrue fun _ => hq
    | isFalse nq => isFalse fun h => nq (h hp)
instance instDecidableIff {p q : Prop} [dp : Decidable p] [dq : Decidable q] : Decidable (p ↔ q) :=
  match dp, dq with
  | isTrue hp, isTrue hq => isTrue (iff_of_true hp hq)
  | isTrue hp, isFalse nq => isFalse fun h => nq (h.1 hp)
  | isFalse np, isTrue hq => isFalse fun h => np (h.2 hq)
  | isFalse np, isFalse nq => isTrue (iff_of_false np nq)
instance instDecidableEqProp {p q : Prop} [d : Decidable (p ↔ q)] : Decidable (p = q) :=
  match d with
  | isTrue h => isTrue (propext h)
  | isFalse h => isFalse fun e => h (e ▸ Iff.rfl)
instance instDecidableNe {α : Sort u} [DecidableEq α] (a b : α) : Decidable (a ≠ b) := instDecidableNot
instance instDecidableEqBool : DecidableEq Bool
  | false, false => isTrue rfl
  | false, true => isFalse fun h => Bool.noConfusion h
  | true, false => isFalse fun h => Bool.noConfusion h
  | true, true => isTrue rfl
instance instDecidableEqPUnit : DecidableEq PUnit := fun _ _ => isTrue rfl
instance {p : Prop} : Subsingleton (Decidable p) := ⟨fun a b =>
  match a, b with
  | isTrue _, isTrue _ => rfl
  | isFalse _, isFalse _ => rfl
  | isTrue h, isFalse n => absurd h n
  | isFalse n, isTrue h => absurd h n⟩
def decidable_of_decidable_of_iff [Decidable p] (h : p ↔ q) : Decidable q :=
  if hp : p then isTrue (h.1 hp) else isFalse fun hq => hp (h.2 hq)
def decidable_of_iff (a : Prop) {b : Prop} (h : a ↔ b) [Decidable a] : Decidable b := decidable_of_decidable_of_iff h
def decidable_of_decidable_of_eq [Decidable p] (h : p = q) : Decidable q := decidable_of_decidable_of_iff (Iff.of_eq h)
instance exists_prop_decidable {p : Prop} (P : p → Prop) [Decidable p] [∀ h, Decidable (P h)] : Decidable (∃ h, P h) :=
  if h : p then decidable_of_iff (P h) ⟨fun h2 => ⟨h, h2⟩, fun ⟨_, h2⟩ => h2⟩ else isFalse fun ⟨h', _⟩ => h h'
instance forall_prop_decidable {p : Prop} (P : p → Prop) [Decidable p] [∀ h, Decidable (P h)] : Decidable (∀ h, P h) :=
  if h : p then decidable_of_iff (P h) ⟨fun h2 _ => h2, fun al => al h⟩ else isTrue fun h2 => absurd h2 h

/-! ## Case distinction -/

namespace Decidable
theorem em (p : Prop) [i : Decidable p] : p ∨ ¬p := match i with | isTrue h => .inl h | isFalse h => .inr h
theorem byContradiction [i : Decidable p] (h : ¬p → False) : p := match i with | isTrue h => h | isFalse n => (h n).elim
@[macro_inline] def byCases {q : Sort u} [i : Decidable p] (h₁ : p → q) (h₂ : ¬p → q) : q :=
  match i with | isTrue h => h₁ h | isFalse n => h₂ n
theorem of_not_not [Decidable p] (h : ¬¬p) : p := byContradiction h
theorem by_contra [Decidable p] (h : ¬p → False) : p := of_not_not h
@[simp] theorem not_not [Decidable p] : ¬¬p ↔ p := ⟨of_not_not, not_not_intro⟩
theorem or_not_self (p : Prop) [Decidable p] : p ∨ ¬p := em p
theorem not_or_self (p : Prop) [Decidable p] : ¬p ∨ p := (em p).symm
theorem of_not_imp [Decidable a] (h : ¬(a → b)) : a := of_not_not (not_not_of_not_imp h)
theorem not_imp_symm [Decidable a] (h : ¬a → b) (hb : ¬b) : a := byContradiction fun n => hb (h n)
theorem not_imp_comm [Decidable a] [Decidable b] : (¬a → b) ↔ (¬b → a) := ⟨not_imp_symm, not_imp_symm⟩
theorem not_imp_self [Decidable a] : (¬a → a) ↔ a := ⟨fun h => byContradiction fun n => n (h n), fun h _ => h⟩
theorem not_imp_not [Decidable a] : (¬a → ¬b) ↔ (b → a) := ⟨fun h hb => byContradiction fun n => h n hb, mt⟩
theorem or_iff_not_imp_left [Decidable a] : a ∨ b ↔ (¬a → b) := ⟨Or.resolve_left, fun h => (em a).imp_right h⟩
theorem or_iff_not_imp_right [Decidable b] : a ∨ b ↔ (¬b → a) := or_comm.trans or_iff_not_imp_left
theorem not_or_of_imp [Decidable a] (h : a → b) : ¬a ∨ b := (em a).elim (fun ha => .inr (h ha)) .inl
theorem imp_iff_not_or [Decidable a] : (a → b) ↔ (¬a ∨ b) := ⟨not_or_of_imp, Or.neg_resolve_left⟩
theorem imp_iff_or_not [Decidable b] : (b → a) ↔ a ∨ ¬b := imp_iff_not_or.trans or_comm
theorem imp_or [Decidable a] : (a → b ∨ c) ↔ (a → b) ∨ (a → c) :=
  ⟨fun h => (em a).elim (fun ha => (h ha).imp (fun hb _ => hb) (fun hc _ => hc)) (fun n => .inl fun ha => absurd ha n),
   fun h ha => h.imp (fun f => f ha) (fun f => f ha)⟩
theorem not_imp_iff_and_not [Decidable a] : ¬(a → b) ↔ a ∧ ¬b := ⟨fun h => ⟨of_not_imp h, not_of_not_imp h⟩, not_imp_of_and_not⟩
theorem peirce (a b : Prop) [Decidable a] : ((a → b) → a) → a := fun h => byContradiction fun n => n (h fun ha => absurd ha n)
theorem not_iff_not [Decidable a] [Decidable b] : (¬a ↔ ¬b) ↔ (a ↔ b) :=
  ⟨fun h => ⟨not_imp_not.1 h.2, not_imp_not.1 h.1⟩, not_congr⟩
theorem not_iff_comm [Decidable a] [Decidable b] : (¬a ↔ b) ↔ (¬b ↔ a) :=
  ⟨fun h => ⟨not_imp_symm h.1, fun ha hb => h.2 hb ha⟩, fun h => ⟨not_imp_symm h.1, fun hb ha => h.2 ha hb⟩⟩
theorem not_iff [Decidable b] : ¬(a ↔ b) ↔ (¬a ↔ b) :=
  (em b).elim (fun hb => by rw [iff_true_right hb, iff_true_right hb]) (fun n => by rw [iff_false_right n, iff_false_right n])
theorem iff_not_comm [Decidable a] [Decidable b] : (a ↔ ¬b) ↔ (b ↔ ¬a) :=
  ⟨fun h => ⟨fun hb ha => h.1 ha hb, not_imp_symm h.2⟩, fun h => ⟨fun ha hb => h.1 hb ha, not_imp_symm h.2⟩⟩
theorem iff_iff_and_or_not_and_not [Decidable b] : (a ↔ b) ↔ (a ∧ b) ∨ (¬a ∧ ¬b) :=
  ⟨fun e => (em b).elim (fun h => .inl ⟨e.2 h, h⟩) (fun h => .inr ⟨mt e.1 h, h⟩),
   fun h => h.elim (fun h => iff_of_true h.1 h.2) (fun h => iff_of_false h.1 h.2)⟩
theorem not_and_not_right [Decidable b] : ¬(a ∧ ¬b) ↔ (a → b) :=
  ⟨fun h ha => byContradiction fun n => h ⟨ha, n⟩, fun h ⟨ha, hb⟩ => hb (h ha)⟩
theorem not_and_iff_or_not_not [Decidable a] : ¬(a ∧ b) ↔ ¬a ∨ ¬b :=
  ⟨fun h => (em a).elim (fun ha => .inr fun hb => h ⟨ha, hb⟩) .inl, not_and_of_not_or_not⟩
theorem not_and_iff_or_not_not' [Decidable b] : ¬(a ∧ b) ↔ ¬a ∨ ¬b :=
  ⟨fun h => (em b).elim (fun hb => .inl fun ha => h ⟨ha, hb⟩) .inr, not_and_of_not_or_not⟩
theorem or_iff_not_and_not [Decidable a] [Decidable b] : a ∨ b ↔ ¬(¬a ∧ ¬b) := by rw [← not_or, not_not]
theorem and_iff_not_or_not [Decidable a] [Decidable b] : a ∧ b ↔ ¬(¬a ∨ ¬b) := by rw [← not_and_iff_or_not_not, not_not]
end Decidable
export Decidable (not_imp_self)

/-! ## `if-then-else` -/

section ite
variable {α : Sort u}

theorem dif_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α} {e : ¬c → α} : dite c t e = t hc :=
  match h with | isTrue _ => rfl | isFalse n => absurd hc n
theorem dif_neg {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t : c → α} {e : ¬c → α} : dite c t e = e hn :=
  match h with | isTrue hc => absurd hc hn | isFalse _ => rfl
theorem if_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} : ite c t e = t :=
  match h with | isTrue _ => rfl | isFalse n => absurd hc n
theorem if_neg {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t e : α} : ite c t e = e :=
  match h with | isTrue hc => absurd hc hn | isFalse _ => rfl
theorem ite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} : ite c t e = t := if_pos hc
theorem ite_eq_right {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t e : α} : ite c t e = e := if_neg hn
theorem dite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α} {e : ¬c → α} : dite c t e = t hc := dif_pos hc
theorem dite_eq_right {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t : c → α} {e : ¬c → α} : dite c t e = e hn := dif_neg hn
theorem ite_eq_left_of_eq_true {α : Sort u} {c : Prop} {inst : Decidable c} (a b : α) (h : c = True) : ite c a b = a :=
  if_pos (of_eq_true h)
theorem ite_eq_right_of_eq_false {α : Sort u} {c : Prop} {inst : Decidable c} (a b : α) (h : c = False) : ite c a b = b :=
  if_neg (of_eq_false h)
theorem dite_eq_left_of_eq_true {α : Sort u} {c : Prop} {inst : Decidable c} {t : c → α} {e : ¬c → α} (h : c = True) :
    dite c t e = t (of_eq_true h) := dif_pos (of_eq_true h)
theorem dite_eq_right_of_eq_false {α : Sort u} {c : Prop} {inst : Decidable c} {t : c → α} {e : ¬c → α} (h : c = False) :
    dite c t e = e (of_eq_false h) := dif_neg (of_eq_false h)
@[simp] theorem ite_true (a b : α) : (if True then a else b) = a := rfl
@[simp] theorem ite_false (a b : α) : (if False then a else b) = b := rfl
@[simp] theorem dite_true {t : True → α} {e : ¬True → α} : dite True t e = t trivial := rfl
@[simp] theorem dite_false {t : False → α} {e : ¬False → α} : dite False t e = e not_false := rfl
@[simp] theorem ite_self {c : Prop} {d : Decidable c} (a : α) : ite c a a = a := match d with | isTrue _ => rfl | isFalse _ => rfl
theorem dite_eq_ite [Decidable p] (a b : α) : (dite p (fun _ => a) (fun _ => b)) = ite p a b := rfl
@[congr] theorem ite_congr {b c : Prop} {x y u v : α} {s : Decidable b} [Decidable c] (h₁ : b = c) (h₂ : c → x = u)
    (h₃ : ¬c → y = v) : ite b x y = ite c u v := by
  cases Decidable.em c with
  | inl h => rw [if_pos h, if_pos (h₁.mpr_prop h), h₂ h]
  | inr h => rw [if_neg h, if_neg (h₁.mpr_not h), h₃ h]
@[congr] theorem dite_congr {b c : Prop} {_ : Decidable b} [Decidable c] {x : b → α} {u : c → α} {y : ¬b → α} {v : ¬c → α}
    (h₁ : b = c) (h₂ : (h : c) → x (h₁.mpr_prop h) = u h) (h₃ : (h : ¬c) → y (h₁.mpr_not h) = v h) :
    dite b x y = dite c u v := by
  cases Decidable.em c with
  | inl h => rw [dif_pos h, dif_pos (h₁.mpr_prop h), h₂ h]
  | inr h => rw [dif_neg h, dif_neg (h₁.mpr_not h), h₃ h]
@[simp] theorem ite_not (p : Prop) [Decidable p] (x y : α) : ite (¬p) x y = ite p y x := by
  cases Decidable.em p with
  | inl h => rw [if_pos h, if_neg (not_not_intro h)]
  | inr h => rw [if_neg h, if_pos h]
@[simp] theorem ite_eq_left_iff [Decidable p] {x y : α} : (if p then x else y) = x ↔ (¬p → y = x) := by
  cases Decidable.em p with
  | inl h => rw [if_pos h]; exact iff_of_true rfl fun n => absurd h n
  | inr h => rw [if_neg h]; exact ⟨fun e _ => e, fun f => f h⟩
@[simp] theorem ite_eq_right_iff [Decidable p] {x y : α} : (if p then x else y) = y ↔ (p → x = y) := by
  cases Decidable.em p with
  | inl h => rw [if_pos h]; exact ⟨fun e _ => e, fun f => f h⟩
  | inr h => rw [if_neg h]; exact iff_of_true rfl fun hp => absurd hp h
theorem apply_ite {α : Sort u} {β : Sort v} (f : α → β) (p : Prop) [Decidable p] (x y : α) :
    f (ite p x y) = ite p (f x) (f y) := by
  cases Decidable.em p with
  | inl h => rw [if_pos h, if_pos h]
  | inr h => rw [if_neg h, if_neg h]
theorem apply_dite {α : Sort u} {β : Sort v} (f : α → β) (p : Prop) [Decidable p] (x : p → α) (y : ¬p → α) :
    f (dite p x y) = dite p (fun h => f (x h)) (fun h => f (y h)) := by
  cases Decidable.em p with
  | inl h => rw [dif_pos h, dif_pos h]
  | inr h => rw [dif_neg h, dif_neg h]
end ite
@[simp] theorem if_false_left [Decidable p] : ite p False q ↔ ¬p ∧ q := by
  cases Decidable.em p with
  | inl h => rw [if_pos h]; exact ⟨False.elim, fun n => n.1 h⟩
  | inr h => rw [if_neg h]; exact ⟨fun hq => ⟨h, hq⟩, And.right⟩
@[simp] theorem if_false_right [Decidable p] : ite p q False ↔ p ∧ q := by
  cases Decidable.em p with
  | inl h => rw [if_pos h]; exact ⟨fun hq => ⟨h, hq⟩, And.right⟩
  | inr h => rw [if_neg h]; exact ⟨False.elim, fun n => h n.1⟩
@[simp] theorem if_true_left [Decidable p] : ite p True q ↔ (¬p → q) := by
  cases Decidable.em p with
  | inl h => rw [if_pos h]; exact iff_of_true trivial fun n => absurd h n
  | inr h => rw [if_neg h]; exact ⟨fun hq _ => hq, fun f => f h⟩
@[simp] theorem if_true_right [Decidable p] : ite p q True ↔ (p → q) := by
  cases Decidable.em p with
  | inl h => rw [if_pos h]; exact ⟨fun hq _ => hq, fun f => f h⟩
  | inr h => rw [if_neg h]; exact iff_of_true trivial fun hp => absurd hp h
@[simp] theorem decide_not [g : Decidable p] [h : Decidable (¬p)] : decide (¬p) = !decide p := by
  cases Decidable.em p with
  | inl hp => rw [decide_eq_true hp, decide_eq_false (not_not_intro hp)]; rfl
  | inr hn => rw [decide_eq_false hn, decide_eq_true hn]; rfl
@[simp] theorem decide_true (h : Decidable True) : @decide True h = true := match h with | isTrue _ => rfl | isFalse n => absurd trivial n
@[simp] theorem decide_false (h : Decidable False) : @decide False h = false := match h with | isFalse _ => rfl | isTrue f => f.elim
@[simp] theorem decide_eq_decide {_ : Decidable p} {_ : Decidable q} : decide p = decide q ↔ (p ↔ q) := by
  cases Decidable.em p with
  | inl hp => rw [decide_eq_true hp, iff_true_left hp]; exact ⟨fun h => of_decide_eq_true h.symm, fun h => (decide_eq_true h).symm⟩
  | inr hn => rw [decide_eq_false hn, iff_false_left hn]; exact ⟨fun h => of_decide_eq_false h.symm, fun h => (decide_eq_false h).symm⟩
@[simp] theorem decide_and (p q : Prop) [dpq : Decidable (p ∧ q)] [dp : Decidable p] [dq : Decidable q] :
    decide (p ∧ q) = (decide p && decide q) := by
  cases Decidable.em p with
  | inl hp => rw [decide_eq_true hp]; show _ = decide q; rw [decide_eq_decide, and_iff_right hp]
  | inr hn => rw [decide_eq_false hn]; exact decide_eq_false fun h => hn h.1
@[simp] theorem decide_or (p q : Prop) [dpq : Decidable (p ∨ q)] [dp : Decidable p] [dq : Decidable q] :
    decide (p ∨ q) = (decide p || decide q) := by
  cases Decidable.em p with
  | inl hp => rw [decide_eq_true hp]; exact decide_eq_true (.inl hp)
  | inr hn => rw [decide_eq_false hn]; show _ = decide q; rw [decide_eq_decide, or_iff_right hn]
