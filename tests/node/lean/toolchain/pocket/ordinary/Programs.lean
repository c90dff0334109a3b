/-! Programs: `do` notation in several monads, loops, mutable variables, early return, exceptions, states. -/

def safeDiv (a b : Nat) : Option Nat := do
  guard (b ≠ 0)
  return a / b

example : safeDiv 7 2 = some 3 := rfl
example : safeDiv 7 0 = none := rfl

def sumOfQuotients (a b c : Nat) : Option Nat := do
  let x ← safeDiv a b
  let y ← safeDiv a c
  pure (x + y)

#guard sumOfQuotients 12 3 4 == some 7
#guard sumOfQuotients 12 0 4 == none
#guard (safeDiv 1 0 <|> some 9) == some 9
#guard (· + 1) <$> some 2 == some 3

def sumTo (n : Nat) : Nat := Id.run do
  let mut total := 0
  for i in List.range (n + 1) do
    total := total + i
  return total

#guard sumTo 100 == 5050

def firstLarge (bound : Nat) (xs : List Nat) : Option Nat := Id.run do
  for x in xs do
    if x > bound then
      return some x
  return none

#guard firstLarge 3 [1, 2, 5, 7] == some 5
#guard firstLarge 9 [1, 2, 5, 7] == none

def parity (n : Nat) : Except String Nat := do
  if n % 2 = 1 then
    throw s!"{n} is odd"
  return n / 2

def halves (ns : List Nat) : Except String (List Nat) := ns.mapM parity

/-- info: Except.ok [1, 2] -/
#guard_msgs in
#eval halves [2, 4]
/-- info: Except.error "3 is odd" -/
#guard_msgs in
#eval halves [2, 3]

def recovered (n : Nat) : Except String Nat :=
  try parity n catch _ => return 0
#guard (recovered 3).toOption == some 0

def counter : StateM Nat Nat := do
  let n ← get
  set (n + 1)
  modify (· * 2)
  return n

#guard (counter.run 3).1 == 3
#guard (counter.run 3).2 == 8

def label : List String → StateM Nat (List (Nat × String))
  | [] => return []
  | s :: ss => do
    let n ← getModify (· + 1)
    return (n, s) :: (← label ss)

#guard ((label ["a", "b"]).run 5).1 == [(5, "a"), (6, "b")]

def scaled : ReaderM Nat Nat := do
  let k ← read
  return k * 10
#guard Id.run (scaled.run 4) == 40

/-- A monad of one's own: a value and a log. -/
structure Writer (α : Type) where
  value : α
  log : List String
instance : Monad Writer where
  pure a := ⟨a, []⟩
  bind x f := ⟨(f x.value).value, x.log ++ (f x.value).log⟩
def tell (s : String) : Writer Unit := ⟨(), [s]⟩
def traced (n : Nat) : Writer Nat := do
  tell s!"got {n}"
  let m := n * n
  tell s!"squared {m}"
  return m
#guard (traced 3).value == 9
#guard (traced 3).log == ["got 3", "squared 9"]
example (n : Nat) : (traced n).log.length = 2 := rfl

def collatz (fuel n : Nat) : List Nat := match fuel with
  | 0 => []
  | fuel + 1 =>
    if n ≤ 1 then [n]
    else if n % 2 = 0 then n :: collatz fuel (n / 2)
    else n :: collatz fuel (3 * n + 1)
#guard collatz 20 6 == [6, 3, 10, 5, 16, 8, 4, 2, 1]

#guard #[1, 2, 3][1]! == 2
#guard [1, 2, 3][7]? == none
example : [1, 2, 3][2] = 3 := rfl
#guard (#[1, 2].push 3).size == 3
