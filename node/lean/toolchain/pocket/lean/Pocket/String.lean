module
prelude
public import Pocket.Quotation
public import Pocket.Nat.Div
public import Pocket.List.Take
public import Pocket.List.Zip
@[expose] public section
/-!
Strings: their characters, length and concatenation. Decoding UTF-8 gives back the characters that were encoded, so that strings with
equal bytes have equal characters, and a string is as good as its list of characters.
-/
set_option autoImplicit false
universe u

/-! ## Characters -/

def Char.toNat (c : Char) : Nat := c.val.toNat
instance Char.instLT : LT Char := ⟨fun a b => a.val < b.val⟩
instance Char.instLE : LE Char := ⟨fun a b => a.val ≤ b.val⟩
instance Char.instDecidableLt (a b : Char) : Decidable (a < b) := UInt32.decLt a.val b.val
instance Char.instDecidableLe (a b : Char) : Decidable (a ≤ b) := UInt32.decLe a.val b.val
namespace Char
theorem ofNat_toNat_val (c : Char) : Char.ofNat c.val.toNat = c := by
  cases c with
  | mk v h => unfold Char.ofNat; rw [dif_pos (show v.toNat.isValidChar from h)]; rfl
@[simp] theorem ofNat_toNat (c : Char) : Char.ofNat c.toNat = c := ofNat_toNat_val c
theorem toNat_inj {a b : Char} : a.toNat = b.toNat ↔ a = b :=
  ⟨fun h => by rw [← ofNat_toNat a, ← ofNat_toNat b, h], congrArg toNat⟩
theorem toNat_lt (c : Char) : c.val.toNat < 0x110000 := c.valid.elim (fun h => Nat.lt_trans h (by decide)) And.right
def isUpper (c : Char) : Bool := decide (65 ≤ c.toNat) && decide (c.toNat ≤ 90)
def isLower (c : Char) : Bool := decide (97 ≤ c.toNat) && decide (c.toNat ≤ 122)
def isAlpha (c : Char) : Bool := c.isUpper || c.isLower
def isDigit (c : Char) : Bool := decide (48 ≤ c.toNat) && decide (c.toNat ≤ 57)
def isAlphanum (c : Char) : Bool := c.isAlpha || c.isDigit
def isWhitespace (c : Char) : Bool := c == ' ' || c == '\t' || c == '\r' || c == '\n'
def toLower (c : Char) : Char := if c.isUpper then ofNat (c.toNat + 32) else c
def toUpper (c : Char) : Char := if c.isLower then ofNat (c.toNat - 32) else c
end Char

/-! ## Bytes -/

theorem UInt8.toNat_ofNat_of_lt {n : Nat} (h : n < 256) : (UInt8.ofNat n).toNat = n := Nat.mod_eq_of_lt h
namespace ByteArray
/-- The bytes, as numbers. -/
def toNats (b : ByteArray) : List Nat := b.data.toList.map UInt8.toNat
@[extern "x"] protected def append (a b : ByteArray) : ByteArray := ⟨⟨a.data.toList ++ b.data.toList⟩⟩
instance instAppend : Append ByteArray := ⟨ByteArray.append⟩
end ByteArray
theorem List.concat_append {α : Type u} (as : List α) (b : α) (bs : List α) : as.concat b ++ bs = as ++ b :: bs := by
  rw [List.concat_eq_append, List.append_assoc]; rfl
theorem List.toByteArray.loop_data (bs : List UInt8) (r : ByteArray) : (toByteArray.loop bs r).data.toList = r.data.toList ++ bs := by
  induction bs generalizing r with
  | nil => exact (List.append_nil _).symm
  | cons b bs ih => rw [toByteArray.loop, ih, ← concat_append]; rfl
@[simp] theorem List.data_toByteArray (bs : List UInt8) : bs.toByteArray.data.toList = bs := List.toByteArray.loop_data bs ByteArray.empty
theorem List.utf8Encode_append (l l' : List Char) : (l ++ l').utf8Encode = l.utf8Encode ++ l'.utf8Encode := by
  apply ByteArray.ext_list
  show (List.toByteArray _).data.toList = (List.toByteArray _).data.toList ++ (List.toByteArray _).data.toList
  rw [List.data_toByteArray, List.data_toByteArray, List.data_toByteArray, List.flatMap_append]
theorem ByteArray.IsValidUTF8.append {b b' : ByteArray} (h : IsValidUTF8 b) (h' : IsValidUTF8 b') : IsValidUTF8 (b ++ b') := by
  obtain ⟨m, rfl⟩ := h
  obtain ⟨m', rfl⟩ := h'
  exact ⟨m ++ m', (List.utf8Encode_append m m').symm⟩

/-! ## Decoding -/

/-- The characters whose UTF-8 encoding these bytes are; the first byte says how many belong together. -/
def String.decodeUTF8 : List Nat → List Char
  | [] => []
  | a :: s => if a < 128 then .ofNat a :: decodeUTF8 s else match s with
    | [] => []
    | b :: s => if a < 224 then .ofNat (64 * (a % 32) + b % 64) :: decodeUTF8 s else match s with
      | [] => []
      | c :: s => if a < 240 then .ofNat (64 * (64 * (a % 16) + b % 64) + c % 64) :: decodeUTF8 s else match s with
        | [] => []
        | d :: s => .ofNat (64 * (64 * (64 * (a % 8) + b % 64) + c % 64) + d % 64) :: decodeUTF8 s

namespace String
theorem follow_lt (n : Nat) : n % 64 + 128 < 256 := Nat.lt_trans (Nat.add_lt_add_right (Nat.mod_lt n (by decide)) 128) (by decide)
theorem follow_mod (n : Nat) : (n % 64 + 128) % 64 = n % 64 := by
  rw [show n % 64 + 128 = n % 64 + 64 * 2 from rfl, Nat.add_mul_mod_self_left, Nat.mod_mod]
theorem decodeUTF8_encode (c : Char) (s : List Nat) : decodeUTF8 ((utf8EncodeChar c).map UInt8.toNat ++ s) = c :: decodeUTF8 s := by
  have back := Char.ofNat_toNat_val c
  have bound := c.toNat_lt
  unfold utf8EncodeChar
  generalize c.val.toNat = v at back bound
  show decodeUTF8 (List.map UInt8.toNat (ite _ _ _) ++ s) = _
  split
  case isTrue h =>
    have small : v < 128 := Nat.lt_of_le_of_lt h (by decide)
    show decodeUTF8 ((UInt8.ofNat v).toNat :: s) = _
    rw [UInt8.toNat_ofNat_of_lt (Nat.lt_trans small (by decide)), decodeUTF8.eq_def]
    show ite _ _ _ = _
    rw [if_pos small, back]
  split
  case isTrue h =>
    have d : v / 64 < 32 := (Nat.div_lt_iff_lt_mul (by decide)).2 (Nat.lt_of_le_of_lt h (by decide))
    show decodeUTF8 ((UInt8.ofNat (v / 64 % 32 + 192)).toNat :: (UInt8.ofNat (v % 64 + 128)).toNat :: s) = _
    have first : v / 64 % 32 + 192 < 224 := Nat.add_lt_add_right (Nat.mod_lt _ (by decide)) 192
    rw [UInt8.toNat_ofNat_of_lt (follow_lt v), UInt8.toNat_ofNat_of_lt (Nat.lt_trans first (by decide)), decodeUTF8.eq_def]
    show ite _ _ (ite _ _ _) = _
    rw [if_neg (Nat.not_lt.2 (Nat.le_trans (by decide) (Nat.le_add_left 192 _))), if_pos first, follow_mod, show v / 64 % 32 + 192 = v / 64 % 32 + 32 * 6 from rfl, Nat.add_mul_mod_self_left, Nat.mod_mod,
      Nat.mod_eq_of_lt d, Nat.div_add_mod, back]
  split
  case isTrue h =>
    have d : v / 64 / 64 < 16 := (Nat.div_lt_iff_lt_mul (by decide)).2 ((Nat.div_lt_iff_lt_mul (by decide)).2 (Nat.lt_of_le_of_lt h (by decide)))
    show decodeUTF8 ((UInt8.ofNat (v / (64 * 64) % 16 + 224)).toNat :: (UInt8.ofNat (v / 64 % 64 + 128)).toNat ::
      (UInt8.ofNat (v % 64 + 128)).toNat :: s) = _
    have first : v / (64 * 64) % 16 + 224 < 240 := Nat.add_lt_add_right (Nat.mod_lt _ (by decide)) 224
    have large := Nat.le_add_left 224 (v / (64 * 64) % 16)
    rw [UInt8.toNat_ofNat_of_lt (follow_lt v), UInt8.toNat_ofNat_of_lt (follow_lt (v / 64)),
      UInt8.toNat_ofNat_of_lt (Nat.lt_trans first (by decide)), decodeUTF8.eq_def]
    show ite _ _ (ite _ _ (ite _ _ _)) = _
    rw [if_neg (Nat.not_lt.2 (Nat.le_trans (by decide) large)), if_neg (Nat.not_lt.2 large), if_pos first, follow_mod, follow_mod,
      show v / (64 * 64) % 16 + 224 = v / (64 * 64) % 16 + 16 * 14 from rfl, Nat.add_mul_mod_self_left, Nat.mod_mod,
      ← Nat.div_div_eq_div_mul, Nat.mod_eq_of_lt d, Nat.div_add_mod, Nat.div_add_mod, back]
  case isFalse =>
    have d : v / 64 / 64 / 64 < 8 := (Nat.div_lt_iff_lt_mul (by decide)).2 ((Nat.div_lt_iff_lt_mul (by decide)).2
      ((Nat.div_lt_iff_lt_mul (by decide)).2 (Nat.lt_trans bound (by decide))))
    show decodeUTF8 ((UInt8.ofNat (v / (64 * 64 * 64) % 8 + 240)).toNat :: (UInt8.ofNat (v / (64 * 64) % 64 + 128)).toNat ::
      (UInt8.ofNat (v / 64 % 64 + 128)).toNat :: (UInt8.ofNat (v % 64 + 128)).toNat :: s) = _
    have first : v / (64 * 64 * 64) % 8 + 240 < 248 := Nat.add_lt_add_right (Nat.mod_lt _ (by decide)) 240
    have large := Nat.le_add_left 240 (v / (64 * 64 * 64) % 8)
    rw [UInt8.toNat_ofNat_of_lt (follow_lt v), UInt8.toNat_ofNat_of_lt (follow_lt (v / 64)),
      UInt8.toNat_ofNat_of_lt (follow_lt (v / (64 * 64))), UInt8.toNat_ofNat_of_lt (Nat.lt_trans first (by decide)), decodeUTF8.eq_def]
    show ite _ _ (ite _ _ (ite _ _ _)) = _
    rw [if_neg (Nat.not_lt.2 (Nat.le_trans (by decide) large)), if_neg (Nat.not_lt.2 (Nat.le_trans (by decide) large)), if_neg (Nat.not_lt.2 large), follow_mod, follow_mod]
    show _ :: _ = _
    rw [follow_mod,
      show v / (64 * 64 * 64) % 8 + 240 = v / (64 * 64 * 64) % 8 + 8 * 30 from rfl, Nat.add_mul_mod_self_left, Nat.mod_mod,
      ← Nat.div_div_eq_div_mul, ← Nat.div_div_eq_div_mul, Nat.mod_eq_of_lt d, Nat.div_add_mod, Nat.div_add_mod, Nat.div_add_mod, back]
theorem decodeUTF8_flatMap (l : List Char) : decodeUTF8 ((l.flatMap utf8EncodeChar).map UInt8.toNat) = l := by
  induction l with
  | nil => rfl
  | cons c l ih => rw [List.flatMap_cons, List.map_append, decodeUTF8_encode, ih]

/-- Lexicographic order. -/
def _root_.List.lex {α : Type u} [BEq α] : (l₁ l₂ : List α) → (lt : α → α → Bool) → Bool
  | [], [], _ => false
  | [], _ :: _, _ => true
  | _ :: _, [], _ => false
  | a :: as, b :: bs, lt => lt a b || (a == b && List.lex as bs lt)

/-! ## A string is its list of characters -/

@[extern "lean_string_data"] def toList (s : String) : List Char := decodeUTF8 s.toByteArray.toNats
@[simp] theorem toList_ofList (l : List Char) : (ofList l).toList = l := by
  show decodeUTF8 (List.map UInt8.toNat (List.toByteArray _).data.toList) = l
  rw [List.data_toByteArray]; exact decodeUTF8_flatMap l
theorem exists_eq_ofList (s : String) : ∃ l, s = ofList l := by
  cases s with
  | ofByteArray b h =>
    obtain ⟨l, rfl⟩ := h
    exact ⟨l, rfl⟩
@[simp] theorem ofList_toList (s : String) : ofList s.toList = s := by
  obtain ⟨l, rfl⟩ := exists_eq_ofList s
  rw [toList_ofList]
theorem ofList_injective {l₁ l₂ : List Char} (h : ofList l₁ = ofList l₂) : l₁ = l₂ := by
  rw [← toList_ofList l₁, ← toList_ofList l₂, h]
theorem ofList_inj {l₁ l₂ : List Char} : ofList l₁ = ofList l₂ ↔ l₁ = l₂ := ⟨ofList_injective, congrArg ofList⟩
theorem toList_injective {s t : String} (h : s.toList = t.toList) : s = t := by rw [← ofList_toList s, ← ofList_toList t, h]
theorem toList_inj {s t : String} : s.toList = t.toList ↔ s = t := ⟨toList_injective, congrArg toList⟩
@[ext] theorem ext {s t : String} (h : s.toList = t.toList) : s = t := toList_injective h

/-! ## Operations -/

@[extern "lean_string_append"] def append (s : String) (t : @& String) : String := ⟨s.toByteArray ++ t.toByteArray, s.isValidUTF8.append t.isValidUTF8⟩
instance _root_.instAppendString : Append String := ⟨append⟩
@[extern "lean_string_length"] def length (s : @& String) : Nat := s.toList.length
@[extern "lean_string_push"] def push (s : String) (c : Char) : String := s ++ ofList [c]
def singleton (c : Char) : String := ofList [c]
def isEmpty (s : String) : Bool := s.utf8ByteSize == 0
def join (l : List String) : String := l.foldl (fun r s => r ++ s) ""
def intercalate (s : String) : List String → String
  | [] => ""
  | a :: as => as.foldl (fun r b => r ++ s ++ b) a
def map (f : Char → Char) (s : String) : String := ofList (s.toList.map f)
def foldl {α : Type u} (f : α → Char → α) (init : α) (s : String) : α := s.toList.foldl f init
def any (s : String) (p : Char → Bool) : Bool := s.toList.any p
def all (s : String) (p : Char → Bool) : Bool := s.toList.all p
def contains (s : String) (c : Char) : Bool := s.toList.elem c
def pushn (s : String) (c : Char) (n : Nat) : String := s ++ ofList (List.replicate n c)
def toUpper (s : String) : String := s.map Char.toUpper
def toLower (s : String) : String := s.map Char.toLower
def front (s : String) : Char := s.toList.headD default
def isPrefixOf (p s : String) : Bool := s.toList.take p.length == p.toList
instance instLT : LT String := ⟨fun s t => s.toList.lex t.toList (fun a b => decide (a < b)) = true⟩
instance instDecidableLt (s t : String) : Decidable (s < t) := inferInstanceAs (Decidable (_ = true))

@[simp] theorem ofList_append (l l' : List Char) : ofList (l ++ l') = ofList l ++ ofList l' := ext_bytes (List.utf8Encode_append l l')
@[simp] theorem toList_append (s t : String) : (s ++ t).toList = s.toList ++ t.toList := by
  conv => lhs; rw [← ofList_toList s, ← ofList_toList t, ← ofList_append, toList_ofList]
@[simp] theorem toList_empty : "".toList = [] := rfl
@[simp] theorem toList_push (s : String) (c : Char) : (s.push c).toList = s.toList ++ [c] := by
  show (s ++ ofList [c]).toList = _
  rw [toList_append, toList_ofList]
@[simp] theorem toList_singleton (c : Char) : (singleton c).toList = [c] := toList_ofList [c]
@[simp] theorem toList_map (f : Char → Char) (s : String) : (s.map f).toList = s.toList.map f := toList_ofList _
theorem length_toList (s : String) : s.toList.length = s.length := rfl
@[simp] theorem length_ofList (l : List Char) : (ofList l).length = l.length := congrArg List.length (toList_ofList l)
@[simp] theorem length_empty : "".length = 0 := rfl
@[simp] theorem length_append (s t : String) : (s ++ t).length = s.length + t.length := by
  show (s ++ t).toList.length = _
  rw [toList_append, List.length_append]; rfl
@[simp] theorem length_push (s : String) (c : Char) : (s.push c).length = s.length + 1 := by
  show (s.push c).toList.length = _
  rw [toList_push, List.length_append]; rfl
@[simp] theorem length_singleton (c : Char) : (singleton c).length = 1 := length_ofList [c]
@[simp] theorem length_map (f : Char → Char) (s : String) : (s.map f).length = s.length := by
  show (s.map f).toList.length = _
  rw [toList_map, List.length_map]; rfl
@[simp] theorem append_empty {s : String} : s ++ "" = s := ext (by rw [toList_append, toList_empty, List.append_nil])
@[simp] theorem empty_append {s : String} : "" ++ s = s := ext (by rw [toList_append, toList_empty, List.nil_append])
theorem append_assoc {s t r : String} : s ++ t ++ r = s ++ (t ++ r) := ext (by rw [toList_append, toList_append, toList_append, toList_append, List.append_assoc])
theorem append_left_cancel {s t r : String} (h : s ++ t = s ++ r) : t = r :=
  ext (List.append_cancel_left (by rw [← toList_append, ← toList_append, h]))
theorem append_right_cancel {s t r : String} (h : s ++ r = t ++ r) : s = t :=
  ext (List.append_cancel_right (by rw [← toList_append, ← toList_append, h]))
@[simp] theorem append_right_inj (s : String) {t r : String} : s ++ t = s ++ r ↔ t = r := ⟨append_left_cancel, congrArg (s ++ ·)⟩
@[simp] theorem append_left_inj {s t : String} (r : String) : s ++ r = t ++ r ↔ s = t := ⟨append_right_cancel, congrArg (· ++ r)⟩
theorem length_eq_zero_iff {s : String} : s.length = 0 ↔ s = "" := by
  rw [← toList_inj, toList_empty]; exact List.length_eq_zero_iff
theorem append_eq_empty_iff {s t : String} : s ++ t = "" ↔ s = "" ∧ t = "" := by
  rw [← length_eq_zero_iff, ← length_eq_zero_iff, ← length_eq_zero_iff, length_append]; exact Nat.add_eq_zero_iff
end String
@[simp] abbrev List.asString (l : List Char) : String := String.ofList l
theorem List.asString_inj {l₁ l₂ : List Char} : l₁.asString = l₂.asString ↔ l₁ = l₂ := String.ofList_inj
