module
prelude
public import Pocket.Nat.Div
@[expose] public section
/-! Classes behind the notation of shifts and bitwise operations, and their instances for natural numbers. -/
set_option autoImplicit false
universe u v w

class HAnd (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAnd : α → β → γ
class HOr (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hOr : α → β → γ
class HXor (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hXor : α → β → γ
class HShiftLeft (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hShiftLeft : α → β → γ
class HShiftRight (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hShiftRight : α → β → γ
class AndOp (α : Type u) where
  and : α → α → α
class OrOp (α : Type u) where
  or : α → α → α
class XorOp (α : Type u) where
  xor : α → α → α
class ShiftLeft (α : Type u) where
  shiftLeft : α → α → α
class ShiftRight (α : Type u) where
  shiftRight : α → α → α
@[default_instance] instance instHAndOfAndOp {α : Type u} [AndOp α] : HAnd α α α := ⟨AndOp.and⟩
@[default_instance] instance instHOrOfOrOp {α : Type u} [OrOp α] : HOr α α α := ⟨OrOp.or⟩
@[default_instance] instance instHXorOfXorOp {α : Type u} [XorOp α] : HXor α α α := ⟨XorOp.xor⟩
@[default_instance] instance instHShiftLeftOfShiftLeft {α : Type u} [ShiftLeft α] : HShiftLeft α α α := ⟨ShiftLeft.shiftLeft⟩
@[default_instance] instance instHShiftRightOfShiftRight {α : Type u} [ShiftRight α] : HShiftRight α α α := ⟨ShiftRight.shiftRight⟩

namespace Nat
instance instAndOp : AndOp Nat := ⟨Nat.land⟩
instance instOrOp : OrOp Nat := ⟨Nat.lor⟩
instance instXorOp : XorOp Nat := ⟨Nat.xor⟩
instance instShiftLeft : ShiftLeft Nat := ⟨Nat.shiftLeft⟩
instance instShiftRight : ShiftRight Nat := ⟨Nat.shiftRight⟩
theorem shiftLeft_eq (a b : Nat) : a <<< b = a * 2 ^ b := shiftLeft_eq_mul_pow a b
theorem shiftRight_eq_div_pow' (a b : Nat) : a >>> b = a / 2 ^ b := shiftRight_eq_div_pow a b
@[simp] theorem shiftLeft_zero {n : Nat} : n <<< 0 = n := rfl
@[simp] theorem shiftRight_zero {n : Nat} : n >>> 0 = n := rfl
theorem shiftLeft_succ (m n : Nat) : m <<< (n + 1) = 2 * (m <<< n) := by
  rw [shiftLeft_eq, shiftLeft_eq, Nat.pow_succ, ← Nat.mul_assoc, Nat.mul_comm]
theorem shiftRight_succ (m n : Nat) : m >>> (n + 1) = (m >>> n) / 2 := rfl
end Nat
