module
prelude
public import Pocket.Nat.Order
@[expose] public section
/-! What Lean's native simplification procedures for numbers (`x + 3 = y + 5`, `x + 3 ≤ 5`, ...) cite in their proofs. -/
set_option autoImplicit false
universe u

namespace Nat.Simproc

/-! ## Subtraction -/

theorem sub_add_eq_comm (a b c : Nat) : a - (b + c) = a - c - b := by rw [Nat.add_comm b c, Nat.sub_add_eq]
theorem add_sub_add_ge (a c : Nat) {b d : Nat} (h : b ≥ d) : a + b - (c + d) = a + (b - d) - c := by
  rw [Nat.add_comm c d, Nat.sub_add_eq, Nat.add_sub_assoc h]
theorem add_sub_add_le (a c : Nat) {b d : Nat} (h : b ≤ d) : a + b - (c + d) = a - (c + (d - b)) := by
  rw [← Nat.add_sub_add_right a b, Nat.add_assoc c, Nat.sub_add_cancel h]
theorem add_sub_le (a : Nat) {b c : Nat} (h : b ≤ c) : a + b - c = a - (c - b) := by
  rw [← Nat.add_sub_add_right a b (c - b), Nat.sub_add_cancel h]

/-! ## Equality -/

theorem add_eq_gt (a : Nat) {b c : Nat} (h : b > c) : (a + b = c) = False :=
  eq_false (Nat.ne_of_gt (Nat.lt_of_lt_of_le h (Nat.le_add_left b a)))
theorem eq_add_gt (a : Nat) {b c : Nat} (h : c > a) : (a = b + c) = False :=
  eq_false (Nat.ne_of_lt (Nat.lt_of_lt_of_le h (Nat.le_add_left c b)))
theorem add_eq_add_le (a c : Nat) {b d : Nat} (h : b ≤ d) : (a + b = c + d) = (a = c + (d - b)) :=
  propext ⟨fun e => Nat.add_right_cancel (m := b) (by rw [e, Nat.add_assoc, Nat.sub_add_cancel h]),
    fun e => by rw [e, Nat.add_assoc, Nat.sub_add_cancel h]⟩
theorem add_eq_add_ge (a c : Nat) {b d : Nat} (h : b ≥ d) : (a + b = c + d) = (a + (b - d) = c) :=
  (propext eq_comm).trans ((add_eq_add_le c a h).trans (propext eq_comm))
theorem add_eq_le (a : Nat) {b c : Nat} (h : b ≤ c) : (a + b = c) = (a = c - b) := by
  have e := add_eq_add_le a 0 h
  rwa [Nat.zero_add, Nat.zero_add] at e
theorem eq_add_le {a : Nat} (b : Nat) {c : Nat} (h : c ≤ a) : (a = b + c) = (b = a - c) :=
  (propext eq_comm).trans (add_eq_le b h)

/-! ## Order -/

theorem add_le_add_le (a c : Nat) {b d : Nat} (h : b ≤ d) : (a + b ≤ c + d) = (a ≤ c + (d - b)) := by
  have e : a + b ≤ c + (d - b) + b ↔ a ≤ c + (d - b) := Nat.add_le_add_iff_right
  rw [Nat.add_assoc, Nat.sub_add_cancel h] at e
  exact propext e
theorem add_le_add_ge (a c : Nat) {b d : Nat} (h : b ≥ d) : (a + b ≤ c + d) = (a + (b - d) ≤ c) := by
  have e : a + (b - d) + d ≤ c + d ↔ a + (b - d) ≤ c := Nat.add_le_add_iff_right
  rw [Nat.add_assoc, Nat.sub_add_cancel h] at e
  exact propext e
theorem add_le_le (a : Nat) {b c : Nat} (h : b ≤ c) : (a + b ≤ c) = (a ≤ c - b) := by
  have e := add_le_add_le a 0 h
  rwa [Nat.zero_add, Nat.zero_add] at e
theorem add_le_gt (a : Nat) {b c : Nat} (h : b > c) : (a + b ≤ c) = False :=
  eq_false (Nat.not_le_of_gt (Nat.lt_of_lt_of_le h (Nat.le_add_left b a)))
theorem le_add_le (a : Nat) {b c : Nat} (h : a ≤ c) : (a ≤ b + c) = True := eq_true (Nat.le_trans h (Nat.le_add_left c b))
theorem le_add_ge {a : Nat} (b : Nat) {c : Nat} (h : a ≥ c) : (a ≤ b + c) = (a - c ≤ b) := propext Nat.sub_le_iff_le_add.symm
end Nat.Simproc

def Nat.Internal.elimOffset {α : Sort u} (a b k : Nat) (h₁ : a + k = b + k) (h₂ : a = b → α) : α := h₂ (Nat.add_right_cancel h₁)
