prelude
import Pocket.Nat.MinMax
import Pocket.Option
/-! Lists: definitions and the basic laws of `++`, `length`, `map`, `filter`, `reverse`, folds, membership, `replicate`, `take`, `drop`. -/
set_option autoImplicit false
universe u v w

namespace List
variable {α : Type u} {β : Type v} {γ : Type w}

/-! ## Definitions -/

instance : Inhabited (List α) := ⟨[]⟩
def length : List α → Nat
  | [] => 0
  | _ :: as => length as + 1
protected def append : List α → List α → List α
  | [], bs => bs
  | a :: as, bs => a :: List.append as bs
instance instAppend : Append (List α) := ⟨List.append⟩
def map (f : α → β) : List α → List β
  | [] => []
  | a :: as => f a :: map f as
def filter (p : α → Bool) : List α → List α
  | [] => []
  | a :: as => match p a with
    | true => a :: filter p as
    | false => filter p as
def filterMap (f : α → Option β) : List α → List β
  | [] => []
  | a :: as => match f a with
    | none => filterMap f as
    | some b => b :: filterMap f as
def foldr (f : α → β → β) (init : β) : List α → β
  | [] => init
  | a :: as => f a (foldr f init as)
def foldl (f : β → α → β) (init : β) : List α → β
  | [] => init
  | a :: as => foldl f (f init a) as
def reverseAux : List α → List α → List α
  | [], r => r
  | a :: as, r => reverseAux as (a :: r)
def reverse (as : List α) : List α := reverseAux as []
def concat : List α → α → List α
  | [], b => [b]
  | a :: as, b => a :: concat as b
def flatten : List (List α) → List α
  | [] => []
  | l :: ls => l ++ flatten ls
@[inline] protected def pure (a : α) : List α := [a]
def flatMap (f : α → List β) (l : List α) : List β := flatten (map f l)
def replicate : (n : Nat) → (a : α) → List α
  | 0, _ => []
  | n + 1, a => a :: replicate n a
def take : (n : Nat) → (xs : List α) → List α
  | 0, _ => []
  | _ + 1, [] => []
  | n + 1, a :: as => a :: take n as
def drop : (n : Nat) → (xs : List α) → List α
  | 0, as => as
  | _ + 1, [] => []
  | n + 1, _ :: as => drop n as
def head? : List α → Option α
  | [] => none
  | a :: _ => some a
def headD : List α → α → α
  | [], d => d
  | a :: _, _ => a
def tail : List α → List α
  | [] => []
  | _ :: as => as
def getLast? : List α → Option α
  | [] => none
  | [a] => some a
  | _ :: b :: as => getLast? (b :: as)
def isEmpty : List α → Bool
  | [] => true
  | _ :: _ => false
def all : List α → (α → Bool) → Bool
  | [], _ => true
  | h :: t, p => p h && all t p
def any : List α → (α → Bool) → Bool
  | [], _ => false
  | h :: t, p => p h || any t p
def zipWith (f : α → β → γ) : List α → List β → List γ
  | a :: as, b :: bs => f a b :: zipWith f as bs
  | [], _ => []
  | _ :: _, [] => []
def zip : List α → List β → List (α × β) := zipWith Prod.mk
def sum : List Nat → Nat := foldr (· + ·) 0
def elem [BEq α] (a : α) : List α → Bool
  | [] => false
  | b :: bs => match a == b with
    | true => true
    | false => elem a bs
def count [BEq α] (a : α) : List α → Nat
  | [] => 0
  | b :: bs => match b == a with
    | true => count a bs + 1
    | false => count a bs
inductive Mem (a : α) : List α → Prop where
  | head (as : List α) : Mem a (a :: as)
  | tail (b : α) {as : List α} : Mem a as → Mem a (b :: as)
instance instMembership : Membership α (List α) := ⟨fun l a => Mem a l⟩
instance hasDecEq [DecidableEq α] : DecidableEq (List α)
  | [], [] => isTrue rfl
  | [], _ :: _ => isFalse fun h => nomatch h
  | _ :: _, [] => isFalse fun h => nomatch h
  | a :: as, b :: bs => match inferInstanceAs (Decidable (a = b)), hasDecEq as bs with
    | isTrue h₁, isTrue h₂ => isTrue (by rw [h₁, h₂])
    | isFalse n, _ => isFalse fun h => n (List.cons.inj h).1
    | _, isFalse n => isFalse fun h => n (List.cons.inj h).2

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
