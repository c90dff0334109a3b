Definitions that the reference leaves open: they may be filled, the statement about them must stay.
--! reference
noncomputable def answer : Nat := sorry
theorem t : answer * answer = 144 := sorry
--! pair statement_changed
- def answer : Nat := 13
- theorem t : answer * answer = 169 := rfl
+ def answer : Nat := 12
+ theorem t : answer * answer = 144 := rfl
--! pair type_changed
- def answer : Int := -12
+ def answer : Nat := 6 + 6
theorem t : answer * answer = 144 := rfl
--! pair still_open
set_option warn.sorry false
- noncomputable def answer : Nat := sorry
- theorem t : answer * answer = 144 := sorry
+ def answer : Nat := by exact 12
+ theorem t : answer * answer = 144 := rfl
--! pair by_an_axiom
- axiom oracle : {n : Nat // n * n = 144}
- noncomputable def answer : Nat := oracle.1
+ opaque oracle : {n : Nat // n * n = 144} := ⟨12, rfl⟩
+ def answer : Nat := oracle.1
theorem t : answer * answer = 144 := oracle.2
--! pair as_an_axiom
- axiom answer : Nat
- axiom answer_eq : answer = 12
- theorem t : answer * answer = 144 := by rw [answer_eq]
+ abbrev answer : Nat := 12
+ theorem t : answer * answer = 144 := rfl
--! pair as_a_variable
- theorem t (answer : Nat) (h : answer = 12) : answer * answer = 144 := by rw [h]
+ def answer : Nat := 12
+ theorem t : answer * answer = 144 := (fun (answer : Nat) (h : answer = 12) => by rw [h] : ∀ a : Nat, a = 12 → a * a = 144) answer rfl
--! reference
noncomputable def bounds : Nat × Nat := (5, sorry)
def Good (n : Nat) : Prop := 3 < n ∧ (sorry : Prop)
def small : Fin 3 := ⟨2, by sorry⟩
theorem t : bounds.1 < bounds.2 := sorry
theorem u : ∀ n, Good n → 3 < n := sorry
theorem v : small.val = 2 := sorry
--! pair a_part_that_was_given
- def bounds : Nat × Nat := (0, 1)
+ def bounds : Nat × Nat := (5, 9)
def Good (n : Nat) : Prop := 3 < n ∧ n < 9
def small : Fin 3 := ⟨2, by decide⟩
theorem t : bounds.1 < bounds.2 := by decide
theorem u : ∀ n, Good n → 3 < n := fun _ h => h.1
theorem v : small.val = 2 := rfl
--! pair a_conjunct_that_was_given
def bounds : Nat × Nat := (5, 9)
- def Good (n : Nat) : Prop := 3 < n + 1 ∧ 3 < n
- def small : Fin 3 := ⟨2, by decide⟩
+ def Good (n : Nat) : Prop := 3 < n ∧ True
+ def small : Fin 3 := ⟨2, by omega⟩
theorem t : bounds.1 < bounds.2 := by decide
- theorem u : ∀ n, Good n → 3 < n := fun _ h => h.2
+ theorem u : ∀ n, Good n → 3 < n := fun _ h => h.1
theorem v : small.val = 2 := rfl
--! pair the_value_beside_a_proof
def bounds : Nat × Nat := (5, 9)
def Good (n : Nat) : Prop := 3 < n ∧ True
- def small : Fin 3 := ⟨1, by decide⟩
+ def small : Fin 3 := ⟨2, (by decide : 2 < 3)⟩
theorem t : bounds.1 < bounds.2 := by decide
theorem u : ∀ n, Good n → 3 < n := fun _ h => h.1
- theorem v : small.val = 1 := rfl
+ theorem v : small.val = 2 := rfl
