/-! Sections, variables, universes, namespaces, `open`, options, visibility, attributes, and the commands that print. -/

namespace Course.Week1

universe u
variable {α : Type u} (p q r : Prop)

section Logic
variable {p q r}

theorem and_swap' (h : p ∧ q) : q ∧ p := ⟨h.right, h.left⟩
theorem or_swap' : p ∨ q → q ∨ p
  | .inl hp => .inr hp
  | .inr hq => .inl hq
theorem curry : (p ∧ q → r) ↔ (p → q → r) := ⟨fun h hp hq => h ⟨hp, hq⟩, fun h ⟨hp, hq⟩ => h hp hq⟩
end Logic

theorem distrib : p ∧ (q ∨ r) ↔ (p ∧ q) ∨ (p ∧ r) := by
  constructor
  · rintro ⟨hp, hq | hr⟩
    · exact .inl ⟨hp, hq⟩
    · exact .inr ⟨hp, hr⟩
  · rintro (⟨hp, hq⟩ | ⟨hp, hr⟩)
    · exact ⟨hp, .inl hq⟩
    · exact ⟨hp, .inr hr⟩

private def hidden : Nat := 41
protected def visible : Nat := hidden + 1
example : Week1.visible = 42 := rfl

@[simp] theorem length_twice (xs : List α) : (xs ++ xs).length = 2 * xs.length := by
  rw [List.length_append]
  omega
example (xs : List α) : ((xs ++ xs).length = 4) = (2 * xs.length = 4) := by simp [Nat.two_mul]

end Course.Week1

open Course.Week1 (and_swap')
example (p q : Prop) (h : p ∧ q) : q ∧ p := and_swap' h

open Nat in
example : succ 3 = 4 := rfl

set_option maxRecDepth 1000 in
example : 2 ^ 10 = 1024 := by decide

/-- info: 'Course.Week1.curry' does not depend on any axioms -/
#guard_msgs in
#print axioms Course.Week1.curry

/-- info: Nat.add_comm (n m : Nat) : n + m = m + n -/
#guard_msgs in
#check Nat.add_comm

/-- info: 10 -/
#guard_msgs in
#reduce (fun n => n + n) 5

/-! `calc`, pattern matching with several patterns, anonymous functions. -/

example (a b c d : Nat) (h₁ : a = b) (h₂ : b ≤ c) (h₃ : c < d) : a < d :=
  calc
    a = b := h₁
    _ ≤ c := h₂
    _ < d := h₃

def classify : Nat → Nat → String
  | 0, 0 => "both zero"
  | 0, _ | _, 0 => "one zero"
  | _, _ => "none zero"
example : classify 0 3 = "one zero" := rfl
example : classify 2 3 = "none zero" := rfl

def swapAll {α β : Type} : List (α × β) → List (β × α) := List.map fun (a, b) => (b, a)
example : swapAll [(1, true), (2, false)] = [(true, 1), (false, 2)] := rfl

theorem exists_double (n : Nat) (h : n % 2 = 0) : ∃ k, n = 2 * k := by
  refine ⟨n / 2, ?_⟩
  omega

theorem by_cases_example (p : Prop) : ¬¬p → p := by
  intro h
  by_cases hp : p
  · exact hp
  · exact absurd hp h

inductive Even : Nat → Prop where
  | zero : Even 0
  | step {n : Nat} : Even n → Even (n + 2)

theorem Even.add {m n : Nat} (hm : Even m) (hn : Even n) : Even (m + n) := by
  induction hn with
  | zero => exact hm
  | step _ ih => exact ih.step
theorem not_even_one : ¬Even 1 := nofun
