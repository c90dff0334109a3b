/-! # Lists -/

/-! ## One step -/

theorem head_of_cons {α : Type} (x : α) (xs : List α) : (x :: xs).head? = some x := by rfl

theorem first_is_member {α : Type} (x : α) (xs : List α) : x ∈ x :: xs := by simp

theorem cons_is_not_empty {α : Type} (x : α) (xs : List α) : x :: xs ≠ [] := by simp

theorem reverse_of_three : [1, 2, 3].reverse = [3, 2, 1] := by rfl

theorem heads_and_tails {α : Type} (x y : α) (xs ys : List α) (h : x :: xs = y :: ys) : x = y ∧ xs = ys := by simp_all

/-! ## A few steps -/

theorem no_elements (xs : List Nat) : xs.length = 0 ↔ xs = [] := by simp

theorem map_changes_nothing {α : Type} (xs : List α) : xs.map (fun x => x) = xs := by simp

theorem length_in_any_order {α : Type} (xs ys : List α) : (xs ++ ys).length = (ys ++ xs).length := by
  rw [List.length_append, List.length_append, Nat.add_comm]

theorem member_of_either {α : Type} (a : α) (xs ys : List α) : a ∈ xs ++ ys ↔ a ∈ xs ∨ a ∈ ys := by simp

theorem member_goes_to_image {α β : Type} (f : α → β) (a : α) (xs : List α) (h : a ∈ xs) :
    f a ∈ xs.map f := by exact List.mem_map_of_mem h

theorem take_and_drop {α : Type} (n : Nat) (xs : List α) : xs.take n ++ xs.drop n = xs := by simp

theorem append_is_empty {α : Type} (xs ys : List α) : xs ++ ys = [] ↔ xs = [] ∧ ys = [] := by simp

theorem cancel_front {α : Type} (xs ys zs : List α) (h : xs ++ ys = xs ++ zs) : ys = zs := by simp_all

theorem empty_or_not {α : Type} (xs : List α) : xs = [] ∨ ∃ y ys, xs = y :: ys := by
  cases xs with
  | nil => exact Or.inl rfl
  | cons y ys => exact Or.inr ⟨y, ys, rfl⟩

theorem filter_is_not_longer {α : Type} (p : α → Bool) (xs : List α) : (xs.filter p).length ≤ xs.length := by exact List.length_filter_le p xs

theorem replicate_has_length {α : Type} (n : Nat) (a : α) : (List.replicate n a).length = n := by simp

theorem singleton_reversed {α : Type} (a : α) (xs : List α) : (xs ++ [a]).reverse = a :: xs.reverse := by simp

/-! ## Several steps -/

theorem filter_twice {α : Type} (p : α → Bool) (xs : List α) : (xs.filter p).filter p = xs.filter p := by simp

theorem filter_over_append {α : Type} (p : α → Bool) (xs ys : List α) :
    (xs ++ ys).filter p = xs.filter p ++ ys.filter p := by simp

theorem nothing_dropped {α : Type} (p : α → Bool) (xs : List α) (h : ∀ x, x ∈ xs → p x = true) :
    xs.filter p = xs := by simp_all

theorem member_is_somewhere {α : Type} (a : α) (xs : List α) (h : a ∈ xs) : ∃ ys zs, xs = ys ++ a :: zs := by exact List.append_of_mem h

theorem map_of_reversed {α β : Type} (f : α → β) (xs : List α) : xs.reverse.map f = (xs.map f).reverse := by simp

theorem equal_maps {α β : Type} (f g : α → β) (xs : List α) (h : ∀ x, x ∈ xs → f x = g x) :
    xs.map f = xs.map g := by simp_all

theorem both_ends_of_palindrome {α : Type} (xs : List α) : (xs ++ xs.reverse).reverse = xs ++ xs.reverse := by simp

theorem sum_of_two_lists (xs ys : List Nat) :
    (xs ++ ys).foldr (· + ·) 0 = xs.foldr (· + ·) 0 + ys.foldr (· + ·) 0 := by
  induction xs with
  | nil => simp
  | cons x xs ih =>
    simp only [List.cons_append, List.foldr_cons]
    rw [ih]
    omega

theorem injective_on_lists {α β : Type} (f : α → β) (inj : ∀ x y, f x = f y → x = y) :
    ∀ xs ys : List α, xs.map f = ys.map f → xs = ys := by
  intro xs
  induction xs with
  | nil =>
    intro ys h
    cases ys with
    | nil => rfl
    | cons y ys => simp at h
  | cons x xs ih =>
    intro ys h
    cases ys with
    | nil => simp at h
    | cons y ys =>
      simp only [List.map_cons, List.cons.injEq] at h
      rw [inj x y h.1, ih ys h.2]

theorem length_of_take {α : Type} (n : Nat) (xs : List α) (h : n ≤ xs.length) : (xs.take n).length = n := by simp_all

/-! ## Many steps -/

theorem two_elements {α : Type} (xs : List α) (h : xs.length = 2) : ∃ a b, xs = [a, b] := by
  match xs, h with
  | [a, b], _ => exact ⟨a, b, rfl⟩

theorem all_over_append {α : Type} (P : α → Prop) (xs ys : List α) :
    (∀ x, x ∈ xs ++ ys → P x) ↔ (∀ x, x ∈ xs → P x) ∧ ∀ y, y ∈ ys → P y := by exact List.forall_mem_append

theorem fold_left_is_fold_right (xs : List Nat) (n : Nat) :
    xs.foldl (· + ·) n = xs.foldr (· + ·) n := by
  have aux : ∀ (ys : List Nat) (a b : Nat), ys.foldr (· + ·) (a + b) = a + ys.foldr (· + ·) b := by
    intro ys a b
    induction ys with
    | nil => rfl
    | cons y ys ih =>
      simp only [List.foldr_cons]
      rw [ih]
      omega
  induction xs generalizing n with
  | nil => rfl
  | cons x xs ih => rw [List.foldl_cons, List.foldr_cons, ih, Nat.add_comm n x, aux]

theorem sum_of_reversed (xs : List Nat) : xs.reverse.foldr (· + ·) 0 = xs.foldr (· + ·) 0 := by
  have aux : ∀ ys zs : List Nat, (ys ++ zs).foldr (· + ·) 0 = ys.foldr (· + ·) 0 + zs.foldr (· + ·) 0 := by
    intro ys zs
    induction ys with
    | nil => simp
    | cons y ys ih =>
      simp only [List.cons_append, List.foldr_cons]
      rw [ih]
      omega
  induction xs with
  | nil => rfl
  | cons x xs ih =>
    rw [List.reverse_cons, aux, ih]
    simp only [List.foldr_cons, List.foldr_nil]
    omega

theorem sum_is_at_least_each (xs : List Nat) (n : Nat) (h : n ∈ xs) : n ≤ xs.foldr (· + ·) 0 := by
  induction xs with
  | nil => cases h
  | cons x xs ih =>
    simp only [List.foldr_cons]
    rcases List.mem_cons.mp h with h | h
    · omega
    · have := ih h
      omega

theorem snoc_or_empty {α : Type} (xs : List α) : xs = [] ∨ ∃ ys y, xs = ys ++ [y] := by
  induction xs with
  | nil => exact Or.inl rfl
  | cons x xs ih =>
    right
    rcases ih with h | ⟨ys, y, h⟩
    · exact ⟨[], x, by rw [h]; rfl⟩
    · exact ⟨x :: ys, y, by rw [h]; rfl⟩

theorem split_by_predicate {α : Type} (p : α → Bool) (xs : List α) :
    (xs.filter p).length + (xs.filter (fun x => !p x)).length = xs.length := by
  induction xs with
  | nil => rfl
  | cons x xs ih => cases hp : p x <;> simp [List.filter_cons, hp] <;> omega

theorem own_reverse {α : Type} (rev : List α → List α) (h₀ : rev [] = [])
    (h : ∀ x xs, rev (x :: xs) = rev xs ++ [x]) : ∀ xs ys, rev (xs ++ ys) = rev ys ++ rev xs := by
  intro xs
  induction xs with
  | nil =>
    intro ys
    simp [h₀]
  | cons x xs ih =>
    intro ys
    rw [List.cons_append, h, h, ih, List.append_assoc]
