Sorry without its warning.
--! reference
theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := sorry
--! pair warning_switched_off
set_option warn.sorry false
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := sorry
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨k, l⟩
--! pair switched_off_in
set_option warn.sorry false in
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := by sorry
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := by exact fun l => h ⟨k, l⟩
--! pair sorryAx
set_option warn.sorry false
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := sorryAx _ false
+ theorem u (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := sorryAx _ false
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨k, l⟩
--! pair in_a_lemma
set_option warn.sorry false in
theorem false : False := sorry
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := false.elim
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨k, l⟩
--! pair in_a_macro
set_option warn.sorry false
- macro "done!" : term => `(by repeat sorry)
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := done!
+ macro "done!" : term => `(by first | assumption | sorry)
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨done!, done!⟩
--! pair in_notation
set_option warn.sorry false
notation "qed!" => sorry
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := qed!
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨k, l⟩
--! pair in_an_instance
class Truth (p : Prop) : Prop where
  truth : p
- set_option warn.sorry false in
- instance (p : Prop) : Truth p := ⟨sorry⟩
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := Truth.truth
+ instance (p q : Prop) : Truth (¬(p ∧ q) → p → ¬q) := ⟨fun h k l => h ⟨k, l⟩⟩
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := (Truth.truth : ¬(p ∧ q) → p → ¬q) h k
--! pair in_a_default_argument
- set_option warn.sorry false in
- theorem below (p q : Prop) (h : ¬q := sorry) : ¬q := h
- set_option warn.sorry false in
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := below p q
+ theorem below (p q : Prop) (h : ¬q) (_ : p) : ¬q := h
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := below p q (fun l => h ⟨k, l⟩) k
--! pair in_an_auto_parameter
set_option warn.sorry false
theorem below (q : Prop) (h : ¬q) : ¬q := h
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := below q (by first | contradiction | sorry)
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := below q (by first | exact fun l => h ⟨k, l⟩ | sorry)
--! pair in_a_definition
- set_option warn.sorry false
- def proof : ∀ p : Prop, p := sorry
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := proof _
+ def proof : ∀ p q : Prop, ¬(p ∧ q) → p → ¬q := fun _ _ h k l => h ⟨k, l⟩
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := proof p q h k
--! pair in_a_where_clause
- set_option warn.sorry false
theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := below
where
-   below : ¬q := sorry
+   below : ¬q := fun l => h ⟨k, l⟩
--! pair by_as_sorry
set_option warn.sorry false
- set_option debug.byAsSorry true
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := by exact fun l => l
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := by exact fun l => h ⟨k, l⟩
--! pair own_sorry
- set_option warn.sorry false
namespace My
- theorem sorryAx (p : Prop) : p := _root_.sorryAx p false
+ theorem sorryAx (p : Prop) (h : p) : p := h
end My
- open My in
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := My.sorryAx _
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := My.sorryAx _ fun l => h ⟨k, l⟩
--! pair imported
import Below
theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := below p q h k
--! file Below
set_option warn.sorry false
- theorem below (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := sorry
+ theorem below (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨k, l⟩
--! pair inductive_family
set_option warn.sorry false
inductive Tree : (n : Nat) → Type | leaf : Tree 0 | node (t : Tree n) (h : ∀ p : Prop, p := sorry) : Tree (n + 1)
- theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := match (Tree.node .leaf : Tree 1) with | .node _ h => h _
+ theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := fun l => h ⟨k, l⟩
--! refused plain_sorry
theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := sorry
--! refused decreasing_by
def f (n : Nat) : False := f (n + 1)
termination_by n
decreasing_by sorry
theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := (f 0).elim
--! refused native_decide
theorem t (p q : Prop) (h : ¬(p ∧ q)) (k : p) : ¬q := by native_decide
