Statements that only look the same, are weaker, or are equal by computation: the promise is the same type.
--! reference
theorem t (n : Nat) : n * (n + 1) = n * n + n := sorry
--! pair equal_by_computation
- theorem t (n : Nat) : n * (n + 1) = Nat.succ n * n + 0 ∨ n * (n + 1) = n * n + n := .inr rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := rfl
--! pair let_in_the_statement
- theorem t (n : Nat) : let m := n + 1; n * m = n * n + n := rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := let m := n + 1; (rfl : n * m = _)
--! pair have_in_the_statement
- theorem t (n : Nat) : have m := n + 1; n * m = n * n + n := rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := have : n * (n + 1) = n * n + n := rfl; this
--! pair statement_as_a_definition
def statement (n : Nat) : Prop := n * (n + 1) = n * n + n
- theorem t (n : Nat) : statement n := rfl
+ theorem t' (n : Nat) : statement n := rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := t' n
--! pair statement_as_an_abbreviation
abbrev statement : Prop := ∀ n : Nat, n * (n + 1) = n * n + n
- theorem t : statement := fun _ => rfl
+ theorem t (n : Nat) : (n * (n + 1) = n * n + n : Prop) := (fun _ => rfl : statement) n
--! pair at_integers
- theorem t (n : Int) (h : n = 0) : n * (n + 1) = n * n + n := by subst h; decide
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := Nat.mul_succ n n
--! pair as_a_bool
- theorem t : (0 * (0 + 1) == 0 * 0 + 0) = true := rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := Nat.mul_add_one n n
--! pair one_instance
- theorem t : 3 * (3 + 1) = 3 * 3 + 3 := rfl
+ theorem t : ∀ n, n * (n + 1) = n * n + n := fun n => Nat.mul_succ n n
--! pair exists_for_forall
- theorem t : ∃ n : Nat, n * (n + 1) = n * n + n := ⟨0, rfl⟩
+ theorem t : ∀ n : Nat, n * (n + 1) = n * n + n := fun _ => rfl
--! pair default_of_the_binder
- theorem t (n : Nat := 0) : n * (n + 1) = n * n + n := rfl
+ theorem t {n : Nat} : n * (n + 1) = n * n + n := rfl
--! pair out_param
- theorem t (n : outParam Nat) : n * (n + 1) = n * n + n := rfl
+ theorem t ⦃n : Nat⦄ : n * (n + 1) = n * n + n := rfl
--! pair fin_for_nat
- theorem t (n : Fin 1) : n.val * (n.val + 1) = n.val * n.val + n.val := rfl
+ theorem t (m : Nat) : m * (m + 1) = m * m + m := rfl
--! pair successor_spelled
- theorem t (n : Nat) : n * n.succ = n * n + n := rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := show n * n.succ = n * n + n from rfl
--! pair literal_spelled
- theorem t (n : Nat) : n * (n + Nat.succ 0) = n * n + n := rfl
+ theorem t (n : Nat) : n * (n + 1) = n * n + n := show n * (n + Nat.succ 0) = n * n + n from rfl
--! pair numerals_at_another_type
- theorem t (n : Nat) : (n : Int) * (n + 1) = n * n + n := by rw [Int.mul_add, Int.mul_one]
+ theorem t (n : Nat) : (n : Nat) * (n + 1) = n * n + n := rfl
