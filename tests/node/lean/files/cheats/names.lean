Shadowed names: namespaces, open, export, names that look alike.
--! reference
namespace A
theorem t : (5 : Nat) = 2 + 3 := sorry
end A
--! pair at_the_root
- theorem t : (5 : Nat) = 2 + 3 := rfl
+ theorem A.t : (5 : Nat) = 2 + 3 := rfl
--! pair another_namespace
namespace B
- theorem t : (5 : Nat) = 2 + 3 := rfl
+ theorem _root_.A.t : (5 : Nat) = 2 + 3 := rfl
end B
--! pair nested
namespace A
- theorem A.t : (5 : Nat) = 2 + 3 := rfl
+ theorem _root_.A.t : (5 : Nat) = 2 + 3 := rfl
end A
--! pair exported
namespace B
theorem t : (5 : Nat) = 2 + 3 := rfl
end B
namespace A
- export B (t)
+ theorem t : (5 : Nat) = 2 + 3 := B.t
end A
--! pair one_quoted_part
- theorem «A.t» : (5 : Nat) = 2 + 3 := rfl
+ theorem A.«t» : (5 : Nat) = 2 + 3 := rfl
--! pair greek_capital
- namespace Α
+ namespace A
theorem t : (5 : Nat) = 2 + 3 := rfl
- end Α
+ end A
--! pair private_in_namespace
namespace A
- private theorem t : (5 : Nat) = 2 + 3 := rfl
+ protected theorem t : (5 : Nat) = 2 + 3 := rfl
end A
--! reference
namespace A
theorem t (a b : Nat) : max a b = max b a := sorry
theorem u (a : Nat) : Nat.succ a ≠ a := sorry
end A
--! pair max_of_the_namespace
namespace A
- def max (a b : Nat) : Nat := 0
- theorem t (a b : Nat) : max a b = max b a := rfl
+ def max' (a b : Nat) : Nat := 0
+ theorem t (a b : Nat) : max a b = max b a := Nat.max_comm a b
theorem u (a : Nat) : Nat.succ a ≠ a := Nat.succ_ne_self a
end A
--! pair nat_of_the_namespace
namespace A
theorem t (a b : Nat) : max a b = max b a := Nat.max_comm a b
+ theorem u (a : Nat) : Nat.succ a ≠ a := Nat.succ_ne_self a
inductive Nat | zero | succ (n : Nat)
- theorem u (a : Nat) : Nat.succ a ≠ a := by
-   induction a with
-   | zero => nofun
-   | succ n ih => exact fun h => ih (Nat.succ.inj h)
end A
--! pair opened_succ
namespace B
- def Nat.succ (a : Nat) : Nat := a + 2
+ def Nat.succ' (a : Nat) : Nat := a + 2
end B
open B
namespace A
theorem t (a b : Nat) : max a b = max b a := Nat.max_comm a b
- theorem u (a : Nat) : B.Nat.succ a ≠ a := fun h => by unfold B.Nat.succ at h; omega
+ theorem u (a : Nat) : Nat.succ a ≠ a := Nat.succ_ne_self a
end A
--! pair local_max
namespace A
- theorem t (a b : Nat) : let max := fun (_ _ : Nat) => 0; max a b = max b a := rfl
+ theorem t (a b : Nat) : max a b = max b a := let max := fun (_ _ : Nat) => 0; Nat.max_comm a b
theorem u (a : Nat) : Nat.succ a ≠ a := Nat.succ_ne_self a
end A
--! pair max_as_a_binder
namespace A
- theorem t (max : Nat → Nat → Nat) (c : ∀ a b, max a b = max b a) (a b : Nat) : max a b = max b a := c a b
+ theorem t (a b : Nat) : max a b = max b a := (fun max (c : ∀ a b, max a b = max b a) => c a b) Max.max Nat.max_comm
theorem u (a : Nat) : Nat.succ a ≠ a := Nat.succ_ne_self a
end A
--! pair max_variable
namespace A
section
- variable (max : Nat → Nat → Nat) (c : ∀ a b, max a b = max b a)
- include c
- theorem t (a b : Nat) : max a b = max b a := c a b
+ variable (most : Nat → Nat → Nat) (c : ∀ a b, most a b = most b a)
+ theorem t (a b : Nat) : max a b = max b a := Nat.max_comm a b
end
theorem u (a : Nat) : Nat.succ a ≠ a := Nat.succ_ne_self a
end A
--! reference
def ℓ : Nat := 1
theorem t : ℓ = 0 + 1 := sorry
--! pair look_alike_definition
def ℓ : Nat := 1
def l : Nat := 1
- theorem t : l = 0 + 1 := rfl
+ theorem t : «ℓ» = 0 + 1 := rfl
--! pair cyrillic_theorem
def ℓ : Nat := 1
- theorem «т» : ℓ = 0 + 1 := rfl
+ theorem «t» : ℓ = 0 + 1 := rfl
--! pair space_in_the_name
def ℓ : Nat := 1
theorem «t » : ℓ = 0 + 1 := rfl
+ theorem t : ℓ = 0 + 1 := «t »
--! reference
theorem A.elim : (5 : Nat) = 2 + 3 := sorry
theorem _t : (5 : Nat) = 2 + 3 := sorry
theorem inj : (5 : Nat) = 2 + 3 := sorry
theorem match_1 : (5 : Nat) = 2 + 3 := sorry
--! pair names_that_lean_makes_up
- theorem elim : (5 : Nat) = 2 + 3 := rfl
- theorem _t' : (5 : Nat) = 2 + 3 := rfl
+ theorem A.elim : (5 : Nat) = 2 + 3 := rfl
+ theorem _t : (5 : Nat) = 2 + 3 := rfl
+ theorem inj : (5 : Nat) = 2 + 3 := rfl
+ theorem match_1 : (5 : Nat) = 2 + 3 := rfl
--! pair one_of_them
theorem A.elim : (5 : Nat) = 2 + 3 := rfl
theorem _t : (5 : Nat) = 2 + 3 := rfl
theorem inj : (5 : Nat) = 2 + 3 := rfl
- theorem match_1 : (5 : Nat) = 5 := rfl
+ theorem match_1 : (5 : Nat) = 2 + 3 := by decide
