Commands and terms of one's own that look like Lean's.
--! reference
theorem t (a b : Nat) : a = b → b = a := sorry
--! pair own_theorem_command
- macro (priority := high) "theorem " n:ident " : " e:term " := " p:term : command => `(def $n:ident : $e := $p)
- theorem t : ∀ a b : Nat, a = b → b = a := fun _ _ h => h.symm
+ macro "theorem! " n:ident p:term : command => `(theorem $n:ident (a b : Nat) : a = b → b = a := $p)
+ theorem! t Eq.symm
--! refused own_theorem_command_on_names
macro "theorem! " n:ident : command => `(theorem $n : True := trivial)
theorem! t
theorem t (a b : Nat) : a = b → b = a := rfl
--! pair command_that_states_true
- macro "proposition " n:ident " : " _s:term " := " _p:term : command => `(theorem $n:ident : True := trivial)
- proposition t : (∀ a b : Nat, a = b → b = a) := rfl
+ macro "proposition " n:ident " : " s:term " := " p:term : command => `(theorem $n:ident : $s := $p)
+ proposition t : (∀ a b : Nat, a = b → b = a) := fun _ _ h => h.symm
--! pair command_that_drops
- macro "lemma " n:ident " : " _s:term " := " _p:term : command => `(theorem $n:ident : True ∧ True := ⟨trivial, trivial⟩)
- lemma t : (∀ a b : Nat, a = b → b = a) := rfl
+ macro "lemma " n:ident " : " s:term " := " p:term : command => `(theorem $n:ident : $s := $p)
+ lemma t : (∀ a b : Nat, a = b → b = a) := fun _ _ h => h.symm
--! pair statement_by_a_term_macro
- macro "goal!" : term => `(∀ a b : Nat, a = b → a = b)
- theorem t : goal! := fun _ _ h => h
+ macro "goal!" : term => `(∀ a b : Nat, a = b → b = a)
+ theorem t : goal! := fun _ _ h => h.symm
--! pair messages_like_leans
- def axioms := "'t' does not depend on any axioms"
- theorem t : True := trivial
+ def axioms := "'t' depends on axioms: [sorryAx]"
+ theorem t (a b : Nat) : a = b → b = a := Eq.symm
#check axioms
#print axioms t
--! pair print_axioms_redefined
- axiom magic (p : Prop) : p
macro (priority := high) "#print" "axioms" n:ident : command => `(#check $n)
- theorem t (a b : Nat) : a = b → b = a := magic _
+ theorem t (a b : Nat) : a = b → b = a := Eq.symm
#print axioms t
--! pair notation_prints_like_the_goal
- notation (priority := high) "∀" "a" "b" ":" "Nat" "," "a" "=" "b" "→" "b" "=" "a" => True
- theorem t : ∀ a b : Nat, a = b → b = a := trivial
+ notation (priority := high) "∀" "a" "b" ":" "Natt" "," "a" "=" "b" "→" "b" "=" "a" => True
+ theorem t : ∀ m n : Nat, m = n → n = m := fun _ _ => Eq.symm
--! pair arrow_by_macro_rules
- macro_rules | `($_ → $b) => `($b ∨ True)
- theorem t (a b : Nat) : a = b → b = a := .inr trivial
+ theorem t (a b : Nat) : a = b → b = a := Eq.symm
--! pair tactic_that_skips
- macro "finish" : tactic => `(tactic| exact (fun h => h))
- theorem t (a b : Nat) : a = b → a = b := by finish
+ macro "finish" : tactic => `(tactic| exact (fun h => Eq.symm h))
+ theorem t (a b : Nat) : a = b → b = a := by finish
