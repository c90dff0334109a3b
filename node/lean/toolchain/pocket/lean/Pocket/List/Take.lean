module
prelude
public import Pocket.List.Fold
public import Pocket.List.Mem
public import Pocket.Nat.MinMax
@[expose] public section
/-! Lists: `replicate`, `take`, `drop`, and the ends of a list. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## `replicate` -/

@[simp] theorem replicate_zero {a : α} : replicate 0 a = [] := rfl
theorem replicate_succ {a : α} {n : Nat} : replicate (n + 1) a = a :: replicate n a := rfl
theorem replicate_one {a : α} : replicate 1 a = [a] := rfl
@[simp] theorem length_replicate {n : Nat} {a : α} : (replicate n a).length = n := by induction n with
  | zero => rfl
  | succ n ih => exact congrArg Nat.succ ih
@[simp] theorem map_replicate {f : α → β} {n : Nat} {a : α} : (replicate n a).map f = replicate n (f a) := by induction n with
  | zero => rfl
  | succ n ih => exact congrArg (f a :: ·) ih
@[simp] theorem replicate_append_replicate {n m : Nat} {a : α} : replicate n a ++ replicate m a = replicate (n + m) a := by
  induction n with
  | zero => rw [Nat.zero_add]; rfl
  | succ n ih => rw [Nat.succ_add, replicate_succ, cons_append, ih]; rfl
theorem replicate_succ' {n : Nat} {a : α} : replicate (n + 1) a = replicate n a ++ [a] := by
  rw [← replicate_one, replicate_append_replicate]
@[simp] theorem reverse_replicate {n : Nat} {a : α} : (replicate n a).reverse = replicate n a := by induction n with
  | zero => rfl
  | succ n ih => rw [replicate_succ, reverse_cons, ih, ← replicate_succ']; rfl
theorem eq_of_mem_replicate {a b : α} {n : Nat} (h : b ∈ replicate n a) : b = a := by induction n with
  | zero => exact absurd h not_mem_nil
  | succ n ih => exact (mem_cons.1 h).elim id ih
@[simp] theorem mem_replicate {a b : α} {n : Nat} : b ∈ replicate n a ↔ n ≠ 0 ∧ b = a := by
  constructor
  · intro h
    cases n with
    | zero => exact absurd h not_mem_nil
    | succ n => exact ⟨Nat.succ_ne_zero n, eq_of_mem_replicate h⟩
  · intro ⟨hn, h⟩
    cases n with
    | zero => exact absurd rfl hn
    | succ n => rw [h]; exact mem_cons_self
theorem sum_replicate {n a : Nat} : (replicate n a).sum = n * a := by induction n with
  | zero => exact (Nat.zero_mul a).symm
  | succ n ih => rw [replicate_succ, sum_cons, ih, Nat.add_one_mul, Nat.add_comm]

/-! ## `take` and `drop` -/

@[simp] theorem take_zero {l : List α} : l.take 0 = [] := rfl
@[simp] theorem take_nil {n : Nat} : take n ([] : List α) = [] := by cases n <;> rfl
@[simp] theorem take_succ_cons {n : Nat} {a : α} {as : List α} : (a :: as).take (n + 1) = a :: as.take n := rfl
@[simp] theorem drop_zero {l : List α} : l.drop 0 = l := rfl
@[simp] theorem drop_nil {n : Nat} : drop n ([] : List α) = [] := by cases n <;> rfl
@[simp] theorem drop_succ_cons {n : Nat} {a : α} {as : List α} : (a :: as).drop (n + 1) = as.drop n := rfl
@[simp] theorem drop_one (l : List α) : l.drop 1 = l.tail := by cases l <;> rfl
@[simp] theorem take_append_drop (n : Nat) (l : List α) : take n l ++ drop n l = l := by
  induction n generalizing l with
  | zero => rfl
  | succ n ih => cases l with
    | nil => rfl
    | cons a l => exact congrArg (a :: ·) (ih l)
@[simp] theorem length_take {n : Nat} {l : List α} : (take n l).length = min n l.length := by
  induction n generalizing l with
  | zero => exact (Nat.zero_min _).symm
  | succ n ih => cases l with
    | nil => exact (Nat.min_zero _).symm
    | cons a l => rw [take_succ_cons, length_cons, ih, length_cons, Nat.add_min_add_right]
@[simp] theorem length_drop {n : Nat} {l : List α} : (drop n l).length = l.length - n := by
  induction n generalizing l with
  | zero => rfl
  | succ n ih => cases l with
    | nil => exact (Nat.zero_sub _).symm
    | cons a l => rw [drop_succ_cons, ih, length_cons, Nat.add_one_sub_add_one]
theorem length_take_le (n : Nat) (l : List α) : (take n l).length ≤ n := by rw [length_take]; exact Nat.min_le_left _ _
theorem length_take_le' (n : Nat) (l : List α) : (take n l).length ≤ l.length := by rw [length_take]; exact Nat.min_le_right _ _
@[simp] theorem take_of_length_le {n : Nat} {l : List α} (h : l.length ≤ n) : take n l = l := by
  induction n generalizing l with
  | zero => exact (length_eq_zero_iff.1 (Nat.eq_zero_of_le_zero h)).symm
  | succ n ih => cases l with
    | nil => rfl
    | cons a l => rw [take_succ_cons, ih (Nat.le_of_succ_le_succ h)]
@[simp] theorem drop_of_length_le {n : Nat} {l : List α} (h : l.length ≤ n) : drop n l = [] := by
  rw [← length_eq_zero_iff, length_drop, Nat.sub_eq_zero_of_le h]
@[simp] theorem take_length {l : List α} : take l.length l = l := take_of_length_le (Nat.le_refl _)
@[simp] theorem drop_length {l : List α} : drop l.length l = [] := drop_of_length_le (Nat.le_refl _)
theorem take_left {l₁ l₂ : List α} : take l₁.length (l₁ ++ l₂) = l₁ := by induction l₁ with
  | nil => rfl
  | cons a l ih => exact congrArg (a :: ·) ih
theorem drop_left {l₁ l₂ : List α} : drop l₁.length (l₁ ++ l₂) = l₂ := by induction l₁ with
  | nil => rfl
  | cons a l ih => exact ih
@[simp] theorem drop_drop {i j : Nat} {l : List α} : drop i (drop j l) = drop (j + i) l := by
  induction j generalizing l with
  | zero => rw [Nat.zero_add]; rfl
  | succ j ih => cases l with
    | nil => rw [drop_nil, drop_nil, drop_nil]
    | cons a l => rw [drop_succ_cons, ih, Nat.succ_add]; rfl
@[simp] theorem take_take {i j : Nat} {l : List α} : take i (take j l) = take (min i j) l := by
  induction i generalizing j l with
  | zero => rw [Nat.zero_min]; rfl
  | succ i ih => cases j with
    | zero => rw [Nat.min_zero]; exact take_nil
    | succ j => cases l with
      | nil => rw [take_nil, take_nil, take_nil]
      | cons a l => rw [take_succ_cons, take_succ_cons, ih, Nat.add_min_add_right, take_succ_cons]
@[simp] theorem map_take {f : α → β} {l : List α} {i : Nat} : (l.take i).map f = (l.map f).take i := by
  induction i generalizing l with
  | zero => rfl
  | succ i ih => cases l with
    | nil => rfl
    | cons a l => exact congrArg (f a :: ·) ih
@[simp] theorem map_drop {f : α → β} {l : List α} {i : Nat} : (l.drop i).map f = (l.map f).drop i := by
  induction i generalizing l with
  | zero => rfl
  | succ i ih => cases l with
    | nil => rfl
    | cons a l => exact ih
theorem mem_of_mem_take {a : α} {n : Nat} {l : List α} (h : a ∈ l.take n) : a ∈ l := by
  rw [← take_append_drop n l]; exact mem_append_left _ h
theorem mem_of_mem_drop {a : α} {n : Nat} {l : List α} (h : a ∈ l.drop n) : a ∈ l := by
  rw [← take_append_drop n l]; exact mem_append_right _ h

/-! ## Ends -/

@[simp] theorem head?_nil : head? ([] : List α) = none := rfl
@[simp] theorem head?_cons {a : α} {l : List α} : head? (a :: l) = some a := rfl
@[simp] theorem tail_nil : tail ([] : List α) = [] := rfl
@[simp] theorem tail_cons {a : α} {l : List α} : tail (a :: l) = l := rfl
@[simp] theorem length_tail {l : List α} : l.tail.length = l.length - 1 := by cases l <;> rfl
@[simp] theorem head?_eq_none_iff {l : List α} : l.head? = none ↔ l = [] := by
  cases l with
  | nil => exact iff_of_true rfl rfl
  | cons a l => exact iff_of_false (Option.some_ne_none a) (cons_ne_nil a l)
theorem head?_eq_some_iff {xs : List α} {a : α} : xs.head? = some a ↔ ∃ ys, xs = a :: ys := by
  cases xs with
  | nil => exact ⟨fun h => absurd h (Option.none_ne_some a), fun ⟨ys, h⟩ => absurd h (nil_ne_cons a ys)⟩
  | cons b xs => exact ⟨fun h => ⟨xs, by rw [Option.some.inj h]⟩, fun ⟨ys, h⟩ => congrArg some (List.cons.inj h).1⟩
@[simp] theorem head?_map {f : α → β} {l : List α} : head? (map f l) = (head? l).map f := by cases l <;> rfl
@[simp] theorem isEmpty_nil : ([] : List α).isEmpty = true := rfl
@[simp] theorem isEmpty_cons {x : α} {xs : List α} : (x :: xs).isEmpty = false := rfl
@[simp] theorem isEmpty_iff {l : List α} : l.isEmpty = true ↔ l = [] := by
  cases l with
  | nil => exact iff_of_true rfl rfl
  | cons a l => exact iff_of_false (fun h => Bool.noConfusion h) (cons_ne_nil a l)
theorem concat_eq_append {as : List α} {a : α} : as.concat a = as ++ [a] := by induction as with
  | nil => rfl
  | cons b as ih => exact congrArg (b :: ·) ih
@[simp] theorem length_concat {as : List α} {a : α} : (concat as a).length = as.length + 1 := by rw [concat_eq_append, length_append]; rfl
@[simp] theorem getLast?_nil : getLast? ([] : List α) = none := rfl
@[simp] theorem getLast?_singleton {a : α} : getLast? [a] = some a := rfl
theorem getLast?_cons_cons {a b : α} {l : List α} : getLast? (a :: b :: l) = getLast? (b :: l) := rfl
@[simp] theorem getLast?_concat {l : List α} {a : α} : (l ++ [a]).getLast? = some a := by
  induction l with
  | nil => rfl
  | cons b l ih => cases l with
    | nil => rfl
    | cons c l => exact ih
theorem getLast?_reverse {l : List α} : l.reverse.getLast? = l.head? := by cases l with
  | nil => rfl
  | cons a l => rw [reverse_cons, getLast?_concat]; rfl
end List
