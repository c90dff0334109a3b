Statements that only look the same, are weaker, or are equal by computation: the promise is the same type.
--! reference
theorem t (n : Nat) : n * (n + 1) = n * n + n := sorry
--! cheat equal_by_computation
theorem t (n : Nat) : n * (n + 1) = Nat.succ n * n + 0 ∨ n * (n + 1) = n * n + n := .inr rfl
--! honest equal_by_computation
theorem t (n : Nat) : n * (n + 1) = n * n + n := rfl
--! cheat let_in_the_statement
theorem t (n : Nat) : let m := n + 1; n * m = n * n + n := rfl
--! honest let_in_the_statement
theorem t (n : Nat) : n * (n + 1) = n * n + n := let m := n + 1; (rfl : n * m = _)
--! cheat have_in_the_statement
theorem t (n : Nat) : have m := n + 1; n * m = n * n + n := rfl
--! honest have_in_the_statement
theorem t (n : Nat) : n * (n + 1) = n * n + n := have : n * (n + 1) = n * n + n := rfl; this
--! cheat statement_as_a_definition
def statement (n : Nat) : Prop := n * (n + 1) = n * n + n
theorem t (n : Nat) : statement n := rfl
--! honest statement_as_a_definition
def statement (n : Nat) : Prop := n * (n + 1) = n * n + n
theorem t' (n : Nat) : statement n := rfl
theorem t (n : Nat) : n * (n + 1) = n * n + n := t' n
--! cheat statement_as_an_abbreviation
abbrev statement : Prop := ∀ n : Nat, n * (n + 1) = n * n + n
theorem t : statement := fun _ => rfl
--! honest statement_as_an_abbreviation
abbrev statement : Prop := ∀ n : Nat, n * (n + 1) = n * n + n
theorem t (n : Nat) : (n * (n + 1) = n * n + n : Prop) := (fun _ => rfl : statement) n
--! cheat at_integers
theorem t (n : Int) (h : n = 0) : n * (n + 1) = n * n + n := by subst h; decide
--! honest at_integers
theorem t (n : Nat) : n * (n + 1) = n * n + n := Nat.mul_succ n n
--! cheat as_a_bool
theorem t : (0 * (0 + 1) == 0 * 0 + 0) = true := rfl
--! honest as_a_bool
theorem t (n : Nat) : n * (n + 1) = n * n + n := Nat.mul_add_one n n
--! cheat one_instance
theorem t : 3 * (3 + 1) = 3 * 3 + 3 := rfl
--! honest one_instance
theorem t : ∀ n, n * (n + 1) = n * n + n := fun n => Nat.mul_succ n n
--! cheat exists_for_forall
theorem t : ∃ n : Nat, n * (n + 1) = n * n + n := ⟨0, rfl⟩
--! honest exists_for_forall
theorem t : ∀ n : Nat, n * (n + 1) = n * n + n := fun _ => rfl
--! cheat default_of_the_binder
theorem t (n : Nat := 0) : n * (n + 1) = n * n + n := rfl
--! honest default_of_the_binder
theorem t {n : Nat} : n * (n + 1) = n * n + n := rfl
--! cheat out_param
theorem t (n : outParam Nat) : n * (n + 1) = n * n + n := rfl
--! honest out_param
theorem t ⦃n : Nat⦄ : n * (n + 1) = n * n + n := rfl
--! cheat fin_for_nat
theorem t (n : Fin 1) : n.val * (n.val + 1) = n.val * n.val + n.val := rfl
--! honest fin_for_nat
theorem t (m : Nat) : m * (m + 1) = m * m + m := rfl
--! cheat successor_spelled
theorem t (n : Nat) : n * n.succ = n * n + n := rfl
--! honest successor_spelled
theorem t (n : Nat) : n * (n + 1) = n * n + n := show n * n.succ = n * n + n from rfl
--! cheat literal_spelled
theorem t (n : Nat) : n * (n + Nat.succ 0) = n * n + n := rfl
--! honest literal_spelled
theorem t (n : Nat) : n * (n + 1) = n * n + n := show n * (n + Nat.succ 0) = n * n + n from rfl
--! cheat numerals_at_another_type
theorem t (n : Nat) : (n : Int) * (n + 1) = n * n + n := by rw [Int.mul_add, Int.mul_one]
--! honest numerals_at_another_type
theorem t (n : Nat) : (n : Nat) * (n + 1) = n * n + n := rfl
