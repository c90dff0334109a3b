prelude
import Pocket.Coe
import Pocket.Nat.Order
/-! Numbers below a bound: the type. -/
set_option autoImplicit false

structure Fin (n : Nat) where mk ::
  val : Nat
  isLt : val < n
attribute [coe] Fin.val
instance instLTFin {n : Nat} : LT (Fin n) := ⟨fun a b => a.val < b.val⟩
instance instLEFin {n : Nat} : LE (Fin n) := ⟨fun a b => a.val ≤ b.val⟩
theorem Fin.eq_of_val_eq {n : Nat} : ∀ {i j : Fin n}, i.val = j.val → i = j
  | ⟨_, _⟩, ⟨_, _⟩, rfl => rfl
theorem Fin.val_eq_of_eq {n : Nat} {i j : Fin n} (h : i = j) : i.val = j.val := congrArg Fin.val h
instance instDecidableEqFin (n : Nat) : DecidableEq (Fin n) := fun i j =>
  match Nat.decEq i.val j.val with
  | isTrue h => isTrue (Fin.eq_of_val_eq h)
  | isFalse h => isFalse fun e => h (Fin.val_eq_of_eq e)
instance Fin.decLt {n : Nat} (a b : Fin n) : Decidable (a < b) := Nat.decLt ..
instance Fin.decLe {n : Nat} (a b : Fin n) : Decidable (a ≤ b) := Nat.decLe ..
