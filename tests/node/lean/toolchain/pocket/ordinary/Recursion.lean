/-! Recursion: structural, on a measure, lexicographic, mutual, nested in `where`, and proofs by induction about it. -/

/-- Ackermann's function falls lexicographically. -/
def ackermann : Nat → Nat → Nat
  | 0, n => n + 1
  | m + 1, 0 => ackermann m 1
  | m + 1, n + 1 => ackermann m (ackermann (m + 1) n)
termination_by m n => (m, n)

example (n : Nat) : ackermann 0 n = n + 1 := by rw [ackermann]
theorem ackermann_one (n : Nat) : ackermann 1 n = n + 2 := by
  induction n with
  | zero => rw [ackermann, ackermann]
  | succ n ih => rw [ackermann, ih, ackermann]

/-- Euclid's algorithm falls in its first argument. -/
def euclid (m n : Nat) : Nat :=
  if h : m = 0 then n else euclid (n % m) m
termination_by m
decreasing_by exact Nat.mod_lt n (Nat.pos_of_ne_zero h)

#guard euclid 12 18 == 6
theorem euclid_zero (n : Nat) : euclid 0 n = n := by rw [euclid]; simp

/-- Lean finds out by itself that `n / 2` is smaller. -/
def binary (n : Nat) : List Bool :=
  if n = 0 then [] else (n % 2 == 1) :: binary (n / 2)
termination_by n
decreasing_by omega

#guard binary 6 == [false, true, true]

/-- Take from two lists in turn. -/
def interleave {α : Type} : List α → List α → List α
  | [], ys => ys
  | x :: xs, ys => x :: interleave ys xs
termination_by xs ys => xs.length + ys.length

theorem length_interleave {α : Type} (xs ys : List α) : (interleave xs ys).length = xs.length + ys.length := by
  match xs with
  | [] => simp [interleave]
  | x :: xs =>
    rw [interleave, List.length_cons, length_interleave ys xs, List.length_cons]
    omega
termination_by xs.length + ys.length

mutual
def isEven : Nat → Bool
  | 0 => true
  | n + 1 => isOdd n
def isOdd : Nat → Bool
  | 0 => false
  | n + 1 => isEven n
end

mutual
theorem isEven_double (n : Nat) : isEven (2 * n) = true := by
  match n with
  | 0 => rfl
  | n + 1 => exact isOdd_double n
theorem isOdd_double (n : Nat) : isOdd (2 * n + 1) = true := by
  exact isEven_double n
end

mutual
inductive Forest where
  | nil
  | cons (tree : Rose) (rest : Forest)
inductive Rose where
  | node (value : Nat) (children : Forest)
end

mutual
def Forest.sum : Forest → Nat
  | .nil => 0
  | .cons t f => t.sum + f.sum
def Rose.sum : Rose → Nat
  | .node n f => n + f.sum
end
example : (Rose.node 1 (.cons (.node 2 .nil) (.cons (.node 3 .nil) .nil))).sum = 6 := by decide

/-- Reverse with an accumulator, in a `where`. -/
def rev {α : Type} (xs : List α) : List α := go xs []
where
  go : List α → List α → List α
    | [], acc => acc
    | x :: xs, acc => go xs (x :: acc)

theorem rev_go {α : Type} (xs acc : List α) : rev.go xs acc = rev.go xs [] ++ acc := by
  induction xs generalizing acc with
  | nil => rfl
  | cons x xs ih => rw [rev.go, rev.go, ih (x :: acc), ih [x], List.append_assoc]; rfl
theorem rev_cons {α : Type} (x : α) (xs : List α) : rev (x :: xs) = rev xs ++ [x] := rev_go xs [x]
