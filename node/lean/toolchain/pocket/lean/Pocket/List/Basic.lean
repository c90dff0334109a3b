module
prelude
public import Pocket.List.Defs
public import Pocket.Nat.Order
@[expose] public section
/-! Lists: constructors, `length`, `++`, `map` and `reverse`. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## `[]` and `::` -/

@[simp] theorem cons_ne_nil (a : α) (l : List α) : a :: l ≠ [] := fun h => nomatch h
@[simp] theorem nil_ne_cons (a : α) (l : List α) : [] ≠ a :: l := fun h => nomatch h
theorem cons_inj_right (a : α) {l l' : List α} : a :: l = a :: l' ↔ l = l' := ⟨fun h => (List.cons.inj h).2, congrArg _⟩
theorem cons_inj_left {a b : α} (l : List α) : a :: l = b :: l ↔ a = b := ⟨fun h => (List.cons.inj h).1, fun h => h ▸ rfl⟩
theorem cons_eq_cons {a b : α} {l l' : List α} : a :: l = b :: l' ↔ a = b ∧ l = l' := Iff.of_eq (List.cons.injEq a l b l')
theorem cons_ne_self (a : α) (l : List α) : a :: l ≠ l := by
  induction l generalizing a with
  | nil => exact cons_ne_nil a []
  | cons b l ih => exact fun h => ih b (List.cons.inj h).2
theorem exists_cons_of_ne_nil {l : List α} (h : l ≠ []) : ∃ b L, l = b :: L := by
  cases l with
  | nil => exact absurd rfl h
  | cons a l => exact ⟨a, l, rfl⟩
theorem ne_nil_iff_exists_cons {l : List α} : l ≠ [] ↔ ∃ b L, l = b :: L := ⟨exists_cons_of_ne_nil, fun ⟨b, L, h⟩ => h ▸ cons_ne_nil b L⟩

/-! ## `length` -/

@[simp] theorem length_nil : length ([] : List α) = 0 := rfl
@[simp] theorem length_cons {a : α} {as : List α} : length (a :: as) = length as + 1 := rfl
theorem length_singleton {a : α} : length [a] = 1 := rfl
@[simp] theorem length_eq_zero_iff {l : List α} : length l = 0 ↔ l = [] := by
  cases l with
  | nil => exact iff_of_true rfl rfl
  | cons a l => exact iff_of_false (Nat.succ_ne_zero _) (cons_ne_nil a l)
theorem eq_nil_of_length_eq_zero {l : List α} (h : length l = 0) : l = [] := length_eq_zero_iff.1 h
theorem length_pos_iff {l : List α} : 0 < length l ↔ l ≠ [] := Nat.pos_iff_ne_zero.trans (not_congr length_eq_zero_iff)
theorem length_pos_of_ne_nil {l : List α} (h : l ≠ []) : 0 < length l := length_pos_iff.2 h
theorem ne_nil_of_length_pos {l : List α} (h : 0 < length l) : l ≠ [] := length_pos_iff.1 h
theorem length_eq_one_iff {l : List α} : length l = 1 ↔ ∃ a, l = [a] := by
  constructor
  · intro h
    match l, h with
    | [a], _ => exact ⟨a, rfl⟩
  · exact fun ⟨a, h⟩ => h ▸ rfl
theorem exists_cons_of_length_eq_add_one {l : List α} {n : Nat} (h : length l = n + 1) : ∃ a t, l = a :: t := by
  cases l with
  | nil => exact absurd h (Nat.zero_ne_add_one n)
  | cons a l => exact ⟨a, l, rfl⟩

/-! ## `++` -/

@[simp] theorem nil_append (as : List α) : [] ++ as = as := rfl
@[simp] theorem cons_append {a : α} {as bs : List α} : (a :: as) ++ bs = a :: (as ++ bs) := rfl
@[simp] theorem append_eq (as bs : List α) : List.append as bs = as ++ bs := rfl
@[simp] theorem append_nil (as : List α) : as ++ [] = as := by induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (a :: ·) ih
@[simp] theorem append_assoc (as bs cs : List α) : (as ++ bs) ++ cs = as ++ (bs ++ cs) := by induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (a :: ·) ih
theorem append_cons (as : List α) (b : α) (bs : List α) : as ++ b :: bs = as ++ [b] ++ bs := by rw [append_assoc]; rfl
theorem singleton_append {x : α} {l : List α} : [x] ++ l = x :: l := rfl
@[simp] theorem length_append {as bs : List α} : length (as ++ bs) = length as + length bs := by induction as with
  | nil => exact (Nat.zero_add _).symm
  | cons a as ih => exact (congrArg Nat.succ ih).trans (Nat.succ_add _ _).symm
theorem append_cancel_left {as bs cs : List α} (h : as ++ bs = as ++ cs) : bs = cs := by induction as with
  | nil => exact h
  | cons a as ih => exact ih (List.cons.inj h).2
theorem append_cancel_right {as bs cs : List α} (h : as ++ bs = cs ++ bs) : as = cs := by
  induction as generalizing cs with
  | nil => cases cs with
    | nil => rfl
    | cons c cs =>
      have h' := congrArg length h
      rw [nil_append, length_append, length_cons, Nat.right_eq_add] at h'
      exact absurd h' (Nat.succ_ne_zero _)
  | cons a as ih => cases cs with
    | nil =>
      have h' := congrArg length h
      rw [nil_append, length_append, length_cons, Nat.add_eq_right] at h'
      exact absurd h' (Nat.succ_ne_zero _)
    | cons c cs => rw [(List.cons.inj h).1, ih (List.cons.inj h).2]
@[simp] theorem append_cancel_left_eq (as bs cs : List α) : (as ++ bs = as ++ cs) = (bs = cs) := propext ⟨append_cancel_left, fun h => h ▸ rfl⟩
@[simp] theorem append_cancel_right_eq (as bs cs : List α) : (as ++ bs = cs ++ bs) = (as = cs) := propext ⟨append_cancel_right, fun h => h ▸ rfl⟩
theorem append_right_inj {t₁ t₂ : List α} (s : List α) : s ++ t₁ = s ++ t₂ ↔ t₁ = t₂ := ⟨append_cancel_left, congrArg _⟩
theorem append_left_inj {s₁ s₂ : List α} (t : List α) : s₁ ++ t = s₂ ++ t ↔ s₁ = s₂ := ⟨append_cancel_right, congrArg (· ++ t)⟩
@[simp] theorem append_eq_nil_iff {p q : List α} : p ++ q = [] ↔ p = [] ∧ q = [] := by
  cases p with
  | nil => exact ⟨fun h => ⟨rfl, h⟩, And.right⟩
  | cons a p => exact iff_of_false (cons_ne_nil a _) fun h => cons_ne_nil a p h.1
theorem append_ne_nil_of_left_ne_nil {s : List α} (h : s ≠ []) (t : List α) : s ++ t ≠ [] := fun e => h (append_eq_nil_iff.1 e).1
theorem append_ne_nil_of_right_ne_nil (s : List α) {t : List α} (h : t ≠ []) : s ++ t ≠ [] := fun e => h (append_eq_nil_iff.1 e).2
theorem append_inj {s₁ s₂ t₁ t₂ : List α} (h : s₁ ++ t₁ = s₂ ++ t₂) (hl : length s₁ = length s₂) : s₁ = s₂ ∧ t₁ = t₂ := by
  induction s₁ generalizing s₂ with
  | nil => cases s₂ with
    | nil => exact ⟨rfl, h⟩
    | cons b s₂ => exact absurd hl (Nat.zero_ne_add_one _)
  | cons a s₁ ih => cases s₂ with
    | nil => exact absurd hl (Nat.succ_ne_zero _)
    | cons b s₂ =>
      have h' := ih (List.cons.inj h).2 (Nat.succ_inj.1 hl)
      exact ⟨by rw [(List.cons.inj h).1, h'.1], h'.2⟩

@[simp] theorem append_right_eq_self {p q : List α} : p ++ q = p ↔ q = [] :=
  ⟨fun h => append_cancel_left (as := p) (h.trans (append_nil p).symm), fun h => h ▸ append_nil p⟩
@[simp] theorem append_left_eq_self {p q : List α} : p ++ q = q ↔ p = [] :=
  ⟨fun h => append_cancel_right (bs := q) h, fun h => h ▸ rfl⟩

/-! ## `map` -/

@[simp] theorem map_nil {f : α → β} : map f [] = [] := rfl
@[simp] theorem map_cons {f : α → β} {a : α} {l : List α} : map f (a :: l) = f a :: map f l := rfl
theorem map_singleton {f : α → β} {a : α} : map f [a] = [f a] := rfl
@[simp] theorem length_map {as : List α} (f : α → β) : length (map f as) = length as := by induction as with
  | nil => rfl
  | cons a as ih => exact congrArg Nat.succ ih
@[simp] theorem map_append {f : α → β} {l₁ l₂ : List α} : map f (l₁ ++ l₂) = map f l₁ ++ map f l₂ := by induction l₁ with
  | nil => rfl
  | cons a l ih => exact congrArg (f a :: ·) ih
@[simp] theorem map_id_fun : map (id : α → α) = id := funext fun l => by induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (a :: ·) ih
theorem map_id (l : List α) : map (id : α → α) l = l := congrFun map_id_fun l
@[simp] theorem map_id_fun' : map (fun (a : α) => a) = id := map_id_fun
theorem map_id' (l : List α) : map (fun (a : α) => a) l = l := map_id l
@[simp] theorem map_map {g : β → γ} {f : α → β} {l : List α} : map g (map f l) = map (g ∘ f) l := by induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (g (f a) :: ·) ih
theorem map_comp_map {g : β → γ} {f : α → β} : map g ∘ map f = map (g ∘ f) := funext fun _ => map_map
@[simp] theorem map_eq_nil_iff {f : α → β} {l : List α} : map f l = [] ↔ l = [] := by
  cases l with
  | nil => exact iff_of_true rfl rfl
  | cons a l => exact iff_of_false (cons_ne_nil _ _) (cons_ne_nil _ _)
theorem map_eq_cons_iff {f : α → β} {l : List α} {b : β} {l₂ : List β} :
    map f l = b :: l₂ ↔ ∃ a l₁, l = a :: l₁ ∧ f a = b ∧ map f l₁ = l₂ := by
  cases l with
  | nil => exact ⟨fun h => absurd h (nil_ne_cons b l₂), fun ⟨a, l₁, h, _⟩ => absurd h (nil_ne_cons a l₁)⟩
  | cons a l =>
    constructor
    · exact fun h => ⟨a, l, rfl, (List.cons.inj h).1, (List.cons.inj h).2⟩
    · intro ⟨a', l', h, h₁, h₂⟩
      rw [map_cons, (List.cons.inj h).1, (List.cons.inj h).2, h₁, h₂]
@[simp] theorem map_inj_left {l : List α} {f g : α → β} : map f l = map g l ↔ ∀ a, a ∈ l → f a = g a := by induction l with
  | nil => exact ⟨fun _ a h => (nomatch h), fun _ => rfl⟩
  | cons b l ih =>
    constructor
    · intro h a hm
      cases hm with
      | head => exact (List.cons.inj h).1
      | tail _ hm => exact ih.1 (List.cons.inj h).2 a hm
    · intro h
      rw [map_cons, map_cons, h b (.head l), ih.2 fun a hm => h a (.tail b hm)]
theorem map_congr_left {l : List α} {f g : α → β} (h : ∀ a, a ∈ l → f a = g a) : map f l = map g l := map_inj_left.2 h
theorem map_const {l : List α} {b : β} : map (Function.const α b) l = replicate l.length b := by induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (b :: ·) ih

/-! ## `reverse` -/

theorem reverseAux_eq {as bs : List α} : reverseAux as bs = reverse as ++ bs := by
  have general : ∀ (as bs cs : List α), reverseAux as bs ++ cs = reverseAux as (bs ++ cs) := by
    intro as
    induction as with
    | nil => exact fun _ _ => rfl
    | cons a as ih => exact fun bs cs => ih (a :: bs) cs
  exact (general as [] bs).symm
@[simp] theorem reverse_nil : reverse ([] : List α) = [] := rfl
@[simp] theorem reverse_cons {a : α} {as : List α} : reverse (a :: as) = reverse as ++ [a] := reverseAux_eq (as := as) (bs := [a])
theorem reverse_singleton {a : α} : reverse [a] = [a] := rfl
@[simp] theorem reverse_append {as bs : List α} : reverse (as ++ bs) = reverse bs ++ reverse as := by induction as with
  | nil => rw [nil_append, reverse_nil, append_nil]
  | cons a as ih => rw [cons_append, reverse_cons, ih, reverse_cons, append_assoc]
theorem reverse_concat {l : List α} {a : α} : reverse (l ++ [a]) = a :: reverse l := by rw [reverse_append]; rfl
@[simp] theorem reverse_reverse (as : List α) : as.reverse.reverse = as := by induction as with
  | nil => rfl
  | cons a as ih => rw [reverse_cons, reverse_concat, ih]
@[simp] theorem length_reverse {as : List α} : (as.reverse).length = as.length := by induction as with
  | nil => rfl
  | cons a as ih => rw [reverse_cons, length_append, ih]; rfl
@[simp] theorem map_reverse {f : α → β} {l : List α} : map f l.reverse = (map f l).reverse := by induction l with
  | nil => rfl
  | cons a l ih => rw [reverse_cons, map_append, ih, map_cons, map_cons, reverse_cons, map_nil]
@[simp] theorem reverse_eq_nil_iff {xs : List α} : xs.reverse = [] ↔ xs = [] := by
  rw [← length_eq_zero_iff, length_reverse, length_eq_zero_iff]
@[simp] theorem reverse_inj {xs ys : List α} : xs.reverse = ys.reverse ↔ xs = ys :=
  ⟨fun h => by rw [← reverse_reverse xs, h, reverse_reverse], fun h => h ▸ rfl⟩
theorem reverse_eq_iff {as bs : List α} : as.reverse = bs ↔ as = bs.reverse :=
  ⟨fun h => h ▸ (reverse_reverse as).symm, fun h => h ▸ reverse_reverse bs⟩
@[elab_as_elim] theorem reverseRecOn {motive : List α → Prop} (l : List α) (nil : motive [])
    (append_singleton : ∀ l a, motive l → motive (l ++ [a])) : motive l := by
  have h : ∀ l : List α, motive l.reverse := by
    intro l
    induction l with
    | nil => exact nil
    | cons a l ih => rw [reverse_cons]; exact append_singleton _ a ih
  have h' := h l.reverse
  rwa [reverse_reverse] at h'
end List
