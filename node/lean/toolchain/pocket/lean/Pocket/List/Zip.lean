module
prelude
public import Pocket.List.Fold
public import Pocket.List.Mem
public import Pocket.Nat.MinMax
@[expose] public section
/-! Lists: `all`, `any`, `count`, `flatten`, `filterMap`, `zip`. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## `all`, `any`, `elem`, `count` -/

@[simp] theorem all_nil {p : α → Bool} : [].all p = true := rfl
@[simp] theorem all_cons {a : α} {l : List α} {p : α → Bool} : (a :: l).all p = (p a && l.all p) := rfl
@[simp] theorem any_nil {p : α → Bool} : [].any p = false := rfl
@[simp] theorem any_cons {a : α} {l : List α} {p : α → Bool} : (a :: l).any p = (p a || l.any p) := rfl
@[simp] theorem all_eq_true {l : List α} {p : α → Bool} : l.all p = true ↔ ∀ x, x ∈ l → p x = true := by induction l with
  | nil => exact iff_of_true rfl (forall_mem_nil _)
  | cons a l ih => rw [all_cons, Bool.and_eq_true, ih, forall_mem_cons]
@[simp] theorem any_eq_true {l : List α} {p : α → Bool} : l.any p = true ↔ ∃ x, x ∈ l ∧ p x = true := by induction l with
  | nil => exact iff_of_false (fun h => Bool.noConfusion h) fun ⟨x, h, _⟩ => not_mem_nil h
  | cons a l ih =>
    rw [any_cons, Bool.or_eq_true, ih]
    exact ⟨fun h => h.elim (fun h => ⟨a, mem_cons_self, h⟩) fun ⟨x, hx, h⟩ => ⟨x, mem_cons_of_mem a hx, h⟩,
      fun ⟨x, hx, h⟩ => (mem_cons.1 hx).elim (fun e => .inl (e ▸ h)) fun hx => .inr ⟨x, hx, h⟩⟩
@[simp] theorem all_append {l₁ l₂ : List α} {p : α → Bool} : (l₁ ++ l₂).all p = (l₁.all p && l₂.all p) := by induction l₁ with
  | nil => rfl
  | cons a l ih => rw [cons_append, all_cons, ih, all_cons, Bool.and_assoc]
@[simp] theorem any_append {l₁ l₂ : List α} {p : α → Bool} : (l₁ ++ l₂).any p = (l₁.any p || l₂.any p) := by induction l₁ with
  | nil => rfl
  | cons a l ih => rw [cons_append, any_cons, ih, any_cons, Bool.or_assoc]
theorem not_all_eq_any_not (l : List α) (p : α → Bool) : (!l.all p) = l.any fun a => !p a := by induction l with
  | nil => rfl
  | cons a l ih => rw [all_cons, Bool.not_and, ih]; rfl
theorem not_any_eq_all_not (l : List α) (p : α → Bool) : (!l.any p) = l.all fun a => !p a := by induction l with
  | nil => rfl
  | cons a l ih => rw [any_cons, Bool.not_or, ih]; rfl
@[simp] theorem elem_iff [BEq α] [LawfulBEq α] {a : α} {l : List α} : elem a l = true ↔ a ∈ l := by induction l with
  | nil => exact iff_of_false (fun h => Bool.noConfusion h) not_mem_nil
  | cons b l ih =>
    rw [mem_cons, ← ih, ← beq_iff_eq (a := a)]
    show (match a == b with | true => true | false => elem a l) = true ↔ _
    cases a == b
    · exact (or_iff_right Bool.false_ne_true).symm
    · exact iff_of_true rfl (.inl rfl)
@[simp] theorem count_nil [BEq α] {a : α} : count a [] = 0 := rfl
theorem count_cons [BEq α] {a b : α} {l : List α} : count a (b :: l) = count a l + if (b == a) = true then 1 else 0 := by
  show (match b == a with | true => count a l + 1 | false => count a l) = _
  cases b == a <;> rfl
@[simp] theorem count_append [BEq α] {a : α} {l₁ l₂ : List α} : count a (l₁ ++ l₂) = count a l₁ + count a l₂ := by induction l₁ with
  | nil => exact (Nat.zero_add _).symm
  | cons b l ih => rw [cons_append, count_cons, ih, count_cons, Nat.add_right_comm]
theorem count_le_length [BEq α] {a : α} {l : List α} : count a l ≤ l.length := by induction l with
  | nil => exact Nat.le_refl 0
  | cons b l ih =>
    rw [count_cons, length_cons]
    exact Nat.add_le_add ih (by cases b == a; exact Nat.zero_le 1; exact Nat.le_refl 1)

/-! ## `flatten`, `flatMap`, `filterMap`, `zip` -/

@[simp] theorem flatten_nil : flatten ([] : List (List α)) = [] := rfl
@[simp] theorem flatten_cons {l : List α} {L : List (List α)} : flatten (l :: L) = l ++ flatten L := rfl
@[simp] theorem flatten_append {L₁ L₂ : List (List α)} : flatten (L₁ ++ L₂) = flatten L₁ ++ flatten L₂ := by induction L₁ with
  | nil => rfl
  | cons l L ih => rw [cons_append, flatten_cons, ih, flatten_cons, append_assoc]
theorem length_flatten {L : List (List α)} : L.flatten.length = (L.map length).sum := by induction L with
  | nil => rfl
  | cons l L ih => rw [flatten_cons, length_append, ih]; rfl
theorem map_flatten {f : α → β} {L : List (List α)} : (flatten L).map f = (L.map (map f)).flatten := by induction L with
  | nil => rfl
  | cons l L ih => rw [flatten_cons, map_append, ih]; rfl
@[simp] theorem mem_flatten {a : α} {L : List (List α)} : a ∈ L.flatten ↔ ∃ l, l ∈ L ∧ a ∈ l := by induction L with
  | nil => exact iff_of_false not_mem_nil fun ⟨_, h, _⟩ => not_mem_nil h
  | cons l L ih =>
    rw [flatten_cons, mem_append, ih]
    exact ⟨fun h => h.elim (fun h => ⟨l, mem_cons_self, h⟩) fun ⟨x, hx, h⟩ => ⟨x, mem_cons_of_mem l hx, h⟩,
      fun ⟨x, hx, h⟩ => (mem_cons.1 hx).elim (fun e => .inl (e ▸ h)) fun hx => .inr ⟨x, hx, h⟩⟩
@[simp] theorem flatMap_nil {f : α → List β} : [].flatMap f = [] := rfl
@[simp] theorem flatMap_cons {f : α → List β} {a : α} {l : List α} : (a :: l).flatMap f = f a ++ l.flatMap f := rfl
@[simp] theorem flatMap_append {f : α → List β} {l₁ l₂ : List α} : (l₁ ++ l₂).flatMap f = l₁.flatMap f ++ l₂.flatMap f := by
  show flatten (map f (l₁ ++ l₂)) = _
  rw [map_append, flatten_append]; rfl
@[simp] theorem filterMap_nil {f : α → Option β} : filterMap f [] = [] := rfl
theorem filterMap_cons {f : α → Option β} {a : α} {l : List α} :
    filterMap f (a :: l) = match f a with | none => filterMap f l | some b => b :: filterMap f l := rfl
@[simp] theorem filterMap_some {l : List α} : filterMap some l = l := by induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (a :: ·) ih
theorem filterMap_append {f : α → Option β} {l l' : List α} : filterMap f (l ++ l') = filterMap f l ++ filterMap f l' := by
  induction l with
  | nil => rfl
  | cons a l ih =>
    rw [cons_append, filterMap_cons, filterMap_cons, ih]
    cases f a <;> rfl
@[simp] theorem zipWith_nil_left {f : α → β → γ} {l : List β} : zipWith f [] l = [] := rfl
@[simp] theorem zipWith_nil_right {f : α → β → γ} {l : List α} : zipWith f l [] = [] := by cases l <;> rfl
@[simp] theorem zipWith_cons_cons {f : α → β → γ} {a : α} {as : List α} {b : β} {bs : List β} :
    zipWith f (a :: as) (b :: bs) = f a b :: zipWith f as bs := rfl
@[simp] theorem length_zipWith {f : α → β → γ} {l₁ : List α} {l₂ : List β} : (zipWith f l₁ l₂).length = min l₁.length l₂.length := by
  induction l₁ generalizing l₂ with
  | nil => exact (Nat.zero_min _).symm
  | cons a l ih => cases l₂ with
    | nil => exact (Nat.min_zero _).symm
    | cons b l₂ => rw [zipWith_cons_cons, length_cons, ih, length_cons, length_cons, Nat.add_min_add_right]
@[simp] theorem zip_nil_left {l : List β} : zip ([] : List α) l = [] := rfl
@[simp] theorem zip_nil_right {l : List α} : zip l ([] : List β) = [] := zipWith_nil_right
@[simp] theorem zip_cons_cons {a : α} {as : List α} {b : β} {bs : List β} : zip (a :: as) (b :: bs) = (a, b) :: zip as bs := rfl
@[simp] theorem length_zip {l₁ : List α} {l₂ : List β} : (zip l₁ l₂).length = min l₁.length l₂.length := length_zipWith
theorem zipWith_comm {f : α → β → γ} {as : List α} {bs : List β} : zipWith f as bs = zipWith (fun b a => f a b) bs as := by
  induction as generalizing bs with
  | nil => exact zipWith_nil_right.symm
  | cons a as ih => cases bs with
    | nil => rfl
    | cons b bs => rw [zipWith_cons_cons, ih]; rfl
end List
