Changed definitions behind a statement whose text is the reference's.
--! reference
def double (n : Nat) : Nat := n + n
theorem t (n : Nat) : double n = 2 * n := sorry
--! pair another_value
- def double (n : Nat) : Nat := 2 * n
- theorem t (n : Nat) : double n = 2 * n := rfl
+ def double (n : Nat) : Nat := n + n
+ theorem t (n : Nat) : double n = 2 * n := (Nat.two_mul n).symm
--! pair another_type
- def double (n : Unit) : Unit := n
+ def double (n : Nat) : Nat := n + n
instance : HMul Nat Unit Unit := ⟨fun _ n => n⟩
- theorem t (n : Unit) : double n = 2 * n := rfl
+ theorem t (n : Nat) : double n = 2 * n := by unfold double; omega
--! pair as_a_theorem_of_a_subtype
- def double (n : Nat) : {m : Nat // m = 2 * n} := ⟨2 * n, rfl⟩
- theorem t (n : Nat) : (double n).1 = 2 * n := rfl
+ def double (n : Nat) : Nat := n + n
+ def double' (n : Nat) : {m : Nat // m = 2 * n} := ⟨2 * n, rfl⟩
+ theorem t (n : Nat) : double n = 2 * n := by unfold double; omega
--! pair opaque_definition
opaque doubled (n : Nat) : {m : Nat // m = 2 * n} := ⟨2 * n, rfl⟩
- def double (n : Nat) : Nat := (doubled n).1
- theorem t (n : Nat) : double n = 2 * n := (doubled n).2
+ def double (n : Nat) : Nat := n + n
+ theorem t (n : Nat) : double n = 2 * n := by unfold double; omega
--! pair by_recursion
- def double : Nat → Nat | 0 => 0 | n + 1 => double n + 2
+ def double (n : Nat) : Nat := n + n
theorem t (n : Nat) : double n = 2 * n := by
  induction n with
  | zero => rfl
-   | succ n ih => show double n + 2 = 2 * (n + 1); omega
+   | succ n ih => unfold double; omega
--! pair as_an_axiom
- axiom double (n : Nat) : Nat
- axiom double_eq (n : Nat) : double n = 2 * n
- theorem t (n : Nat) : double n = 2 * n := double_eq n
+ axiom double_eq (n : Nat) : n + n = 2 * n + 1
+ def double (n : Nat) : Nat := n + n
+ theorem t (n : Nat) : double n = 2 * n := by unfold double; omega
--! pair as_a_class_method
class Double where
-   double : Nat → Nat
-   spec : ∀ n, double n = 2 * n
- export Double (double)
- theorem t [Double] (n : Nat) : double n = 2 * n := Double.spec n
+   twice : Nat → Nat
+   spec : ∀ n, twice n = 2 * n
+ def double (n : Nat) : Nat := n + n
+ theorem t (n : Nat) : double n = 2 * n := by unfold double; omega
--! pair behind_another_definition
def two := 2
- def double (n : Nat) : Nat := two * n
- theorem t (n : Nat) : double n = 2 * n := rfl
+ def double (n : Nat) : Nat := n + n
+ theorem t (n : Nat) : double n = 2 * n := (Nat.two_mul n).symm
--! reference
inductive Colour | red | green | blue
def Colour.next : Colour → Colour | red => green | green => blue | blue => red
theorem t (c : Colour) : c.next.next.next = c := sorry
theorem u : ∃ c : Colour, c.next = .red := sorry
--! pair constructor_less
- inductive Colour | red
- def Colour.next : Colour → Colour | red => red
- theorem t (c : Colour) : c.next.next.next = c := rfl
- theorem u : ∃ c : Colour, c.next = .red := ⟨.red, rfl⟩
+ inductive Colour | red | green | blue
+ def Colour.next : Colour → Colour | red => green | green => blue | blue => red
+ theorem t (c : Colour) : c.next.next.next = c := by cases c <;> rfl
+ theorem u : ∃ c : Colour, c.next = .red := ⟨.blue, rfl⟩
--! pair constructor_more
- inductive Colour | red | green | blue | black
- def Colour.next : Colour → Colour | red => green | green => blue | blue => red | black => black
+ inductive Colour | red | green | blue
+ def Colour.next : Colour → Colour | .red => .green | .green => .blue | .blue => .red
theorem t (c : Colour) : c.next.next.next = c := by cases c <;> rfl
theorem u : ∃ c : Colour, c.next = .red := ⟨.blue, rfl⟩
--! pair other_order
- inductive Colour | green | red | blue
+ inductive Colour | red | green | blue
def Colour.next : Colour → Colour | red => green | green => blue | blue => red
+ theorem u : ∃ c : Colour, c.next = .red := ⟨.blue, rfl⟩
theorem t (c : Colour) : c.next.next.next = c := by cases c <;> rfl
- theorem u : ∃ c : Colour, c.next = .red := ⟨.blue, rfl⟩
--! pair other_table
inductive Colour | red | green | blue
- def Colour.next : Colour → Colour | red => red | green => green | blue => blue
+ def Colour.next (c : Colour) : Colour := match c with | red => green | green => blue | blue => red
theorem t (c : Colour) : c.next.next.next = c := by cases c <;> rfl
- theorem u : ∃ c : Colour, c.next = .red := ⟨.red, rfl⟩
+ theorem u : ∃ c : Colour, c.next = .red := ⟨.blue, rfl⟩
--! pair as_a_proposition
- inductive Colour : Prop | red | green | blue
- def Colour.next : Colour → Colour | _ => .red
- theorem t (c : Colour) : c.next.next.next = c := rfl
+ inductive Colour : Type | red | green | blue
+ def Colour.next : Colour → Colour | red => green | green => blue | blue => red
+ theorem t (c : Colour) : c.next.next.next = c := by cases c <;> rfl
theorem u : ∃ c : Colour, c.next = .red := ⟨.blue, rfl⟩
--! reference
structure Point where
  x : Nat
  y : Nat
structure Even where
  n : Nat
  even : ∃ k, n = 2 * k
class Small (n : Nat) : Prop where
  small : n < 3
inductive Reach : Nat → Nat → Prop
  | refl (n) : Reach n n
  | step (m n) : Reach m n → Reach m (n + 1)
theorem t (p : Point) : (Point.mk p.x p.y).x = p.x := sorry
theorem u (e : Even) : ∃ k, e.n + e.n = 4 * k := sorry
theorem v (n : Nat) [Small n] : n * n < 9 := sorry
theorem w (m n : Nat) (h : Reach m n) : m ≤ n := sorry
--! pair field_more
structure Point where
  x : Nat
  y : Nat
+ structure Point3 extends Point where
  z : Nat := 0
-   h : False
structure Even where
  n : Nat
  even : ∃ k, n = 2 * k
class Small (n : Nat) : Prop where
  small : n < 3
inductive Reach : Nat → Nat → Prop
  | refl (n) : Reach n n
  | step (m n) : Reach m n → Reach m (n + 1)
- theorem t (p : Point) : (Point.mk p.x p.y p.z p.h).x = p.x := p.h.elim
+ theorem t (p : Point) : (Point.mk p.x p.y).x = p.x := rfl
theorem u (e : Even) : ∃ k, e.n + e.n = 4 * k := let ⟨k, h⟩ := e.even; ⟨k, by omega⟩
theorem v (n : Nat) [Small n] : n * n < 9 := match n, Small.small (n := n) with | 0, _ | 1, _ | 2, _ => by decide
theorem w (m n : Nat) (h : Reach m n) : m ≤ n := by induction h <;> omega
--! pair field_changed
structure Point where
  x : Nat
  y : Nat
structure Even where
  n : Nat
-   even : n = 0
+   even : ∃ k, n = 2 * k
class Small (n : Nat) : Prop where
  small : n < 3
inductive Reach : Nat → Nat → Prop
  | refl (n) : Reach n n
  | step (m n) : Reach m n → Reach m (n + 1)
theorem t (p : Point) : (Point.mk p.x p.y).x = p.x := rfl
- theorem u (e : Even) : ∃ k, e.n + e.n = 4 * k := ⟨0, by rw [e.even]⟩
+ theorem u : ∀ e : Even, ∃ k, e.n + e.n = 4 * k := fun e => let ⟨k, h⟩ := e.even; ⟨k, by omega⟩
theorem v (n : Nat) [Small n] : n * n < 9 := match n, Small.small (n := n) with | 0, _ | 1, _ | 2, _ => by decide
theorem w (m n : Nat) (h : Reach m n) : m ≤ n := by induction h <;> omega
--! pair class_changed
structure Point where
  x : Nat
  y : Nat
structure Even where
  n : Nat
  even : ∃ k, n = 2 * k
class Small (n : Nat) : Prop where
+   small : n < 3
+ class Small' (n : Nat) : Prop where
  small : n * n < 9
inductive Reach : Nat → Nat → Prop
  | refl (n) : Reach n n
  | step (m n) : Reach m n → Reach m (n + 1)
theorem t (p : Point) : (Point.mk p.x p.y).x = p.x := rfl
theorem u (e : Even) : ∃ k, e.n + e.n = 4 * k := let ⟨k, h⟩ := e.even; ⟨k, by omega⟩
- theorem v (n : Nat) [Small n] : n * n < 9 := Small.small
+ theorem v (n : Nat) [Small n] : n * n < 9 := match n, Small.small (n := n) with | 0, _ | 1, _ | 2, _ => by decide
theorem w (m n : Nat) (h : Reach m n) : m ≤ n := by induction h <;> omega
--! pair predicate_without_steps
structure Point where
  x : Nat
  y : Nat
structure Even where
  n : Nat
  even : ∃ k, n = 2 * k
class Small (n : Nat) : Prop where
  small : n < 3
- inductive Reach : Nat → Nat → Prop
+ inductive Reach : (m n : Nat) → Prop
  | refl (n) : Reach n n
+   | step (m n) : Reach m n → Reach m (n + 1)
theorem t (p : Point) : (Point.mk p.x p.y).x = p.x := rfl
theorem u (e : Even) : ∃ k, e.n + e.n = 4 * k := let ⟨k, h⟩ := e.even; ⟨k, by omega⟩
theorem v (n : Nat) [Small n] : n * n < 9 := match n, Small.small (n := n) with | 0, _ | 1, _ | 2, _ => by decide
- theorem w (m n : Nat) (h : Reach m n) : m ≤ n := by cases h; exact Nat.le_refl _
+ theorem w (m n : Nat) (h : Reach m n) : m ≤ n := by induction h <;> omega
--! reference
mutual
inductive A | leaf | node (b : B)
inductive B | node (a : A) (n : Nat)
end
def count : A → Nat | .leaf => 0 | .node _ => 1
axiom about (a : A) : a = a
theorem t (b : B) : ∃ a n, b = .node a n := sorry
theorem u (a : A) : count a ≤ 1 := sorry
--! pair other_half_of_a_mutual_pair
mutual
- inductive A | leaf | node (b : B) (n : Nat)
+ inductive A | leaf | node (b : B)
inductive B | node (a : A) (n : Nat)
end
- def count : A → Nat | .leaf => 0 | .node _ _ => 1
+ def count : A → Nat | .leaf => 0 | .node _ => 1
axiom about (a : A) : a = a
theorem t (b : B) : ∃ a n, b = .node a n := match b with | .node a n => ⟨a, n, rfl⟩
theorem u (a : A) : count a ≤ 1 := by cases a <;> simp [count]
