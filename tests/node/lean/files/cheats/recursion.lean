Recursion, unsafe and partial definitions, sections, where clauses, mutual blocks.
--! reference
def sum : List Nat → Nat | [] => 0 | n :: l => n + sum l
mutual
def even : Nat → Bool | 0 => true | n + 1 => odd n
def odd : Nat → Bool | 0 => false | n + 1 => even n
end
partial def collatz (n : Nat) : Nat := if n ≤ 1 then 0 else collatz (if n % 2 = 0 then n / 2 else 3 * n + 1) + 1
theorem t : sum [1, 2, 3] = 6 := sorry
theorem u : even 10 = true := sorry
theorem v : collatz 1 = collatz (0 + 1) := sorry
--! pair sum_ignores
- def sum : List Nat → Nat | [] => 6 | _ :: l => sum l
+ def sum : List Nat → Nat | [] => 0 | n :: l => n + sum l
mutual
def even : Nat → Bool | 0 => true | n + 1 => odd n
def odd : Nat → Bool | 0 => false | n + 1 => even n
end
partial def collatz (n : Nat) : Nat := if n ≤ 1 then 0 else collatz (if n % 2 = 0 then n / 2 else 3 * n + 1) + 1
theorem t : sum [1, 2, 3] = 6 := rfl
theorem u : even 10 = true := rfl
theorem v : collatz 1 = collatz (0 + 1) := rfl
--! pair odd_is_even
def sum : List Nat → Nat | [] => 0 | n :: l => n + sum l
mutual
def even : Nat → Bool | 0 => true | n + 1 => odd n
- def odd : Nat → Bool | 0 => true | n + 1 => even n
+ def odd : Nat → Bool | 0 => false | n + 1 => even n
end
partial def collatz (n : Nat) : Nat := if n ≤ 1 then 0 else collatz (if n % 2 = 0 then n / 2 else 3 * n + 1) + 1
- theorem t : sum [1, 2, 3] = 6 := rfl
- theorem u : even 10 = true := rfl
- theorem v : collatz 1 = collatz (0 + 1) := rfl
+ theorem t : sum [1, 2, 3] = 6 := by decide
+ theorem u : even 10 = true := by decide
+ theorem v : collatz 1 = collatz (0 + 1) := congrArg collatz (Nat.zero_add 1).symm
--! pair partial_made_total
def sum : List Nat → Nat | [] => 0 | n :: l => n + sum l
mutual
def even : Nat → Bool | 0 => true | n + 1 => odd n
def odd : Nat → Bool | 0 => false | n + 1 => even n
end
- def collatz (n : Nat) : Nat := 0
+ partial def collatz (n : Nat) : Nat := collatz (n + 1)
theorem t : sum [1, 2, 3] = 6 := rfl
theorem u : even 10 = true := rfl
theorem v : collatz 1 = collatz (0 + 1) := rfl
--! pair total_made_partial
- partial def sum (l : List Nat) : Nat := match l with | [] => 0 | n :: l => n + sum l
+ def sum (l : List Nat) : Nat := match l with | [] => 0 | n :: l => n + sum l
mutual
def even : Nat → Bool | 0 => true | n + 1 => odd n
def odd : Nat → Bool | 0 => false | n + 1 => even n
end
partial def collatz (n : Nat) : Nat := if n ≤ 1 then 0 else collatz (if n % 2 = 0 then n / 2 else 3 * n + 1) + 1
- axiom sum_eq : sum [1, 2, 3] = 6
- theorem t : sum [1, 2, 3] = 6 := sum_eq
+ theorem t : sum [1, 2, 3] = 6 := rfl
theorem u : even 10 = true := rfl
theorem v : collatz 1 = collatz (0 + 1) := rfl
--! reference
theorem t (n : Nat) : n < n + 1 := sorry
--! pair unsafe_recursion
unsafe def loop (n : Nat) : n < n + 1 := loop n
- unsafe def t (n : Nat) : n < n + 1 := loop n
+ theorem t (n : Nat) : n < n + 1 := Nat.lt_succ_self n
--! refused unsafe_theorem
unsafe def loop (n : Nat) : n < n + 1 := loop n
theorem t (n : Nat) : n < n + 1 := loop n
--! refused recursion_without_end
theorem t (n : Nat) : n < n + 1 := t n
--! refused partial_theorem
partial def loop (n : Nat) : n < n + 1 := loop n
theorem t (n : Nat) : n < n + 1 := loop n
--! pair in_a_section
section
variable (n : Nat) (small : n < 5)
- include small
theorem t : n < n + 1 := Nat.lt_succ_self n
end
--! pair in_a_where_clause
- theorem u (n : Nat) : n < n + 1 := t n
+ theorem t (n : Nat) : n < n + 1 := u n
where
-   t (n : Nat) : n < n + 1 := Nat.lt_succ_self n
+   u (n : Nat) : n < n + 1 := Nat.lt_succ_self n
--! pair in_a_mutual_block
mutual
- theorem t : ∀ n : Nat, n < n + 2 | 0 => by decide | n + 1 => Nat.succ_lt_succ (u n)
- theorem u : ∀ n : Nat, n < n + 2 | 0 => by decide | n + 1 => Nat.succ_lt_succ (t n)
+ theorem t : ∀ n : Nat, n < n + 1 | 0 => by decide | n + 1 => Nat.succ_lt_succ (u n)
+ theorem u : ∀ n : Nat, n < n + 1 | 0 => by decide | n + 1 => Nat.succ_lt_succ (t n)
end
