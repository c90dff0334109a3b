module
prelude
public import Pocket.List.Basic
@[expose] public section
/-! Lists: folds and sums. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## Folds -/

@[simp] theorem foldr_nil {f : α → β → β} {b : β} : foldr f b [] = b := rfl
@[simp] theorem foldr_cons {f : α → β → β} {b : β} {a : α} {l : List α} : foldr f b (a :: l) = f a (foldr f b l) := rfl
@[simp] theorem foldl_nil {f : β → α → β} {b : β} : foldl f b [] = b := rfl
@[simp] theorem foldl_cons {f : β → α → β} {b : β} {a : α} {l : List α} : foldl f b (a :: l) = foldl f (f b a) l := rfl
@[simp] theorem foldr_append {f : α → β → β} {b : β} {l l' : List α} : (l ++ l').foldr f b = l.foldr f (l'.foldr f b) := by
  induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (f a) ih
@[simp] theorem foldl_append {f : β → α → β} {b : β} {l l' : List α} : (l ++ l').foldl f b = l'.foldl f (l.foldl f b) := by
  induction l generalizing b with
  | nil => rfl
  | cons a l ih => exact ih
@[simp] theorem foldl_reverse {l : List α} {f : β → α → β} {b : β} : l.reverse.foldl f b = l.foldr (fun x y => f y x) b := by
  induction l with
  | nil => rfl
  | cons a l ih => rw [reverse_cons, foldl_append, ih]; rfl
@[simp] theorem foldr_reverse {l : List α} {f : α → β → β} {b : β} : l.reverse.foldr f b = l.foldl (fun x y => f y x) b := by
  rw [← reverse_reverse l, foldl_reverse, reverse_reverse]
theorem foldr_map {f : α → β} {g : β → γ → γ} {l : List α} {init : γ} : (l.map f).foldr g init = l.foldr (fun x y => g (f x) y) init := by
  induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (g (f a)) ih
theorem foldl_map {f : α → β} {g : γ → β → γ} {l : List α} {init : γ} : (l.map f).foldl g init = l.foldl (fun x y => g x (f y)) init := by
  induction l generalizing init with
  | nil => rfl
  | cons a l ih => exact ih
theorem foldr_cons_eq_append {l : List α} {f : α → β} {l' : List β} : l.foldr (fun x ys => f x :: ys) l' = l.map f ++ l' := by
  induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (f a :: ·) ih
@[simp] theorem foldr_cons_nil {l : List α} : l.foldr cons [] = l := by induction l with
  | nil => rfl
  | cons a l ih => exact congrArg (a :: ·) ih
@[simp] theorem sum_nil : sum [] = 0 := rfl
@[simp] theorem sum_cons {a : Nat} {l : List Nat} : sum (a :: l) = a + sum l := rfl
@[simp] theorem sum_append {l₁ l₂ : List Nat} : sum (l₁ ++ l₂) = sum l₁ + sum l₂ := by induction l₁ with
  | nil => exact (Nat.zero_add _).symm
  | cons a l ih => rw [cons_append, sum_cons, ih, sum_cons, Nat.add_assoc]
@[simp] theorem sum_reverse (l : List Nat) : sum l.reverse = sum l := by induction l with
  | nil => rfl
  | cons a l ih => rw [reverse_cons, sum_append, ih, Nat.add_comm]; rfl
end List
