module
prelude
public import Pocket.Word
@[expose] public section
/-!
Characters and strings. The kernel takes a string literal for `String.ofList` applied to a list of `Char.ofNat`, and native code works on
both types: they are those of Lean's core, field by field. The operations on lists and arrays are those that the encoding needs.
-/
set_option autoImplicit false
universe u v

/-! ## Characters: Unicode scalar values -/

abbrev Nat.isValidChar (n : Nat) : Prop := Or (LT.lt n 0xd800) (And (LT.lt 0xdfff n) (LT.lt n 0x110000))
abbrev UInt32.isValidChar (n : UInt32) : Prop := n.toNat.isValidChar
structure Char where
  val : UInt32
  valid : val.isValidChar
theorem Nat.isValidChar.lt_size {n : Nat} (h : n.isValidChar) : LT.lt n UInt32.size :=
  match h with
  | Or.inl h => Nat.lt_trans h (Nat.le_of_ble_eq_true rfl)
  | Or.inr ⟨_, h⟩ => Nat.lt_trans h (Nat.le_of_ble_eq_true rfl)
instance Nat.instDecidableIsValidChar (n : Nat) : Decidable n.isValidChar :=
  match Nat.decLt n 0xd800 with
  | isTrue h => isTrue (Or.inl h)
  | isFalse h => match Nat.decLt 0xdfff n with
    | isFalse h' => isFalse fun v => Or.rec h (fun a => h' a.left) v
    | isTrue h' => match Nat.decLt n 0x110000 with
      | isTrue h'' => isTrue (Or.inr ⟨h', h''⟩)
      | isFalse h'' => isFalse fun v => Or.rec h (fun a => h'' a.right) v
@[extern "lean_uint32_of_nat"] def Char.ofNatAux (n : Nat) (h : n.isValidChar) : Char := ⟨⟨BitVec.ofNatLT n h.lt_size⟩, h⟩
/-- The character with this code point; `'\0'` for a number that is none. -/
@[noinline, match_pattern] def Char.ofNat (n : Nat) : Char :=
  dite n.isValidChar (fun h => Char.ofNatAux n h) fun _ => ⟨⟨BitVec.ofNatLT 0 (Nat.le_of_ble_eq_true rfl)⟩, Or.inl (Nat.le_of_ble_eq_true rfl)⟩
theorem Char.ext : {c d : Char} → Eq c.val d.val → Eq c d
  | ⟨_, _⟩, ⟨_, _⟩, rfl => rfl
theorem Char.val_eq_of_eq {c d : Char} (h : Eq c d) : Eq c.val d.val := congrArg Char.val h
theorem Char.ne_of_val_ne {c d : Char} (h : Not (Eq c.val d.val)) : Not (Eq c d) := fun e => h (val_eq_of_eq e)
theorem Char.val_ne_of_ne {c d : Char} (h : Not (Eq c d)) : Not (Eq c.val d.val) := fun e => h (Char.ext e)
instance instDecidableEqChar : DecidableEq Char := fun c d =>
  match decEq c.val d.val with
  | isTrue h => isTrue (Char.ext h)
  | isFalse h => isFalse (Char.ne_of_val_ne h)
instance Char.instInhabited : Inhabited Char := ⟨'A'⟩
/-- How many bytes UTF-8 takes for it. -/
def Char.utf8Size (c : Char) : Nat :=
  ite (LE.le c.val 0x7F) 1 (ite (LE.le c.val 0x7FF) 2 (ite (LE.le c.val 0xFFFF) 3 4))

/-! ## Lists and arrays -/

instance instInhabitedList {α : Type u} : Inhabited (List α) := ⟨List.nil⟩
instance instInhabitedOption {α : Type u} : Inhabited (Option α) := ⟨none⟩
namespace List
variable {α : Type u} {β : Type v}
def length : List α → Nat
  | nil => 0
  | cons _ as => HAdd.hAdd (length as) 1
protected def append : List α → List α → List α
  | nil, bs => bs
  | cons a as, bs => cons a (List.append as bs)
instance instAppend : Append (List α) := ⟨List.append⟩
@[specialize] def map (f : α → β) : List α → List β
  | nil => nil
  | cons a as => cons (f a) (map f as)
@[specialize] def foldl (f : α → β → α) : (init : α) → List β → α
  | a, nil => a
  | a, cons b bs => foldl f (f a b) bs
def concat : List α → α → List α
  | nil, b => cons b nil
  | cons a as, b => cons a (concat as b)
def flatten : List (List α) → List α
  | nil => nil
  | cons l ls => HAppend.hAppend l (flatten ls)
@[inline] def flatMap (b : α → List β) (as : List α) : List β := flatten (map b as)
def get : (as : List α) → Fin as.length → α
  | nil, ⟨_, h⟩ => (Nat.not_succ_le_zero _ h).elim
  | cons a _, ⟨Nat.zero, _⟩ => a
  | cons _ as, ⟨Nat.succ i, h⟩ => get as ⟨i, Nat.le_of_succ_le_succ h⟩
def set : (l : List α) → (n : Nat) → (a : α) → List α
  | cons _ as, Nat.zero, b => cons b as
  | cons a as, Nat.succ n, b => cons a (set as n b)
  | nil, _, _ => nil
instance hasDecEq [DecidableEq α] : DecidableEq (List α)
  | nil, nil => isTrue rfl
  | nil, cons _ _ => isFalse fun h => nomatch h
  | cons _ _, nil => isFalse fun h => nomatch h
  | cons a as, cons b bs => match decEq a b, hasDecEq as bs with
    | isTrue h₁, isTrue h₂ => isTrue (congr (congrArg cons h₁) h₂)
    | isFalse n, _ => isFalse fun h => n (congrArg (f := fun l => List.rec (motive := fun _ => α) a (fun x _ _ => x) l) h)
    | _, isFalse n => isFalse fun h => n (congrArg (f := fun l => List.rec (motive := fun _ => List α) as (fun _ xs _ => xs) l) h)
end List

structure Array (α : Type u) where mk ::
  toList : List α
attribute [extern "lean_array_to_list"] Array.toList
attribute [extern "lean_array_mk"] Array.mk
@[match_pattern] abbrev List.toArray {α : Type u} (xs : List α) : Array α := .mk xs
namespace Array
variable {α : Type u}
@[extern "lean_mk_empty_array_with_capacity"] def emptyWithCapacity {α : Type u} (_capacity : @& Nat) : Array α := ⟨List.nil⟩
@[inline] def empty : Array α := emptyWithCapacity 0
@[extern "lean_array_get_size"] def size (a : @& Array α) : Nat := a.toList.length
@[extern "lean_array_fget_borrowed"] unsafe opaque getInternalBorrowed (a : @& Array α) (i : @& Nat) (h : LT.lt i a.size) : α := a.toList.get ⟨i, h⟩
@[extern "lean_array_fget"] def getInternal (a : @& Array α) (i : @& Nat) (h : LT.lt i a.size) : α := a.toList.get ⟨i, h⟩
@[inline] abbrev getD (a : Array α) (i : Nat) (v₀ : α) : α := dite (LT.lt i a.size) (fun h => a.getInternal i h) fun _ => v₀
@[extern "lean_array_get_borrowed"] unsafe opaque get!InternalBorrowed [@& Inhabited α] (a : @& Array α) (i : @& Nat) : α
@[extern "lean_array_get"] def get!Internal [@& Inhabited α] (a : @& Array α) (i : @& Nat) : α := Array.getD a i default
@[extern "lean_array_push"] def push (a : Array α) (v : α) : Array α := ⟨List.concat a.toList v⟩
end Array
instance instInhabitedArray {α : Type u} : Inhabited (Array α) := ⟨Array.empty⟩

structure ByteArray where mk ::
  data : Array UInt8
attribute [extern "lean_byte_array_mk"] ByteArray.mk
attribute [extern "lean_byte_array_data"] ByteArray.data
namespace ByteArray
@[extern "lean_mk_empty_byte_array"] def emptyWithCapacity (_capacity : @& Nat) : ByteArray := ⟨Array.empty⟩
def empty : ByteArray := emptyWithCapacity 0
@[extern "lean_byte_array_push"] def push : ByteArray → UInt8 → ByteArray
  | ⟨bs⟩, b => ⟨bs.push b⟩
@[extern "lean_byte_array_size"] def size : (@& ByteArray) → Nat
  | ⟨bs⟩ => bs.size
end ByteArray
def List.toByteArray.loop : List UInt8 → ByteArray → ByteArray
  | nil, r => r
  | cons b bs, r => loop bs (r.push b)
def List.toByteArray (bs : List UInt8) : ByteArray := toByteArray.loop bs ByteArray.empty

/-! ## Strings: byte arrays that are the UTF-8 encoding of a list of characters -/

/-- One to four bytes: a mark of how many, and the number's digits to base 64. -/
def String.utf8EncodeChar (c : Char) : List UInt8 :=
  let v := c.val.toNat
  ite (LE.le v 0x7f) (List.cons (UInt8.ofNat v) List.nil)
    (ite (LE.le v 0x7ff)
      (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod (HDiv.hDiv v 64) 0x20) 0xc0))
        (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod v 0x40) 0x80)) List.nil))
      (ite (LE.le v 0xffff)
        (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod (HDiv.hDiv v 4096) 0x10) 0xe0))
          (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod (HDiv.hDiv v 64) 0x40) 0x80))
            (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod v 0x40) 0x80)) List.nil)))
        (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod (HDiv.hDiv v 262144) 0x08) 0xf0))
          (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod (HDiv.hDiv v 4096) 0x40) 0x80))
            (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod (HDiv.hDiv v 64) 0x40) 0x80))
              (List.cons (UInt8.ofNat (HAdd.hAdd (HMod.hMod v 0x40) 0x80)) List.nil))))))
def List.utf8Encode (l : List Char) : ByteArray := (l.flatMap String.utf8EncodeChar).toByteArray
inductive ByteArray.IsValidUTF8 (b : ByteArray) : Prop where
  | intro (m : List Char) (hm : Eq b (List.utf8Encode m)) : ByteArray.IsValidUTF8 b
structure String where ofByteArray ::
  toByteArray : ByteArray
  isValidUTF8 : ByteArray.IsValidUTF8 toByteArray
attribute [extern "lean_string_to_utf8"] String.toByteArray
attribute [extern "lean_string_from_utf8_unchecked"] String.ofByteArray
@[extern "lean_string_mk"] def String.ofList (data : List Char) : String := ⟨List.utf8Encode data, .intro data rfl⟩

theorem String.ext_bytes : {s t : String} → Eq s.toByteArray t.toByteArray → Eq s t
  | ⟨_, _⟩, ⟨_, _⟩, rfl => rfl
theorem ByteArray.ext_list : {a b : ByteArray} → Eq a.data.toList b.data.toList → Eq a b
  | ⟨⟨_⟩⟩, ⟨⟨_⟩⟩, rfl => rfl
@[extern "lean_string_dec_eq"] def String.decEq (s₁ s₂ : @& String) : Decidable (Eq s₁ s₂) :=
  match _root_.decEq s₁.toByteArray.data.toList s₂.toByteArray.data.toList with
  | isTrue h => isTrue (String.ext_bytes (ByteArray.ext_list h))
  | isFalse h => isFalse fun e => h (congrArg (f := fun s : String => s.toByteArray.data.toList) e)
instance instDecidableEqString : DecidableEq String := String.decEq
instance instInhabitedString : Inhabited String := ⟨""⟩

/-- A byte position in a string. -/
structure String.Pos.Raw where
  byteIdx : Nat
@[extern "lean_string_utf8_byte_size"] def String.utf8ByteSize (s : @& String) : Nat := s.toByteArray.size
/-- Part of a string, between two byte positions. -/
structure Substring.Raw where
  str : String
  startPos : String.Pos.Raw
  stopPos : String.Pos.Raw
instance String.Pos.instInhabitedRaw : Inhabited String.Pos.Raw := ⟨⟨0⟩⟩
instance Substring.instInhabitedRaw : Inhabited Substring.Raw := ⟨⟨"", ⟨0⟩, ⟨0⟩⟩⟩
@[inline] def String.rawEndPos (s : String) : String.Pos.Raw := ⟨utf8ByteSize s⟩
@[inline] def String.toRawSubstring (s : String) : Substring.Raw := ⟨s, ⟨0⟩, s.rawEndPos⟩
def String.toRawSubstring' (s : String) : Substring.Raw := s.toRawSubstring
