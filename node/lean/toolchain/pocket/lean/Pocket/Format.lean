module
prelude
public import Pocket.String
public import Pocket.Int.Type
@[expose] public section
/-!
How values are shown: text with possible line breaks (`Std.Format`), and the classes `Repr` and `ToString`. Lean prints native values of
`Std.Format`: its constructors are in core's order.
-/
set_option autoImplicit false
universe u v

namespace Std
inductive Format.FlattenBehavior where
  | allOrNone
  | fill
inductive Format where
  | nil : Format
  | line : Format
  | align (force : Bool) : Format
  | text : String → Format
  | nest (indent : Int) (f : Format) : Format
  | append : Format → Format → Format
  | group : Format → (behavior : Format.FlattenBehavior := Format.FlattenBehavior.allOrNone) → Format
  | tag : Nat → Format → Format
namespace Format
instance : Inhabited Format := ⟨nil⟩
instance : Append Format := ⟨Format.append⟩
instance : Coe String Format := ⟨text⟩
def isNil : Format → Bool
  | nil => true
  | _ => false
def fill (f : Format) : Format := group f .fill
def join (xs : List Format) : Format := xs.foldl (· ++ ·) (text "")
def bracket (l : String) (f : Format) (r : String) : Format := group (nest (.ofNat l.length) (text l ++ f ++ text r))
def paren (f : Format) : Format := bracket "(" f ")"
def sbracket (f : Format) : Format := bracket "[" f "]"
def bracketFill (l : String) (f : Format) (r : String) : Format := fill (nest (.ofNat l.length) (text l ++ f ++ text r))
def defIndent : Nat := 2
def defWidth : Nat := 120
def nestD (f : Format) : Format := nest (.ofNat defIndent) f
def indentD (f : Format) : Format := nestD (line ++ f)
/-- The text, in lines of this width where possible. -/
@[extern "x"] opaque pretty (f : Format) (width : Nat := defWidth) (indent : Nat := 0) (column : Nat := 0) : String
end Format
class ToFormat (α : Type u) where
  format : α → Format
export ToFormat (format)
instance : ToFormat Format := ⟨fun f => f⟩
instance : ToFormat String := ⟨Format.text⟩
def Format.joinSep {α : Type u} [ToFormat α] : List α → Format → Format
  | [], _ => nil
  | a :: as, sep => as.foldl (fun f b => f ++ sep ++ format b) (format a)
def Format.prefixJoin {α : Type u} [ToFormat α] (pre : Format) (as : List α) : Format := as.foldl (fun f a => f ++ pre ++ format a) nil
def Format.joinSuffix {α : Type u} [ToFormat α] (as : List α) (suffix : Format) : Format := as.foldl (fun f a => f ++ format a ++ suffix) nil
end Std
open Std

/-! ## Numbers and characters as text -/

namespace Nat
def digitChar (n : Nat) : Char :=
  if n < 10 then .ofNat (48 + n) else if n < 16 then .ofNat (87 + n) else '*'
/-- Digits in front of others, the last one first; `fuel > n` suffices. -/
def toDigitsCore (base : Nat) : (fuel n : Nat) → List Char → List Char
  | 0, _, ds => ds
  | fuel + 1, n, ds => if n / base = 0 then digitChar (n % base) :: ds else toDigitsCore base fuel (n / base) (digitChar (n % base) :: ds)
def toDigits (base : Nat) (n : Nat) : List Char := toDigitsCore base (n + 1) n []
@[extern "x"] def reprFast (n : Nat) : String := String.ofList (toDigits 10 n)
@[implemented_by reprFast] protected def repr (n : Nat) : String := String.ofList (toDigits 10 n)
end Nat
@[extern "x"] opaque Char.quote (c : Char) : String
@[extern "x"] opaque String.quote (s : String) : String

/-! ## `Repr`: as Lean code -/

class Repr (α : Type u) where
  reprPrec : α → Nat → Format
export Repr (reprPrec)
abbrev repr {α : Type u} [Repr α] (a : α) : Format := reprPrec a 0
abbrev reprStr {α : Type u} [Repr α] (a : α) : String := (reprPrec a 0).pretty
abbrev reprArg {α : Type u} [Repr α] (a : α) : Format := reprPrec a max_prec
/-- Types of small values: lists of them fill their lines. -/
class ReprAtom (α : Type u)
def Repr.addAppParen (f : Format) (prec : Nat) : Format := if prec ≥ max_prec then Format.paren f else f
instance {α : Type u} [Repr α] : Repr (id α) := inferInstanceAs (Repr α)
instance : Repr Empty := ⟨nofun⟩
protected def Bool.repr : Bool → Nat → Format
  | true, _ => .text "true"
  | false, _ => .text "false"
instance : Repr Bool := ⟨Bool.repr⟩
instance {p : Prop} : Repr (Decidable p) := ⟨fun d prec => match d with
  | .isTrue _ => Repr.addAppParen (.text "isTrue _") prec
  | .isFalse _ => Repr.addAppParen (.text "isFalse _") prec⟩
instance : Repr PUnit.{u + 1} := ⟨fun _ _ => .text "PUnit.unit"⟩
instance : Repr Unit := ⟨fun _ _ => .text "()"⟩
instance {α : Type u} [Repr α] : Repr (Option α) := ⟨fun o prec => match o with
  | none => .text "none"
  | some a => Repr.addAppParen (.text "some " ++ reprArg a) prec⟩
instance {α : Type u} {β : Type v} [Repr α] [Repr β] : Repr (Sum α β) := ⟨fun s prec => match s with
  | .inl a => Repr.addAppParen (.text "Sum.inl " ++ reprArg a) prec
  | .inr b => Repr.addAppParen (.text "Sum.inr " ++ reprArg b) prec⟩
/-- The components of nested pairs. -/
class ReprTuple (α : Type u) where
  reprTuple : α → List Format → List Format
export ReprTuple (reprTuple)
instance {α : Type u} [Repr α] : ReprTuple α := ⟨fun a xs => repr a :: xs⟩
instance {α : Type u} {β : Type v} [Repr α] [ReprTuple β] : ReprTuple (α × β) := ⟨fun p xs => repr p.1 :: reprTuple p.2 xs⟩
instance {α : Type u} {β : Type v} [Repr α] [ReprTuple β] : Repr (α × β) :=
  ⟨fun p _ => Format.bracket "(" (Format.joinSep (reprTuple p []) (.text "," ++ Format.line)) ")"⟩
instance {α : Type u} {β : α → Type v} [Repr α] [(x : α) → Repr (β x)] : Repr (Sigma β) :=
  ⟨fun ⟨a, b⟩ _ => Format.bracket "⟨" (repr a ++ .text ", " ++ repr b) "⟩"⟩
instance {α : Type u} {p : α → Prop} [Repr α] : Repr (Subtype p) := ⟨fun s prec => reprPrec s.val prec⟩
instance : Repr Nat := ⟨fun n _ => .text n.repr⟩
instance {n : Nat} : Repr (Fin n) := ⟨fun i _ => repr i.val⟩
instance : Repr UInt8 := ⟨fun n _ => repr n.toNat⟩
instance : Repr UInt16 := ⟨fun n _ => repr n.toNat⟩
instance : Repr UInt32 := ⟨fun n _ => repr n.toNat⟩
instance : Repr UInt64 := ⟨fun n _ => repr n.toNat⟩
instance : Repr USize := ⟨fun n _ => repr n.toNat⟩
instance : Repr Char := ⟨fun c _ => .text c.quote⟩
instance : Repr String := ⟨fun s _ => .text s.quote⟩
instance : Repr Format := ⟨fun f _ => .text (f.pretty.quote)⟩
@[extern "x"] protected def Int.repr : Int → String
  | .ofNat m => m.repr
  | .negSucc m => "-" ++ (Nat.succ m).repr
instance : Repr Int := ⟨fun i prec => if String.isPrefixOf "-" i.repr then Repr.addAppParen (.text i.repr) prec else .text i.repr⟩
protected def List.repr {α : Type u} [Repr α] (as : List α) (_ : Nat) : Format :=
  match as with
  | [] => .text "[]"
  | as => Format.bracket "[" (Format.joinSep (as.map repr) (.text "," ++ Format.line)) "]"
instance {α : Type u} [Repr α] : Repr (List α) := ⟨List.repr⟩
protected def List.repr' {α : Type u} [Repr α] [ReprAtom α] (as : List α) (_ : Nat) : Format :=
  match as with
  | [] => .text "[]"
  | as => Format.bracketFill "[" (Format.joinSep (as.map repr) (.text "," ++ Format.line)) "]"
instance {α : Type u} [Repr α] [ReprAtom α] : Repr (List α) := ⟨List.repr'⟩
instance {α : Type u} [Repr α] : Repr (Array α) := ⟨fun a _ => match a.toList with
  | [] => .text "#[]"
  | as => Format.bracketFill "#[" (Format.joinSep (as.map repr) (.text "," ++ Format.line)) "]"⟩
instance : ReprAtom Bool := ⟨⟩
instance : ReprAtom Nat := ⟨⟩
instance : ReprAtom Int := ⟨⟩
instance : ReprAtom Char := ⟨⟩
instance : ReprAtom String := ⟨⟩
instance : ReprAtom UInt8 := ⟨⟩
instance : ReprAtom UInt16 := ⟨⟩
instance : ReprAtom UInt32 := ⟨⟩
instance : ReprAtom UInt64 := ⟨⟩
instance : ReprAtom USize := ⟨⟩

namespace Lean
@[extern "x"] protected opaque Name.toString (n : Name) (escape : Bool := true) (isToken : String → Bool := fun _ => false) : String
@[extern "x"] protected opaque Name.reprPrec (n : Name) (prec : Nat) : Format
instance : Repr Name := ⟨Name.reprPrec⟩
end Lean
