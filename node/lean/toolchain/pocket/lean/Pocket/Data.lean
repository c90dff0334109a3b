module
prelude
public import Pocket.Nat.Kernel
@[expose] public section
/-! Basic types, and classes that the elaborator knows by name. -/
set_option autoImplicit false
universe u v w

@[macro_inline] def cond {α : Sort u} (c : Bool) (x y : α) : α := match c with
  | true => x
  | false => y

inductive Nat.le (n : Nat) : Nat → Prop where
  | refl : Nat.le n n
  | step {m : Nat} (h : Nat.le n m) : Nat.le n (succ m)

@[macro_inline, implicit_reducible] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α) (e : Not c → α) : α :=
  h.decide.casesOn e t h.reflects_decide
@[macro_inline, implicit_reducible] def ite {α : Sort u} (c : Prop) [Decidable c] (t e : α) : α := dite c (fun _ => t) fun _ => e

inductive List (α : Type u) where
  | nil : List α
  | cons (head : α) (tail : List α) : List α
inductive Option (α : Type u) where
  | none : Option α
  | some (val : α) : Option α
export Option (none some)
inductive Sum (α : Type u) (β : Type v) where
  | inl (val : α) : Sum α β
  | inr (val : β) : Sum α β
structure Sigma {α : Type u} (β : α → Type v) where mk ::
  fst : α
  snd : β fst
structure PSigma {α : Sort u} (β : α → Sort v) where mk ::
  fst : α
  snd : β fst

structure Iff (a b : Prop) : Prop where intro ::
  mp : a → b
  mpr : b → a
inductive Exists {α : Sort u} (p : α → Prop) : Prop where
  | intro (w : α) (h : p w) : Exists p
@[reducible] def Ne {α : Sort u} (a b : α) : Prop := Not (Eq a b)
@[reducible] def autoParam.{w1} (α : Sort w1) (_tactic : Nat) : Sort w1 := α
set_option checkBinderAnnotations false in
@[reducible] def inferInstance {α : Sort u} [i : α] : α := i

@[inline] def Function.const {α : Sort u} (β : Sort v) (a : α) : β → α := fun _ => a
@[inline] def Function.comp {α : Sort u} {β : Sort v} {δ : Sort w} (f : β → δ) (g : α → β) : α → δ := fun x => f (g x)

/-! ## Boolean connectives -/


@[macro_inline] def Bool.or (x y : Bool) : Bool := match x with
  | true => true
  | false => y
@[macro_inline] def Bool.and (x y : Bool) : Bool := match x with
  | false => false
  | true => y
@[inline] def Bool.not (x : Bool) : Bool := match x with
  | true => false
  | false => true
export Bool (or and not)
@[inline] def Bool.xor (x y : Bool) : Bool := match x with
  | true => Bool.not y
  | false => y
export Bool (xor)

/-! ## Classes behind the notation -/

class HAdd (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAdd : α → β → γ
class HSub (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hSub : α → β → γ
class HMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hMul : α → β → γ
class HDiv (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hDiv : α → β → γ
class HMod (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hMod : α → β → γ
class HPow (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hPow : α → β → γ
class HAppend (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAppend : α → β → γ
class Add (α : Type u) where
  add : α → α → α
class Sub (α : Type u) where
  sub : α → α → α
class Mul (α : Type u) where
  mul : α → α → α
class Neg (α : Type u) where
  neg : α → α
class Div (α : Type u) where
  div : α → α → α
class Mod (α : Type u) where
  mod : α → α → α
class Dvd (α : Type u) where
  dvd : α → α → Prop
class Pow (α : Type u) (β : Type v) where
  pow : α → β → α
class NatPow (α : Type u) where
  pow : α → Nat → α
class Append (α : Type u) where
  append : α → α → α
class LE (α : Type u) where
  le : α → α → Prop
class LT (α : Type u) where
  lt : α → α → Prop
class Max (α : Type u) where
  max : α → α → α
export Max (max)
class Min (α : Type u) where
  min : α → α → α
export Min (min)
class BEq (α : Type u) where
  beq : α → α → Bool
class Membership (α : outParam (Type u)) (γ : Type v) where
  mem : γ → α → Prop
class HasSubset (α : Type u) where
  Subset : α → α → Prop
export HasSubset (Subset)
class EmptyCollection (α : Type u) where
  emptyCollection : α

@[default_instance] instance instHAdd {α : Type u} [Add α] : HAdd α α α := ⟨Add.add⟩
@[default_instance] instance instHSub {α : Type u} [Sub α] : HSub α α α := ⟨Sub.sub⟩
@[default_instance] instance instHMul {α : Type u} [Mul α] : HMul α α α := ⟨Mul.mul⟩
@[default_instance] instance instHDiv {α : Type u} [Div α] : HDiv α α α := ⟨Div.div⟩
@[default_instance] instance instHMod {α : Type u} [Mod α] : HMod α α α := ⟨Mod.mod⟩
@[default_instance] instance instHPow {α : Type u} {β : Type v} [Pow α β] : HPow α β α := ⟨Pow.pow⟩
@[default_instance] instance instPowNat {α : Type u} [NatPow α] : Pow α Nat := ⟨NatPow.pow⟩
@[default_instance] instance instHAppendOfAppend {α : Type u} [Append α] : HAppend α α α := ⟨Append.append⟩

instance instAddNat : Add Nat := ⟨Nat.add⟩
instance instSubNat : Sub Nat := ⟨Nat.sub⟩
instance instMulNat : Mul Nat := ⟨Nat.mul⟩
instance Nat.instDiv : Div Nat := ⟨Nat.div⟩
instance Nat.instMod : Mod Nat := ⟨Nat.mod⟩
instance instNatPowNat : NatPow Nat := ⟨Nat.pow⟩
instance instLENat : LE Nat := ⟨Nat.le⟩
@[reducible] def Nat.lt (n m : Nat) : Prop := Nat.le (Nat.succ n) m
instance instLTNat : LT Nat := ⟨Nat.lt⟩
instance Nat.instDvd : Dvd Nat := ⟨fun a b => Exists fun c => Eq b (HMul.hMul a c)⟩

@[reducible] def GE.ge {α : Type u} [LE α] (a b : α) : Prop := LE.le b a
@[reducible] def GT.gt {α : Type u} [LT α] (a b : α) : Prop := LT.lt b a
attribute [match_pattern] Add.add HAdd.hAdd
@[inline] def bne {α : Type u} [BEq α] (a b : α) : Bool := Bool.not (BEq.beq a b)
instance instBEqOfDecidableEq {α : Type u} [DecidableEq α] : BEq α := ⟨fun a b => decide (Eq a b)⟩

class Trans.{u1, u2, u3, v1, v2, v3} {α : Sort v1} {β : Sort v2} {γ : Sort v3}
    (r : α → β → Sort u1) (s : β → γ → Sort u2) (t : outParam (α → γ → Sort u3)) where
  trans {a : α} {b : β} {c : γ} : r a b → s b c → t a c
class Subsingleton (α : Sort u) : Prop where
  allEq : (a b : α) → Eq a b
