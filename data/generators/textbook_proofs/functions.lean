/-! # Functions, relations, sets as predicates, and groups -/

/-! ## One step -/

theorem constant_after_anything {α β γ : Type} (f : α → γ) (g : β → α) (h : ∀ x y, f x = f y) (u v : β) :
    f (g u) = f (g v) := by apply h

theorem one_value {α β : Type} (f : α → β) (x y : α) (u v : β) (h : x = y) (hu : f x = u) (hv : f y = v) :
    u = v := by simp_all

theorem functions_agree {α β : Type} (f g : α → β) (h : ∀ x, f x = g x) : f = g := by
  funext x
  simp_all

theorem intersection_of_three {α : Type} (A B C : α → Prop) : ∀ x, A x ∧ B x ∧ C x → B x := by
  intro x h
  exact h.2.1

theorem identity_composed {α β : Type} (f : α → β) : f ∘ id = f := by rfl

/-! ## A few steps -/

theorem involution_is_injective {α : Type} (f : α → α) (h : ∀ x, f (f x) = x) :
    ∀ x y, f x = f y → x = y := by
      intro x y h₁
      have h₂ := h x
      simp_all

theorem involution_is_surjective {α : Type} (f : α → α) (h : ∀ x, f (f x) = x) : ∀ y, ∃ x, f x = y := by
  intro y
  exact ⟨f y, by simp_all⟩

theorem retraction_is_surjective {α β : Type} (f : α → β) (g : β → α) (h : ∀ x, g (f x) = x) :
    ∀ x, ∃ y, g y = x := by
      intro x
      exact ⟨f x, by simp_all⟩

theorem injective_and_idempotent {α : Type} (f : α → α) (inj : ∀ x y, f x = f y → x = y)
    (idem : ∀ x, f (f x) = f x) : ∀ x, f x = x := by
      intro x
      exact inj _ _ (idem x)

theorem value_is_unique {α β : Type} (f : α → β) (x : α) : ∃ y, f x = y ∧ ∀ z, f x = z → z = y := by simp

theorem equal_classes_are_related {α : Type} (R : α → α → Prop) (refl : ∀ x, R x x) (a b : α)
    (h : ∀ x, R a x ↔ R b x) : R a b := by simp_all

theorem least_is_unique {α : Type} (le : α → α → Prop) (antisymm : ∀ x y, le x y → le y x → x = y) (a b : α)
    (ha : ∀ x, le a x) (hb : ∀ x, le b x) : a = b := by exact antisymm _ _ (ha b) (hb a)

theorem monotone_after_monotone {α : Type} (le : α → α → Prop) (f g : α → α)
    (hf : ∀ x y, le x y → le (f x) (f y)) (hg : ∀ x y, le x y → le (g x) (g y)) :
    ∀ x y, le x y → le (g (f x)) (g (f y)) := by simp_all

theorem identity_is_unique {α : Type} (op : α → α → α) (e e' : α) (h : ∀ x, op e x = x)
    (h' : ∀ x, op x e' = x) : e = e' := by
      have h₁ := h' e
      simp_all

theorem outside_the_union {α ι : Type} (A : ι → α → Prop) (x : α) : ¬(∃ i, A i x) ↔ ∀ i, ¬A i x := by simp

theorem disjoint_and_contained {α : Type} (A B : α → Prop) (sub : ∀ x, A x → B x)
    (disjoint : ∀ x, ¬(A x ∧ B x)) : ¬∃ x, A x := by simp_all

/-! ## Several steps -/

theorem left_and_right_inverse_agree {α β : Type} (f : α → β) (g h : β → α) (left : ∀ x, g (f x) = x)
    (right : ∀ y, f (h y) = y) : ∀ y, g y = h y := by
  intro y
  have e := left (h y)
  rw [right] at e
  exact e

theorem surjective_and_idempotent {α : Type} (f : α → α) (surj : ∀ y, ∃ x, f x = y)
    (idem : ∀ x, f (f x) = f x) : ∀ x, f x = x := by
  intro x
  obtain ⟨z, hz⟩ := surj x
  rw [← hz]
  exact idem z

theorem serial_makes_reflexive {α : Type} (R : α → α → Prop) (symm : ∀ x y, R x y → R y x)
    (trans : ∀ x y z, R x y → R y z → R x z) (serial : ∀ x, ∃ y, R x y) : ∀ x, R x x := by
  intro x
  obtain ⟨y, hy⟩ := serial x
  exact trans x y x hy (symm x y hy)

theorem strict_order_is_asymmetric {α : Type} (R : α → α → Prop) (irrefl : ∀ x, ¬R x x)
    (trans : ∀ x y z, R x y → R y z → R x z) : ∀ x y, R x y → ¬R y x := by
      intro x y h h_1
      apply irrefl
      exact trans _ _ _ h_1 h

theorem related_have_equal_classes {α : Type} (R : α → α → Prop) (symm : ∀ x y, R x y → R y x)
    (trans : ∀ x y z, R x y → R y z → R x z) (a b : α) (h : R a b) : ∀ x, R a x ↔ R b x := by
      exact fun x =>
          { mp := trans b a x (symm a b (symm b a (symm a b h))), mpr := trans a b x (symm b a (symm a b h)) }

theorem least_upper_bound_is_unique {α : Type} (le : α → α → Prop)
    (antisymm : ∀ x y, le x y → le y x → x = y) (S : α → Prop) (u v : α)
    (hu : ∀ x, S x → le x u) (hu' : ∀ w, (∀ x, S x → le x w) → le u w)
    (hv : ∀ x, S x → le x v) (hv' : ∀ w, (∀ x, S x → le x w) → le v w) : u = v := by
  exact antisymm u v (hu' v hv) (hv' u hu)

theorem image_of_union {α β : Type} (f : α → β) (A B : α → Prop) (y : β) :
    (∃ x, (A x ∨ B x) ∧ f x = y) ↔ (∃ x, A x ∧ f x = y) ∨ ∃ x, B x ∧ f x = y := by
      constructor
      · intro h
        obtain ⟨x_1, h_1⟩ := h
        obtain ⟨h, h_2⟩ := h_1
        rcases h with h_1 | h_3
        · left
          exact ⟨_, ‹_›, ‹_›⟩
        · right
          exact ⟨_, ‹_›, ‹_›⟩
      · intro h
        rcases h with h_1 | h_2
        · obtain ⟨x_1, h⟩ := h_1
          obtain ⟨h_1, h_2⟩ := h
          refine ⟨x_1, ?_⟩
          simp_all
        · obtain ⟨x_1, h⟩ := h_2
          obtain ⟨h_1, h_2⟩ := h
          refine ⟨x_1, ?_⟩
          simp_all

theorem back_from_the_image {α β : Type} (f : α → β) (inj : ∀ x y, f x = f y → x = y) (A : α → Prop) (x : α) :
    (∃ z, A z ∧ f z = f x) ↔ A x := by
      constructor
      · intro h
        obtain ⟨z, h⟩ := h
        obtain ⟨hz, h⟩ := h
        have h₁ := inj z
        simp_all
        have h₂ := h₁ x
        simp_all
      · intro hx
        exact ⟨x, by simp_all⟩

theorem subset_as_intersection {α : Type} (A B : α → Prop) : (∀ x, A x → B x) ↔ ∀ x, (A x ∧ B x ↔ A x) := by simp

theorem complements_turn_around {α : Type} (A B : α → Prop) :
    (∀ x, A x → B x) ↔ ∀ x, ¬B x → ¬A x := by
      constructor
      · intro h x h_1 h_2
        simp_all
      · intro h x h_1
        refine Classical.byContradiction fun h_2 => ?_
        simp_all

theorem left_cancellation {α : Type} (op : α → α → α) (e : α) (inv : α → α)
    (assoc : ∀ x y z, op (op x y) z = op x (op y z)) (one : ∀ x, op e x = x) (left : ∀ x, op (inv x) x = e)
    (a b c : α) (h : op a b = op a c) : b = c := by
  have e₁ : op (inv a) (op a b) = op (inv a) (op a c) := by rw [h]
  rw [← assoc, ← assoc, left, one, one] at e₁
  exact e₁

/-! ## Many steps -/

theorem image_of_intersection {α β : Type} (f : α → β) (inj : ∀ x y, f x = f y → x = y) (A B : α → Prop) (y : β) :
    (∃ x, A x ∧ f x = y) ∧ (∃ x, B x ∧ f x = y) ↔ ∃ x, (A x ∧ B x) ∧ f x = y := by
  constructor
  · intro ⟨⟨x, hx, ex⟩, ⟨z, hz, ez⟩⟩
    have e := inj x z (ex.trans ez.symm)
    subst e
    exact ⟨x, ⟨hx, hz⟩, ex⟩
  · intro ⟨x, ⟨ha, hb⟩, e⟩
    exact ⟨⟨x, ha, e⟩, ⟨x, hb, e⟩⟩

theorem no_difference_is_equality {α : Type} (A B : α → Prop) :
    (∀ x, ¬((A x ∧ ¬B x) ∨ (B x ∧ ¬A x))) ↔ ∀ x, A x ↔ B x := by
      constructor
      · intro h x
        constructor
        · simp_all
        · simp_all
      · simp_all

theorem cantor_diagonal : ¬∃ f : Nat → Nat → Bool, ∀ g : Nat → Bool, ∃ n, f n = g := by
  intro ⟨f, h⟩
  obtain ⟨n, hn⟩ := h (fun n => !(f n n))
  have e : f n n = !(f n n) := congrFun hn n
  revert e
  cases f n n <;> simp

theorem right_inverse_in_a_group {α : Type} (op : α → α → α) (e : α) (inv : α → α)
    (assoc : ∀ x y z, op (op x y) z = op x (op y z)) (one : ∀ x, op e x = x) (left : ∀ x, op (inv x) x = e) :
    ∀ x, op x (inv x) = e := by
  intro x
  calc op x (inv x) = op e (op x (inv x)) := (one _).symm
    _ = op (op (inv (inv x)) (inv x)) (op x (inv x)) := by rw [left (inv x)]
    _ = op (inv (inv x)) (op (inv x) (op x (inv x))) := assoc _ _ _
    _ = op (inv (inv x)) (op (op (inv x) x) (inv x)) := by rw [assoc (inv x) x]
    _ = op (inv (inv x)) (inv x) := by rw [left x, one]
    _ = e := left _

theorem inverse_of_product {α : Type} (op : α → α → α) (e : α) (inv : α → α)
    (assoc : ∀ x y z, op (op x y) z = op x (op y z)) (one : ∀ x, op e x = x) (one' : ∀ x, op x e = x)
    (left : ∀ x, op (inv x) x = e) (right : ∀ x, op x (inv x) = e) :
    ∀ x y, inv (op x y) = op (inv y) (inv x) := by
  intro x y
  have h : op (op (inv y) (inv x)) (op x y) = e := by rw [assoc, ← assoc (inv x) x y, left, one, left]
  calc inv (op x y) = op e (inv (op x y)) := (one _).symm
    _ = op (op (op (inv y) (inv x)) (op x y)) (inv (op x y)) := by rw [h]
    _ = op (op (inv y) (inv x)) (op (op x y) (inv (op x y))) := assoc _ _ _
    _ = op (inv y) (inv x) := by rw [right, one']

theorem squares_are_one_so_abelian {α : Type} (op : α → α → α) (e : α)
    (assoc : ∀ x y z, op (op x y) z = op x (op y z)) (one : ∀ x, op e x = x) (one' : ∀ x, op x e = x)
    (square : ∀ x, op x x = e) : ∀ x y, op x y = op y x := by
  intro x y
  calc op x y = op (op x y) (op (op y x) (op y x)) := by rw [square (op y x), one']
    _ = op (op (op x y) (op y x)) (op y x) := (assoc _ _ _).symm
    _ = op y x := by rw [assoc x y, ← assoc y y, square y, one, square x, one]
