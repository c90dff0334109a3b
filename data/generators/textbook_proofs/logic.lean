/-! # Propositional logic -/

/-! ## One step -/

theorem chain_of_four (p q r s : Prop) (h₁ : p → q) (h₂ : q → r) (h₃ : r → s) : p → s := by
  intro hp
  simp_all

theorem one_denied_of_two (p q r : Prop) (h : p → q ∧ r) (hq : ¬q) : ¬p := by
  intro hp
  exact hq (h hp).1

theorem middle_of_three (p q r : Prop) (hq : q) : p ∨ q ∨ r := by simp_all

theorem one_three_times (p : Prop) (hp : p) : p ∧ p ∧ p := by simp_all

theorem contradiction_gives_all (p q : Prop) (h : p ∧ ¬p) : q := by simp_all

theorem and_with_true (p : Prop) : p ∧ True ↔ p := by simp

theorem or_with_false (p : Prop) : False ∨ p ↔ p := by simp

theorem from_truth_alone (p : Prop) : (True → p) ↔ p := by simp

theorem props_are_equal (p q : Prop) (h : p ↔ q) : p = q := by simp_all

theorem bool_de_morgan (a b : Bool) : (!(a || b)) = (!a && !b) := by simp

theorem same_either_way (p : Prop) [Decidable p] (a : Nat) : (if p then a else a) = a := by simp

/-! ## A few steps -/

theorem three_reversed (p q r : Prop) : p ∧ q ∧ r → (r ∧ q) ∧ p := by simp_all

theorem neither_holds (p q : Prop) (hp : ¬p) (hq : ¬q) : p ↔ q := by simp_all

theorem absorbed_by_and (p q : Prop) : p ∧ (p ∨ q) ↔ p := by simp_all

theorem second_of_three_remains (p q r : Prop) (h : p ∨ q ∨ r) (hp : ¬p) (hr : ¬r) : q := by simp_all

theorem resolution (p q r : Prop) : (p ∨ q) → (¬p ∨ r) → q ∨ r := by
  intro h h₁
  rcases h₁ with h | h <;> simp_all

theorem destructive_dilemma (p q r s : Prop) (h₁ : p → q) (h₂ : r → s) (h : ¬q ∨ ¬s) : ¬p ∨ ¬r := by rcases h with h | h <;> simp_all

theorem implies_both (p q r : Prop) : (p → q ∧ r) ↔ (p → q) ∧ (p → r) := by constructor <;> simp_all

theorem equivalents_in_and (p q r s : Prop) (h₁ : p ↔ q) (h₂ : r ↔ s) : p ∧ r ↔ q ∧ s := by simp_all

theorem equivalents_in_implication (p q r s : Prop) (h₁ : p ↔ q) (h₂ : r ↔ s) : (p → r) ↔ (q → s) := by simp_all

theorem not_not_through_implication (p q : Prop) : ¬¬(p → q) → ¬¬p → ¬¬q := by simp

theorem none_of_three (p q r : Prop) : ¬(p ∨ q ∨ r) ↔ ¬p ∧ ¬q ∧ ¬r := by simp

theorem dry_ground (rain sprinkler wet : Prop) (h₁ : rain → wet) (h₂ : sprinkler → wet) (dry : ¬wet) :
    ¬(rain ∨ sprinkler) := by simp_all

theorem contrapositive_in_context (p q r : Prop) (h : p ∧ q → r) : p ∧ ¬r → ¬q := by
  intro h₁ hq
  simp_all

theorem whether_or_not (p q r : Prop) (h₁ : p ∧ q → r) (h₂ : p ∧ ¬q → r) : p → r := by by_cases hq : q <;> simp_all

/-! ## Several steps -/

theorem an_implication_each_way (p q r : Prop) : (p → q ∨ r) ∨ (q → p) := by
  by_cases hp : p
  · exact Or.inr fun _ => hp
  · exact Or.inl fun h => absurd h hp

theorem not_all_of_three (p q r : Prop) : ¬(p ∧ q ∧ r) ↔ ¬p ∨ ¬q ∨ ¬r := by by_cases hp : p <;> by_cases hq : q <;> by_cases hr : r <;> simp_all

theorem circle_of_implications (p q r : Prop) (h₁ : p → q) (h₂ : q → r) (h₃ : r → p) :
    (p ↔ q) ∧ (q ↔ r) ∧ (r ↔ p) := by
      constructor
      · constructor <;> simp_all
      · constructor <;> constructor <;> simp_all

theorem exclusive_or_is_difference (p q : Prop) : (p ∧ ¬q) ∨ (¬p ∧ q) ↔ ¬(p ↔ q) := by by_cases hp : p <;> by_cases hq : q <;> simp_all

theorem or_from_nand (p q : Prop) : ¬(¬(p ∧ p) ∧ ¬(q ∧ q)) ↔ p ∨ q := by by_cases hp : p <;> by_cases hq : q <;> simp_all

theorem both_are_knaves (a b : Prop) (says : a ↔ ¬a ∧ ¬b) : ¬a ∧ b := by by_cases ha : a <;> simp_all

theorem if_i_am_a_knight (a b : Prop) (says : a ↔ (a → b)) : a ∧ b := by by_cases hb : b <;> simp_all

theorem three_caskets (gold silver lead : Prop) (somewhere : gold ∨ silver ∨ lead) (h₁ : ¬(gold ∧ ¬silver))
    (h₂ : ¬(¬silver ∧ ¬gold)) : silver := by by_cases h : gold <;> simp_all

theorem if_as_two_implications (p q r : Prop) [Decidable p] : (if p then q else r) ↔ (p → q) ∧ (¬p → r) := by
  constructor
  · intro h
    constructor
    · intro hp
      simp_all
    · intro hnp
      simp_all
  · simp_all

/-! ## Many steps -/

theorem peirce_not_refutable (p q : Prop) : ¬¬(((p → q) → p) → p) := by by_cases hp : p <;> by_cases hq : q <;> simp_all

theorem majority_of_three (p q r : Prop) :
    (p ∧ q) ∨ (q ∧ r) ∨ (p ∧ r) ↔ (p ∨ q) ∧ (q ∨ r) ∧ (p ∨ r) := by
      constructor
      · intro h
        rcases h with h | h
        · simp_all
        · rcases h with h | h <;> simp_all
      · simp
        intro h h₁ h₂
        rcases h₂ with hp | hr
        · simp_all
          rcases h₁ with hq | hr
          · simp_all
          · simp_all
        · simp_all
          rcases h with hp | hq
          · simp_all
          · simp_all

theorem exclusive_or_associates (p q r : Prop) : (¬(¬(p ↔ q) ↔ r)) ↔ ¬(p ↔ ¬(q ↔ r)) := by by_cases hp : p <;> by_cases hq : q <;> by_cases hr : r <;> simp_all
