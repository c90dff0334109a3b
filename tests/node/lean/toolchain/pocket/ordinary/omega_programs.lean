/-! Small programs on numbers with their specifications, where `omega` settles the arithmetic. -/
namespace Programs

structure Interval where
  lo : Int
  hi : Int
  valid : lo ≤ hi

namespace Interval
def length (i : Interval) : Int := i.hi - i.lo
def shift (i : Interval) (d : Int) : Interval := ⟨i.lo + d, i.hi + d, by have := i.valid; omega⟩
def hull (i j : Interval) : Interval :=
  ⟨min i.lo j.lo, max i.hi j.hi, by have := i.valid; have := j.valid; omega⟩
def contains (i : Interval) (x : Int) : Prop := i.lo ≤ x ∧ x ≤ i.hi
instance (i : Interval) (x : Int) : Decidable (i.contains x) := inferInstanceAs (Decidable (_ ∧ _))

theorem length_nonneg (i : Interval) : 0 ≤ i.length := by
  have := i.valid
  unfold length
  omega
theorem length_shift (i : Interval) (d : Int) : (i.shift d).length = i.length := by
  simp only [length, shift]
  omega
theorem hull_contains {i j : Interval} {x : Int} (h : i.contains x ∨ j.contains x) : (i.hull j).contains x := by
  simp only [contains, hull] at *
  omega
example : (Interval.mk (-2) 5 (by decide)).contains 3 := by decide
end Interval

/-- Binary search for the largest number whose square is at most `n`, with `fuel` steps. -/
def sqrtBetween (n : Nat) : Nat → Nat → Nat → Nat
  | 0, lo, _ => lo
  | fuel + 1, lo, hi =>
    if hi ≤ lo + 1 then lo
    else if ((lo + hi) / 2) * ((lo + hi) / 2) ≤ n then sqrtBetween n fuel ((lo + hi) / 2) hi
    else sqrtBetween n fuel lo ((lo + hi) / 2)

theorem sqrtBetween_le (n : Nat) : ∀ fuel lo hi, lo * lo ≤ n → sqrtBetween n fuel lo hi * sqrtBetween n fuel lo hi ≤ n := by
  intro fuel
  induction fuel with
  | zero => intro lo hi h; exact h
  | succ fuel ih =>
    intro lo hi h
    unfold sqrtBetween
    split
    · exact h
    · split
      · next h' => exact ih _ _ h'
      · exact ih _ _ h
example : sqrtBetween 1000 20 0 1001 = 31 := by decide

def collatz (n : Nat) : Nat := if n % 2 = 0 then n / 2 else 3 * n + 1

theorem collatz_of_odd (n : Nat) (h : n % 2 = 1) : collatz n % 2 = 0 := by
  unfold collatz
  rw [if_neg (by omega)]
  omega
theorem collatz_pos (n : Nat) (h : 0 < n) : 0 < collatz n := by
  unfold collatz
  split <;> omega

def sorted : List Int → Prop
  | [] => True
  | [_] => True
  | a :: b :: rest => a ≤ b ∧ sorted (b :: rest)

def insert (x : Int) : List Int → List Int
  | [] => [x]
  | a :: rest => if x ≤ a then x :: a :: rest else a :: insert x rest

theorem sorted_insert (x : Int) : ∀ l, sorted l → sorted (insert x l)
  | [], _ => trivial
  | [a], _ => by
    simp only [insert]
    split
    · next h => exact ⟨h, trivial⟩
    · next h => exact ⟨by omega, trivial⟩
  | a :: b :: rest, ⟨hab, h⟩ => by
    simp only [insert]
    split
    · next h' => exact ⟨h', hab, h⟩
    · next h' =>
      have ih := sorted_insert x (b :: rest) h
      simp only [insert] at ih ⊢
      split
      · next hb => exact ⟨by omega, hb, h⟩
      · next hb =>
        rw [if_neg hb] at ih
        exact ⟨hab, ih⟩

def bank (balance : Int) : List Int → Int
  | [] => balance
  | t :: ts => bank (balance + t) ts

theorem bank_mono (ts : List Int) (h : ∀ t, t ∈ ts → 0 ≤ t) (b : Int) : b ≤ bank b ts := by
  induction ts generalizing b with
  | nil => exact Int.le_refl b
  | cons t ts ih =>
    have h₁ : 0 ≤ t := h t (by simp)
    have h₂ := ih (fun u hu => h u (by simp [hu])) (b + t)
    rw [bank]
    omega
end Programs
