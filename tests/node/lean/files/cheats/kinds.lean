Something else than a theorem, or not there, or under another name.
--! reference
theorem t : ∀ n : Nat, 0 + n = n := sorry
--! cheat def
def t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest def
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat abbrev
abbrev t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest abbrev
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat axiom
axiom t : ∀ n : Nat, 0 + n = n
--! honest axiom
theorem _root_.t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat opaque
opaque t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest opaque
nonrec theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat unsafe_axiom
unsafe axiom t : ∀ n : Nat, 0 + n = n
--! honest unsafe_axiom
@[simp] theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat unsafe_def
unsafe def t : ∀ n : Nat, 0 + n = n := t
--! honest unsafe_def
theorem t : ∀ n : Nat, 0 + n = n := fun n => Nat.zero_add n
--! cheat inductive
inductive t : Prop | intro
--! honest inductive
theorem t : ∀ n : Nat, 0 + n = n := by intro n; exact Nat.zero_add n
--! cheat structure
structure t where
  statement : ∀ n : Nat, 0 + n = n
--! honest structure
structure T where
  statement : ∀ n : Nat, 0 + n = n
theorem t : ∀ n : Nat, 0 + n = n := (T.mk Nat.zero_add).statement
--! cheat class_field
class C where
  t : ∀ n : Nat, 0 + n = n
export C (t)
--! honest class_field
class C where
  t' : ∀ n : Nat, 0 + n = n
instance : C := ⟨Nat.zero_add⟩
theorem t : ∀ n : Nat, 0 + n = n := C.t'
--! cheat example
example : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest example
example : ∀ n : Nat, 0 + n = n := Nat.zero_add
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat nothing
theorem u : True := trivial
--! honest nothing
theorem u : True := trivial
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat commented_out
/- theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add -/
def theoremt := "theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add"
--! honest commented_out
/- theorem u : ∀ n : Nat, 0 + n = n := Nat.zero_add -/
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat private
private theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest private
private theorem t' : ∀ n : Nat, 0 + n = n := Nat.zero_add
theorem t : ∀ n : Nat, 0 + n = n := t'
--! cheat suffix
theorem t' : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest suffix
theorem t' : ∀ n : Nat, 0 + n = n := Nat.zero_add
theorem t : ∀ n : Nat, 0 + n = n := t'
--! cheat end_of_file
theorem u : ∀ n : Nat, 0 + n = n := Nat.zero_add
#exit
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! honest end_of_file
theorem t : ∀ n : Nat, 0 + n = n := Nat.zero_add
#exit
theorem u : ∀ n : Nat, 0 + n = n := Nat.zero_add
--! cheat instance
instance t : Inhabited (∀ n : Nat, 0 + n = n) := ⟨Nat.zero_add⟩
--! honest instance
instance i : Inhabited (∀ n : Nat, 0 + n = n) := ⟨Nat.zero_add⟩
theorem t : ∀ n : Nat, 0 + n = n := default
--! cheat notation
notation "t" => Nat.zero_add
--! honest notation
notation "tt" => Nat.zero_add
theorem t : ∀ n : Nat, 0 + n = n := tt
