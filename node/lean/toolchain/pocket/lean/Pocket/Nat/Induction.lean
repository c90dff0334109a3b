module
prelude
public import Pocket.Nat.Order
@[expose] public section
/-! Strong induction, induction on two numbers, and the chains that `calc` may form with `≤` and `<`. -/
set_option autoImplicit false
universe u

namespace Nat
instance : Trans (α := Nat) (β := Nat) (γ := Nat) (· ≤ ·) (· ≤ ·) (· ≤ ·) := ⟨Nat.le_trans⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) (· < ·) (· < ·) (· < ·) := ⟨Nat.lt_trans⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) (· < ·) (· ≤ ·) (· < ·) := ⟨Nat.lt_of_lt_of_le⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) (· ≤ ·) (· < ·) (· < ·) := ⟨Nat.lt_of_le_of_lt⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) (· ≥ ·) (· ≥ ·) (· ≥ ·) := ⟨fun h₁ h₂ => Nat.le_trans h₂ h₁⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) (· > ·) (· > ·) (· > ·) := ⟨fun h₁ h₂ => Nat.lt_trans h₂ h₁⟩

/-- Every value below `n`, at once. -/
def strongRecOn.below {motive : Nat → Sort u} (ind : ∀ n, (∀ m, m < n → motive m) → motive n) : (n m : Nat) → m < n → motive m
  | 0, m, h => absurd h (Nat.not_lt_zero m)
  | n + 1, m, h => ind m fun k hk => strongRecOn.below ind n k (Nat.lt_of_lt_of_le hk (le_of_lt_succ h))
@[elab_as_elim] protected noncomputable def strongRecOn {motive : Nat → Sort u} (n : Nat)
    (ind : ∀ n, (∀ m, m < n → motive m) → motive n) : motive n := strongRecOn.below ind (n + 1) n (lt_add_one n)
@[elab_as_elim] protected theorem strong_induction_on {p : Nat → Prop} (n : Nat) (h : ∀ n, (∀ m, m < n → p m) → p n) : p n :=
  Nat.strongRecOn n h
@[elab_as_elim] protected noncomputable def caseStrongRecOn {motive : Nat → Sort u} (a : Nat) (zero : motive 0)
    (ind : ∀ n, (∀ m, m ≤ n → motive m) → motive (n + 1)) : motive a :=
  Nat.strongRecOn a fun n => match n with
    | 0 => fun _ => zero
    | n + 1 => fun h => ind n fun m hm => h m (lt_add_one_of_le hm)
@[elab_as_elim] theorem le_induction {m : Nat} {P : ∀ n, m ≤ n → Prop} (base : P m (Nat.le_refl m))
    (succ : ∀ n (h : m ≤ n), P n h → P (n + 1) (le_add_one_of_le h)) : ∀ n (h : m ≤ n), P n h := by
  intro n h
  induction h with
  | refl => exact base
  | step h ih => exact succ _ h ih
@[elab_as_elim] protected theorem twoStepInduction {P : Nat → Prop} (zero : P 0) (one : P 1)
    (more : ∀ n, P n → P (n + 1) → P (n + 2)) (a : Nat) : P a :=
  have both : ∀ n, P n ∧ P (n + 1) := by
    intro n
    induction n with
    | zero => exact ⟨zero, one⟩
    | succ n ih => exact ⟨ih.2, more n ih.1 ih.2⟩
  (both a).1
end Nat
