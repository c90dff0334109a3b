module
prelude
public import Pocket.Data
@[expose] public section
/-!
Numbers below a bound, bit vectors, machine words. The types are those of Lean's core, field by field, because native code works on them.
No notation exists yet, so the proofs are terms.
-/
set_option autoImplicit false
universe u v

/-! ## Order, as far as the bounds below need it -/

@[macro_inline] def absurd {a : Prop} {b : Sort v} (h₁ : a) (h₂ : Not a) : b := (h₂ h₁).rec
theorem of_decide_eq_true {p : Prop} [i : Decidable p] (h : Eq (decide p) true) : p :=
  match i, h with | isTrue h, _ => h
theorem of_decide_eq_false {p : Prop} [i : Decidable p] (h : Eq (decide p) false) : Not p :=
  match i, h with | isFalse h, _ => h
/-- Decide equality by the instance. -/
@[inline] def decEq {α : Sort u} [inst : DecidableEq α] (a b : α) : Decidable (Eq a b) := inst a b

namespace Nat
protected theorem zero_le : (n : Nat) → LE.le 0 n
  | zero => Nat.le.refl
  | succ n => Nat.le.step (Nat.zero_le n)
theorem succ_le_succ {n m : Nat} (h : LE.le n m) : LE.le (succ n) (succ m) :=
  Nat.le.rec (motive := fun m _ => LE.le (succ n) (succ m)) Nat.le.refl (fun _ ih => Nat.le.step ih) h
protected theorem le_trans {n m k : Nat} (h₁ : LE.le n m) (h₂ : LE.le m k) : LE.le n k :=
  Nat.le.rec (motive := fun k _ => LE.le n k) h₁ (fun _ ih => Nat.le.step ih) h₂
theorem pred_le_pred {n m : Nat} (h : LE.le n m) : LE.le (pred n) (pred m) :=
  Nat.le.rec (motive := fun m _ => LE.le (pred n) (pred m)) Nat.le.refl
    (fun {m} _ ih => Nat.le_trans ih (match m with | zero => Nat.le.refl | succ _ => Nat.le.step Nat.le.refl)) h
theorem le_of_succ_le_succ {n m : Nat} (h : LE.le (succ n) (succ m)) : LE.le n m := pred_le_pred h
theorem not_succ_le_zero (n : Nat) (h : LE.le (succ n) 0) : False := nomatch h
theorem le_of_ble_eq_true : {n m : Nat} → Eq (Nat.ble n m) true → LE.le n m
  | zero, m, _ => Nat.zero_le m
  | succ _, zero, h => Bool.noConfusion h
  | succ n, succ m, h => succ_le_succ (le_of_ble_eq_true (n := n) (m := m) h)
theorem ble_eq_true_of_le : {n m : Nat} → LE.le n m → Eq (Nat.ble n m) true
  | zero, _, _ => rfl
  | succ n, zero, h => (not_succ_le_zero n h).elim
  | succ n, succ m, h => ble_eq_true_of_le (n := n) (m := m) (le_of_succ_le_succ h)
theorem not_le_of_ble_eq_false {n m : Nat} (e : Eq (Nat.ble n m) false) (h : LE.le n m) : False :=
  Bool.noConfusion (Eq.trans (Eq.symm e) (ble_eq_true_of_le h))
@[extern "lean_nat_dec_le"] instance decLe (n m : Nat) : Decidable (LE.le n m) :=
  match h : Nat.ble n m with
  | true => isTrue (le_of_ble_eq_true h)
  | false => isFalse (not_le_of_ble_eq_false h)
@[extern "lean_nat_dec_lt"] instance decLt (n m : Nat) : Decidable (LT.lt n m) := decLe (succ n) m
theorem succ_le_of_not_le : {n m : Nat} → Not (LE.le n m) → LE.le (succ m) n
  | zero, m, h => (h (Nat.zero_le m)).elim
  | succ n, zero, _ => succ_le_succ (Nat.zero_le n)
  | succ _, succ _, h => succ_le_succ (succ_le_of_not_le fun h' => h (succ_le_succ h'))
protected theorem lt_trans {n m k : Nat} (h₁ : LT.lt n m) (h₂ : LT.lt m k) : LT.lt n k := Nat.le_trans (Nat.le.step h₁) h₂
theorem sub_le : (n m : Nat) → LE.le (HSub.hSub n m) n
  | _, zero => Nat.le.refl
  | n, succ m => Nat.le_trans
    (show LE.le (pred (Nat.sub n m)) (Nat.sub n m) from match Nat.sub n m with | zero => Nat.le.refl | succ _ => Nat.le.step Nat.le.refl)
    (Nat.sub_le n m)
theorem succ_sub_succ_eq_sub : (n m : Nat) → Eq (HSub.hSub (succ n) (succ m)) (HSub.hSub n m)
  | _, zero => rfl
  | n, succ m => congrArg pred (succ_sub_succ_eq_sub n m)

/-- Enough fuel: the result of repeated subtraction is below the positive divisor. -/
theorem mod.go_lt (m : Nat) : (fuel x : Nat) → LE.le (succ x) fuel → LE.le (succ (Nat.mod.go (succ m) fuel x)) (succ m)
  | zero, x, h => (not_succ_le_zero x h).elim
  | succ fuel, x, h => show LE.le (succ (match Nat.ble (succ m) x with
      | true => Nat.mod.go (succ m) fuel (Nat.sub x (succ m))
      | false => x)) (succ m) from
    match e : Nat.ble (succ m) x with
    | false => succ_le_of_not_le (not_le_of_ble_eq_false e)
    | true => mod.go_lt m fuel (Nat.sub x (succ m)) (match x, e, h with
      | zero, e, _ => Bool.noConfusion e
      | succ x, _, h => Nat.le_trans
        (Eq.subst (motive := fun k => LE.le (succ k) (succ x)) (Eq.symm (succ_sub_succ_eq_sub x m)) (succ_le_succ (Nat.sub_le x m)))
        (le_of_succ_le_succ h))
theorem mod_lt (x : Nat) : {y : Nat} → (h : GT.gt y 0) → LT.lt (HMod.hMod x y) y
  | zero, h => (not_succ_le_zero 0 h).elim
  | succ m, _ => mod.go_lt m (succ x) x Nat.le.refl
protected theorem add_pos_right : {m : Nat} → (n : Nat) → LT.lt 0 m → LT.lt 0 (HAdd.hAdd n m)
  | zero, _, h => (not_succ_le_zero 0 h).elim
  | succ _, _, _ => succ_le_succ (Nat.zero_le _)
theorem two_pow_pos : (w : Nat) → LT.lt 0 (HPow.hPow 2 w)
  | zero => Nat.le.refl
  | succ w => show LT.lt 0 (HAdd.hAdd (HAdd.hAdd 0 (HPow.hPow 2 w)) (HPow.hPow 2 w)) from Nat.add_pos_right _ (two_pow_pos w)
end Nat

/-! ## Numbers below a bound -/

structure Fin (n : Nat) where mk ::
  val : Nat
  isLt : LT.lt val n
attribute [coe] Fin.val
theorem Fin.eq_of_val_eq {n : Nat} : {i j : Fin n} → Eq i.val j.val → Eq i j
  | ⟨_, _⟩, ⟨_, _⟩, rfl => rfl
theorem Fin.val_eq_of_eq {n : Nat} {i j : Fin n} (h : Eq i j) : Eq i.val j.val := congrArg Fin.val h
instance instDecidableEqFin (n : Nat) : DecidableEq (Fin n) := fun i j =>
  match decEq i.val j.val with
  | isTrue h => isTrue (Fin.eq_of_val_eq h)
  | isFalse h => isFalse fun e => h (Fin.val_eq_of_eq e)
instance instLTFin {n : Nat} : LT (Fin n) := ⟨fun a b => LT.lt a.val b.val⟩
instance instLEFin {n : Nat} : LE (Fin n) := ⟨fun a b => LE.le a.val b.val⟩
instance Fin.decLt {n : Nat} (a b : Fin n) : Decidable (LT.lt a b) := Nat.decLt a.val b.val
instance Fin.decLe {n : Nat} (a b : Fin n) : Decidable (LE.le a b) := Nat.decLe a.val b.val
protected def Fin.Internal.ofNat (n : Nat) (hn : LT.lt 0 n) (a : Nat) : Fin n := ⟨HMod.hMod a n, Nat.mod_lt a hn⟩

/-! ## Bit vectors -/

structure BitVec (w : Nat) where ofFin ::
  toFin : Fin (HPow.hPow 2 w)
def BitVec.decEq {w : Nat} (x y : BitVec w) : Decidable (Eq x y) :=
  match _root_.decEq x.toFin y.toFin with
  | isTrue h => isTrue (congrArg BitVec.ofFin h)
  | isFalse h => isFalse fun e => h (congrArg BitVec.toFin e)
instance instDecidableEqBitVec {w : Nat} : DecidableEq (BitVec w) := BitVec.decEq
@[match_pattern] protected def BitVec.ofNatLT {w : Nat} (i : Nat) (p : LT.lt i (HPow.hPow 2 w)) : BitVec w := ⟨⟨i, p⟩⟩
@[match_pattern] protected def BitVec.ofNat (n i : Nat) : BitVec n := ⟨Fin.Internal.ofNat (HPow.hPow 2 n) (Nat.two_pow_pos n) i⟩
protected def BitVec.toNat {w : Nat} (x : BitVec w) : Nat := x.toFin.val
instance instLTBitVec {w : Nat} : LT (BitVec w) := ⟨fun x y => LT.lt x.toNat y.toNat⟩
instance instLEBitVec {w : Nat} : LE (BitVec w) := ⟨fun x y => LE.le x.toNat y.toNat⟩
instance instDecidableLtBitVec {w : Nat} (x y : BitVec w) : Decidable (LT.lt x y) := Nat.decLt x.toNat y.toNat
instance instDecidableLeBitVec {w : Nat} (x y : BitVec w) : Decidable (LE.le x y) := Nat.decLe x.toNat y.toNat

/-! ## Machine words -/

abbrev UInt8.size : Nat := 256
structure UInt8 where ofBitVec ::
  toBitVec : BitVec 8
attribute [extern "lean_uint8_of_nat_mk"] UInt8.ofBitVec
attribute [extern "lean_uint8_to_nat"] UInt8.toBitVec
@[extern "lean_uint8_of_nat"] def UInt8.ofNatLT (n : Nat) (h : LT.lt n UInt8.size) : UInt8 := ⟨BitVec.ofNatLT n h⟩
@[extern "lean_uint8_of_nat"] def UInt8.ofNat (n : Nat) : UInt8 := ⟨BitVec.ofNat 8 n⟩
@[extern "lean_uint8_to_nat"] def UInt8.toNat (n : UInt8) : Nat := n.toBitVec.toNat
@[extern "lean_uint8_dec_eq"] def UInt8.decEq (a b : UInt8) : Decidable (Eq a b) :=
  match _root_.decEq a.toBitVec b.toBitVec with
  | isTrue h => isTrue (congrArg UInt8.ofBitVec h)
  | isFalse h => isFalse fun e => h (congrArg UInt8.toBitVec e)
instance instDecidableEqUInt8 : DecidableEq UInt8 := UInt8.decEq
instance instInhabitedUInt8 : Inhabited UInt8 := ⟨UInt8.ofNatLT 0 (Nat.le_of_ble_eq_true rfl)⟩
instance instLTUInt8 : LT UInt8 := ⟨fun a b => LT.lt a.toBitVec b.toBitVec⟩
instance instLEUInt8 : LE UInt8 := ⟨fun a b => LE.le a.toBitVec b.toBitVec⟩
@[extern "lean_uint8_dec_lt", instance_reducible, instance] def UInt8.decLt (a b : UInt8) : Decidable (LT.lt a b) := instDecidableLtBitVec a.toBitVec b.toBitVec
@[extern "lean_uint8_dec_le", instance_reducible, instance] def UInt8.decLe (a b : UInt8) : Decidable (LE.le a b) := instDecidableLeBitVec a.toBitVec b.toBitVec
instance UInt8.instOfNat (n : Nat) : OfNat UInt8 n := ⟨UInt8.ofNat n⟩

abbrev UInt16.size : Nat := 65536
structure UInt16 where ofBitVec ::
  toBitVec : BitVec 16
attribute [extern "lean_uint16_of_nat_mk"] UInt16.ofBitVec
attribute [extern "lean_uint16_to_nat"] UInt16.toBitVec
@[extern "lean_uint16_of_nat"] def UInt16.ofNatLT (n : Nat) (h : LT.lt n UInt16.size) : UInt16 := ⟨BitVec.ofNatLT n h⟩
@[extern "lean_uint16_of_nat"] def UInt16.ofNat (n : Nat) : UInt16 := ⟨BitVec.ofNat 16 n⟩
@[extern "lean_uint16_to_nat"] def UInt16.toNat (n : UInt16) : Nat := n.toBitVec.toNat
@[extern "lean_uint16_dec_eq"] def UInt16.decEq (a b : UInt16) : Decidable (Eq a b) :=
  match _root_.decEq a.toBitVec b.toBitVec with
  | isTrue h => isTrue (congrArg UInt16.ofBitVec h)
  | isFalse h => isFalse fun e => h (congrArg UInt16.toBitVec e)
instance instDecidableEqUInt16 : DecidableEq UInt16 := UInt16.decEq
instance instInhabitedUInt16 : Inhabited UInt16 := ⟨UInt16.ofNatLT 0 (Nat.le_of_ble_eq_true rfl)⟩
instance instLTUInt16 : LT UInt16 := ⟨fun a b => LT.lt a.toBitVec b.toBitVec⟩
instance instLEUInt16 : LE UInt16 := ⟨fun a b => LE.le a.toBitVec b.toBitVec⟩
@[extern "lean_uint16_dec_lt", instance_reducible, instance] def UInt16.decLt (a b : UInt16) : Decidable (LT.lt a b) := instDecidableLtBitVec a.toBitVec b.toBitVec
@[extern "lean_uint16_dec_le", instance_reducible, instance] def UInt16.decLe (a b : UInt16) : Decidable (LE.le a b) := instDecidableLeBitVec a.toBitVec b.toBitVec
instance UInt16.instOfNat (n : Nat) : OfNat UInt16 n := ⟨UInt16.ofNat n⟩

abbrev UInt32.size : Nat := 4294967296
structure UInt32 where ofBitVec ::
  toBitVec : BitVec 32
attribute [extern "lean_uint32_of_nat_mk"] UInt32.ofBitVec
attribute [extern "lean_uint32_to_nat"] UInt32.toBitVec
@[extern "lean_uint32_of_nat"] def UInt32.ofNatLT (n : Nat) (h : LT.lt n UInt32.size) : UInt32 := ⟨BitVec.ofNatLT n h⟩
@[extern "lean_uint32_of_nat"] def UInt32.ofNat (n : Nat) : UInt32 := ⟨BitVec.ofNat 32 n⟩
@[extern "lean_uint32_to_nat"] def UInt32.toNat (n : UInt32) : Nat := n.toBitVec.toNat
@[extern "lean_uint32_dec_eq"] def UInt32.decEq (a b : UInt32) : Decidable (Eq a b) :=
  match _root_.decEq a.toBitVec b.toBitVec with
  | isTrue h => isTrue (congrArg UInt32.ofBitVec h)
  | isFalse h => isFalse fun e => h (congrArg UInt32.toBitVec e)
instance instDecidableEqUInt32 : DecidableEq UInt32 := UInt32.decEq
instance instInhabitedUInt32 : Inhabited UInt32 := ⟨UInt32.ofNatLT 0 (Nat.le_of_ble_eq_true rfl)⟩
instance instLTUInt32 : LT UInt32 := ⟨fun a b => LT.lt a.toBitVec b.toBitVec⟩
instance instLEUInt32 : LE UInt32 := ⟨fun a b => LE.le a.toBitVec b.toBitVec⟩
@[extern "lean_uint32_dec_lt", instance_reducible, instance] def UInt32.decLt (a b : UInt32) : Decidable (LT.lt a b) := instDecidableLtBitVec a.toBitVec b.toBitVec
@[extern "lean_uint32_dec_le", instance_reducible, instance] def UInt32.decLe (a b : UInt32) : Decidable (LE.le a b) := instDecidableLeBitVec a.toBitVec b.toBitVec
instance UInt32.instOfNat (n : Nat) : OfNat UInt32 n := ⟨UInt32.ofNat n⟩

abbrev UInt64.size : Nat := 18446744073709551616
structure UInt64 where ofBitVec ::
  toBitVec : BitVec 64
attribute [extern "lean_uint64_of_nat_mk"] UInt64.ofBitVec
attribute [extern "lean_uint64_to_nat"] UInt64.toBitVec
@[extern "lean_uint64_of_nat"] def UInt64.ofNatLT (n : Nat) (h : LT.lt n UInt64.size) : UInt64 := ⟨BitVec.ofNatLT n h⟩
@[extern "lean_uint64_of_nat"] def UInt64.ofNat (n : Nat) : UInt64 := ⟨BitVec.ofNat 64 n⟩
@[extern "lean_uint64_to_nat"] def UInt64.toNat (n : UInt64) : Nat := n.toBitVec.toNat
@[extern "lean_uint64_dec_eq"] def UInt64.decEq (a b : UInt64) : Decidable (Eq a b) :=
  match _root_.decEq a.toBitVec b.toBitVec with
  | isTrue h => isTrue (congrArg UInt64.ofBitVec h)
  | isFalse h => isFalse fun e => h (congrArg UInt64.toBitVec e)
instance instDecidableEqUInt64 : DecidableEq UInt64 := UInt64.decEq
instance instInhabitedUInt64 : Inhabited UInt64 := ⟨UInt64.ofNatLT 0 (Nat.le_of_ble_eq_true rfl)⟩
instance instLTUInt64 : LT UInt64 := ⟨fun a b => LT.lt a.toBitVec b.toBitVec⟩
instance instLEUInt64 : LE UInt64 := ⟨fun a b => LE.le a.toBitVec b.toBitVec⟩
@[extern "lean_uint64_dec_lt", instance_reducible, instance] def UInt64.decLt (a b : UInt64) : Decidable (LT.lt a b) := instDecidableLtBitVec a.toBitVec b.toBitVec
@[extern "lean_uint64_dec_le", instance_reducible, instance] def UInt64.decLe (a b : UInt64) : Decidable (LE.le a b) := instDecidableLeBitVec a.toBitVec b.toBitVec
instance UInt64.instOfNat (n : Nat) : OfNat UInt64 n := ⟨UInt64.ofNat n⟩

/-- The width of a machine word: opaque, so that no proof depends on the machine. -/
@[extern "lean_system_platform_nbits"] opaque System.Platform.getNumBits : Unit → Subtype fun (n : Nat) => Or (Eq n 32) (Eq n 64) :=
  fun _ => ⟨64, Or.inr rfl⟩
def System.Platform.numBits : Nat := (getNumBits Unit.unit).val
theorem System.Platform.numBits_eq : Or (Eq numBits 32) (Eq numBits 64) := (getNumBits Unit.unit).property
abbrev USize.size : Nat := HPow.hPow 2 System.Platform.numBits
structure USize where ofBitVec ::
  toBitVec : BitVec System.Platform.numBits
attribute [extern "lean_usize_of_nat_mk"] USize.ofBitVec
attribute [extern "lean_usize_to_nat"] USize.toBitVec
@[extern "lean_usize_of_nat"] def USize.ofNatLT (n : Nat) (h : LT.lt n USize.size) : USize := ⟨BitVec.ofNatLT n h⟩
@[extern "lean_usize_of_nat"] def USize.ofNat (n : Nat) : USize := ⟨BitVec.ofNat _ n⟩
@[extern "lean_usize_to_nat"] def USize.toNat (n : USize) : Nat := n.toBitVec.toNat
@[extern "lean_usize_dec_eq"] def USize.decEq (a b : USize) : Decidable (Eq a b) :=
  match _root_.decEq a.toBitVec b.toBitVec with
  | isTrue h => isTrue (congrArg USize.ofBitVec h)
  | isFalse h => isFalse fun e => h (congrArg USize.toBitVec e)
instance instDecidableEqUSize : DecidableEq USize := USize.decEq
instance instInhabitedUSize : Inhabited USize := ⟨USize.ofNatLT 0 (Nat.two_pow_pos _)⟩
