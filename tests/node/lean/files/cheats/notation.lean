Redefined notation: the text of the statement is the reference's, and means something else.
--! reference
theorem t (a b : Nat) : a + b = b * a := sorry
--! refused nothing_to_prove
theorem t (a b : Nat) : a + b = b * a := rfl
--! reference
theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := sorry
--! pair le_by_infix
- local infix:50 (priority := high) " ≤ " => fun (a b : Nat) => a = a ∨ b = b
- theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := .inl rfl
+ local infix:50 (priority := high) " ⪯ " => fun (a b : Nat) => a = a ∨ b = b
+ theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := Nat.mul_le_mul_right c h
--! pair le_by_macro_rules
- macro_rules | `($a ≤ $b) => `(($a : Nat) = $a)
- theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := rfl
+ macro_rules | `($a ≥ $b) => `(($a : Nat) = $a)
+ theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := Nat.mul_le_mul_right c h
--! pair times_by_macro_rules
- macro_rules | `($a * $b) => `(Nat.sub $a $a)
- theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := by simp
+ macro_rules | `($a ^ $b) => `(Nat.sub $a $a)
+ theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := Nat.mul_le_mul_right c h
--! pair le_by_scoped_notation
namespace Order
scoped notation:50 (priority := high) a " ≤ " b => (True ∨ a = b)
end Order
- open Order
- theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := .inl trivial
+ theorem t (a b c : Nat) (h : a ≤ b) : a * c ≤ b * c := Nat.mul_le_mul_right c h
--! reference
theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := sorry
--! pair eq_by_notation
- local notation:50 (priority := high) a:51 " = " b:51 => Nat.le (a - a) b
- theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inl (Nat.zero_le _)
+ local notation:50 (priority := high) a:51 " =' " b:51 => Nat.le (a - a) b
+ theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr ⟨rfl, rfl⟩
--! pair eq_by_macro_rules
- macro_rules | `($a = $b) => `(True)
- theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inl trivial
+ macro_rules | `($a = $b) => `(Eq $a $b)
+ theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr ⟨rfl, rfl⟩
--! pair plus_by_macro_rules
- macro_rules | `($a + $b) => `(5)
- theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inl rfl
+ macro_rules | `($a + $b) => `(HAdd.hAdd $a $b)
+ theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr ⟨rfl, rfl⟩
--! pair or_by_macro_rules
- macro_rules | `($a ∨ $b) => `($b)
- theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := ⟨rfl, rfl⟩
+ macro_rules | `($a ∨ $b) => `(Or $a $b)
+ theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr ⟨rfl, rfl⟩
--! pair and_by_macro_rules
- macro_rules | `($a ∧ $b) => `(Or $a $b)
- theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr (.inl rfl)
+ macro_rules | `($a ∧ $b) => `(And $a $b)
+ theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr ⟨rfl, rfl⟩
--! pair plus_adds_one
- macro_rules | `($a + $b) => `(HAdd.hAdd $a (Nat.succ $b))
- theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inl rfl
+ macro_rules | `($a - $b) => `(HAdd.hAdd $a (Nat.succ $b))
+ theorem t : 2 + 2 = 5 ∨ 1 = 1 ∧ 2 = 2 := .inr ⟨rfl, rfl⟩
--! reference
theorem t (n : Nat) (h : 4 ∣ n) : 2 ∣ n := sorry
--! pair dvd_by_infix
- local infix:50 (priority := high) " ∣ " => fun (a b : Nat) => b = b
- theorem t (n : Nat) (h : 4 ∣ n) : 2 ∣ n := rfl
+ local infix:50 (priority := high) " ∥ " => fun (a b : Nat) => b = b
+ theorem t (n : Nat) (h : 4 ∣ n) : 2 ∣ n := Nat.dvd_trans ⟨2, rfl⟩ h
--! pair dvd_turned_round
- macro_rules | `($a ∣ $b) => `(∃ c, $b * c = $a * c)
- theorem t (n : Nat) (h : 4 ∣ n) : 2 ∣ n := ⟨0, rfl⟩
+ theorem t (n : Nat) (h : 4 ∣ n) : 2 ∣ n := Nat.dvd_trans ⟨2, rfl⟩ h
--! reference
theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := sorry
--! pair forall_by_macro_rules
- macro_rules | `(∀ $_:ident : $_:term, $_:term) => `(True)
- theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := trivial
+ theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun n => ⟨n + 1, Nat.lt_succ_self n, Nat.le_refl _⟩
--! pair exists_by_macro_rules
- macro_rules | `(∃ $x:ident, $p:term) => `(∀ $x:ident : Nat, $p ∨ True)
- theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun _ _ => .inr trivial
+ macro_rules | `(∃ $x:ident, $p:term) => `(Exists fun $x:ident => $p)
+ theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun n => ⟨n + 1, Nat.lt_succ_self n, Nat.le_refl _⟩
--! pair lt_by_notation
- local notation:50 (priority := high) a:51 " < " b:51 => a = (b : Nat)
- theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun n => ⟨n, rfl, Nat.le_succ n⟩
+ local notation:50 (priority := high) a:51 " < " b:51 => LT.lt a b
+ theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun n => ⟨n + 1, Nat.lt_succ_self n, Nat.le_refl _⟩
--! pair nat_by_notation
- local notation (priority := high) "Nat" => Unit
- instance : LT Unit := ⟨fun _ _ => True⟩
- instance : LE Unit := ⟨fun _ _ => True⟩
- instance : Add Unit := ⟨fun _ _ => ()⟩
- instance : OfNat Unit 1 := ⟨()⟩
- theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun n => ⟨n, trivial, trivial⟩
+ local notation (priority := high) "Natt" => Unit
+ theorem t : ∀ n : Nat, ∃ m, n < m ∧ m ≤ n + 1 := fun n => ⟨n + 1, Nat.lt_succ_self n, Nat.le_refl _⟩
