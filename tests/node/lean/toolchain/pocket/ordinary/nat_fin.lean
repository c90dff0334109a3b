/-! Numbers below a bound. -/
namespace Bounded

example : (3 : Fin 5) + 4 = 2 := rfl
example : (2 : Fin 5) - 3 = 4 := by decide
example : (2 : Fin 5) * 4 = 3 ∧ (7 : Fin 5) = 2 := by decide
example : ∀ i : Fin 6, i.val < 6 := by decide
example : ∃ i : Fin 6, i.val * i.val = 16 := by decide
example : ∀ i j : Fin 4, i + j = j + i := by decide
example : (⟨2, by decide⟩ : Fin 4) = 2 := rfl

theorem val_bound {n : Nat} (i : Fin n) : i.val + 1 ≤ n := i.isLt
theorem equal {n : Nat} (i j : Fin n) (h : i.val = j.val) : i = j := Fin.ext h
theorem below_last {n : Nat} (i : Fin (n + 1)) (h : i ≠ Fin.last n) : i.val < n := by
  have h' : i.val ≠ n := fun e => h (Fin.ext e)
  omega
theorem no_number_below_zero (i : Fin 0) : False := i.elim0
theorem order {n : Nat} (i j k : Fin n) (h : i < j) (h' : j ≤ k) : i ≠ k := by omega
theorem succ_injective {n : Nat} {i j : Fin n} (h : i.succ = j.succ) : i = j := Fin.succ_inj.1 h

/-- A function on a bounded domain, as a table. -/
def table : Fin 3 → Nat
  | 0 => 10
  | 1 => 20
  | 2 => 30
example : table 1 = 20 := rfl

def rotate {n : Nat} (i : Fin (n + 1)) : Fin (n + 1) := i + 1
example : rotate (4 : Fin 5) = 0 := rfl

theorem cast_up {n : Nat} (i : Fin n) : (i.castSucc : Nat) = i := rfl
theorem reverse_twice {n : Nat} (i : Fin n) : i.rev.rev = i := Fin.rev_rev i
theorem sum_bound (i j : Fin 10) : i.val + j.val ≤ 18 := by omega
theorem sum_mod (i j : Fin 10) (h : i.val + j.val < 10) : (i + j).val = i.val + j.val := by
  rw [Fin.val_add]
  exact Nat.mod_eq_of_lt h
def find (p : Nat → Bool) : (n : Nat) → Option (Fin n)
  | 0 => none
  | n + 1 => match find p n with
    | some i => some i.castSucc
    | none => if p n then some (Fin.last n) else none
example : find (fun k => k * k == 49) 20 = some 7 := by decide
end Bounded
