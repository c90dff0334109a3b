Options, attributes, commands that could change what is checked or shown.
--! reference
theorem t (x y : Nat) (h : x = y) : x * x = y * y := sorry
--! pair auto_implicit
set_option autoImplicit true
- theorem t (x y : N) [Mul N] (h : x = y) : x * x = y * y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair relaxed_auto_implicit
set_option autoImplicit true
set_option relaxedAutoImplicit true
- theorem t (x y : Natural) [Mul Natural] (h : x = y) : x * x = y * y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair skip_kernel
set_option debug.skipKernelTC true
- axiom Nat' : Type
- theorem t (x y : Nat) (h : x = y) : x * x = x * x := rfl
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair false_behind_the_kernels_back
set_option debug.skipKernelTC true
theorem false : False := by decide +kernel
- theorem t (x y : Nat) (h : x = y) : x * x = y * y := false.elim
- #print axioms t
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair unchecked_proof_inside_the_theorem
set_option debug.skipKernelTC true
theorem t (x y : Nat) (h : x = y) : x * x = y * y := by
-   have k : 1 = 2 := by decide +kernel
-   exact absurd k (by decide)
+   have k : 1 ≠ 2 := by decide +kernel
+   exact h ▸ rfl
--! pair imported_from_behind_the_kernels_back
import Below
- theorem t (x y : Nat) (h : x = y) : x * x = y * y := below.2.elim
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := h ▸ below.1
--! file Below
set_option debug.skipKernelTC true
- theorem below : 1 = 2 ∧ False := by decide +kernel
+ theorem below {x : Nat} : x * x = x * x ∧ True := ⟨rfl, trivial⟩
--! pair implemented_by
def square (n : Nat) : Nat := n * n
@[implemented_by square] def constant (_ : Nat) : Nat := 0
- theorem t (x y : Nat) (h : x = y) : constant x = constant y := rfl
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := congrArg square h
--! pair csimp
def slow (x : Nat) : Nat := x
def fast (x : Nat) : Nat := x
@[csimp] theorem slow_eq : @slow = @fast := rfl
- theorem t (x y : Nat) (h : x = y) : slow x = fast y := h
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair extern
@[extern "lean_nat_mul"] opaque mul : Nat → Nat → Nat
- theorem t (x y : Nat) (h : x = y) : mul x x = mul y y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair printed_otherwise
- local notation (priority := low) x "*" x => Nat.succ x
- theorem t (x y : Nat) (h : x = y) : Nat.succ x = Nat.succ y := by rw [h]
+ local notation (priority := low) x "⋆" x => Nat.succ x
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
#print t
--! pair pretty_printer
set_option pp.all true
set_option pp.explicit true
- theorem t (x y : Int) (h : x = y) : x * x = y * y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair reducible
@[reducible] def Mult (x y : Nat) : Nat := x * y
- theorem t (x y : Nat) (h : x = y) : Mult x x = Mult y y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := show Mult x x = Mult y y by rw [h]
--! pair irreducible_seal
@[irreducible] def zero (x : Nat) : Nat := x - x
- theorem t (x y : Nat) (h : x = y) : x * x * zero x = y * y * zero y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair max_rec_depth
set_option maxRecDepth 100000
set_option maxHeartbeats 0
- theorem t (x y : Nat) (h : x = y) : x * x = x * y := by rw [h]
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair default_instance
- @[default_instance high] instance : HMul Nat Nat Int := ⟨fun _ _ => 0⟩
- theorem t (x y : Nat) (h : x = y) : (x * x : Int) = (y * y : Int) := by rw [h]
+ @[default_instance low] instance : HMul Nat Bool Int := ⟨fun _ _ => 0⟩
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := by rw [h]
--! pair erased_instance
- attribute [-instance] instMulNat
- instance : Mul Nat := ⟨fun x _ => x⟩
- theorem t (x y : Nat) (h : x = y) : x * x = y * y := h
+ attribute [-simp] Nat.mul_zero
+ instance : Mul Bool := ⟨fun x _ => x⟩
+ theorem t (x y : Nat) (h : x = y) : x * x = y * y := h ▸ rfl
--! refused unknown_option
set_option proofmesh.trust true
theorem t (x y : Nat) (h : x = y) : x * x = x * x := rfl
