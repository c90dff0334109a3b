--- exact: ype mismatch
example (p q : Prop) (hp : p) : q := by exact hp
--- intro: intro
example (p q : Prop) (hp : p) : p ∧ q := by intro h
--- apply: apply
example (p q r : Prop) (h : p → q) : r := by apply h
--- refine: unsolved goals
example (p q : Prop) (hp : p) : p ∧ q := by refine ⟨hp, ?_⟩
--- assumption: assumption
example (p q : Prop) (h : p) : q := by assumption
--- constructor: assumption
example (p q : Prop) : p ∨ q := by constructor; assumption
--- cases: ype mismatch
example (p q : Prop) (h : p ∨ q) : p := by
  cases h with
  | inl h => exact h
  | inr h => exact h
--- induction: ype mismatch
example (n : Nat) : n < 5 := by
  induction n with
  | zero => decide
  | succ n ih => exact ih
--- rfl: rfl
example : 12345 * 678 = 8369911 := by rfl
--- congr: unsolved goals
example (a b : Nat) : a + 1 = b + 1 := by congr
--- rw: unsolved goals
example (a b : Nat) (h : a = b) : a = 3 := by rw [h]
--- rw_pattern: rewrite
example (a b c : Nat) (h : a = b) : c = c + 0 := by rw [h]
--- simp: unsolved goals
example (a b : Nat) : a + b = a := by simp
--- simp_no_progress: simp
example (p q : Prop) (h : p) : q := by simp at h
--- simp_all: no progress
example (p q : Prop) (h : p ∨ q) : p := by simp_all
--- unfold: unfold
example (p : Prop) : p ∨ ¬p := by unfold Or
--- subst: subst
example (a : Nat) (h : a = a + 1) : False := by subst h
--- calc: ype mismatch
example (a b c : Nat) (h : a = b) : a = c := by
  calc a = b := h
    _ = c := h
--- contradiction: contradiction
example (p q : Prop) (hp : p) (h : ¬q) : False := by contradiction
--- trivial: assumption
example (p : Prop) : p := by trivial
--- injection: injection
example (f : Nat → Nat) (a b : Nat) (h : f a = f b) : a = b := by injection h
--- split: split
example (p q : Prop) : p ∨ q := by split
--- decide: decide
example : 2 + 2 = 5 := by decide
--- decide_kernel: decide
example : 2 + 2 = 5 := by decide +kernel
--- decide_undecidable: Decidable
example : ∀ n : Nat, n = n := by decide
--- omega: counterexample
example (a b : Nat) (h : a < b) : a + 2 ≤ b := by omega
--- ac_rfl: rfl
example (a b c : Nat) : a + b + c = c + b + b := by ac_rfl
--- ac_rfl_not_commutative: rfl
example (a b : List Nat) : a ++ b = b ++ a := by ac_rfl
--- simp_arith: no progress
example (a b : Nat) (h : 2 * a ≤ 2 * b + 1) : a < b := by simp +arith at h ⊢; exact h
--- simp_arith_false: unsolved goals
example (x : Int) : 3 * x = 7 := by simp +arith
--- omega_truncated: counterexample
example (a b : Nat) : a - b + b = a := by omega
--- norm_cast: unsolved goals
example (m n : Nat) (h : (m : Int) - n = 5) : m - n = 6 := by norm_cast at h
--- unfinished: unsolved goals
example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by
  constructor
  · exact hp
--- unknown_tactic: unknown tactic
example (p : Prop) (h : p) : p := by
  frobnicate
--- unknown_name: nknown
example (p : Prop) : p := by exact magic
--- self_reference: structural recursion
theorem circular (p : Prop) : p := by exact circular p
--- unsafe_axiom: unsafe
theorem cheat : False := lcProof
--- unsafe_axiom_value: unsafe
theorem cheat' : False := @lcUnreachable.{0} False
--- native_evaluation: native_decide
example : 2 + 2 = 5 := by native_decide
--- kernel_switched_off: false
theorem off : 2 = 3 := by set_option debug.skipKernelTC true in decide
--- strings_equal: ismatch
example : "a" = "b" := rfl
--- strings_size: false
theorem size : "aé".utf8ByteSize = 2 := by decide +kernel
--- shadowed_native_name: already been declared
def Nat.add (n m : Nat) : Nat := n
--- partial_function: loop
def loop (n : Nat) : Nat := loop n
--- non_positive: positive
inductive Bad where
  | mk (f : Bad → False) : Bad
--- omega_integers_are_not_dense: omega
example (x : Int) (h : 0 < x) (h' : x < 2) : x ≠ 1 := by omega
--- omega_real_shadow: counterexample
example (x y : Int) (h : 0 < 2 * x - 3 * y) : x > y := by omega
--- omega_product: omega
example (a b : Nat) : a * b = b * a := by omega
--- omega_nothing: No usable constraints
example (p q : Prop) (h : p) : q := by omega
--- omega_remainder: omega
example (x : Int) : x % 2 = 1 ∨ x % 3 = 0 ∨ x % 3 = 1 := by omega
--- omega_atoms: omega
example (f : Int → Int) (x y : Int) (h : x = y + 0) : f x = f (y + 1) := by omega
--- negative_quotient: decide
example : (-7 : Int) / 2 = -3 := by decide
--- negative_remainder: rfl
example : (-7 : Int) % 2 = -1 := rfl
--- truncating_quotient: decide
example : Int.tdiv (-7) 2 = -4 := by decide
--- order: decide
example : (-3 : Int) < -4 := by decide
--- sign_of_cast: counterexample
example (n : Nat) : (n : Int) < 0 := by omega
--- cast_of_difference: error
example (m n : Nat) : ((m - n : Nat) : Int) = (m : Int) - n := by push_cast; rfl
--- power: decide
example : (-2 : Int) ^ 3 = 8 := by decide
--- divides: decide
example : (4 : Int) ∣ -6 := by decide
--- overflow: decide
example : (4 : Fin 5) + 1 = 5 - 1 := by decide
--- bound: decide
example : Fin 3 := ⟨3, by decide⟩
--- redefined_integers: already been declared
inductive Int where
  | zero : Int
--- redefined_order: already been declared
theorem Int.le_refl (a : Int) : a ≤ 0 := sorry
--- contradiction_of_integers: rfl
theorem cheat_integers : (1 : Int) = -1 := rfl
--- not there: error
elab "magic" : tactic => do
  return
--- not there: error
run_cmd return
--- not there: error
def main : IO Unit := IO.println "hello"
--- not there: error
#eval (1.5 : Float)
