prelude
import Pocket.Unexpanders
universe u
set_option linter.all false
theorem ite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} : ite c t e = t := if_pos hc
theorem ite_eq_right {c : Prop} {h : Decidable c} (hn : ¬ c) {α : Sort u} {t e : α} : ite c t e = e := if_neg hn
theorem ite_eq_left_of_eq_true {α : Sort u} {c : Prop} {inst : Decidable c} (a b : α) (h : c = True) : ite c a b = a := if_pos (of_eq_true h)
theorem ite_eq_right_of_eq_false {α : Sort u} {c : Prop} {inst : Decidable c} (a b : α) (h : c = False) : ite c a b = b := if_neg (of_eq_false h)
theorem eq_true_of_decide {p : Prop} [Decidable p] (h : decide p = true) : p = True := eq_true (of_decide_eq_true h)
theorem eq_false_of_decide {p : Prop} [Decidable p] (h : decide p = false) : p = False := eq_false (of_decide_eq_false h)
attribute [symm] Eq.symm Iff.symm
@[induction_eliminator, elab_as_elim] def Nat.recAux {motive : Nat → Sort u} (zero : motive 0) (succ : ∀ n, motive n → motive (n + 1)) (t : Nat) : motive t :=
  match t with
  | .zero => zero
  | .succ n => succ n (Nat.recAux zero succ n)
@[cases_eliminator, elab_as_elim] def Nat.casesAuxOn {motive : Nat → Sort u} (t : Nat) (zero : motive 0) (succ : ∀ n, motive (n + 1)) : motive t :=
  match t with
  | .zero => zero
  | .succ n => succ n
theorem Nat.le_refl (n : Nat) : n ≤ n := Nat.le.refl
theorem Nat.le_succ (n : Nat) : n ≤ n + 1 := Nat.le.step Nat.le.refl
theorem Nat.le_trans {a b c : Nat} (h : a ≤ b) (h' : b ≤ c) : a ≤ c := by
  induction h' with
  | refl => exact h
  | step _ ih => exact Nat.le.step ih
theorem Nat.zero_le (n : Nat) : 0 ≤ n := by
  induction n with
  | zero => exact Nat.le.refl
  | succ n ih => exact Nat.le.step ih
theorem Nat.succ_le_succ {a b : Nat} (h : a ≤ b) : a + 1 ≤ b + 1 := by
  induction h with
  | refl => exact Nat.le.refl
  | step _ ih => exact Nat.le.step ih
theorem Nat.not_succ_le_zero (n : Nat) : ¬ (n + 1 ≤ 0) := by
  intro h; cases h
theorem Nat.pred_le_pred {a b : Nat} (h : a ≤ b) : Nat.pred a ≤ Nat.pred b := by
  induction h with
  | refl => exact Nat.le.refl
  | @step m h ih =>
    cases m with
    | zero => exact ih
    | succ m => exact Nat.le.step ih
theorem Nat.le_of_succ_le_succ {a b : Nat} (h : a + 1 ≤ b + 1) : a ≤ b := Nat.pred_le_pred h
theorem Nat.ble_of_le : (n m : Nat) → n ≤ m → Nat.ble n m = true
  | 0, _, _ => rfl
  | n+1, 0, h => absurd h (Nat.not_succ_le_zero n)
  | n+1, m+1, h => Nat.ble_of_le n m (Nat.le_of_succ_le_succ h)
theorem Nat.le_of_ble : (n m : Nat) → Nat.ble n m = true → n ≤ m
  | 0, m, _ => Nat.zero_le m
  | n+1, 0, h => nomatch h
  | n+1, m+1, h => Nat.succ_le_succ (Nat.le_of_ble n m h)
instance Nat.decLe (n m : Nat) : Decidable (n ≤ m) :=
  match h : Nat.ble n m with
  | true => isTrue (Nat.le_of_ble n m h)
  | false => isFalse fun hle => Bool.noConfusion (h.symm.trans (Nat.ble_of_le n m hle))
instance Nat.decLt (n m : Nat) : Decidable (n < m) := Nat.decLe (n+1) m
theorem Nat.mul_zero (n : Nat) : n * 0 = 0 := rfl
theorem Nat.mul_succ (n m : Nat) : n * (m + 1) = n * m + n := rfl
theorem Nat.zero_mul (n : Nat) : 0 * n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [Nat.mul_succ, ih]
theorem Nat.add_left_comm (a b c : Nat) : a + (b + c) = b + (a + c) := by
  rw [← Nat.add_assoc, Nat.add_comm a b, Nat.add_assoc]
theorem Nat.succ_mul (n m : Nat) : (n + 1) * m = n * m + m := by
  induction m with
  | zero => rfl
  | succ m ih =>
    rw [Nat.mul_succ, ih, Nat.mul_succ]
    simp only [Nat.add_assoc, Nat.add_comm, Nat.add_left_comm]
theorem Nat.mul_comm (n m : Nat) : n * m = m * n := by
  induction m with
  | zero => rw [Nat.zero_mul, Nat.mul_zero]
  | succ m ih => rw [Nat.mul_succ, Nat.succ_mul, ih]
theorem Nat.mul_add (a b c : Nat) : a * (b + c) = a * b + a * c := by
  induction c with
  | zero => rfl
  | succ c ih => rw [← Nat.add_assoc b c 1, Nat.mul_succ, ih, Nat.mul_succ, Nat.add_assoc]
theorem dite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α} {e : ¬ c → α} : dite c t e = t hc := dif_pos hc
theorem dite_eq_right {c : Prop} {h : Decidable c} (hn : ¬ c) {α : Sort u} {t : c → α} {e : ¬ c → α} : dite c t e = e hn := dif_neg hn
class Subsingleton (α : Sort u) : Prop where
  allEq : (a b : α) → a = b
theorem Subsingleton.elim {α : Sort u} [h : Subsingleton α] (a b : α) : a = b := h.allEq a b
theorem Subsingleton.helim {α β : Sort u} [h₁ : Subsingleton α] (h₂ : α = β) (a : α) (b : β) : HEq a b := by
  subst h₂; exact heq_of_eq (Subsingleton.elim a b)
instance (p : Prop) : Subsingleton (Decidable p) := ⟨fun a b => by
  cases a with
  | isTrue h => cases b with
    | isTrue h' => rfl
    | isFalse h' => exact absurd h h'
  | isFalse h => cases b with
    | isTrue h' => exact absurd h' h
    | isFalse h' => rfl⟩
instance (p : Prop) : Subsingleton p := ⟨fun _ _ => rfl⟩
@[congr] theorem ite_congr {α : Sort u} {b c : Prop} {x y z w : α} {s : Decidable b} [Decidable c] (h₁ : b = c) (h₂ : c → x = z) (h₃ : ¬ c → y = w) : ite b x y = ite c z w := by
  cases Decidable.em c with
  | inl h => rw [if_pos h]; subst h₁; rw [if_pos h, h₂ h]
  | inr h => rw [if_neg h]; subst h₁; rw [if_neg h, h₃ h]
