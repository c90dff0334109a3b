Several files: which declaration a name means depends on what a file imports.
--! reference
import Defs
theorem t : limit = 2 + 3 := sorry
--! file Defs
def limit : Nat := 5
--! pair own_definition_beside
- def limit : Nat := 2 + 3
+ import Defs
theorem t : limit = 2 + 3 := rfl
--! file Defs
def limit : Nat := 5
--! pair changed_import
import Defs
theorem t : limit = 2 + 3 := rfl
--! file Defs
- def limit : Nat := 2 + 3
+ def five : Nat := 5
+ def limit : Nat := 5
--! pair import_of_another_file
import Defs2
theorem t : limit = 2 + 3 := rfl
--! file Defs
+ def limit' : Nat := 6
+ --! file Defs2
def limit : Nat := 5
- --! file Defs2
- inductive Five | five
- def limit : Nat := 6 - 1
--! pair notation_of_an_import
import Syntax
- theorem t : limit = 2 + 3 := trivial
+ theorem t : limit = 2 + 3 := rfl
--! file Defs
def limit : Nat := 5
--! file Syntax
import Defs
- macro_rules | `($a = $b) => `(True)
+ macro_rules | `($a ≤ $b) => `(True)
--! pair instance_of_an_import
import Instances
theorem t : limit = 2 + 3 := rfl
--! file Defs
def limit : Nat := 5
--! file Instances
import Defs
- instance : Add Nat := ⟨fun _ _ => 5⟩
+ instance : Add Bool := ⟨fun _ b => b⟩
--! pair named_like_the_library
import Pocket.Logic
+ def limit : Nat := 5
+ theorem t : limit = 2 + 3 := rfl
+ --! file Logic
axiom limit : Nat
axiom limit_eq : limit = 2 + 3
- theorem t : limit = 2 + 3 := limit_eq
- --! file Pocket.Logic
- def limit : Nat := 5
- theorem limit_eq : limit = 2 + 3 := rfl
--! pair named_init
+ def limit : Nat := 5
+ theorem t : limit = 2 + 3 := rfl
+ --! file Initial
def limit : Nat := 2 + 3
- theorem t : limit = 2 + 3 := rfl
- --! file Init
- def limit : Nat := 5
--! pair named_like_the_reference
+ def limit : Nat := 2 + 3
+ --! file Defs
def limit : Nat := 5
- --! file Defs
- def limit : Nat := 2 + 3
theorem t : limit = 2 + 3 := rfl
--! pair axiom_in_an_unused_import
import Defs
import Extra
- theorem t : limit = 2 + 3 := by simp
+ theorem t : limit = 2 + 3 := rfl
--! file Defs
def limit : Nat := 5
--! file Extra
import Defs
- @[simp] axiom any : (limit = 2 + 3) = True
+ axiom any : (limit = 2 + 3) = True
--! pair theorem_in_a_file_beside
import Defs
- theorem t : limit = limit := rfl
+ theorem t' : limit = limit := rfl
--! file Defs
def limit : Nat := 5
--! file Other
- theorem t' : 5 = 2 + 3 := rfl
+ import Defs
+ theorem t : limit = 2 + 3 := rfl
--! pair prelude
- prelude
import Pocket.Data
- axiom propext (p : Prop) : p
- def limit : Nat := Nat.zero
- theorem t : Eq limit limit := propext _
+ def limit : Nat := 5
+ theorem t : limit = 2 + 3 := rfl
--! refused circle
import Other
theorem t : limit = 2 + 3 := rfl
--! file Other
import Main
def limit : Nat := 5
--! refused reference_imported
import Reference
theorem t : limit = 2 + 3 := rfl
--! reference
theorem t : False → False := sorry
--! pair standard_axiom_of_ones_own
- prelude
import Pocket.Prelude
- axiom propext (p : Prop) : p
- theorem t : False → False := propext _
+ axiom propext' (p : Prop) : p
+ theorem t : False → False := id
