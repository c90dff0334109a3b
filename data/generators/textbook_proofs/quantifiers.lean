/-! # Quantifiers -/

/-! ## One step -/

theorem all_hold_for_two {α : Type} (P : α → Prop) (h : ∀ x, P x) (a b : α) : P a ∧ P b := by simp_all

theorem witness_of_neither {α : Type} (P Q : α → Prop) (a : α) (hP : ¬P a) (hQ : ¬Q a) : ∃ x, ¬(P x ∨ Q x) := by
  exact ⟨a, fun h => h.elim hP hQ⟩

theorem nothing_is_unequal_to_itself {α : Type} : ¬∃ x : α, x ≠ x := by simp

theorem everything_equals_something {α : Type} : ∀ x : α, ∃ y, y = x := by simp

theorem if_all_then_this {α : Type} (P : α → Prop) (q : Prop) (a : α) (h : P a → q) : (∀ x, P x) → q := by simp_all

/-! ## A few steps -/

theorem some_in_the_other_order {α : Type} (P Q : α → Prop) : (∃ x, P x ∧ Q x) → ∃ x, Q x ∧ P x := by
  simp
  intro x hx h
  exact ⟨_, h, hx⟩

theorem no_pair {α β : Type} (R : α → β → Prop) : (¬∃ x y, R x y) ↔ ∀ x y, ¬R x y := by simp

theorem equivalent_under_all {α : Type} (P Q : α → Prop) (h : ∀ x, P x ↔ Q x) : (∀ x, P x) ↔ ∀ x, Q x := by simp_all

theorem equivalent_under_some {α : Type} (P Q : α → Prop) (h : ∀ x, P x ↔ Q x) : (∃ x, P x) ↔ ∃ x, Q x := by simp_all

theorem celarent {α : Type} (S M P : α → Prop) (h₁ : ¬∃ x, M x ∧ P x) (h₂ : ∀ x, S x → M x) :
    ¬∃ x, S x ∧ P x := by simp_all

theorem darii {α : Type} (S M P : α → Prop) (h₁ : ∀ x, M x → P x) (h₂ : ∃ x, S x ∧ M x) : ∃ x, S x ∧ P x := by
  obtain ⟨x, h⟩ := h₂
  refine ⟨x, ?_⟩
  simp_all

theorem ferio {α : Type} (S M P : α → Prop) (h₁ : ¬∃ x, M x ∧ P x) (h₂ : ∃ x, S x ∧ M x) :
    ∃ x, S x ∧ ¬P x := by
      obtain ⟨x, h⟩ := h₂
      exact ⟨x, by simp_all⟩

theorem baroco {α : Type} (S M P : α → Prop) (h₁ : ∀ x, P x → M x) (h₂ : ∃ x, S x ∧ ¬M x) :
    ∃ x, S x ∧ ¬P x := by
      obtain ⟨x, h⟩ := h₂
      obtain ⟨hx, hnx⟩ := h
      refine Classical.byContradiction fun h => ?_
      simp_all

theorem bocardo {α : Type} (S M P : α → Prop) (h₁ : ∃ x, M x ∧ ¬P x) (h₂ : ∀ x, M x → S x) :
    ∃ x, S x ∧ ¬P x := by
      obtain ⟨x, h⟩ := h₁
      exact ⟨x, by simp_all⟩

theorem darapti {α : Type} (S M P : α → Prop) (h₁ : ∀ x, M x → P x) (h₂ : ∀ x, M x → S x) (h₃ : ∃ x, M x) :
    ∃ x, S x ∧ P x := by
      obtain ⟨x, hx⟩ := h₃
      exact ⟨x, by simp_all⟩

theorem some_diagonal {α : Type} (R : α → α → Prop) (h : ∃ x, R x x) : ∃ x y, R x y := by
  obtain ⟨x, h⟩ := h
  exact ⟨_, x, h⟩

theorem a_universal_friend (Person : Type) (Likes : Person → Person → Prop) (h : ∃ x, ∀ y, Likes y x) :
    ∃ x, Likes x x := by
      obtain ⟨x, h⟩ := h
      exact ⟨x, by simp_all⟩

theorem all_or_counterexample {α : Type} (P : α → Prop) (h : ¬∃ x, ¬P x) : ∀ x, P x := by simp_all

/-! ## Several steps -/

theorem no_answer_for_some {α β : Type} (R : α → β → Prop) : ¬(∀ x, ∃ y, R x y) ↔ ∃ x, ∀ y, ¬R x y := by simp

theorem nobody_is_for_all {α β : Type} (R : α → β → Prop) : ¬(∃ x, ∀ y, R x y) ↔ ∀ x, ∃ y, ¬R x y := by simp

theorem three_witnesses_moved {α : Type} (T : α → α → α → Prop) :
    (∃ x y z, T x y z) → ∃ z x y, T x y z := by
  intro ⟨x, y, z, h⟩
  exact ⟨z, x, y, h⟩

theorem only_one_has_it {α : Type} (P : α → Prop) (h : ∀ x y, P x → P y → x = y) (a : α) (ha : P a) :
    ∀ x, P x ↔ x = a := by
      intro x
      constructor
      · intro h_1
        exact h _ _ ‹_› ‹_›
      · simp_all

theorem nobody_shaves_just_those {α : Type} (R : α → α → Prop) : ¬∃ x, ∀ y, R x y ↔ ¬R y y := by
  simp
  intro x
  exact ⟨x, by simp⟩

theorem two_worlds {α : Type} (P Q : α → Prop) (h : ∀ x, P x → ∃ y, Q y) : (∃ x, P x) → ∃ y, Q y := by
  simp
  assumption

theorem one_exception {α : Type} (P : α → Prop) (a : α) (h : ∀ x, x ≠ a → P x) : (∀ x, P x) ↔ P a := by
  constructor
  · intro all
    exact all a
  · intro ha x
    by_cases e : x = a
    · rw [e]
      exact ha
    · exact h x e

/-! ## Many steps -/

theorem choice_of_a_function {α β : Type} (R : α → β → Prop) (h : ∀ x, ∃ y, R x y) :
    ∃ f : α → β, ∀ x, R x (f x) := by exact Classical.skolem.mp h

theorem in_the_end_implies_again_and_again (A : Nat → Prop) (h : ∃ n, ∀ m, n ≤ m → A m) :
    ∀ n, ∃ m, n ≤ m ∧ A m := by
  obtain ⟨k, hk⟩ := h
  intro n
  exact ⟨n + k, by omega, hk _ (by omega)⟩

theorem exactly_two {α : Type} (P : α → Prop) (a b : α) (hab : a ≠ b) (h : ∀ x, P x ↔ x = a ∨ x = b) :
    ∃ x y, x ≠ y ∧ P x ∧ P y ∧ ∀ z, P z → z = x ∨ z = y := by exact ⟨a, ⟨b, by simp_all⟩⟩

theorem minimal_counterexample (P : Nat → Prop) (h : ∀ n, ¬P n → ∃ m, m < n ∧ ¬P m) : ∀ n, P n := by
  intro n
  induction n using Nat.strongRecOn with
  | _ n ih =>
    by_cases hn : P n
    · exact hn
    · obtain ⟨m, hm, hp⟩ := h n hn
      exact absurd (ih m hm) hp
