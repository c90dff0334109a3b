module
prelude
public import Pocket.List.Basic
@[expose] public section
/-! Lists: `filter`, membership and inclusion. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## `filter` -/

@[simp] theorem filter_nil (p : α → Bool) : filter p [] = [] := rfl
theorem filter_cons {a : α} {l : List α} {p : α → Bool} : (a :: l).filter p = if p a = true then a :: l.filter p else l.filter p := by
  show (match p a with | true => _ | false => _) = _
  cases p a <;> rfl
@[simp] theorem filter_cons_of_pos {p : α → Bool} {a : α} {l : List α} (h : p a = true) : filter p (a :: l) = a :: filter p l := by
  rw [filter_cons, if_pos h]
@[simp] theorem filter_cons_of_neg {p : α → Bool} {a : α} {l : List α} (h : ¬p a = true) : filter p (a :: l) = filter p l := by
  rw [filter_cons, if_neg h]
@[simp] theorem filter_append {p : α → Bool} (l₁ l₂ : List α) : filter p (l₁ ++ l₂) = filter p l₁ ++ filter p l₂ := by induction l₁ with
  | nil => rfl
  | cons a l ih =>
    cases Decidable.em (p a = true) with
    | inl h => rw [cons_append, filter_cons_of_pos h, filter_cons_of_pos h, ih, cons_append]
    | inr h => rw [cons_append, filter_cons_of_neg h, filter_cons_of_neg h, ih]
theorem length_filter_le (p : α → Bool) (l : List α) : (l.filter p).length ≤ l.length := by induction l with
  | nil => exact Nat.le_refl 0
  | cons a l ih =>
    cases Decidable.em (p a = true) with
    | inl h => rw [filter_cons_of_pos h]; exact Nat.succ_le_succ ih
    | inr h => rw [filter_cons_of_neg h]; exact Nat.le_succ_of_le ih
@[simp] theorem filter_filter {p q : α → Bool} {l : List α} : filter p (filter q l) = filter (fun a => p a && q a) l := by induction l with
  | nil => rfl
  | cons a l ih =>
    rw [filter_cons, filter_cons]
    cases hq : q a
    · rw [if_neg Bool.false_ne_true, ih, Bool.and_false, if_neg Bool.false_ne_true]
    · rw [if_pos rfl, filter_cons, ih, Bool.and_true]
@[simp] theorem filter_true {l : List α} : filter (fun _ => true) l = l := by induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (a :: ·) ih
@[simp] theorem filter_false {l : List α} : filter (fun _ => false) l = [] := by induction l with
  | nil => rfl
  | cons a l ih => exact ih
theorem filter_map {f : β → α} {p : α → Bool} {l : List β} : filter p (map f l) = map f (filter (p ∘ f) l) := by induction l with
  | nil => rfl
  | cons a l ih =>
    rw [map_cons, filter_cons, filter_cons, ih]
    show _ = map f (if p (f a) = true then _ else _)
    rw [apply_ite (map f)]; rfl
theorem filter_reverse {p : α → Bool} {l : List α} : filter p l.reverse = (filter p l).reverse := by induction l with
  | nil => rfl
  | cons a l ih =>
    rw [reverse_cons, filter_append, ih, filter_cons, filter_cons]
    cases p a
    · exact append_nil _
    · exact reverse_cons.symm

/-! ## Membership -/

@[simp] theorem not_mem_nil {a : α} : ¬a ∈ ([] : List α) := fun h => nomatch h
@[simp] theorem mem_cons {a b : α} {l : List α} : b ∈ a :: l ↔ b = a ∨ b ∈ l := by
  constructor
  · intro h
    cases h with
    | head => exact .inl rfl
    | tail _ h => exact .inr h
  · intro h
    cases h with
    | inl h => rw [h]; exact .head l
    | inr h => exact .tail a h
theorem mem_cons_self {a : α} {l : List α} : a ∈ a :: l := .head l
theorem mem_cons_of_mem (y : α) {a : α} {l : List α} (h : a ∈ l) : a ∈ y :: l := .tail y h
theorem eq_or_mem_of_mem_cons {a b : α} {l : List α} (h : a ∈ b :: l) : a = b ∨ a ∈ l := mem_cons.1 h
theorem mem_singleton {a b : α} : a ∈ [b] ↔ a = b := mem_cons.trans (or_iff_left not_mem_nil)
theorem mem_singleton_self (a : α) : a ∈ [a] := mem_cons_self
theorem eq_of_mem_singleton {a b : α} (h : a ∈ [b]) : a = b := mem_singleton.1 h
@[simp] theorem mem_append {a : α} {s t : List α} : a ∈ s ++ t ↔ a ∈ s ∨ a ∈ t := by induction s with
  | nil => exact (or_iff_right not_mem_nil).symm
  | cons b s ih => rw [cons_append, mem_cons, mem_cons, ih, or_assoc]
theorem mem_append_left {a : α} {as : List α} (bs : List α) (h : a ∈ as) : a ∈ as ++ bs := mem_append.2 (.inl h)
theorem mem_append_right {b : α} {bs : List α} (as : List α) (h : b ∈ bs) : b ∈ as ++ bs := mem_append.2 (.inr h)
theorem not_mem_append {a : α} {s t : List α} (h₁ : ¬a ∈ s) (h₂ : ¬a ∈ t) : ¬a ∈ s ++ t := fun h => (mem_append.1 h).elim h₁ h₂
@[simp] theorem mem_map {b : β} {f : α → β} {l : List α} : b ∈ l.map f ↔ ∃ a, a ∈ l ∧ f a = b := by induction l with
  | nil => exact ⟨fun h => (nomatch h), fun ⟨_, h, _⟩ => nomatch h⟩
  | cons x l ih =>
    rw [map_cons, mem_cons, ih]
    constructor
    · intro h
      cases h with
      | inl h => exact ⟨x, mem_cons_self, h.symm⟩
      | inr h => exact match h with | ⟨a, ha, e⟩ => ⟨a, mem_cons_of_mem x ha, e⟩
    · intro ⟨a, ha, e⟩
      cases mem_cons.1 ha with
      | inl h => exact .inl (h ▸ e.symm)
      | inr h => exact .inr ⟨a, h, e⟩
theorem mem_map_of_mem {f : α → β} {a : α} {l : List α} (h : a ∈ l) : f a ∈ l.map f := mem_map.2 ⟨a, h, rfl⟩
theorem exists_of_mem_map {f : α → β} {b : β} {l : List α} (h : b ∈ l.map f) : ∃ a, a ∈ l ∧ f a = b := mem_map.1 h
@[simp] theorem mem_reverse {x : α} {as : List α} : x ∈ as.reverse ↔ x ∈ as := by induction as with
  | nil => exact Iff.rfl
  | cons a as ih => rw [reverse_cons, mem_append, ih, mem_singleton, mem_cons, or_comm]
@[simp] theorem mem_filter {x : α} {p : α → Bool} {as : List α} : x ∈ filter p as ↔ x ∈ as ∧ p x = true := by induction as with
  | nil => exact ⟨fun h => (nomatch h), fun h => nomatch h.1⟩
  | cons a as ih =>
    cases Decidable.em (p a = true) with
    | inl h =>
      rw [filter_cons_of_pos h, mem_cons, ih, mem_cons, or_and_right]
      exact or_congr_left ⟨fun e => ⟨e, e ▸ h⟩, And.left⟩
    | inr h =>
      rw [filter_cons_of_neg h, ih, mem_cons, or_and_right]
      exact (or_iff_right fun ⟨e, hp⟩ => h (e ▸ hp)).symm
theorem of_mem_filter {p : α → Bool} {a : α} {l : List α} (h : a ∈ filter p l) : p a = true := (mem_filter.1 h).2
theorem mem_of_mem_filter {p : α → Bool} {a : α} {l : List α} (h : a ∈ filter p l) : a ∈ l := (mem_filter.1 h).1
@[simp] theorem filter_eq_self {p : α → Bool} {l : List α} : filter p l = l ↔ ∀ a, a ∈ l → p a = true := by
  constructor
  · exact fun h a ha => of_mem_filter (h.symm ▸ ha)
  · intro h
    induction l with
    | nil => rfl
    | cons b l ih => rw [filter_cons_of_pos (h b mem_cons_self), ih fun a ha => h a (mem_cons_of_mem b ha)]
@[simp] theorem filter_eq_nil_iff {p : α → Bool} {l : List α} : filter p l = [] ↔ ∀ a, a ∈ l → ¬p a = true := by
  constructor
  · exact fun h a ha hp => not_mem_nil (h ▸ mem_filter.2 ⟨ha, hp⟩)
  · intro h
    induction l with
    | nil => rfl
    | cons b l ih => rw [filter_cons_of_neg (h b mem_cons_self), ih fun a ha => h a (mem_cons_of_mem b ha)]
theorem append_of_mem {a : α} {l : List α} (h : a ∈ l) : ∃ s t : List α, l = s ++ a :: t := by
  induction h with
  | head as => exact ⟨[], as, rfl⟩
  | tail b _ ih => exact match ih with | ⟨s, t, e⟩ => ⟨b :: s, t, congrArg (b :: ·) e⟩
theorem length_pos_of_mem {a : α} {l : List α} (h : a ∈ l) : 0 < length l := by
  cases h with
  | head as => exact Nat.succ_pos _
  | tail b h => exact Nat.succ_pos _
theorem ne_nil_of_mem {a : α} {l : List α} (h : a ∈ l) : l ≠ [] := fun e => not_mem_nil (e ▸ h)
theorem eq_nil_iff_forall_not_mem {l : List α} : l = [] ↔ ∀ a, ¬a ∈ l := by
  cases l with
  | nil => exact ⟨fun _ _ => not_mem_nil, fun _ => rfl⟩
  | cons a l => exact ⟨fun h => absurd h (cons_ne_nil a l), fun h => absurd mem_cons_self (h a)⟩
theorem exists_mem_of_ne_nil (l : List α) (h : l ≠ []) : ∃ x, x ∈ l := by
  cases l with
  | nil => exact absurd rfl h
  | cons a l => exact ⟨a, mem_cons_self⟩
theorem forall_mem_nil (p : α → Prop) : ∀ x, x ∈ ([] : List α) → p x := fun _ h => nomatch h
@[simp] theorem forall_mem_cons {p : α → Prop} {a : α} {l : List α} : (∀ x, x ∈ a :: l → p x) ↔ p a ∧ ∀ x, x ∈ l → p x :=
  ⟨fun h => ⟨h a mem_cons_self, fun x hx => h x (mem_cons_of_mem a hx)⟩,
   fun ⟨h₁, h₂⟩ x hx => (mem_cons.1 hx).elim (fun e => e ▸ h₁) (h₂ x)⟩
theorem forall_mem_append {p : α → Prop} {l₁ l₂ : List α} :
    (∀ x, x ∈ l₁ ++ l₂ → p x) ↔ (∀ x, x ∈ l₁ → p x) ∧ ∀ x, x ∈ l₂ → p x :=
  ⟨fun h => ⟨fun x hx => h x (mem_append_left l₂ hx), fun x hx => h x (mem_append_right l₁ hx)⟩,
   fun ⟨h₁, h₂⟩ x hx => (mem_append.1 hx).elim (h₁ x) (h₂ x)⟩
instance decidableMem [DecidableEq α] (a : α) : (l : List α) → Decidable (a ∈ l)
  | [] => isFalse not_mem_nil
  | b :: l => match inferInstanceAs (Decidable (a = b)), decidableMem a l with
    | isTrue h, _ => isTrue (mem_cons.2 (.inl h))
    | isFalse _, isTrue h => isTrue (mem_cons.2 (.inr h))
    | isFalse n, isFalse n' => isFalse fun h => (mem_cons.1 h).elim n n'
instance : HasSubset (List α) := ⟨fun l₁ l₂ => ∀ a, a ∈ l₁ → a ∈ l₂⟩
theorem subset_def {l₁ l₂ : List α} : l₁ ⊆ l₂ ↔ ∀ a, a ∈ l₁ → a ∈ l₂ := Iff.rfl
@[simp] theorem nil_subset (l : List α) : [] ⊆ l := fun _ h => nomatch h
@[simp] theorem Subset.refl (l : List α) : l ⊆ l := fun _ h => h
theorem Subset.trans {l₁ l₂ l₃ : List α} (h₁ : l₁ ⊆ l₂) (h₂ : l₂ ⊆ l₃) : l₁ ⊆ l₃ := fun a h => h₂ a (h₁ a h)
theorem subset_cons_self (a : α) (l : List α) : l ⊆ a :: l := fun _ h => mem_cons_of_mem a h
theorem subset_append_left (l₁ l₂ : List α) : l₁ ⊆ l₁ ++ l₂ := fun _ h => mem_append_left l₂ h
theorem subset_append_right (l₁ l₂ : List α) : l₂ ⊆ l₁ ++ l₂ := fun _ h => mem_append_right l₁ h
end List
