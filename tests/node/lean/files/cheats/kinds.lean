Something else than a theorem, or not there, or under another name.
--! reference
theorem t : ∀ n : Nat, 0 + n = n := sorry
--! pair def
- def t : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair abbrev
- abbrev t : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair axiom
- axiom t : ∀ n : Nat, 0 + n = n
+ theorem _root_.t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair opaque
- opaque t : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ nonrec theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair unsafe_axiom
- unsafe axiom t : ∀ n : Nat, 0 + n = n
+ @[simp] theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair unsafe_def
- unsafe def t : ∀ n : Nat, 0 + n = n := t
+ theorem t : ∀ n : Nat, 0 + n = n := fun n => Nat.zero_add n
--! pair inductive
- inductive t : Prop | intro
+ theorem t : ∀ n : Nat, 0 + n = n := by intro n; exact Nat.zero_add n
--! pair structure
- structure t where
+ structure T where
  statement : ∀ n : Nat, 0 + n = n
+ theorem t : ∀ n : Nat, 0 + n = n := (T.mk Nat.zero_add).statement
--! pair class_field
class C where
-   t : ∀ n : Nat, 0 + n = n
- export C (t)
+   t' : ∀ n : Nat, 0 + n = n
+ instance : C := ⟨Nat.zero_add⟩
+ theorem t : ∀ n : Nat, 0 + n = n := C.t'
--! pair example
example : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair nothing
theorem u : True := trivial
+ theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair commented_out
- /- theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add -/
- def theoremt := "theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add"
+ /- theorem u : ∀ n : Nat, 0 + n = n := Nat.zero_add -/
+ theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair private
- private theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ private theorem t' : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ theorem t : ∀ n : Nat, 0 + n = n := t'
--! pair suffix
theorem t' : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ theorem t : ∀ n : Nat, 0 + n = n := t'
--! pair end_of_file
+ theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
+ #exit
theorem u : ∀ n : Nat, 0 + n = n := Nat.zero_add
- #exit
- theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! pair instance
- instance t : Inhabited (∀ n : Nat, 0 + n = n) := ⟨Nat.zero_add⟩
+ instance i : Inhabited (∀ n : Nat, 0 + n = n) := ⟨Nat.zero_add⟩
+ theorem t : ∀ n : Nat, 0 + n = n := default
--! pair notation
- notation "t" => Nat.zero_add
+ notation "tt" => Nat.zero_add
+ theorem t : ∀ n : Nat, 0 + n = n := tt
