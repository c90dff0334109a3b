/-! One proof for each tactic and construct that pocket Lean promises. -/

-- exact
example (a b : Prop) (h : a ∧ b) : b ∧ a := by exact ⟨h.2, h.1⟩
-- intro
example (p q : Prop) : p → q → p := by
  intro hp hq
  exact hp
-- intro_pattern
example (p q : Prop) : p ∧ q → q := by
  intro ⟨hp, hq⟩
  exact hq
-- intros
example (p q : Prop) : (p → q) → ¬q → ¬p := by
  intros hpq hnq hp; apply hnq; apply hpq; exact hp
-- apply
example (p q : Prop) (f : p → q) (hp : p) : q := by
  apply f
  exact hp
-- refine
example (p : Nat → Prop) (h : p 3) : ∃ x, p x := by
  refine ⟨3, ?_⟩
  exact h
-- assumption
example (p q : Prop) (hp : p) (hq : q) : q := by assumption
-- constructor
example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  · exact hp
  · exact hq
-- exists
example (p : Nat → Prop) (h : p 3) : ∃ x, p x := by exists 3
-- left_right
example (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h with
  | inl h => right; exact h
  | inr h => left; exact h
-- cases
example (a b : Nat) (h : some a = some b) : a = b := by cases h; rfl
-- cases_offset
example (a b : Nat) (h : a + 2 = b + 2) : a = b := by cases h; rfl
-- cases_empty
example (a : Nat) (h : a + 1 = 0) : False := by cases h
-- rcases
example (p q r : Prop) (h : p ∧ (q ∨ r)) : (p ∧ q) ∨ (p ∧ r) := by
  rcases h with ⟨hp, hq | hr⟩
  · left; exact ⟨hp, hq⟩
  · right; constructor <;> assumption
-- rintro
example (p : Prop) : (∃ x : Nat, p ∧ x = 3) → p := by
  rintro ⟨x, hp, rfl⟩
  exact hp
-- obtain
example (p : Prop) (h : ∃ x : Nat, p ∧ x = 3) : p := by
  obtain ⟨x, hp, hx⟩ := h
  exact hp
-- induction
example (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.add_succ, ih]
-- induction_generalizing
example (xs ys zs : List Nat) : (xs ++ ys) ++ zs = xs ++ (ys ++ zs) := by
  induction xs generalizing ys with
  | nil => rfl
  | cons x xs ih => exact congrArg (x :: ·) (ih ys)
-- induction_using
example (P : Nat → Prop) (h : ∀ n, (∀ m, m < n → P m) → P n) (n : Nat) : P n := by
  induction n using Nat.strongRecOn with
  | ind n ih => exact h n ih
-- match
example (n : Nat) : n = 0 ∨ ∃ k, n = k + 1 := by
  match n with
  | 0 => left; rfl
  | k + 1 => right; exact ⟨k, rfl⟩
-- rfl
example : 12345 * 678 = 8369910 := by rfl
-- rfl_le
example (n : Nat) : n ≤ n := by rfl
-- congr
example (a b c d : Nat) (h : a = b) (h' : c = d) : a + c = b + d := by congr
-- rw
example (a b c : Nat) : a + b + c = b + a + c := by rw [Nat.add_comm a b]
-- rw_at
example (a b c : Nat) (h : a + b = c) : b + a = c := by
  rw [Nat.add_comm] at h
  assumption
-- rw_backwards
example (a b : Nat) (h : b = a) (h' : a = 3) : b = 3 := by rw [← h] at h'; exact h'
-- rwa
example (p q : Prop) (h : p ↔ q) (hp : p) : q := by rwa [h] at hp
-- simp
example (p q : Prop) : p ∧ True ∧ (q ∨ True) ↔ p := by simp
-- simp_only
example (f : Nat → Nat) (h : ∀ x, f x = x) (a : Nat) : f (f a) = a := by simp only [h]
-- simp_at
example (p : Prop) (h : p ∧ True) : p := by simp at h; exact h
-- simp_star
example (a b : Nat) (h : a = b) (h' : b = 3) : a = 3 := by simp [*]
-- simp_all
example (f : Nat → Nat) (a b : Nat) (h : f a = b) (h' : b = 3) : f a = 3 := by simp_all
-- simpa
example (x : Nat) (h : x < 2 + 3) : x < 5 := by simpa using h
-- simp_offset
example (x y : Nat) (h : x + 3 = y + 5) : x = y + 2 := by simp at h; exact h
-- simp_offset_le
example (x y : Nat) (h : x + 3 ≤ y + 5) : x ≤ y + 2 := by simp at h; exact h
-- simp_contextual_if
example (x y : Nat) : (if x = y then x else y) = y := by split <;> simp_all
-- simp_list
example (xs ys : List Nat) : (xs ++ ys).reverse.length = ys.length + xs.length := by simp
-- dsimp
example (a b : Nat) (h : a = b) : (a, 1).1 = b := by dsimp; exact h
-- unfold
def twice (n : Nat) : Nat := n + n
example (n : Nat) : twice n = n + n := by unfold twice; rfl
-- delta
example (p : Prop) (h : ¬p) : p → False := by delta Not at h; exact h
-- conv
example (a b c : Nat) (h : a + b = c) : b + a = c := by
  conv => lhs; rw [Nat.add_comm]
  exact h
-- generalize
example (a b : Nat) : (a + b) + 0 = a + b := by
  generalize a + b = c
  rfl
-- subst
example (a b : Nat) (h : a + b = 10) (ha : a = 4) : 4 + b = 10 := by subst ha; assumption
-- funext
example (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g := by
  funext x
  exact h x
-- ext
example (a b : Nat × Nat) (h : a.1 = b.1) (h' : a.2 = b.2) : a = b := by ext <;> assumption
-- ext_function
example (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g := by ext x; exact h x
-- symm
example (a b : Nat) (h : a = b) : b = a := by symm; exact h
-- have
example (p q : Prop) (h : p → q) (hp : p) : q := by
  have hq : q := h hp
  exact hq
-- suffices
example (a b c : Nat) (h : b = c) : a + b = c + a := by
  suffices h' : a + c = c + a by rw [h, h']
  exact Nat.add_comm a c
-- show
example (p q : Prop) (hp : p) : p ∨ q := by
  show p ∨ q
  exact .inl hp
-- change
example (a b : Nat) (h : a + 0 = b) : b = a := by change a = b at h; exact h.symm
-- calc
example (a b c : Nat) (h : a = b) (h' : b = c) : a = c := by
  calc a = b := h
    _ = c := h'
-- calc_order
example (x y z : Nat) (h : x ≤ y) (h' : y < z) : x < z := by
  calc x ≤ y := h
    _ < z := h'
-- exfalso
example (p : Prop) (h : p) (hn : ¬p) : 1 = 2 := by
  exfalso
  exact hn h
-- contradiction
example (p q : Prop) (h : p) (hn : ¬p) : q := by contradiction
-- trivial
example (p : Prop) (h : p) : True ∧ p := by
  constructor
  · trivial
  · trivial
-- specialize
example (p q : Nat → Prop) (h : ∀ x, p x → q x) (h0 : p 0) : q 0 := by
  specialize h 0
  exact h h0
-- revert
example (a b : Nat) (h : a = b) : b = a := by
  revert h
  intro h
  exact h.symm
-- injection
example (a b : Nat) (h : Nat.succ a = Nat.succ b) : a = b := by injection h
-- injections
example (a b c d : Nat) (h : (a, b) = (c, d)) : b = d := by
  injections
-- nomatch
example (p : Prop) (h : False) : p := by nomatch h
-- split
example (p : Prop) [Decidable p] (a b : Nat) (h : a = b) : (if p then a else b) = b := by
  split
  · exact h
  · rfl
-- split_match
example (n : Nat) : (match n with | 0 => 1 | k + 1 => k + 2) = n + 1 := by split <;> rfl
-- by_cases
example (p : Prop) : p ∨ ¬p := by
  by_cases h : p
  · left; exact h
  · right; exact h
-- first
example (p q : Prop) (hp : p) : p ∨ q := by
  first | (right; assumption) | (left; assumption)
-- try
example (p : Prop) (hp : p) : p := by
  try contradiction
  exact hp
-- repeat
example (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q ∧ r := by
  repeat' constructor
  all_goals assumption
-- and_then
example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by constructor <;> assumption
-- any_goals
example (p q : Prop) (hp : p) (hq : p → q) : p ∧ q := by
  constructor
  any_goals assumption
  exact hq hp
-- case_next
example (p q r : Prop) : p ∨ q ∨ r → r ∨ q ∨ p := by
  intro h
  rcases h with h | h | h
  case inl => exact .inr (.inr h)
  next => right; left; exact h
  · simp [h]
-- rename_i
example (p q : Prop) : p → q → p := by
  intro _ _
  rename_i hp hq
  exact hp
-- decide
example : 2 + 2 = 4 ∧ 3 ≠ 4 ∧ ¬5 ∣ 12 ∧ 2 ∈ [1, 2, 3] := by decide
-- decide_bool
example : ∀ b c : Bool, (b && c) = (c && b) := by decide
-- decide_equality
example : (1, [some true]) ≠ (1, [none]) := by decide
-- decide_integers
example : (-7 : Int) / 2 = -4 ∧ (2 : Int) ^ 10 = 1024 ∧ ¬(3 : Int) ∣ -10 := by decide
-- decide_bounded
example : (∀ i j : Fin 4, i + j = j + i) ∧ ∃ n, n < 30 ∧ n * n = 529 := by decide
-- omega
example (a b : Nat) (x : Int) (h : a < b) (h' : x = b - a) : 0 < x ∧ a - b = 0 := by omega
-- omega_quotients
example (x y : Int) (h : x % 4 = 3) (h' : 2 ∣ y) : (x + y) % 2 = 1 ∧ x / 2 * 2 < x := by omega
-- omega_logic
example (a b c : Nat) (h : a ≤ b → c = 2 ∨ b < c) (h' : ¬b < a) : min 2 c ≤ max b 2 := by omega
-- omega_fin
example (i j : Fin 10) (h : i < j) : i.val + 1 < 10 ∧ j ≠ i := by omega
-- simp_arith
example (a b c : Nat) (h : 2 * a + b + c ≤ a + 3 + b) : a + c ≤ 3 := by simp +arith at h; exact h
-- simp_arith_integers
example (a b : Int) (h : 2 * a + 4 * b ≤ 7) : a + 2 * b ≤ 3 := by
  simp +arith at h ⊢; exact h
-- simp_arith_false
example (a b : Int) (h : 2 * a + 4 * b = 7) : False := by simp +arith at h
-- simp_arith_divides
example (a b : Int) (h : 6 ∣ 2 * a + 4 * b + 2) : 3 ∣ a + 2 * b + 1 := by
  simp +arith at h; exact h
-- ac_rfl
example (a b c : Nat) : a * b * c + 1 * b = b + c * (b * a) := by ac_rfl
-- ac_rfl_idempotent
example (p q r : Prop) : (p ∧ q ∧ p ∧ r) = ((r ∧ p) ∧ q) := by ac_rfl
-- ac_nf
example (a b c : Int) (h : a * b * c = 3) : c * (b * a) = 3 := by ac_nf at h ⊢
-- norm_cast
example (m n : Nat) (h : (m : Int) + n = 5) : m + n = 5 := by norm_cast at h
-- push_cast
example (m n : Nat) : ((m + n * 2 : Nat) : Int) = m + n * 2 := by push_cast; rfl
-- exact_mod_cast
example (m n : Nat) (h : (m : Int) < n) : m < n := by exact_mod_cast h
-- simp_integers
example (x y : Int) (h : x - y + y ≤ 2 * 3 - 7) : x ≤ -1 := by simp at h; exact h
-- calc_integers
example (x y z : Int) (h : x ≤ y) (h' : y < z) : x < z := by
  calc x ≤ y := h
    _ < z := h'
-- exists_computation
example : ∃ n : Nat, n * n = 49 ∧ n < 10 := by
  refine ⟨7, ?_, ?_⟩ <;> decide
-- inductive
inductive Tree (α : Type) where
  | leaf : Tree α
  | node (l : Tree α) (x : α) (r : Tree α) : Tree α
def Tree.mirror {α : Type} : Tree α → Tree α
  | leaf => leaf
  | node l x r => node r.mirror x l.mirror
theorem Tree.mirror_mirror {α : Type} (t : Tree α) : t.mirror.mirror = t := by
  induction t with
  | leaf => rfl
  | node l x r ihl ihr => simp [Tree.mirror, ihl, ihr]
-- structure
structure Point where
  x : Nat
  y : Nat
example (a b c d : Nat) (h : Point.mk a b = ⟨c, d⟩) : a = c := by simp at h; exact h.1
-- recursion
def fib : Nat → Nat
  | 0 => 0
  | 1 => 1
  | n + 2 => fib n + fib (n + 1)
example : fib 20 = 6765 := by rfl
example (n : Nat) : fib (n + 2) = fib n + fib (n + 1) := by rw [fib]
-- strings_different
example : "a" ≠ "b" := by decide
-- strings_equal
example : "ab" = String.ofList ['a', 'b'] := rfl
-- strings_size
example : "aé∀😀".utf8ByteSize = 10 := by rfl
-- characters
example : 'a' = Char.ofNat 97 ∧ 'a' ≠ 'b' := by decide
-- notation
notation "‖" x "‖" => Nat.succ x
example (n : Nat) : ‖n‖ = n + 1 := rfl
-- infix
local infixl:65 " +++ " => Nat.add
example (a b : Nat) : a +++ b +++ 0 = a + b := rfl
-- prefix_postfix
prefix:max "√" => Nat.log2
postfix:max "!" => Nat.succ
example : √ (15 !) = 4 := by rfl
-- macro_tactic
macro "close" : tactic => `(tactic| first | trivial | assumption)
example (p : Prop) (h : p) : p := by close
-- macro_rules
syntax "twice! " term:max : term
macro_rules | `(twice! $x) => `($x + $x)
example (n : Nat) : twice! n = n + n := rfl
-- recursive_theorem
theorem ind (P : Nat → Prop) (h0 : P 0) (hs : ∀ n, P n → P (n + 1)) : ∀ n, P n
  | 0 => h0
  | n + 1 => hs n (ind P h0 hs n)
