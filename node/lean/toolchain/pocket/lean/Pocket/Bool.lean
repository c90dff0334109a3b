module
prelude
public import Pocket.Classical
@[expose] public section
/-! Booleans: `&&`, `||`, `!`, `^^`, `cond`, and boolean equality `==`. -/
set_option autoImplicit false
universe u

namespace Bool

/-! ## Truth -/

@[simp] theorem not_eq_true (b : Bool) : (¬(b = true)) = (b = false) := by cases b <;> decide
@[simp] theorem not_eq_false (b : Bool) : (¬(b = false)) = (b = true) := by cases b <;> decide
theorem of_not_eq_true {b : Bool} : ¬b = true → b = false := (not_eq_true b).mp
theorem of_not_eq_false {b : Bool} : ¬b = false → b = true := (not_eq_false b).mp
theorem false_ne_true : ¬false = true := fun h => Bool.noConfusion h
theorem eq_false_or_eq_true (b : Bool) : b = true ∨ b = false := by cases b <;> decide
theorem eq_false_iff {b : Bool} : b = false ↔ b ≠ true := by cases b <;> decide
theorem ne_false_iff {b : Bool} : b ≠ false ↔ b = true := by cases b <;> decide
theorem eq_true_of_ne_false {b : Bool} : b ≠ false → b = true := ne_false_iff.1
theorem eq_false_of_ne_true {b : Bool} : b ≠ true → b = false := eq_false_iff.2
@[simp] theorem decide_eq_true {b : Bool} [Decidable (b = true)] : decide (b = true) = b := by
  cases b
  · exact _root_.decide_eq_false (fun h => Bool.noConfusion h)
  · exact _root_.decide_eq_true rfl
theorem eq_iff_iff {a b : Bool} : a = b ↔ (a = true ↔ b = true) := by cases a <;> cases b <;> decide
theorem forall_bool {p : Bool → Prop} : (∀ b, p b) ↔ p false ∧ p true :=
  ⟨fun h => ⟨h false, h true⟩, fun ⟨hf, ht⟩ b => by cases b; exact hf; exact ht⟩
theorem exists_bool {p : Bool → Prop} : (∃ b, p b) ↔ p false ∨ p true :=
  ⟨fun ⟨b, h⟩ => by cases b; exact .inl h; exact .inr h, fun h => h.elim (fun h => ⟨_, h⟩) (fun h => ⟨_, h⟩)⟩
instance instDecidableForall {p : Bool → Prop} [∀ b, Decidable (p b)] : Decidable (∀ b, p b) := decidable_of_decidable_of_iff forall_bool.symm
instance instDecidableExists {p : Bool → Prop} [∀ b, Decidable (p b)] : Decidable (∃ b, p b) := decidable_of_decidable_of_iff exists_bool.symm

/-! ## Conjunction -/

@[simp] theorem and_false (b : Bool) : (b && false) = false := by cases b <;> rfl
@[simp] theorem and_true (b : Bool) : (b && true) = b := by cases b <;> rfl
@[simp] theorem false_and (b : Bool) : (false && b) = false := rfl
@[simp] theorem true_and (b : Bool) : (true && b) = b := rfl
@[simp] theorem and_self (b : Bool) : (b && b) = b := by cases b <;> rfl
@[simp] theorem and_self_left (a b : Bool) : (a && (a && b)) = (a && b) := by cases a <;> rfl
@[simp] theorem and_self_right (a b : Bool) : ((a && b) && b) = (a && b) := by cases a <;> cases b <;> rfl
@[simp] theorem and_not_self (b : Bool) : (b && !b) = false := by cases b <;> rfl
@[simp] theorem not_and_self (b : Bool) : (!b && b) = false := by cases b <;> rfl
theorem and_comm (a b : Bool) : (a && b) = (b && a) := by cases a <;> cases b <;> rfl
theorem and_assoc (a b c : Bool) : (a && b && c) = (a && (b && c)) := by cases a <;> rfl
theorem and_left_comm (a b c : Bool) : (a && (b && c)) = (b && (a && c)) := by cases a <;> cases b <;> rfl
theorem and_right_comm (a b c : Bool) : ((a && b) && c) = ((a && c) && b) := by cases a <;> cases b <;> cases c <;> rfl
@[simp] theorem and_eq_true (a b : Bool) : ((a && b) = true) = (a = true ∧ b = true) := by cases a <;> cases b <;> decide
theorem and_eq_true_iff {a b : Bool} : (a && b) = true ↔ a = true ∧ b = true := Iff.of_eq (and_eq_true a b)
@[simp] theorem and_eq_false_iff {a b : Bool} : (a && b) = false ↔ a = false ∨ b = false := by cases a <;> cases b <;> decide

/-! ## Disjunction -/

@[simp] theorem or_false (b : Bool) : (b || false) = b := by cases b <;> rfl
@[simp] theorem or_true (b : Bool) : (b || true) = true := by cases b <;> rfl
@[simp] theorem false_or (b : Bool) : (false || b) = b := rfl
@[simp] theorem true_or (b : Bool) : (true || b) = true := rfl
@[simp] theorem or_self (b : Bool) : (b || b) = b := by cases b <;> rfl
@[simp] theorem or_self_left (a b : Bool) : (a || (a || b)) = (a || b) := by cases a <;> rfl
@[simp] theorem or_self_right (a b : Bool) : ((a || b) || b) = (a || b) := by cases a <;> cases b <;> rfl
@[simp] theorem or_not_self (b : Bool) : (b || !b) = true := by cases b <;> rfl
@[simp] theorem not_or_self (b : Bool) : (!b || b) = true := by cases b <;> rfl
theorem or_comm (a b : Bool) : (a || b) = (b || a) := by cases a <;> cases b <;> rfl
theorem or_assoc (a b c : Bool) : (a || b || c) = (a || (b || c)) := by cases a <;> rfl
theorem or_left_comm (a b c : Bool) : (a || (b || c)) = (b || (a || c)) := by cases a <;> cases b <;> rfl
theorem or_right_comm (a b c : Bool) : ((a || b) || c) = ((a || c) || b) := by cases a <;> cases b <;> cases c <;> rfl
@[simp] theorem or_eq_true (a b : Bool) : ((a || b) = true) = (a = true ∨ b = true) := by cases a <;> cases b <;> decide
theorem or_eq_true_iff {a b : Bool} : (a || b) = true ↔ a = true ∨ b = true := Iff.of_eq (or_eq_true a b)
@[simp] theorem or_eq_false_iff {a b : Bool} : (a || b) = false ↔ a = false ∧ b = false := by cases a <;> cases b <;> decide
theorem and_or_distrib_left (a b c : Bool) : (a && (b || c)) = (a && b || a && c) := by cases a <;> rfl
theorem and_or_distrib_right (a b c : Bool) : ((a || b) && c) = (a && c || b && c) := by cases a <;> cases b <;> cases c <;> rfl
theorem or_and_distrib_left (a b c : Bool) : (a || b && c) = ((a || b) && (a || c)) := by cases a <;> rfl
theorem or_and_distrib_right (a b c : Bool) : (a && b || c) = ((a || c) && (b || c)) := by cases a <;> cases b <;> cases c <;> rfl

/-! ## Negation -/

@[simp] theorem not_true : (!true) = false := rfl
@[simp] theorem not_false : (!false) = true := rfl
@[simp] theorem not_not (b : Bool) : (!!b) = b := by cases b <;> rfl
@[simp] theorem not_eq_true' (b : Bool) : ((!b) = true) = (b = false) := by cases b <;> decide
@[simp] theorem not_eq_false' (b : Bool) : ((!b) = false) = (b = true) := by cases b <;> decide
@[simp] theorem not_and (a b : Bool) : (!(a && b)) = (!a || !b) := by cases a <;> rfl
@[simp] theorem not_or (a b : Bool) : (!(a || b)) = (!a && !b) := by cases a <;> rfl
theorem not_inj {a b : Bool} : (!a) = (!b) → a = b := by cases a <;> cases b <;> decide
@[simp] theorem not_inj_iff {a b : Bool} : (!a) = (!b) ↔ a = b := by cases a <;> cases b <;> decide
theorem eq_not_iff {a b : Bool} : a = (!b) ↔ a ≠ b := by cases a <;> cases b <;> decide
theorem not_eq_self (b : Bool) : (!b) ≠ b := by cases b <;> decide
@[simp] theorem not_eq_not {a b : Bool} : (¬a = (!b)) ↔ a = b := by cases a <;> cases b <;> decide

/-! ## Exclusive or -/

@[simp] theorem false_xor (b : Bool) : xor false b = b := rfl
@[simp] theorem xor_false (b : Bool) : xor b false = b := by cases b <;> rfl
@[simp] theorem true_xor (b : Bool) : xor true b = !b := rfl
@[simp] theorem xor_true (b : Bool) : xor b true = !b := by cases b <;> rfl
@[simp] theorem xor_self (b : Bool) : xor b b = false := by cases b <;> rfl
theorem xor_comm (a b : Bool) : xor a b = xor b a := by cases a <;> cases b <;> rfl
theorem xor_assoc (a b c : Bool) : xor (xor a b) c = xor a (xor b c) := by cases a <;> cases b <;> cases c <;> rfl

/-! ## Choice -/

@[simp] theorem cond_self {α : Sort u} (c : Bool) (t : α) : cond c t t = t := by cases c <;> rfl
theorem cond_pos {α : Sort u} {c : Bool} {t e : α} (h : c = true) : cond c t e = t := h ▸ rfl
theorem cond_neg {α : Sort u} {c : Bool} {t e : α} (h : c = false) : cond c t e = e := h ▸ rfl
theorem apply_cond {α β : Sort u} (f : α → β) {c : Bool} {t e : α} : f (cond c t e) = cond c (f t) (f e) := by cases c <;> rfl
theorem cond_eq_ite {α : Sort u} (c : Bool) (t e : α) : cond c t e = if c = true then t else e := by cases c <;> rfl
theorem cond_not {α : Sort u} (c : Bool) (t e : α) : cond (!c) t e = cond c e t := by cases c <;> rfl
end Bool
@[simp] theorem cond_true {α : Sort u} (a b : α) : cond true a b = a := rfl
@[simp] theorem cond_false {α : Sort u} (a b : α) : cond false a b = b := rfl

/-! ## Boolean equality -/

class ReflBEq (α : Type u) [BEq α] : Prop where
  rfl : ∀ {a : α}, (a == a) = true
class LawfulBEq (α : Type u) [BEq α] : Prop where
  eq_of_beq : ∀ {a b : α}, (a == b) = true → a = b
  rfl : ∀ {a : α}, (a == a) = true
theorem eq_of_beq {α : Type u} [BEq α] [LawfulBEq α] {a b : α} (h : (a == b) = true) : a = b := LawfulBEq.eq_of_beq h
instance {α : Type u} [DecidableEq α] : LawfulBEq α where
  eq_of_beq := of_decide_eq_true
  rfl := decide_eq_true rfl
@[simp] theorem beq_iff_eq {α : Type u} [BEq α] [LawfulBEq α] {a b : α} : (a == b) = true ↔ a = b := ⟨eq_of_beq, fun h => h ▸ LawfulBEq.rfl⟩
@[simp] theorem beq_self_eq_true {α : Type u} [BEq α] [LawfulBEq α] (a : α) : (a == a) = true := LawfulBEq.rfl
theorem beq_of_eq {α : Type u} [BEq α] [LawfulBEq α] {a b : α} (h : a = b) : (a == b) = true := beq_iff_eq.2 h
@[simp] theorem beq_eq_false_iff_ne {α : Type u} [BEq α] [LawfulBEq α] {a b : α} : (a == b) = false ↔ a ≠ b := by
  rw [ne_eq, ← beq_iff_eq (a := a) (b := b)]
  cases a == b <;> decide
theorem beq_false_of_ne {α : Type u} [BEq α] [LawfulBEq α] {a b : α} (h : a ≠ b) : (a == b) = false := beq_eq_false_iff_ne.2 h
@[simp] theorem bne_iff_ne {α : Type u} [BEq α] [LawfulBEq α] {a b : α} : (a != b) = true ↔ a ≠ b := by
  rw [bne, Bool.not_eq_true', beq_eq_false_iff_ne]
@[simp] theorem bne_self_eq_false {α : Type u} [BEq α] [LawfulBEq α] (a : α) : (a != a) = false := by rw [bne, beq_self_eq_true]; rfl
@[simp] theorem bne_eq_false_iff_eq {α : Type u} [BEq α] [LawfulBEq α] {a b : α} : (a != b) = false ↔ a = b := by
  rw [bne, Bool.not_eq_false', beq_iff_eq]
@[simp] theorem beq_true (b : Bool) : (b == true) = b := by cases b <;> rfl
@[simp] theorem beq_false (b : Bool) : (b == false) = !b := by cases b <;> rfl
theorem Bool.beq_eq_decide_eq {α : Type u} [BEq α] [LawfulBEq α] [DecidableEq α] (a b : α) : (a == b) = decide (a = b) := by
  cases Decidable.em (a = b) with
  | inl h => rw [_root_.decide_eq_true h, beq_of_eq h]
  | inr h => rw [_root_.decide_eq_false h, beq_false_of_ne h]

namespace Nat.Simproc
theorem beqEqOfEqEq {a b c d : Nat} (p : (a = b) = (c = d)) : (a == b) = (c == d) := by
  rw [Bool.beq_eq_decide_eq, Bool.beq_eq_decide_eq]; exact decide_eq_decide.2 (Iff.of_eq p)
theorem beqFalseOfEqFalse {a b : Nat} (p : (a = b) = False) : (a == b) = false := beq_false_of_ne (of_eq_false p)
theorem bneEqOfEqEq {a b c d : Nat} (p : (a = b) = (c = d)) : (a != b) = (c != d) := congrArg (!·) (beqEqOfEqEq p)
theorem bneTrueOfEqFalse {a b : Nat} (p : (a = b) = False) : (a != b) = true := congrArg (!·) (beqFalseOfEqFalse p)
end Nat.Simproc
