"""Text rules, without Lean."""

import unicodedata

import pytest
from hypothesis import given, seed, settings, strategies as st

from node.lean.text.rules import header_problem, names_problem, proof_problem, statement_problem, tactic_problem
from tests.node.lean.tables import cells

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
elab "x" : tactic => skip | syntax "x" : tactic | macro_rules | def x := 1 | variable (h : p) | deriving instance Foo
simproc f (1) := g | mutual | run_tacq h => pure () | exact unsafeBaseIO h | simp [h] says skip
apply_rules [h] | slim_check | hint? | ∎ | exact ∎
""".replace("\n", " | ")

ALLOWED = r"""
simp ¦ exact ?x ¦ refine ⟨?_, ?_⟩ ¦ exact xs.get? 1 ¦ exact h.1 ¦ simp only [Nat.add_comm] at h ⊢
rcases h with ⟨a, b⟩ | c ¦ exact fun h' => h' h ¦ rw [← Nat.add_assoc, h] ¦ intro «odd name»
constructor\n· exact h\n· simp ¦ exact #[1, 2] ¦ induction n with\n| zero => rfl\n| succ n ih => exact ih
have sorry_free := h ¦ exact Nat.admitted h ¦ calc a = b := h\n  _ = c := h' ¦ exact (α β : Type) → ρ ¦ exact hint
intro hint says ¦ exact hint.1 says ¦ exact ⟨hint, says⟩ ¦ exact fun hint => hint ¦ exact (hint)
rcases h with hint | hint\n· exact hint\n· exact absurd hint says ¦ have hint : p := h ¦ have := f (says := h) hint
rw [hint] at says ¦ apply suggest ¦ obtain ⟨observe, hint⟩ := says ¦ exact plausible\n  (hint plausible)
"""
TACTICS = [text.strip() for text in FORBIDDEN.split(" | ") if text.strip()]
ORDINARY = cells(ALLOWED)


def test_forbidden_tactics_are_refused():
    for tactic in TACTICS:
        assert "not allowed" in tactic_problem(tactic) and "not allowed" in proof_problem(tactic), tactic


def test_ordinary_tactics_are_not_refused():
    for tactic in ORDINARY:
        assert tactic_problem(tactic) == "" and proof_problem(tactic) == "", tactic


@seed(1)
@settings(max_examples=100, deadline=None, database=None)
@given(
    st.lists(st.sampled_from(ORDINARY), max_size=3),
    st.sampled_from(TACTICS),
    st.sampled_from(["\n", "; ", " <;> ", "\n· "]),
)
def test_no_ordinary_tactics_hide_a_forbidden_one(before, forbidden, between):
    text = between.join([*before, forbidden])
    assert tactic_problem(text) and proof_problem(text)
    assert tactic_problem(f"{text}\nskip") and proof_problem(f"-- why\n{text}\nskip")


@seed(1)
@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.integers(0, 0x10FFFF).map(chr) | st.sampled_from([*ORDINARY, *TACTICS])).map("".join))
def test_any_text_is_judged_and_characters_that_cannot_be_seen_never_pass(text):
    unseen = any(char != "\n" and unicodedata.category(char)[0] == "C" for char in text)
    for problem in (tactic_problem(text), proof_problem(text), statement_problem("", text)):
        assert problem or not unseen


def test_characters_that_cannot_be_seen_are_refused():
    for char in "\0\t\r\x1b\u200b\u202e\ufeff\ue000\u2028\ud800":
        text = f"simp{char}"
        for problem in (tactic_problem(text), proof_problem(text), statement_problem("", text)):
            assert "cannot be seen" in problem, ascii(char)


def test_a_tactic_begins_in_its_first_column_and_has_no_comments():
    assert "first column" in tactic_problem("  simp") and "first column" in tactic_problem("\nsimp")
    assert "comments" in tactic_problem("simp -- why") and "comments" in tactic_problem("/- why -/simp")
    assert "empty" in tactic_problem("") and "empty" in tactic_problem(" \n")


@pytest.mark.parametrize(
    "number", ["0x1", "1", "1e0", "1.5", "0b1", "1_0", "0x4_", "1e", "0xabcd", "h.1", "1.e", "α₁ 7"]
)
@pytest.mark.parametrize(
    "word", ["set_option maxRecDepth 9 in rfl", "sorry", "macro", "run_tac pure ()", "native_decide"]
)
def test_a_number_hides_no_word_behind_it(number, word):
    text = f"iterate {number}{word}"
    assert tactic_problem(text) and proof_problem(f"-- a comment\n{text}"), text
    assert statement_problem("", f"(by {text})") and statement_problem(f"(h : (by {text}))", "True"), text
    assert header_problem(f'set_option maxRecDepth {number}macro "x" : tactic => `(tactic| rfl)'), number


@pytest.mark.parametrize("symbol", ["αᵒᵖ", "α →o", "f →SL", "x²", "x ×ˢ"])
def test_a_symbol_of_a_library_hides_no_word_behind_it(symbol):
    assert "not allowed" in tactic_problem(f"exact ({symbol}open Nat in rfl)")
    assert "no place" in statement_problem("", f"{symbol}set_option maxRecDepth 9 in True")
    assert "not allowed" in header_problem(f"variable (x : {symbol}macro)")
    assert not tactic_problem(f"exact ({symbol} x)") and not statement_problem("", f"{symbol} x = y")


def test_a_header_is_read_as_lean_divides_it():
    raw = (
        'def s := r"\\"\n{} "x" : tactic => `(tactic| trivial)\ndef t := 1 -- "'  # the string ends behind its backslash
    )
    assert "`macro`" in header_problem(raw.format("macro"))
    assert "`debug.skipKernelTC`" in header_problem(raw.format("set_option debug.skipKernelTC true in notation"))
    assert "certainty" in header_problem('def s := s!"{f "a"} macro"')
    assert not header_problem(
        '/- macro -/ open Nat -- elab\ndef s := r"macro" ++ "syntax" ++ s!"{1} elab"\nnotation "x" => 1'
    )


def test_numbers_and_symbols_of_ordinary_texts_are_no_problem():
    texts = (
        "x.1.2 + 1.5 * 2e3 - 0xff = 10",
        "h1.mp (h₂ 3).2",
        "xs[0]! + 2⁻¹ • Aᵀ",
        "«2nd» = x'1",
        "∑ i ∈ range 10, i ^ 2",
    )
    for text in texts:
        assert not statement_problem("", text) and not tactic_problem(f"exact {text}"), text


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("exact (let rec n : Nat := 2; rfl)", "`rec`"),
        ("exact f\nwhere f : p := h", "`where`"),
        ("let rec\n  f : p := h\nexact f", "`rec`"),
        ("exact Nat.rec h g n -- let rec, where", ""),
        ("let x := 2\ninduction n using Nat.rec", ""),
    ],
)
def test_what_declares_names_in_a_file(script, says):
    assert says in names_problem(script) if says else names_problem(script) == ""


def test_a_proof_may_have_comments_which_hide_nothing():
    assert proof_problem("simp -- sorry") == "" and proof_problem('exact f "sorry" /- admit -/') == ""
    assert "not allowed" in proof_problem("simp /- -/ sorry")
    assert "never closed" in proof_problem("simp /- sorry")
    assert "ends a comment" in proof_problem("simp -/ sorry")


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
        ("", "let rec @[term_parser 5000] p : Nat := 0; True", "attribute"),
        ("(h : let rec @[simp] p : Nat := 0; True)", "True", "attribute"),
    ],
)
def test_a_statement_is_binders_and_one_term(binders, conclusion, says):
    problem = statement_problem(binders, conclusion)
    assert says in problem if says else problem == ""
