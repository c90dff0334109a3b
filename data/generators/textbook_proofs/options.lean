/-! # Options -/

/-! ## One step -/

theorem some_is_not_none {α : Type} (a : α) : some a ≠ none := by simp

theorem equal_contents {α : Type} (a b : α) (h : some a = some b) : a = b := by simp_all

theorem map_of_nothing {α β : Type} (f : α → β) : (none : Option α).map f = none := by rfl

theorem value_or_default {α : Type} (a d : α) : (some a).getD d = a := by rfl

/-! ## A few steps -/

theorem none_or_some {α : Type} (o : Option α) : o = none ∨ ∃ a, o = some a := by exact Option.eq_none_or_eq_some o

theorem not_none_has_value {α : Type} (o : Option α) (h : o ≠ none) : ∃ a, o = some a := by
  cases o with
  | none => exact absurd rfl h
  | some a => exact ⟨a, rfl⟩

theorem map_identity {α : Type} (o : Option α) : o.map (fun a => a) = o := by simp

theorem map_twice {α β γ : Type} (f : α → β) (g : β → γ) (o : Option α) :
    (o.map f).map g = o.map (fun a => g (f a)) := by
      simp
      rfl

theorem map_is_none {α β : Type} (f : α → β) (o : Option α) : o.map f = none ↔ o = none := by simp

theorem bind_some {α : Type} (o : Option α) : o.bind some = o := by simp

/-! ## Several steps -/

theorem map_is_some {α β : Type} (f : α → β) (o : Option α) (b : β) :
    o.map f = some b ↔ ∃ a, o = some a ∧ f a = b := by simp

theorem bind_associates {α β γ : Type} (o : Option α) (f : α → Option β) (g : β → Option γ) :
    (o.bind f).bind g = o.bind (fun a => (f a).bind g) := by
  cases o <;> rfl

theorem injective_on_options {α β : Type} (f : α → β) (inj : ∀ x y, f x = f y → x = y) (o o' : Option α) :
    o.map f = o'.map f ↔ o = o' := by
  constructor
  · intro h
    cases o with
    | none =>
      cases o' with
      | none => rfl
      | some b => simp at h
    | some a =>
      cases o' with
      | none => simp at h
      | some b =>
        simp at h
        rw [inj a b h]
  · intro e
    rw [e]

/-! ## Many steps -/

theorem bind_has_value {α β : Type} (o : Option α) (f : α → Option β) (b : β) :
    o.bind f = some b ↔ ∃ a, o = some a ∧ f a = some b := by exact Option.bind_eq_some_iff

theorem head_is_member {α : Type} (xs : List α) (a : α) (h : xs.head? = some a) :
    a ∈ xs ∧ ∃ ys, xs = a :: ys := by
  cases xs with
  | nil => simp at h
  | cons y ys =>
    simp at h
    subst h
    exact ⟨by simp, ys, rfl⟩

theorem all_that_f_gives {α β : Type} (f : α → Option β) (xs : List α) (b : β) :
    b ∈ xs.filterMap f ↔ ∃ a, a ∈ xs ∧ f a = some b := by
  induction xs with
  | nil => simp
  | cons x xs ih =>
    cases hx : f x with
    | none =>
      simp [List.filterMap, hx, ih]
    | some c =>
      simp [List.filterMap, hx, ih]
      exact ⟨fun h => h.elim (fun e => Or.inl e.symm) Or.inr, fun h => h.elim (fun e => Or.inl e.symm) Or.inr⟩