/-! Macros: for terms, tactics and commands, with alternatives, repetitions and recursion. -/

macro "twice " t:tactic : tactic => `(tactic| ($t; $t))
macro "easy" : tactic => `(tactic| first | rfl | assumption | omega | simp)

example (a b : Nat) (h : a = b) : b + 0 = a := by
  rw [Nat.add_zero]
  exact h.symm
example (p : Prop) (hp : p) : p := by easy
example (a b : Nat) (h : a < b) : a + 1 ≤ b := by easy

syntax "split_and" : tactic
macro_rules
  | `(tactic| split_and) => `(tactic| repeat' constructor)

example (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q ∧ r := by
  split_and <;> assumption

/-- Conditional expression with the condition behind. -/
macro t:term " whenever " c:term " otherwise " e:term : term => `(if $c then $t else $e)

def sign (n : Int) : Int := 1 whenever n > 0 otherwise (0 whenever n = 0 otherwise -1)
example : sign 5 = 1 := by decide
example : sign (-5) = -1 := by decide

/-- A list in pointed brackets, right to left. -/
syntax "⟦" term,* "⟧" : term
macro_rules
  | `(⟦⟧) => `([])
  | `(⟦$x⟧) => `([$x])
  | `(⟦$x, $xs,*⟧) => `(⟦$xs,*⟧ ++ [$x])

example : ⟦1, 2, 3⟧ = [3, 2, 1] := rfl

/-- Arithmetic with its own category of syntax. -/
declare_syntax_cat arith
syntax num : arith
syntax ident : arith
syntax arith " plus " arith : arith
syntax arith " times " arith : arith
syntax "(" arith ")" : arith
syntax "[arith|" arith "]" : term

macro_rules
  | `([arith| $n:num]) => `(($n : Nat))
  | `([arith| $x:ident]) => `(($x : Nat))
  | `([arith| $a plus $b]) => `([arith| $a] + [arith| $b])
  | `([arith| $a times $b]) => `([arith| $a] * [arith| $b])
  | `([arith| ($a)]) => `(([arith| $a]))

example (x : Nat) : [arith| x plus (2 times x)] = x + 2 * x := rfl

/-- A command that states and proves an equation by computation. -/
macro "compute " n:ident " : " a:term " is " b:term : command => `(theorem $n : $a = $b := by decide)

compute five : 2 + 3 is 5
example : 2 + 3 = 5 := five

/-- Names made by a macro do not capture. -/
macro "shifted " e:term:max : term => `((fun x => x + $e) 1)
example (x : Nat) : shifted x = 1 + x := rfl

macro "fails" : term => Lean.Macro.throwError "not today"
/-- error: not today -/
#guard_msgs in
example : Nat := fails
