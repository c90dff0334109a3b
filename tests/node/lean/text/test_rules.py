"""Text rules, without Lean."""

import pytest

from node.lean.text.rules import (
    MAX_PROOF_BYTES,
    MAX_TACTIC_BYTES,
    proof_problem,
    statement_problem,
    tactic_problem,
)

FORBIDDEN = """
sorry | admit | stop | exact sorry | exact (sorry : p) | exact sorryAx _ true | exact «sorryAx» _ true | simp <;> sorry
exact? | apply? | rw? | simp? | simp_all? | aesop? | exact ? | decide? | try exact? | hint | says simp
native_decide | decide +native | simp (config := { native := true }) | exact Lean.ofReduceBool _ _ rfl
set_option maxHeartbeats 0 in simp | open Nat in simp | run_tac pure () | exact by_elab pure () | exact eval% 1
axiom x : False | theorem x : True := trivial | macro "x" : tactic => simp | #eval 1 | #check h | @[simp] have := h
notation "x" => 1 | attribute [simp] foo | import Init | unsafe exact h | instance : Foo := h | exact lcProof
exact include_str "/etc/passwd" | dbg_trace "x" | implemented_by | extern | namespace X | end | local simp | IO
intro h; hint | (hint) | try hint | · hint | repeat' (hint) | cases h with x => hint | simp says simp only | by hint
simp? says simp | have := by hint | { hint } | simp <;> hint | case a => hint | all_goals plausible | refine ?_; (hint)
simp [h] says skip | apply_rules [h] | slim_check | hint?
""".replace("\n", " | ")

ALLOWED = [
    "simp",
    "exact ?x",
    "refine ⟨?_, ?_⟩",
    "exact xs.get? 1",
    "exact h.1",
    "simp only [Nat.add_comm] at h ⊢",
    "rcases h with ⟨a, b⟩ | c",
    "exact fun h' => h' h",
    "rw [← Nat.add_assoc, h]",
    "intro «odd name»",
    "constructor\n· exact h\n· simp",
    "exact #[1, 2]",
    "induction n with\n| zero => rfl\n| succ n ih => exact ih",
    "have sorry_free := h",
    "exact Nat.admitted h",
    "calc a = b := h\n  _ = c := h'",
    "exact (α β : Type) → ρ",
    "exact hint",
    "intro hint says",
    "exact hint.1 says",
    "exact ⟨hint, says⟩",
    "exact fun hint => hint",
    "exact (hint)",
    "rcases h with hint | hint\n· exact hint\n· exact absurd hint says",
    "have hint : p := h",
    "have := f (says := h) hint",
    "rw [hint] at says",
    "apply suggest",
    "obtain ⟨observe, hint⟩ := says",
    "exact plausible\n  (hint plausible)",
]


@pytest.mark.parametrize("tactic", [text.strip() for text in FORBIDDEN.split(" | ") if text.strip()])
def test_forbidden_tactics_are_refused(tactic):
    assert "not allowed" in tactic_problem(tactic)
    assert "not allowed" in proof_problem(tactic)


@pytest.mark.parametrize("tactic", ALLOWED)
def test_ordinary_tactics_are_not_refused(tactic):
    assert tactic_problem(tactic) == "" and proof_problem(tactic) == ""


@pytest.mark.parametrize("look", ["ѕоrry", "ｓｏｒｒｙ", "аdmit", "ехact?", "nаtive_decide", "𝐬𝐨𝐫𝐫𝐲"])
def test_words_that_only_look_forbidden_are_refused(look):
    assert "not allowed" in tactic_problem(look)


@pytest.mark.parametrize("char", ["\0", "\t", "\r", "\x1b", "\u200b", "\u202e", "\ufeff", "\ue000", "\u2028", "\ud800"])
def test_characters_that_cannot_be_seen_are_refused(char):
    assert "cannot be seen" in tactic_problem(f"simp{char}")
    assert "cannot be seen" in proof_problem(f"simp{char}")
    assert "cannot be seen" in statement_problem("", f"True{char}")


def test_size_is_limited_and_said():
    assert f"at most {MAX_TACTIC_BYTES}" in tactic_problem("x" * 100_000)
    assert f"at most {MAX_PROOF_BYTES}" in proof_problem("simp\n" * 100_000)


def test_a_tactic_begins_in_its_first_column_and_has_no_comments():
    assert "first column" in tactic_problem("  simp") and "first column" in tactic_problem("\nsimp")
    assert "comments" in tactic_problem("simp -- why") and "comments" in tactic_problem("/- why -/simp")
    assert "empty" in tactic_problem("") and "empty" in tactic_problem(" \n")


def test_a_proof_may_have_comments_which_hide_nothing():
    assert proof_problem("simp -- sorry") == "" and proof_problem('exact f "sorry" /- admit -/') == ""
    assert "not allowed" in proof_problem("simp /- -/ sorry")
    assert "never closed" in proof_problem("simp /- sorry")
    assert "ends a comment" in proof_problem("simp -/ sorry")


def test_text_that_is_not_closed_in_itself_is_not_refused_but_left_to_the_parser():
    assert tactic_problem("exact (h") == "" and "never closed" in proof_problem("exact (h")


@pytest.mark.parametrize(
    ("binders", "conclusion", "says"),
    [
        ("(p q : Prop) [Decidable p] {x : Nat} ⦃y : Nat⦄", "p ∧ q → x = y", ""),
        ("p q", "p = q", ""),
        ("", "∀ n : Nat, n + 0 = n", ""),
        ("(p : Prop) : True := trivial\naxiom x", "p", "no place"),
        ("(p : Prop) := p", "p", "more than binders"),
        ("(p : Prop", "p", "never closed"),
        ("", "True) (x : p", "closes what was not opened"),
        ("", "True := by trivial\ntheorem x : False", "no place"),
        ("", "True -- and more", "comments"),
        ("(h : (by sorry : Prop))", "True", "no place"),
    ],
)
def test_a_statement_is_binders_and_one_term(binders, conclusion, says):
    problem = statement_problem(binders, conclusion)
    assert says in problem if says else problem == ""
