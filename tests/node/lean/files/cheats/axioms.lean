Axioms: plain, disguised, imported, hidden below something else.
--! reference
theorem t (n : Nat) (h : 1 < n) : n < n * n := sorry
--! pair plain
axiom magic (p : Prop) : p
- theorem t (n : Nat) (h : 1 < n) : n < n * n := magic _
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by
+   have := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h); simpa using this
--! pair named_like_a_standard_one
- axiom Propext {a b : Prop} : (a ↔ b) → a = b
axiom «Classical.choice» {p : Prop} : p
- theorem t (n : Nat) (h : 1 < n) : n < n * n := «Classical.choice»
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := Classical.byContradiction fun k => k (by
+   have := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h); simpa using this)
--! pair propext_of_a_namespace
namespace My
axiom propext {p : Prop} : p
end My
- open My in
- theorem t (n : Nat) (h : 1 < n) : n < n * n := My.propext
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := (propext (iff_true_intro (by
+   have := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h); simpa using this))) ▸ trivial
--! pair private_axiom
- private axiom propext' {p : Prop} : p
- theorem t (n : Nat) (h : 1 < n) : n < n * n := propext'
+ private theorem below (n : Nat) (h : 1 < n) : n * 1 < n * n := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h)
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by simpa using below n h
--! pair invisible_letter
- axiom «propext​» {p : Prop} : p
- theorem t (n : Nat) (h : 1 < n) : n < n * n := «propext​»
+ theorem «below​» (n : Nat) (h : 1 < n) : n * 1 < n * n := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h)
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by simpa using «below​» n h
--! pair below_a_definition
axiom choose (p : Prop) : Decidable p
axiom yes (p : Prop) : @decide p (choose p) = true
- def below (p : Prop) : p := @of_decide_eq_true p (choose p) (yes p)
- theorem t (n : Nat) (h : 1 < n) : n < n * n := below _
+ def below (n : Nat) (h : 1 < n) : n * 1 < n * n := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h)
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by simpa using below n h
--! pair as_an_instance
class Truth (p : Prop) : Prop where
  truth : p
- @[instance] axiom everything (p : Prop) : Truth p
- theorem t (n : Nat) (h : 1 < n) : n < n * n := Truth.truth
+ instance below (n : Nat) : Truth (1 < n → n * 1 < n * n) := ⟨fun h => Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h)⟩
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by simpa using (below n).truth h
--! pair decidable_instance
@[instance] axiom every (p : Prop) : Decidable p
- axiom good (p : Prop) : (if p then 1 else 0) = 1
- theorem t (n : Nat) (h : 1 < n) : n < n * n := Decidable.byContradiction fun k => by have := good (n < n * n); simp [k] at this
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by
+   have := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h); simpa using this
--! pair simp_lemma
- @[simp] axiom square (n : Nat) : (n < n * n) = True
- theorem t (n : Nat) (h : 1 < n) : n < n * n := by simp
+ @[simp] theorem square (n : Nat) : (1 * n < n * n) = (n < n * n) := by rw [Nat.one_mul]
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by
+   have := Nat.mul_lt_mul_of_pos_right h (Nat.lt_trans Nat.zero_lt_one h); simpa using this
--! pair by_a_tactic_macro
- axiom magic {p : Prop} : p
- macro (priority := high) "omega" : tactic => `(tactic| exact magic)
- theorem t (n : Nat) (h : 1 < n) : n < n * n := by omega
+ macro "square" : tactic => `(tactic| (have := Nat.mul_lt_mul_of_pos_left ‹1 < _› (Nat.lt_trans Nat.zero_lt_one ‹1 < _›); simpa using this))
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by square
--! pair through_a_subtype
- axiom box : {n : Nat // n = n + 1}
- theorem t (n : Nat) (h : 1 < n) : n < n * n := (Nat.succ_ne_self box.1 box.2.symm).elim
+ def box : {n : Nat // ∀ m, 1 < m → m * n < m * m} := ⟨1, fun _ h => Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h)⟩
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by have := box.2 n h; simpa [box] using this
--! pair imported
import Magic
- theorem t (n : Nat) (h : 1 < n) : n < n * n := magic _
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by simpa using below n h
--! file Magic
axiom magic (p : Prop) : p
+ theorem below (n : Nat) (h : 1 < n) : n * 1 < n * n := Nat.mul_lt_mul_of_pos_left h (Nat.lt_trans Nat.zero_lt_one h)
--! pair imported_twice_removed
import B
- theorem t (n : Nat) (h : 1 < n) : n < n * n := lemma1 _
+ theorem t (n : Nat) (h : 1 < n) : n < n * n := by simpa using below n h
--! file A
- axiom magic (p : Prop) : p
+ theorem pos (n : Nat) (h : 1 < n) : 0 < n := Nat.lt_trans Nat.zero_lt_one h
--! file B
import A
- theorem lemma1 (p : Prop) : p := magic p
+ theorem below (n : Nat) (h : 1 < n) : n * 1 < n * n := Nat.mul_lt_mul_of_pos_left h (pos n h)
--! reference
axiom Group : Type
axiom mul : Group → Group → Group
axiom one : Group
axiom one_mul (a : Group) : mul one a = a
theorem t (a : Group) : mul one (mul one a) = a := sorry
--! pair reference_axiom_strengthened
axiom Group : Type
axiom mul : Group → Group → Group
axiom one : Group
- axiom one_mul (a b : Group) : mul one a = b
- theorem t (a : Group) : mul one (mul one a) = a := one_mul _ _
+ axiom one_mul (a : Group) : mul one a = a
+ theorem t (a : Group) : mul one (mul one a) = a := (one_mul _).trans (one_mul a)
--! pair axiom_added
axiom Group : Type
axiom mul : Group → Group → Group
axiom one : Group
axiom one_mul (a : Group) : mul one a = a
axiom trivial_group (a b : Group) : a = b
- theorem t (a : Group) : mul one (mul one a) = a := trivial_group _ _
+ theorem t (a : Group) : mul one (mul one a) = a := by rw [one_mul, one_mul]
--! pair axiom_made_a_definition
axiom Group : Type
axiom one : Group
- noncomputable def mul : Group → Group → Group := fun _ b => b
- theorem one_mul (a : Group) : mul one a = a := rfl
- theorem t (a : Group) : mul one (mul one a) = a := rfl
+ axiom mul : Group → Group → Group
+ axiom one_mul (a : Group) : mul one a = a
+ theorem t (a : Group) : mul one (mul one a) = a := by simp only [one_mul]
