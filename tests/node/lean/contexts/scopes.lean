universe u
open Nat (succ)
namespace A.B
variable (p : Prop)
theorem one (h : p) : p := h
/-- About
two. -/
section
variable {q : Prop}
open Classical in
theorem two (h : q) : q := h
end
section Inner
set_option maxRecDepth 600
set_option maxHeartbeats 400 in
theorem three : True := trivial
mutual
theorem even : True := trivial
theorem odd : True := trivial
end
private theorem four : True := trivial -- private to nobody
end Inner
end B
local notation "⟪" x "⟫" => x
noncomputable section
theorem five : True := trivial
