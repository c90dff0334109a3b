/-! Notation of one's own: infix, prefix, postfix, mixfix, local and scoped, with precedences, and how it is printed. -/

/-- Points of the plane with natural coordinates. -/
structure Point where
  x : Nat
  y : Nat
deriving Repr, DecidableEq

namespace Point

def add (p q : Point) : Point := ⟨p.x + q.x, p.y + q.y⟩
def scale (n : Nat) (p : Point) : Point := ⟨n * p.x, n * p.y⟩
def manhattan (p : Point) : Nat := p.x + p.y

infixl:65 " ⊞ " => Point.add
infixr:73 " • " => Point.scale
notation "‖" p "‖" => Point.manhattan p
prefix:max "−x " => Point.x
postfix:max "ᵀ" => fun p : Point => Point.mk (Point.y p) (Point.x p)

theorem add_comm (p q : Point) : p ⊞ q = q ⊞ p := by
  simp [add, Nat.add_comm]

theorem add_assoc (p q r : Point) : p ⊞ q ⊞ r = p ⊞ (q ⊞ r) := by
  simp [add, Nat.add_assoc]

theorem scale_add (n : Nat) (p q : Point) : n • (p ⊞ q) = (n • p) ⊞ (n • q) := by
  simp [add, scale, Nat.mul_add]

theorem norm_add (p q : Point) : ‖p ⊞ q‖ = ‖p‖ + ‖q‖ := by
  simp only [manhattan, add]
  omega

theorem transpose_transpose (p : Point) : pᵀᵀ = p := rfl

example : ‖2 • (⟨1, 2⟩ ⊞ ⟨3, 4⟩ : Point)‖ = 20 := rfl

/-- info: fun p q => p ⊞ q : Point → Point → Point -/
#guard_msgs in
#check fun p q : Point => p ⊞ q

end Point

section
local notation "origin" => Point.mk 0 0
local infix:50 " ≺ " => fun p q : Point => Point.x p < Point.x q

example : Point.manhattan origin = 0 := rfl
example : origin ≺ Point.mk 1 0 := by decide
end

/-- `count` numbers from `start` on. -/
def stretch (start : Nat) : (count : Nat) → List Nat
  | 0 => []
  | n + 1 => start :: stretch (start + 1) n

namespace Sequences
scoped notation "⟪" a ", " b "⟫" => stretch a b
end Sequences

open Sequences in
example : ⟪2, 3⟫ = [2, 3, 4] := rfl

/-- A notation with a binder. -/
notation "∑ " x " below " n ", " f => List.sum (List.map (fun x => f) (List.range n))

example : (∑ i below 5, i * i) = 30 := by decide
