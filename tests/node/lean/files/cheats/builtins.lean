Redefined built-ins: own constants that read and print like Lean's.
--! reference
theorem t (a b : Nat) : Nat.add a b = Nat.add b a := sorry
--! pair own_add_in_a_namespace
namespace My
- def Nat.add (a b : Nat) : Nat := 0
- theorem _root_.t (a b : Nat) : Nat.add a b = Nat.add b a := rfl
+ def Nat.add' (a b : Nat) : Nat := 0
+ theorem _root_.t (a b : Nat) : Nat.add a b = Nat.add b a := _root_.Nat.add_comm a b
end My
--! pair own_nat
namespace My
- inductive Nat | zero
- def Nat.add (a b : Nat) : Nat := .zero
- theorem _root_.t (a b : Nat) : Nat.add a b = Nat.add b a := rfl
+ inductive Nat' | zero
+ theorem _root_.t (a b : Nat) : Nat.add a b = Nat.add b a := _root_.Nat.add_comm a b
end My
--! reference
theorem t : 2 + 2 = 5 ∨ 1 = 1 := sorry
theorem u (p q : Prop) (h : p) (k : q) : And q p := sorry
theorem v (n : Nat) (h : n ≠ 0) : 0 < n := sorry
--! pair own_eq
namespace My
inductive Eq {α : Type} (a b : α) : Prop | any
- theorem _root_.t : Eq (2 + 2) 5 ∨ 1 = 1 := .inl .any
+ theorem _root_.t : _root_.Eq (2 + 2) 5 ∨ 1 = 1 := .inr rfl
end My
theorem u (p q : Prop) (h : p) (k : q) : And q p := ⟨k, h⟩
theorem v (n : Nat) (h : n ≠ 0) : 0 < n := Nat.pos_of_ne_zero h
--! pair own_or
namespace My
- inductive Or (p q : Prop) : Prop | any
- theorem _root_.t : Or (2 + 2 = 5) (1 = 1) := .any
+ inductive Or' (p q : Prop) : Prop | any
+ theorem _root_.t : Or (2 + 2 = 5) (1 = 1) := .inr rfl
end My
theorem u (p q : Prop) (h : p) (k : q) : And q p := ⟨k, h⟩
theorem v (n : Nat) (h : n ≠ 0) : 0 < n := Nat.pos_of_ne_zero h
--! pair own_and
theorem t : 2 + 2 = 5 ∨ 1 = 1 := .inr rfl
namespace My
- structure And (p q : Prop) : Prop where
+ structure And' (p q : Prop) : Prop where
  left : True
- theorem _root_.u (p q : Prop) (h : p) (k : q) : And q p := ⟨trivial⟩
+ theorem _root_.u (p q : Prop) (h : p) (k : q) : And q p := ⟨k, h⟩
end My
theorem v (n : Nat) (h : n ≠ 0) : 0 < n := Nat.pos_of_ne_zero h
--! pair own_ne
theorem t : 2 + 2 = 5 ∨ 1 = 1 := .inr rfl
theorem u (p q : Prop) (h : p) (k : q) : And q p := ⟨k, h⟩
namespace My
- def Ne (a b : Nat) : Prop := 0 < a
- theorem _root_.v (n : Nat) (h : Ne n 0) : 0 < n := h
+ def Ne' (a b : Nat) : Prop := 0 < a
+ theorem _root_.v (n : Nat) (h : Ne n 0) : 0 < n := Nat.pos_of_ne_zero h
end My
--! reference
theorem t (p q : Prop) : Iff p q → Iff q p := sorry
--! pair own_iff
namespace My
- def Iff (p q : Prop) : Prop := True
- theorem _root_.t (p q : Prop) : Iff p q → Iff q p := id
+ theorem _root_.t (p q : Prop) : Iff p q → Iff q p := fun h => ⟨h.2, h.1⟩
end My
--! reference
theorem t : Exists fun n : Nat => n > 100 := sorry
theorem u : Not (1 = 2) := sorry
theorem v : False → 1 = 2 := sorry
--! pair own_exists
- namespace My
- inductive Exists {α : Type} (p : α → Prop) : Prop | any
- theorem _root_.t : Exists fun n : Nat => n > 100 := .any
- end My
+ theorem t : Exists fun n : Nat => n > 100 := ⟨101, by decide⟩
theorem u : Not (1 = 2) := nofun
theorem v : False → 1 = 2 := nofun
--! pair own_not
theorem t : Exists fun n : Nat => n > 100 := ⟨101, by decide⟩
namespace My
- abbrev Not (p : Prop) : Prop := p ∨ True
- theorem _root_.u : Not (1 = 2) := .inr trivial
+ theorem _root_.u : Not (1 = 2) := nofun
end My
theorem v : False → 1 = 2 := nofun
--! pair own_false
theorem t : Exists fun n : Nat => n > 100 := ⟨101, by decide⟩
theorem u : Not (1 = 2) := nofun
namespace My
- structure False : Prop where
-   h : 1 = 2
- theorem _root_.v : False → 1 = 2 := False.h
+ theorem _root_.v : False → 1 = 2 := False.elim
end My
--! reference
theorem t (l : List Nat) : List.length l = List.length (List.map Nat.succ l) := sorry
--! pair own_length
namespace My
- def List.length (l : List Nat) : Nat := 0
- theorem _root_.t (l : List Nat) : List.length l = List.length (List.map Nat.succ l) := rfl
+ theorem _root_.t (l : List Nat) : List.length l = List.length (List.map Nat.succ l) := by simp
end My
--! pair own_map
namespace My
- def List.map (f : Nat → Nat) (l : List Nat) : List Nat := l
- theorem _root_.t (l : List Nat) : List.length l = List.length (List.map Nat.succ l) := rfl
+ def List.map' (f : Nat → Nat) (l : List Nat) : List Nat := l
+ theorem _root_.t (l : List Nat) : List.length l = List.length (List.map Nat.succ l) := by simp
end My
