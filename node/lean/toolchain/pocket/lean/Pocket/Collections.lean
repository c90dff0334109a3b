module
prelude
public import Pocket.Show
public import Pocket.WF
@[expose] public section
/-! Order and hashing as classes, and access to the elements of lists, arrays and ranges by number. -/
set_option autoImplicit false
universe u v w u₁ u₂

/-! ## Comparison -/

inductive Ordering where
  | lt | eq | gt
deriving Inhabited, DecidableEq, Repr
namespace Ordering
def swap : Ordering → Ordering
  | .lt => .gt
  | .eq => .eq
  | .gt => .lt
@[macro_inline] def «then» (a b : Ordering) : Ordering := match a with
  | .eq => b
  | a => a
def isEq : Ordering → Bool
  | .eq => true
  | _ => false
def isNe : Ordering → Bool
  | .eq => false
  | _ => true
def isLT : Ordering → Bool
  | .lt => true
  | _ => false
def isLE : Ordering → Bool
  | .gt => false
  | _ => true
def isGT : Ordering → Bool
  | .gt => true
  | _ => false
def isGE : Ordering → Bool
  | .lt => false
  | _ => true
end Ordering
@[inline] def compareOfLessAndEq {α : Type u} (x y : α) [LT α] [Decidable (x < y)] [DecidableEq α] : Ordering :=
  if x < y then .lt else if x = y then .eq else .gt
@[inline] def compareOfLessAndBEq {α : Type u} (x y : α) [LT α] [Decidable (x < y)] [BEq α] : Ordering :=
  if x < y then .lt else if x == y then .eq else .gt
class Ord (α : Type u) where
  compare : α → α → Ordering
export Ord (compare)
@[inline] def compareOn {β : Type u} {α : Sort v} [Ord β] (f : α → β) (x y : α) : Ordering := compare (f x) (f y)
@[inline] def compareLex {α : Sort u} {β : Sort v} (cmp₁ cmp₂ : α → β → Ordering) (a : α) (b : β) : Ordering := (cmp₁ a b).then (cmp₂ a b)
instance : Ord Nat := ⟨fun a b => compareOfLessAndEq a b⟩
instance : Ord Char := ⟨fun a b => compareOfLessAndEq a b⟩
instance : Ord String := ⟨fun a b => compareOfLessAndEq a b⟩
instance : Ord UInt8 := ⟨fun a b => compareOfLessAndEq a b⟩
instance : Ord UInt16 := ⟨fun a b => compareOfLessAndEq a b⟩
instance : Ord UInt32 := ⟨fun a b => compareOfLessAndEq a b⟩
instance : Ord UInt64 := ⟨fun a b => compareOfLessAndEq a b⟩
instance {n : Nat} : Ord (Fin n) := ⟨fun a b => compare a.val b.val⟩
instance : Ord Unit := ⟨fun _ _ => .eq⟩
instance : Ord Bool := ⟨fun a b => match a, b with
  | false, true => .lt
  | true, false => .gt
  | _, _ => .eq⟩
instance : Ord Ordering := ⟨fun a b => compare (match a with | .lt => 0 | .eq => 1 | .gt => 2) (match b with | .lt => 0 | .eq => 1 | .gt => 2)⟩
instance {α : Type u} [Ord α] : Ord (Option α) := ⟨fun a b => match a, b with
  | none, none => .eq
  | none, some _ => .lt
  | some _, none => .gt
  | some a, some b => compare a b⟩
def List.compareLex {α : Type u} (cmp : α → α → Ordering) : List α → List α → Ordering
  | [], [] => .eq
  | [], _ :: _ => .lt
  | _ :: _, [] => .gt
  | a :: as, b :: bs => (cmp a b).then (List.compareLex cmp as bs)
instance {α : Type u} [Ord α] : Ord (List α) := ⟨List.compareLex compare⟩
@[instance_reducible] def lexOrd {α : Type u} {β : Type v} [Ord α] [Ord β] : Ord (α × β) := ⟨fun p q => (compare p.1 q.1).then (compare p.2 q.2)⟩
@[instance_reducible] def ltOfOrd {α : Type u} [Ord α] : LT α := ⟨fun a b => compare a b = .lt⟩
@[instance_reducible] def leOfOrd {α : Type u} [Ord α] : LE α := ⟨fun a b => (compare a b).isLE = true⟩

/-! ## Hashing -/

instance : Hashable Nat := ⟨fun n => UInt64.ofNat n⟩
instance : Hashable Bool := ⟨fun b => match b with | true => 11 | false => 13⟩
instance : Hashable Unit := ⟨fun _ => 11⟩
instance : Hashable Char := ⟨fun c => UInt64.ofNat c.toNat⟩
instance {n : Nat} : Hashable (Fin n) := ⟨fun i => hash i.val⟩
instance {α : Type u} {β : Type v} [Hashable α] [Hashable β] : Hashable (α × β) := ⟨fun p => mixHash (hash p.1) (hash p.2)⟩
instance {α : Type u} [Hashable α] : Hashable (Option α) := ⟨fun o => match o with
  | none => 11
  | some a => mixHash (hash a) 13⟩
instance {α : Type u} [Hashable α] : Hashable (List α) := ⟨fun as => as.foldl (fun r a => mixHash r (hash a)) 7⟩
instance {α : Type u} [Hashable α] : Hashable (Array α) := ⟨fun as => hash as.toList⟩

/-! ## Elements by number -/

class GetElem (coll : Type u) (idx : Type v) (elem : outParam (Type w)) (valid : outParam (coll → idx → Prop)) where
  getElem (xs : coll) (i : idx) (h : valid xs i) : elem
export GetElem (getElem)
@[never_extract] def outOfBounds {α : Type u} [Inhabited α] : α := panic "index out of bounds"
@[inline] def decidableGetElem? {coll : Type u} {idx : Type v} {elem : Type w} {valid : coll → idx → Prop} [GetElem coll idx elem valid] (xs : coll) (i : idx)
    [Decidable (valid xs i)] : Option elem :=
  if h : valid xs i then some (getElem xs i h) else none
class GetElem? (coll : Type u) (idx : Type v) (elem : outParam (Type w)) (valid : outParam (coll → idx → Prop)) extends
    GetElem coll idx elem valid where
  getElem? : coll → idx → Option elem
  getElem! [Inhabited elem] (xs : coll) (i : idx) : elem := match getElem? xs i with
    | some e => e
    | none => outOfBounds
export GetElem? (getElem? getElem!)

namespace List
variable {α : Type u}
def get?Internal : List α → Nat → Option α
  | [], _ => none
  | a :: _, 0 => some a
  | _ :: as, i + 1 => get?Internal as i
def get!Internal [Inhabited α] : List α → Nat → α
  | [], _ => panic "invalid index"
  | a :: _, 0 => a
  | _ :: as, i + 1 => get!Internal as i
def getD (as : List α) (i : Nat) (fallback : α) : α := match get?Internal as i with
  | some a => a
  | none => fallback
instance : GetElem (List α) Nat α fun as i => i < as.length := ⟨fun as i h => as.get ⟨i, h⟩⟩
instance : GetElem? (List α) Nat α fun as i => i < as.length where
  getElem? as i := as.get?Internal i
  getElem! as i := as.get!Internal i
@[simp] theorem getElem_cons_zero {a : α} {as : List α} {h : 0 < (a :: as).length} : (a :: as)[0] = a := rfl
@[simp] theorem getElem_cons_succ {a : α} {as : List α} {i : Nat} {h : i + 1 < (a :: as).length} :
    (a :: as)[i + 1] = as[i]'(Nat.lt_of_succ_lt_succ h) := rfl
@[simp] theorem getElem?_nil {i : Nat} : ([] : List α)[i]? = none := rfl
@[simp] theorem getElem?_cons_zero {a : α} {as : List α} : (a :: as)[0]? = some a := rfl
@[simp] theorem getElem?_cons_succ {a : α} {as : List α} {i : Nat} : (a :: as)[i + 1]? = as[i]? := rfl
@[simp] theorem getElem!_nil [Inhabited α] {i : Nat} : ([] : List α)[i]! = default := rfl
@[simp] theorem getElem!_cons_zero [Inhabited α] {a : α} {as : List α} : (a :: as)[0]! = a := rfl
@[simp] theorem getElem!_cons_succ [Inhabited α] {a : α} {as : List α} {i : Nat} : (a :: as)[i + 1]! = as[i]! := rfl
theorem getElem?_eq_getElem {as : List α} {i : Nat} (h : i < as.length) : as[i]? = some as[i] := by
  induction as generalizing i with
  | nil => exact absurd h (Nat.not_lt_zero _)
  | cons a as ih =>
    cases i with
    | zero => rfl
    | succ i => exact ih (Nat.lt_of_succ_lt_succ h)
@[simp] theorem getElem?_eq_none_iff {as : List α} {i : Nat} : as[i]? = none ↔ as.length ≤ i := by
  induction as generalizing i with
  | nil => exact ⟨fun _ => Nat.zero_le _, fun _ => rfl⟩
  | cons a as ih =>
    cases i with
    | zero => exact ⟨fun h => absurd h (fun e => nomatch e), fun h => absurd h (Nat.not_succ_le_zero _)⟩
    | succ i => exact ih.trans Nat.succ_le_succ_iff.symm
theorem getElem_mem {as : List α} {i : Nat} (h : i < as.length) : as[i] ∈ as := by
  induction as generalizing i with
  | nil => exact absurd h (Nat.not_lt_zero _)
  | cons a as ih =>
    cases i with
    | zero => exact .head _
    | succ i => exact .tail _ (ih (Nat.lt_of_succ_lt_succ h))
def range.loop : Nat → List Nat → List Nat
  | 0, acc => acc
  | n + 1, acc => range.loop n (n :: acc)
/-- `0, ..., n - 1`. -/
def range (n : Nat) : List Nat := range.loop n []
theorem length_range.loop (n : Nat) (acc : List Nat) : (range.loop n acc).length = n + acc.length := by
  induction n generalizing acc with
  | zero => exact (Nat.zero_add _).symm
  | succ n ih => rw [range.loop, ih, List.length_cons, Nat.add_right_comm, Nat.add_assoc]
@[simp] theorem length_range {n : Nat} : (range n).length = n := length_range.loop n []
end List

namespace Array
variable {α : Type u} {β : Type v}
instance : GetElem (Array α) Nat α fun as i => i < as.size := ⟨fun as i h => as.getInternal i h⟩
instance : GetElem? (Array α) Nat α fun as i => i < as.size where
  getElem? as i := decidableGetElem? as i
  getElem! as i := as.get!Internal i
protected def append (as bs : Array α) : Array α := as.appendCore bs
instance : Append (Array α) := ⟨Array.append⟩
def map (f : α → β) (as : Array α) : Array β := ⟨as.toList.map f⟩
def foldl (f : β → α → β) (init : β) (as : Array α) : β := as.toList.foldl f init
def foldr (f : α → β → β) (init : β) (as : Array α) : β := as.toList.foldr f init
def filter (p : α → Bool) (as : Array α) : Array α := ⟨as.toList.filter p⟩
def isEmpty (as : Array α) : Bool := as.size == 0
def range (n : Nat) : Array Nat := ⟨List.range n⟩
instance [DecidableEq α] : DecidableEq (Array α) := fun a b =>
  match decEq a.toList b.toList with
  | isTrue h => isTrue (by cases a; cases b; exact congrArg Array.mk h)
  | isFalse h => isFalse fun e => h (congrArg toList e)
@[simp] theorem size_toArray {as : List α} : as.toArray.size = as.length := rfl
@[simp] theorem size_push {as : Array α} {a : α} : (as.push a).size = as.size + 1 := List.length_concat
@[simp] theorem size_map {f : α → β} {as : Array α} : (as.map f).size = as.size := List.length_map f
end Array
