theorem pair (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  · exact hp
  · assumption

theorem rewritten (n m k : Nat) (h : n = m) (h2 : m = k) : n + 0 = k := by
  rw [Nat.add_zero, -- the unit
    h, h2]

theorem closed_early (n m : Nat) (h : n = m) : n = m ∧ True := by
  have h3 : n = n + 0 := by
    rw [Nat.add_zero n]
  refine ⟨?_, trivial⟩
  rwa [h3, Nat.add_zero]

theorem needs_rewrite (f : Nat → Nat) (a b : Nat) (h : f a = f b) (h2 : f b = f a) : f a = f b := by
  rw [h, h2, h]

theorem cases_by_name (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ k ih =>
    have h : 0 + k = k := by
      exact ih
    rw [Nat.add_succ, h]

theorem cases_in_order (p q r : Prop) (h : p ∨ q ∨ r) : r ∨ q ∨ p := by
  rcases h with hp | hq | hr
  case inr.inr => exact Or.inl hr
  · right
    right; exact hp
  · { right; left; assumption }

theorem renamed (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h
  case inl x => exact Or.inr x
  next y => exact Or.inl y

theorem wildcard (p q : Prop) (h : p ∨ q) : q ∨ p := by
  cases h with
  | inl hp => right; exact hp
  | _ hq => exact Or.inl hq

theorem combined (p q : Prop) (hp : p) (hq : q) : p ∧ q ∧ p := by
  refine ⟨?_, ?_, ?_⟩ <;> first | assumption | skip

theorem each_goal (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  all_goals assumption

theorem chain (a b c : Nat) (h : a = b) (h2 : b = c) : a = c := by
  calc a = b := by exact h
    _ = c := by
      rw [h2]

theorem claimed (p q : Prop) (hp : p) (hpq : p → q) : q ∧ p := by
  suffices h : q by
    exact ⟨h, hp⟩
  exact hpq hp

theorem shared : ∃ n : Nat, n = 3 := by
  apply Exists.intro
  rfl

theorem witness_first : ∃ n : Nat, n = 3 := by
  apply Exists.intro
  case w => exact 3
  rfl

theorem turned (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  rotate_left
  exact hq
  exact hp

namespace Inner

variable (s : Nat)

private theorem two_blocks (a b : Nat) (h : a = b) : b = a ∧ s + a = s + b :=
  ⟨by rw [h], by
    rw [h]⟩

theorem fact : s + 0 = s := by exact Nat.add_zero s

theorem uses_fact : s + 0 + 0 = s := by
  rw [fact (s + 0), fact]

end Inner

theorem wrong (n : Nat) : n = n + 1 := by
  rw [Nat.add_succ]

theorem unfinished (n : Nat) : n = n := by
  sorry

theorem after_the_wrong_ones (n : Nat) : n = n := by
  intros; rfl

example (p : Prop) (hp : p) : p := by
  exact hp
