/-! Characters and strings: computing with them and proving about them. -/

def greeting (name : String) : String := "Hello, " ++ name ++ "!"

#guard greeting "Lean" == "Hello, Lean!"
example : greeting "Lean" = "Hello, Lean!" := by decide
example : (greeting "world").length = 13 := rfl
example (s : String) : (greeting s).length = s.length + 8 := by
  have h₁ : "Hello, ".length = 7 := rfl
  have h₂ : "!".length = 1 := rfl
  rw [greeting, String.length_append, String.length_append, h₁, h₂]
  omega

example : "ab" ++ "cd" = "abcd" := rfl
example : "ab" ≠ "ba" := by decide
example : ("ab" == "ab") = true := by decide
example (s t u : String) : s ++ t ++ u = s ++ (t ++ u) := String.append_assoc
example (s t : String) (h : "x" ++ s = "x" ++ t) : s = t := by simpa using h
example (h : "a" = "b") : False := by simp at h

/-! Characters are code points. -/

example : 'a'.toNat = 97 := rfl
example : 'a' < 'b' := by decide
example : 'é' ≠ 'e' := by decide
example : "é∀😀".length = 3 := by decide
example : "é∀😀".utf8ByteSize = 9 := rfl
example (c : Char) (s : String) : (s.push c).length = s.length + 1 := by simp

/-- Caesar's cipher on lower-case letters. -/
def rotate (k : Nat) (c : Char) : Char :=
  if c.isLower then Char.ofNat ((c.toNat - 97 + k) % 26 + 97) else c
def caesar (k : Nat) (s : String) : String := s.map (rotate k)

#guard caesar 3 "attack at dawn" == "dwwdfn dw gdzq"
#guard caesar 23 (caesar 3 "attack at dawn") == "attack at dawn"
example (k : Nat) (s : String) : (caesar k s).length = s.length := String.length_map _ _

def isPalindrome (s : String) : Bool := s.toList == s.toList.reverse
example : isPalindrome "racecar" = true := by decide
example : isPalindrome "lean" = false := by decide

/-- info: "abc" -/
#guard_msgs in
#eval String.join ["a", "b", "c"]
/-- info: "1, 2 and [3, 4]" -/
#guard_msgs in
#eval s!"{1}, {2} and {[3, 4]}"
/-- info: "ABC" -/
#guard_msgs in
#eval "abc".toUpper
/-- info: 'x' -/
#guard_msgs in
#eval 'x'
#guard ", ".intercalate ["a", "b", "c"] == "a, b, c"
#guard toString (some 3) == "(some 3)"
#guard (toString 42).length == 2
