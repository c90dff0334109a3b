Examples have no names, so their number in the file must not matter.
--! reference
example : 1 + 1 = 2 := sorry
theorem t (p : Prop) (h : p) : p := sorry
example (p q : Prop) (h : p ∧ q) : q := sorry
--! pair one_for_two
- example : 1 + 1 = 2 := rfl
+ example : 2 + 2 = 4 := rfl
+ example (p q : Prop) (h : p ∧ q) : q := h.2
theorem t (p : Prop) (h : p) : p := h
example : 1 + 1 = 2 := rfl
+ example : True := trivial
--! pair a_definition_of_the_statement
+ def two : 1 + 1 = 2 := rfl
example (p q : Prop) (h : p ∧ q) : q := h.2
theorem t (p : Prop) (h : p) : p := h
- def two : 1 + 1 = 2 := rfl
+ example : 1 + 1 = 2 := two
--! pair a_false_axiom
axiom all (p : Prop) : p
+ example : 3 = 4 := all _
example (p q : Prop) (h : p ∧ q) : q := h.2
theorem t (p : Prop) (h : p) : p := h
- example : 1 + 1 = 2 := all _
+ example : 1 + 1 = 2 := rfl
--! refused unfinished
example : 1 + 1 = 2 := sorry
example (p q : Prop) (h : p ∧ q) : q := h.2
theorem t (p : Prop) (h : p) : p := h
