"""Tactic proofs that pocket Lean must accept, and ones that it must refuse, by tactic."""

ACCEPTED: dict[str, str] = {
    "exact": "example (a b : Prop) (h : a ∧ b) : b ∧ a := by exact ⟨h.2, h.1⟩",
    "intro": "example (p q : Prop) : p → q → p := by\n  intro hp hq\n  exact hp",
    "intro_pattern": "example (p q : Prop) : p ∧ q → q := by\n  intro ⟨hp, hq⟩\n  exact hq",
    "intros": "example (p q : Prop) : (p → q) → ¬q → ¬p := by\n  intros hpq hnq hp; apply hnq; apply hpq; exact hp",
    "apply": "example (p q : Prop) (f : p → q) (hp : p) : q := by\n  apply f\n  exact hp",
    "refine": "example (p : Nat → Prop) (h : p 3) : ∃ x, p x := by\n  refine ⟨3, ?_⟩\n  exact h",
    "assumption": "example (p q : Prop) (hp : p) (hq : q) : q := by assumption",
    "constructor": "example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by\n  constructor\n  · exact hp\n  · exact hq",
    "exists": "example (p : Nat → Prop) (h : p 3) : ∃ x, p x := by exists 3",
    "left_right": "example (p q : Prop) (h : p ∨ q) : q ∨ p := by\n  cases h with\n"
    "  | inl h => right; exact h\n  | inr h => left; exact h",
    "cases": "example (a b : Nat) (h : some a = some b) : a = b := by cases h; rfl",
    "cases_offset": "example (a b : Nat) (h : a + 2 = b + 2) : a = b := by cases h; rfl",
    "cases_empty": "example (a : Nat) (h : a + 1 = 0) : False := by cases h",
    "rcases": "example (p q r : Prop) (h : p ∧ (q ∨ r)) : (p ∧ q) ∨ (p ∧ r) := by\n  rcases h with ⟨hp, hq | hr⟩\n"
    "  · left; exact ⟨hp, hq⟩\n  · right; constructor <;> assumption",
    "rintro": "example (p : Prop) : (∃ x : Nat, p ∧ x = 3) → p := by\n  rintro ⟨x, hp, rfl⟩\n  exact hp",
    "obtain": "example (p : Prop) (h : ∃ x : Nat, p ∧ x = 3) : p := by\n  obtain ⟨x, hp, hx⟩ := h\n  exact hp",
    "induction": "example (n : Nat) : 0 + n = n := by\n  induction n with\n  | zero => rfl\n"
    "  | succ n ih => rw [Nat.add_succ, ih]",
    "induction_generalizing": "example (xs ys zs : List Nat) : (xs ++ ys) ++ zs = xs ++ (ys ++ zs) := by\n"
    "  induction xs generalizing ys with\n  | nil => rfl\n  | cons x xs ih => exact congrArg (x :: ·) (ih ys)",
    "induction_using": "example (P : Nat → Prop) (h : ∀ n, (∀ m, m < n → P m) → P n) (n : Nat) : P n := by\n"
    "  induction n using Nat.strongRecOn with\n  | ind n ih => exact h n ih",
    "match": "example (n : Nat) : n = 0 ∨ ∃ k, n = k + 1 := by\n  match n with\n  | 0 => left; rfl\n"
    "  | k + 1 => right; exact ⟨k, rfl⟩",
    "rfl": "example : 12345 * 678 = 8369910 := by rfl",
    "rfl_le": "example (n : Nat) : n ≤ n := by rfl",
    "congr": "example (a b c d : Nat) (h : a = b) (h' : c = d) : a + c = b + d := by congr",
    "rw": "example (a b c : Nat) : a + b + c = b + a + c := by rw [Nat.add_comm a b]",
    "rw_at": "example (a b c : Nat) (h : a + b = c) : b + a = c := by\n  rw [Nat.add_comm] at h\n  assumption",
    "rw_backwards": "example (a b : Nat) (h : b = a) (h' : a = 3) : b = 3 := by rw [← h] at h'; exact h'",
    "rwa": "example (p q : Prop) (h : p ↔ q) (hp : p) : q := by rwa [h] at hp",
    "simp": "example (p q : Prop) : p ∧ True ∧ (q ∨ True) ↔ p := by simp",
    "simp_only": "example (f : Nat → Nat) (h : ∀ x, f x = x) (a : Nat) : f (f a) = a := by simp only [h]",
    "simp_at": "example (p : Prop) (h : p ∧ True) : p := by simp at h; exact h",
    "simp_star": "example (a b : Nat) (h : a = b) (h' : b = 3) : a = 3 := by simp [*]",
    "simp_all": "example (f : Nat → Nat) (a b : Nat) (h : f a = b) (h' : b = 3) : f a = 3 := by simp_all",
    "simpa": "example (x : Nat) (h : x < 2 + 3) : x < 5 := by simpa using h",
    "simp_offset": "example (x y : Nat) (h : x + 3 = y + 5) : x = y + 2 := by simp at h; exact h",
    "simp_offset_le": "example (x y : Nat) (h : x + 3 ≤ y + 5) : x ≤ y + 2 := by simp at h; exact h",
    "simp_contextual_if": "example (x y : Nat) : (if x = y then x else y) = y := by split <;> simp_all",
    "simp_list": "example (xs ys : List Nat) : (xs ++ ys).reverse.length = ys.length + xs.length := by simp",
    "dsimp": "example (a b : Nat) (h : a = b) : (a, 1).1 = b := by dsimp; exact h",
    "unfold": "def twice (n : Nat) : Nat := n + n\nexample (n : Nat) : twice n = n + n := by unfold twice; rfl",
    "delta": "example (p : Prop) (h : ¬p) : p → False := by delta Not at h; exact h",
    "conv": "example (a b c : Nat) (h : a + b = c) : b + a = c := by\n  conv => lhs; rw [Nat.add_comm]\n  exact h",
    "generalize": "example (a b : Nat) : (a + b) + 0 = a + b := by\n  generalize a + b = c\n  rfl",
    "subst": "example (a b : Nat) (h : a + b = 10) (ha : a = 4) : 4 + b = 10 := by subst ha; assumption",
    "funext": "example (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g := by\n  funext x\n  exact h x",
    "ext": "example (a b : Nat × Nat) (h : a.1 = b.1) (h' : a.2 = b.2) : a = b := by ext <;> assumption",
    "ext_function": "example (f g : Nat → Nat) (h : ∀ x, f x = g x) : f = g := by ext x; exact h x",
    "symm": "example (a b : Nat) (h : a = b) : b = a := by symm; exact h",
    "have": "example (p q : Prop) (h : p → q) (hp : p) : q := by\n  have hq : q := h hp\n  exact hq",
    "suffices": "example (a b c : Nat) (h : b = c) : a + b = c + a := by\n"
    "  suffices h' : a + c = c + a by rw [h, h']\n  exact Nat.add_comm a c",
    "show": "example (p q : Prop) (hp : p) : p ∨ q := by\n  show p ∨ q\n  exact .inl hp",
    "change": "example (a b : Nat) (h : a + 0 = b) : b = a := by change a = b at h; exact h.symm",
    "calc": "example (a b c : Nat) (h : a = b) (h' : b = c) : a = c := by\n  calc a = b := h\n    _ = c := h'",
    "calc_order": "example (x y z : Nat) (h : x ≤ y) (h' : y < z) : x < z := by\n  calc x ≤ y := h\n    _ < z := h'",
    "exfalso": "example (p : Prop) (h : p) (hn : ¬p) : 1 = 2 := by\n  exfalso\n  exact hn h",
    "contradiction": "example (p q : Prop) (h : p) (hn : ¬p) : q := by contradiction",
    "trivial": "example (p : Prop) (h : p) : True ∧ p := by\n  constructor\n  · trivial\n  · trivial",
    "specialize": "example (p q : Nat → Prop) (h : ∀ x, p x → q x) (h0 : p 0) : q 0 := by\n"
    "  specialize h 0\n  exact h h0",
    "revert": "example (a b : Nat) (h : a = b) : b = a := by\n  revert h\n  intro h\n  exact h.symm",
    "injection": "example (a b : Nat) (h : Nat.succ a = Nat.succ b) : a = b := by injection h",
    "injections": "example (a b c d : Nat) (h : (a, b) = (c, d)) : b = d := by\n  injections",
    "nomatch": "example (p : Prop) (h : False) : p := by nomatch h",
    "split": "example (p : Prop) [Decidable p] (a b : Nat) (h : a = b) : (if p then a else b) = b := by\n"
    "  split\n  · exact h\n  · rfl",
    "split_match": "example (n : Nat) : (match n with | 0 => 1 | k + 1 => k + 2) = n + 1 := by split <;> rfl",
    "by_cases": "example (p : Prop) : p ∨ ¬p := by\n  by_cases h : p\n  · left; exact h\n  · right; exact h",
    "first": "example (p q : Prop) (hp : p) : p ∨ q := by\n  first | (right; assumption) | (left; assumption)",
    "try": "example (p : Prop) (hp : p) : p := by\n  try contradiction\n  exact hp",
    "repeat": "example (p q r : Prop) (hp : p) (hq : q) (hr : r) : p ∧ q ∧ r := by\n"
    "  repeat' constructor\n  all_goals assumption",
    "and_then": "example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by constructor <;> assumption",
    "any_goals": "example (p q : Prop) (hp : p) (hq : p → q) : p ∧ q := by\n"
    "  constructor\n  any_goals assumption\n  exact hq hp",
    "case_next": "example (p q r : Prop) : p ∨ q ∨ r → r ∨ q ∨ p := by\n  intro h\n  rcases h with h | h | h\n"
    "  case inl => exact .inr (.inr h)\n  next => right; left; exact h\n  · simp [h]",
    "rename_i": "example (p q : Prop) : p → q → p := by\n  intro _ _\n  rename_i hp hq\n  exact hp",
    "decide": "example : 2 + 2 = 4 ∧ 3 ≠ 4 ∧ ¬5 ∣ 12 ∧ 2 ∈ [1, 2, 3] := by decide",
    "decide_bool": "example : ∀ b c : Bool, (b && c) = (c && b) := by decide",
    "decide_equality": "example : (1, [some true]) ≠ (1, [none]) := by decide",
    "exists_computation": "example : ∃ n : Nat, n * n = 49 ∧ n < 10 := by\n  refine ⟨7, ?_, ?_⟩ <;> decide",
    "inductive": "inductive Tree (α : Type) where\n  | leaf : Tree α\n"
    "  | node (l : Tree α) (x : α) (r : Tree α) : Tree α\n"
    "def Tree.mirror {α : Type} : Tree α → Tree α\n  | leaf => leaf\n  | node l x r => node r.mirror x l.mirror\n"
    "theorem Tree.mirror_mirror {α : Type} (t : Tree α) : t.mirror.mirror = t := by\n  induction t with\n"
    "  | leaf => rfl\n  | node l x r ihl ihr => simp [Tree.mirror, ihl, ihr]",
    "structure": "structure Point where\n  x : Nat\n  y : Nat\n"
    "example (a b c d : Nat) (h : Point.mk a b = ⟨c, d⟩) : a = c := by simp at h; exact h.1",
    "recursion": "def fib : Nat → Nat\n  | 0 => 0\n  | 1 => 1\n  | n + 2 => fib n + fib (n + 1)\n"
    "example : fib 20 = 6765 := by rfl\nexample (n : Nat) : fib (n + 2) = fib n + fib (n + 1) := by rw [fib]",
    "recursive_theorem": "theorem ind (P : Nat → Prop) (h0 : P 0) (hs : ∀ n, P n → P (n + 1)) : ∀ n, P n\n"
    "  | 0 => h0\n  | n + 1 => hs n (ind P h0 hs n)",
}

REFUSED: dict[str, tuple[str, str]] = {
    "exact": ("example (p q : Prop) (hp : p) : q := by exact hp", "ype mismatch"),
    "intro": ("example (p q : Prop) (hp : p) : p ∧ q := by intro h", "intro"),
    "apply": ("example (p q r : Prop) (h : p → q) : r := by apply h", "apply"),
    "refine": ("example (p q : Prop) (hp : p) : p ∧ q := by refine ⟨hp, ?_⟩", "unsolved goals"),
    "assumption": ("example (p q : Prop) (h : p) : q := by assumption", "assumption"),
    "constructor": ("example (p q : Prop) : p ∨ q := by constructor; assumption", "assumption"),
    "cases": (
        "example (p q : Prop) (h : p ∨ q) : p := by\n  cases h with\n  | inl h => exact h\n  | inr h => exact h",
        "ype mismatch",
    ),
    "induction": (
        "example (n : Nat) : n < 5 := by\n  induction n with\n  | zero => decide\n  | succ n ih => exact ih",
        "ype mismatch",
    ),
    "rfl": ("example : 12345 * 678 = 8369911 := by rfl", "rfl"),
    "congr": ("example (a b : Nat) : a + 1 = b + 1 := by congr", "unsolved goals"),
    "rw": ("example (a b : Nat) (h : a = b) : a = 3 := by rw [h]", "unsolved goals"),
    "rw_pattern": ("example (a b c : Nat) (h : a = b) : c = c + 0 := by rw [h]", "rewrite"),
    "simp": ("example (a b : Nat) : a + b = a := by simp", "unsolved goals"),
    "simp_no_progress": ("example (p q : Prop) (h : p) : q := by simp at h", "simp"),
    "simp_all": ("example (p q : Prop) (h : p ∨ q) : p := by simp_all", "no progress"),
    "unfold": ("example (p : Prop) : p ∨ ¬p := by unfold Or", "unfold"),
    "subst": ("example (a : Nat) (h : a = a + 1) : False := by subst h", "subst"),
    "calc": ("example (a b c : Nat) (h : a = b) : a = c := by\n  calc a = b := h\n    _ = c := h", "ype mismatch"),
    "contradiction": ("example (p q : Prop) (hp : p) (h : ¬q) : False := by contradiction", "contradiction"),
    "trivial": ("example (p : Prop) : p := by trivial", "assumption"),
    "injection": ("example (f : Nat → Nat) (a b : Nat) (h : f a = f b) : a = b := by injection h", "injection"),
    "split": ("example (p q : Prop) : p ∨ q := by split", "split"),
    "decide": ("example : 2 + 2 = 5 := by decide", "decide"),
    "decide_kernel": ("example : 2 + 2 = 5 := by decide +kernel", "decide"),
    "decide_undecidable": ("example : ∀ n : Nat, n = n := by decide", "Decidable"),
    "unfinished": (
        "example (p q : Prop) (hp : p) (hq : q) : p ∧ q := by\n  constructor\n  · exact hp",
        "unsolved goals",
    ),
    "unknown_tactic": ("example (p : Prop) (h : p) : p := by\n  frobnicate", "unknown tactic"),
    "unknown_name": ("example (p : Prop) : p := by exact magic", "nknown"),
    "self_reference": ("theorem circular (p : Prop) : p := by exact circular p", "structural recursion"),
    "unsafe_axiom": ("theorem cheat : False := lcProof", "unsafe"),
    "unsafe_axiom_value": ("theorem cheat' : False := @lcUnreachable.{0} False", "unsafe"),
    "partial_function": ("def loop (n : Nat) : Nat := loop n", "loop"),
    "non_positive": ("inductive Bad where\n  | mk (f : Bad → False) : Bad", "positive"),
}
