module
prelude
public import Pocket.Prelude
@[expose] public section
/-!
The functions that the kernel computes natively, by name, on literals.

Soundness rests on this file: a definition here that disagrees with the native function would make the logic inconsistent. Every
definition is by structural recursion; where the mathematical recursion is not structural, a `fuel` argument bounds the number of
steps and is always at least as large as needed. tests/node/lean/toolchain/pocket compares definition, kernel and Python's integers.
-/
set_option autoImplicit false
set_option bootstrap.genMatcherCode false
universe u

@[match_pattern, extern "lean_nat_add"] def Nat.add : Nat → Nat → Nat
  | n, zero => n
  | n, succ m => succ (Nat.add n m)

@[extern "lean_nat_mul"] def Nat.mul : Nat → Nat → Nat
  | _, zero => zero
  | n, succ m => Nat.add (Nat.mul n m) n

@[extern "lean_nat_pow"] def Nat.pow (m : Nat) : Nat → Nat
  | zero => succ zero
  | succ n => Nat.mul (Nat.pow m n) m

@[extern "lean_nat_pred"] def Nat.pred : Nat → Nat
  | zero => zero
  | succ n => n

/-- Truncated: `n - m = 0` for `n ≤ m`. -/
@[extern "lean_nat_sub"] def Nat.sub : Nat → Nat → Nat
  | n, zero => n
  | n, succ m => Nat.pred (Nat.sub n m)

@[extern "lean_nat_dec_eq"] def Nat.beq : Nat → Nat → Bool
  | zero, zero => true
  | zero, succ _ => false
  | succ _, zero => false
  | succ n, succ m => Nat.beq n m

@[extern "lean_nat_dec_le"] def Nat.ble : Nat → Nat → Bool
  | zero, _ => true
  | succ _, zero => false
  | succ n, succ m => Nat.ble n m

/-! ## Equality of numbers is decided by `Nat.beq`; inductive types compare constructor indices with it -/

theorem Nat.eq_of_beq_eq_true : (n m : Nat) → Eq (Nat.beq n m) true → Eq n m
  | zero, zero, _ => rfl
  | zero, succ _, h => Bool.noConfusion h
  | succ _, zero, h => Bool.noConfusion h
  | succ n, succ m, h => congrArg succ (eq_of_beq_eq_true n m h)
theorem Nat.beq_self : (n : Nat) → Eq (Nat.beq n n) true
  | zero => rfl
  | succ n => beq_self n
theorem Nat.ne_of_beq_eq_false (n m : Nat) (h : Eq (Nat.beq n m) false) : Not (Eq n m) :=
  fun e => Bool.noConfusion (Eq.trans (Eq.symm h) (Eq.subst (motive := fun k => Eq (Nat.beq n k) true) e (beq_self n)))
@[reducible] def Bool.ctorIdx : Bool → Nat
  | false => Nat.zero
  | true => Nat.succ Nat.zero
theorem noConfusion_of_Nat {α : Sort u} (f : α → Nat) {a b : α} (h : Eq a b) :
    Bool.rec (motive := fun _ => Prop) False True (Nat.beq (f a) (f b)) :=
  Eq.subst (motive := fun k => Bool.rec (motive := fun _ => Prop) False True (Nat.beq (f a) (f k))) h
    (Eq.subst (motive := fun k => Bool.rec (motive := fun _ => Prop) False True k) (Eq.symm (Nat.beq_self (f a)))
      True.intro)
@[extern "lean_nat_dec_eq"] def Nat.decEq (n m : Nat) : Decidable (Eq n m) :=
  match h : Nat.beq n m with
  | true => isTrue (Nat.eq_of_beq_eq_true n m h)
  | false => isFalse (Nat.ne_of_beq_eq_false n m h)
instance instDecidableEqNat : DecidableEq Nat := Nat.decEq
@[reducible] def Nat.ctorIdx : Nat → Nat
  | zero => zero
  | succ _ => succ zero

/-! ## Division, digits and shifts -/

/-- Quotient by repeated subtraction; `y` is positive, and `fuel > x` suffices. -/
def Nat.div.go (y : Nat) : (fuel x : Nat) → Nat
  | zero, _ => zero
  | succ fuel, x => match Nat.ble y x with
    | true => succ (Nat.div.go y fuel (Nat.sub x y))
    | false => zero
/-- `n / 0 = 0`. -/
@[extern "lean_nat_div"] def Nat.div : Nat → Nat → Nat
  | _, zero => zero
  | n, succ m => Nat.div.go (succ m) (succ n) n

/-- Remainder by repeated subtraction; `y` is positive, and `fuel > x` suffices. -/
def Nat.mod.go (y : Nat) : (fuel x : Nat) → Nat
  | zero, x => x
  | succ fuel, x => match Nat.ble y x with
    | true => Nat.mod.go y fuel (Nat.sub x y)
    | false => x
/-- `n % 0 = n`. -/
@[extern "lean_nat_mod"] def Nat.mod : Nat → Nat → Nat
  | n, zero => n
  | n, succ m => Nat.mod.go (succ m) (succ n) n

/-- Euclid's algorithm; the first argument falls in every step, so `fuel > m` suffices. -/
def Nat.gcd.go : (fuel m n : Nat) → Nat
  | zero, _, n => n
  | succ _, zero, n => n
  | succ fuel, succ m, n => Nat.gcd.go fuel (Nat.mod n (succ m)) (succ m)
@[extern "lean_nat_gcd"] def Nat.gcd (m n : Nat) : Nat := Nat.gcd.go (succ m) m n

/-- Halvings until less than 2; `fuel ≥ n` suffices. -/
def Nat.log2.go : (fuel n : Nat) → Nat
  | zero, _ => zero
  | succ fuel, n => match Nat.ble 2 n with
    | true => succ (Nat.log2.go fuel (Nat.div n 2))
    | false => zero
/-- Logarithm to base 2, rounded down; `log2 0 = 0`. -/
@[extern "lean_nat_log2"] def Nat.log2 (n : Nat) : Nat := Nat.log2.go n n

/-- Combine the binary digits of two numbers; `digit 0 0 = 0`, and a fuel of at least both numbers suffices. -/
def Nat.digits.go (digit : Nat → Nat → Nat) : (fuel n m : Nat) → Nat
  | zero, _, _ => zero
  | succ fuel, n, m =>
    Nat.add (Nat.mul 2 (Nat.digits.go digit fuel (Nat.div n 2) (Nat.div m 2))) (digit (Nat.mod n 2) (Nat.mod m 2))
@[extern "lean_nat_land"] def Nat.land (n m : Nat) : Nat := Nat.digits.go Nat.mul (Nat.add n m) n m
@[extern "lean_nat_lor"] def Nat.lor (n m : Nat) : Nat :=
  Nat.digits.go (fun a b => Nat.sub (Nat.add a b) (Nat.mul a b)) (Nat.add n m) n m
@[extern "lean_nat_lxor"] def Nat.xor (n m : Nat) : Nat :=
  Nat.digits.go (fun a b => Nat.mod (Nat.add a b) 2) (Nat.add n m) n m

@[extern "lean_nat_shiftl"] def Nat.shiftLeft : Nat → Nat → Nat
  | n, zero => n
  | n, succ m => Nat.shiftLeft (Nat.mul 2 n) m
@[extern "lean_nat_shiftr"] def Nat.shiftRight : Nat → Nat → Nat
  | n, zero => n
  | n, succ m => Nat.div (Nat.shiftRight n m) 2
