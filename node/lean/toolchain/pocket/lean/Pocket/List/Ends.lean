module
prelude
public import Pocket.List.Take
public import Pocket.List.Zip
public import Pocket.List.Fold
public import Pocket.Show
@[expose] public section
/-! Lists: first and last elements, parts up to an element that fails a test, search, and one element less. -/
set_option autoImplicit false
universe u v

namespace List
variable {α : Type u} {β : Type v}

/-! ## Definitions -/

def dropLast : List α → List α
  | [] => []
  | [_] => []
  | a :: b :: as => a :: dropLast (b :: as)
def head : (as : List α) → as ≠ [] → α
  | a :: _, _ => a
def head! [Inhabited α] : List α → α
  | [] => default
  | a :: _ => a
def tail! : List α → List α
  | [] => []
  | _ :: as => as
def tail? : List α → Option (List α)
  | [] => none
  | _ :: as => some as
def tailD : List α → List α → List α
  | [], d => d
  | _ :: as, _ => as
def getLast : (as : List α) → as ≠ [] → α
  | [], h => absurd rfl h
  | [a], _ => a
  | _ :: b :: as, _ => getLast (b :: as) (cons_ne_nil b as)
def getLastD : List α → α → α
  | [], d => d
  | a :: as, _ => getLast (a :: as) (cons_ne_nil a as)
def getLast! [Inhabited α] : List α → α
  | [] => default
  | a :: as => getLast (a :: as) (cons_ne_nil a as)
def takeWhile (p : α → Bool) : List α → List α
  | [] => []
  | a :: as => match p a with
    | true => a :: takeWhile p as
    | false => []
def dropWhile (p : α → Bool) : List α → List α
  | [] => []
  | a :: as => match p a with
    | true => dropWhile p as
    | false => a :: as
def find? (p : α → Bool) : List α → Option α
  | [] => none
  | a :: as => match p a with
    | true => some a
    | false => find? p as
def lookup [BEq α] : α → List (α × β) → Option β
  | _, [] => none
  | a, (k, b) :: as => match a == k with
    | true => some b
    | false => lookup a as
def countP (p : α → Bool) : List α → Nat
  | [] => 0
  | a :: as => match p a with
    | true => countP p as + 1
    | false => countP p as
protected def erase [BEq α] : List α → α → List α
  | [], _ => []
  | a :: as, b => match a == b with
    | true => as
    | false => a :: List.erase as b
@[inline] protected def insert [BEq α] (a : α) (l : List α) : List α := match elem a l with
  | true => l
  | false => a :: l
def isPrefixOf [BEq α] : List α → List α → Bool
  | [], _ => true
  | _, [] => false
  | a :: as, b :: bs => a == b && isPrefixOf as bs
def intersperse (sep : α) : List α → List α
  | [] => []
  | [a] => [a]
  | a :: b :: as => a :: sep :: intersperse sep (b :: as)
def unzip : List (α × β) → List α × List β
  | [] => ([], [])
  | (a, b) :: t => match unzip t with
    | (as, bs) => (a :: as, b :: bs)
@[inline] def partition (p : α → Bool) (as : List α) : List α × List α := loop as ([], [])
where
  loop : List α → List α × List α → List α × List α
  | [], (bs, cs) => (bs.reverse, cs.reverse)
  | a :: as, (bs, cs) => match p a with
    | true => loop as (a :: bs, cs)
    | false => loop as (bs, a :: cs)
abbrev contains [BEq α] (as : List α) (a : α) : Bool := elem a as

/-! ## The first and the last element -/

@[simp] theorem head_cons {a : α} {l : List α} {h : a :: l ≠ []} : head (a :: l) h = a := rfl
@[simp] theorem head_mem {l : List α} (h : l ≠ []) : l.head h ∈ l := match l, h with
  | _ :: _, _ => mem_cons_self
theorem head?_eq_some_head {l : List α} (h : l ≠ []) : l.head? = some (l.head h) := match l, h with
  | _ :: _, _ => rfl
@[simp] theorem cons_head_tail {l : List α} (h : l ≠ []) : l.head h :: l.tail = l := match l, h with
  | _ :: _, _ => rfl
@[simp] theorem getLast_singleton {a : α} (h : [a] ≠ []) : getLast [a] h = a := rfl
@[simp] theorem getLast_cons_cons {a b : α} {l : List α} : getLast (a :: b :: l) (cons_ne_nil a (b :: l)) = getLast (b :: l) (cons_ne_nil b l) := rfl
theorem getLast_cons {a : α} {as : List α} (h : as ≠ []) : getLast (a :: as) (cons_ne_nil a as) = getLast as h := match as, h with
  | _ :: _, _ => rfl
theorem getLast_mem {l : List α} (h : l ≠ []) : getLast l h ∈ l := match l, h with
  | [_], _ => mem_cons_self
  | _ :: b :: l, _ => mem_cons_of_mem _ (getLast_mem (l := b :: l) (cons_ne_nil b l))
theorem getLast?_eq_some_getLast {l : List α} (h : l ≠ []) : getLast? l = some (getLast l h) := match l, h with
  | [_], _ => rfl
  | _ :: b :: l, _ => getLast?_eq_some_getLast (l := b :: l) (cons_ne_nil b l)

/-! ## `dropLast` -/

@[simp] theorem dropLast_nil : ([] : List α).dropLast = [] := rfl
@[simp] theorem dropLast_singleton {a : α} : [a].dropLast = [] := rfl
@[simp] theorem dropLast_cons₂ {a b : α} {l : List α} : (a :: b :: l).dropLast = a :: (b :: l).dropLast := rfl
theorem dropLast_cons_of_ne_nil {a : α} {l : List α} (h : l ≠ []) : (a :: l).dropLast = a :: l.dropLast := match l, h with
  | _ :: _, _ => rfl
@[simp] theorem length_dropLast {xs : List α} : xs.dropLast.length = xs.length - 1 := match xs with
  | [] | [_] => rfl
  | _ :: b :: xs => congrArg Nat.succ (length_dropLast (xs := b :: xs))
@[simp] theorem dropLast_concat_getLast {l : List α} (h : l ≠ []) : l.dropLast ++ [l.getLast h] = l := match l, h with
  | [_], _ => rfl
  | a :: b :: l, _ => congrArg (a :: ·) (dropLast_concat_getLast (l := b :: l) (cons_ne_nil b l))
@[simp] theorem dropLast_concat {l : List α} {b : α} : (l ++ [b]).dropLast = l := match l with
  | [] | [_] => rfl
  | a :: c :: l => congrArg (a :: ·) (dropLast_concat (l := c :: l))
@[simp] theorem getLast_concat {a : α} {l : List α} {h : l ++ [a] ≠ []} : getLast (l ++ [a]) h = a := match l with
  | [] => rfl
  | [_] => rfl
  | _ :: c :: l => getLast_concat (l := c :: l) (h := fun e => cons_ne_nil c _ e)
theorem mem_of_mem_dropLast {a : α} {l : List α} (h : a ∈ l.dropLast) : a ∈ l := match l, h with
  | b :: c :: l, h => (mem_cons.1 h).elim (fun e => e ▸ mem_cons_self) fun h => mem_cons_of_mem b (mem_of_mem_dropLast (l := c :: l) h)

/-! ## `takeWhile`, `dropWhile`, `find?`, `countP` -/

@[simp] theorem takeWhile_nil {p : α → Bool} : [].takeWhile p = [] := rfl
theorem takeWhile_cons {p : α → Bool} {a : α} {l : List α} : (a :: l).takeWhile p = if p a then a :: l.takeWhile p else [] := by
  show (match p a with | true => a :: l.takeWhile p | false => []) = _
  cases p a <;> rfl
@[simp] theorem dropWhile_nil {p : α → Bool} : [].dropWhile p = [] := rfl
theorem dropWhile_cons {p : α → Bool} {x : α} {xs : List α} : (x :: xs).dropWhile p = if p x then xs.dropWhile p else x :: xs := by
  show (match p x with | true => xs.dropWhile p | false => x :: xs) = _
  cases p x <;> rfl
@[simp] theorem takeWhile_append_dropWhile {p : α → Bool} {l : List α} : takeWhile p l ++ dropWhile p l = l := by
  induction l with
  | nil => rfl
  | cons a l ih =>
    rw [takeWhile_cons, dropWhile_cons]
    split
    · exact congrArg (a :: ·) ih
    · rfl
@[simp] theorem find?_nil {p : α → Bool} : ([] : List α).find? p = none := rfl
theorem find?_cons {p : α → Bool} {a : α} {as : List α} : (a :: as).find? p = match p a with | true => some a | false => as.find? p := rfl
theorem find?_some {p : α → Bool} {a : α} {l : List α} (h : find? p l = some a) : p a = true := by
  induction l with
  | nil => exact nomatch h
  | cons b l ih =>
    rw [find?_cons] at h
    cases e : p b with
    | true => rw [e] at h; exact Option.some.inj h ▸ e
    | false => rw [e] at h; exact ih h
@[simp] theorem countP_nil {p : α → Bool} : countP p [] = 0 := rfl
theorem countP_cons {p : α → Bool} {a : α} {l : List α} : countP p (a :: l) = countP p l + if p a then 1 else 0 := by
  show (match p a with | true => countP p l + 1 | false => countP p l) = _
  cases p a <;> rfl
theorem countP_eq_length_filter {p : α → Bool} {l : List α} : countP p l = (filter p l).length := by
  induction l with
  | nil => rfl
  | cons a l ih =>
    rw [countP_cons, filter_cons]
    split
    · rw [ih]; rfl
    · exact ih
@[simp] theorem erase_nil [BEq α] (a : α) : [].erase a = [] := rfl
theorem erase_cons [BEq α] {a b : α} {l : List α} : (b :: l).erase a = if b == a then l else b :: l.erase a := by
  show (match b == a with | true => l | false => b :: l.erase a) = _
  cases b == a <;> rfl

/-! ## Relations between the elements of a list -/

inductive Pairwise (R : α → α → Prop) : List α → Prop
  | nil : Pairwise R []
  | cons {a : α} {l : List α} : (∀ a', a' ∈ l → R a a') → Pairwise R l → Pairwise R (a :: l)
@[simp] theorem pairwise_cons {R : α → α → Prop} {a : α} {l : List α} : Pairwise R (a :: l) ↔ (∀ a', a' ∈ l → R a a') ∧ Pairwise R l :=
  ⟨fun h => match h with | .cons h t => ⟨h, t⟩, fun h => .cons h.1 h.2⟩
def Nodup (l : List α) : Prop := Pairwise (fun a b => a ≠ b) l
@[simp] theorem nodup_nil : Nodup ([] : List α) := .nil
@[simp] theorem nodup_cons {a : α} {l : List α} : (a :: l).Nodup ↔ ¬a ∈ l ∧ l.Nodup :=
  pairwise_cons.trans (and_congr_left' ⟨fun h m => h a m rfl, fun h _ m e => h (e ▸ m)⟩)

/-- Two lists have the same elements equally often. -/
inductive Perm : List α → List α → Prop
  | nil : Perm [] []
  | cons (x : α) {l₁ l₂ : List α} : Perm l₁ l₂ → Perm (x :: l₁) (x :: l₂)
  | swap (x y : α) (l : List α) : Perm (y :: x :: l) (x :: y :: l)
  | trans {l₁ l₂ l₃ : List α} : Perm l₁ l₂ → Perm l₂ l₃ → Perm l₁ l₃
@[simp, refl] protected theorem Perm.refl (l : List α) : Perm l l := match l with
  | [] => .nil
  | a :: l => .cons a (Perm.refl l)
protected theorem Perm.rfl {l : List α} : Perm l l := .refl l
protected theorem Perm.symm {l₁ l₂ : List α} (h : Perm l₁ l₂) : Perm l₂ l₁ := by
  induction h with
  | nil => exact .nil
  | cons x _ ih => exact .cons x ih
  | swap x y l => exact .swap y x l
  | trans _ _ ih₁ ih₂ => exact .trans ih₂ ih₁
theorem Perm.length_eq {l₁ l₂ : List α} (h : Perm l₁ l₂) : l₁.length = l₂.length := by
  induction h with
  | nil => rfl
  | cons _ _ ih => exact congrArg Nat.succ ih
  | swap => rfl
  | trans _ _ ih₁ ih₂ => exact ih₁.trans ih₂
theorem Perm.mem_iff {a : α} {l₁ l₂ : List α} (h : Perm l₁ l₂) : a ∈ l₁ ↔ a ∈ l₂ := by
  induction h with
  | nil => exact Iff.rfl
  | cons x _ ih => rw [mem_cons, mem_cons, ih]
  | swap x y l => rw [mem_cons, mem_cons, mem_cons, mem_cons, or_left_comm]
  | trans _ _ ih₁ ih₂ => exact ih₁.trans ih₂
end List
