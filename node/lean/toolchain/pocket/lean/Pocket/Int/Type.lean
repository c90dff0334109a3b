module
prelude
public import Pocket.Coe
@[expose] public section
/-! The type of the integers. Its laws are in Pocket.Int.Basic. -/
set_option autoImplicit false

set_option genCtorIdx false in
inductive Int : Type where
  | ofNat : Nat → Int
  | negSucc : Nat → Int
/-- Written by hand, because compiled code for a case distinction needs `Int.decLt`. -/
@[reducible] noncomputable def Int.ctorIdx (n : Int) : Nat := n.casesOn (fun _ => 0) (fun _ => 1)
attribute [extern "lean_nat_to_int"] Int.ofNat
attribute [extern "lean_int_neg_succ_of_nat"] Int.negSucc
instance instOfNat {n : Nat} : OfNat Int n := ⟨Int.ofNat n⟩
