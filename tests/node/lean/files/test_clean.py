"""Without Lean: finding code in a file's text, writing the file without it, and finding its commands."""

from pathlib import Path

from hypothesis import example, given, seed, settings, strategies as st

from node.lean.check.files.clean import cleaned, code_in, touches_statements
from node.lean.check.files.commands import UNLINTED, UNTRACED, Text
from node.lean.check.files.report import FileMessage
from node.lean.text.lexing import tokens_of
from tests.node.lean.tables import cells

HONEST = Path(__file__).with_name("ordinary.lean").read_text(encoding="utf-8")


RUNS = cells(r"""
#eval! 1 ¦ #evalx ¦ #guard_expr 1 = 1 ¦ elab_rules : term | `(1) => sorry ¦ run_elab skip ¦ run_meta skip
dsimproc_decl foo (1) := skip ¦ attribute [scoped term_elab foo] bar ¦ open Nat in my_command x ¦ register_simp_attr foo
def x := 0x1fmacro "x" : term => `(1) ¦ /- /- -/ " -/ macro x /- " -/
#eval 1 ¦ def a := eval% 1 ¦ #guard 1 = 1 ¦ #unknown_query ¦ #guard_msgs in #eval 1 ¦ #exit ¦ macro "x" : term => `(1)
macro_rules | `(1) => `(2) ¦ elab "x" : term => sorry ¦ syntax "x" : term ¦ declare_syntax_cat cat ¦ run_cmd skip
example : True := by run_tac skip ¦ example : Nat := by_elab skip ¦ initialize x : Nat ← pure 1
builtin_initialize skip ¦ simproc foo (1) := skip ¦ @[extern "x"] opaque f : Nat ¦ @[«extern»] def f := 1
@[simp, «implemented_by» g] def f := 1 ¦ @[simp,\n  implemented_by\n g] def f := 1 ¦ @[csimp] theorem t : f = g := rfl
@[export foo] def f := "x" ¦ @[init] def f := 1 ¦ unsafe def f := 1 ¦ theorem t : p := by native_decide
theorem t : p := by decide +native ¦ theorem t : p := by decide (config := { native := true })
theorem t : p := by bv_decide ¦ theorem t : p := Lean.ofReduceBool _ _ rfl ¦ def s := include_str "x"
register_option foo : Nat := {} ¦ declare_config_elab foo Bar ¦ binder_predicate x " ≻ " y:term => `(1)
unif_hint (x : Nat) where |- x =?= 1 ¦ attribute [macro foo] bar ¦ attribute [local macro foo] bar
attribute [simp, local app_unexpander foo] bar ¦ @[ /- -/ macro foo] def bar := 1 ¦ @[/- ] -/ macro foo] def bar := 1
@[simp -- ]\n, macro foo] def bar := 1 ¦ @[norm_num foo] def bar := 1 ¦ @[my_attribute] theorem t : True := trivial
@[to_additive (attr := simp, macro)] theorem t : True := trivial ¦ @[simp, @[macro x]] theorem t : True := trivial
@[simp ¦ theorem t : True := trivial macro "x" : term => `(1) ¦ def x := 2macro "x" : term => `(1)
def x := Cᵒᵖmacro "x" : term => `(1) ¦ def x := «a b»macro "x" : term => `(1)
open Nat in\nset_option maxRecDepth 9\nin\nmacro "x" : term => `(1) ¦ open Nat\n  in\n\n my_command x
local my_command x ¦ theorem t : True := trivial\nmy_command x ¦ namespace A\n\tmacro "x" : term => `(1)\nend A
mutual\nmacro "x" : term => `(1)\nend ¦ /-- doc -/ macro "x" : term => `(1)
theorem t : True := trivial\r\nmacro "x" : term => `(1)\r\n
theorem t : True := trivial\_macro "x" : term => `(1) ¦ def c := '"'  macro "x" : term => `(1) -- "
def c := f (x)'"' macro "x" : term => `(1) -- " ¦ def c := x'"a" macro "x" : term => `(1)
def c := '\\"' macro "x" : term => `(1) -- " ¦ def c := r"\\" macro "x" : term => `(1) -- "
def c := r##"a"#"## macro "x" : term => `(1) ¦ def c := xr"\\" macro \\"x" macro "y" : term => `(1)
def c := s!"{"a"} macro " macro "x" : term => `(1) ¦ def c := s!"{by_elab skip}" ¦ def c := s!"{ " macro "} "
/--/ " -/ macro "x" : term => `(1) --" ¦ def c := a <-- macro\n ¦ def c := "a\\
notation "$x" => 1\ndef y := $xmacro "x" : term => `(1)
notation "x\\"" => 1\ndef y := x" macro "x" : term => `(1) --"
notation "a--" => 1\ndef y := a-- macro "x" : term => `(1)
notation "a/-" => 1\ndef y := a/- @[extern "x"] opaque f : Nat -/
notation "a/-" => 1\ndef y := a/- attribute /- -/ [macro foo] bar -/ ¦ set_option doc.verso true
/--\tvariable (n :#eval 1\n Nat) -/ def a := 1 ¦ /-- -- a -/ "\n -/ macro "x" : term => `(1) --"
/-/--/ macro "x" : term => `(1) -/ ¦ def x := a⁻¹' --@#eval 1 ¦ set_option «doc».verso true
@[simp attribute [macro foo] bar] theorem t : True := trivial ¦ @[simp (by_elab skip)] theorem t : True := trivial
@[simp theorem t : xs[0] = 1 := rfl ¦ def s := s!"{ ] attribute [macro foo] bar } " ¦ theorem declare_config_elab a b
#check.macro ¦ def x := 1..macro "x" : term => `(1) ¦ def x := f (a := 1, ..)macro "x" : term => `(1)
theorem t : p := f ''"' macro " : term => `(1) -- " ¦ deriving instance Repr for A #eval 1
""")


def test_ordinary_files_have_no_code_whatever_their_comments_and_strings_say() -> None:
    assert code_in(HONEST) == [] and code_in(HONEST.replace("\n", "\r\n")) == []


def test_code_is_found_alone_and_behind_other_text_and_nothing_is_left_of_it() -> None:
    for text in RUNS:
        assert code_in(text) and code_in(HONEST + text), text
        assert code_in(cleaned(text)) == [], text


def test_code_is_told_with_its_line_and_its_command() -> None:
    text = 'theorem a : True := trivial\n@[simp,\n  extern "x"] def b := 1\nexample : p := by\n  native_decide\n'
    assert [(each.kind, each.name, each.line) for each in code_in(text)][:2] == [
        ("attribute", "extern", 3),
        ("example", "native_decide", 5),
    ]


TOUCHES = cells(r"""
macro_rules | `(False) => `("decoy")  ¦ notation "\\x46alse" => True ¦ infix:50 " \\u003d " => Ne
open Nat in\n  open List in notation "x" => 1 ¦ @[macro foo] def bar := 1 ¦ attribute [macro foo] bar
macro "a" : command => `(macro_rules | `(False) => `(True)) ¦ variable (h : False)
variable {n : Nat} in\ntheorem t : True := trivial ¦ include h ¦ omit h in theorem t : True := trivial
attribute [-instance] foo ¦ attribute [instance] foo ¦ @[default_instance] instance : Foo := ⟨1⟩ ¦ @[coe] def f := 1
@[app_unexpander foo] def f := 1 ¦ @[term_parser] def f := 1 ¦ local infixr:60 " => " => f
scoped[Foo] notation "x" => 1 ¦ notation "a\\"" => 1\n-- notation "y" => 2 ¦ unif_hint (x : Nat) where |- x =?= 1
""")
TOUCHES += RUNS


def test_what_a_statement_may_depend_on_without_naming_it_is_listed() -> None:
    line = 1 + HONEST.count("\n")
    for text in TOUCHES:
        assert touches_statements(text), text
        assert any(each.line >= line for each in touches_statements(HONEST + text)), text


def test_proofs_become_sorry_and_nothing_moves() -> None:
    for before, after in (
        ("theorem t : True := trivial", "theorem t : True := sorry  "),
        ("theorem t : True :=\n  trivial\n", "theorem t : True := sorry \n         \n"),
        ("theorem t : True := by\n  trivial\n#eval 1\n", "theorem t : True := sorry \n         \n       \n"),
        ("example : ∀ n, P n\n  | 0 => p\n  | _ => q", "example : ∀ n, P n\n  := sorry\n          "),
        ("theorem t : A ∧ B where\n  left := a", "theorem t : A ∧ B := sorry \n           "),
        ("theorem t : let x := 1; x = 1 := rfl", "theorem t : let x := 1; x = 1 := sorry  "),
        ("theorem t (h : x = 1 := by simp) : p := q", "theorem t (h : x = 1 := by simp) : p := sorry  "),
        ("theorem t :\n  |x| = 1 := foo _ _", "theorem t :\n  |x| = 1 := sorry  "),
        ("def f : Nat := 1", "def f : Nat := 1"),
        ("instance : A := ⟨rfl⟩", "instance : A := ⟨rfl⟩"),
        ("theorem t : (match a with | 0 => p) := trivial", "theorem t : (match a with | 0 => p) := sorry  "),
        ("theorem t : match a with | 0 => p := q", "theorem t : match a with | 0 => p := q"),
        ("@[simp, foo] theorem t : p := trivial", "@[simp     ] theorem t : p := sorry  "),
        ("@[foo, simp] theorem t : p := trivial", "@[     simp] theorem t : p := sorry  "),
        ("@[foo] theorem t : p := trivial", "       theorem t : p := sorry  "),
        ("@[a, simp, b, ext] theorem t : p := trivial", "@[   simp   , ext] theorem t : p := sorry  "),
        ("/-- doc -/ def f := 1 -- end", "           def f := 1       "),
        ("theorem t : p := q\n#exit\ntheorem u : r := s", "theorem t : p := sorry \n     \n                  "),
    ):
        result = cleaned(before)
        assert [line.rstrip() for line in result.split("\n")] == [line.rstrip() for line in after.split("\n")], before
        assert [len(line) for line in result.split("\n")][1:] == [len(line) for line in before.split("\n")][1:]


def test_what_makes_statements_stays() -> None:
    result = cleaned(HONEST)
    for kept in (
        "universe u v",
        "variable {α : Type u} [Inhabited α]",
        "namespace A.B",
        'local notation "‖" x "‖" => Nat.succ x',
        "deriving Repr, DecidableEq",
        "instance : Inhabited Point := ⟨{ x := 1, y := 2 }⟩",
        "protected def quote : Char := '\"'",
        "xs[0]'h = xs[0] := sorry",
        "private theorem m2 (n : Nat) : n = n := sorry",
        "end A.B",
    ):
        assert kept in result, kept
    assert "trivial" not in result
    assert "#check" not in result


SIGNS = """
" ' « » /- -/ -- @[ [ ] ( ) { } ⟨ ⟩ := | => in by # ` \\ r#" s!" , ; : . macro extern theorem «macro» _ 0x 1e '' 'a'
"""
BLANKS = ["\n", "\t", "\r\n", "\u2003", "\ufeff", "\x00", "notation ", "attribute ", "open ", "example : "]
FRAGMENTS = [*RUNS, *TOUCHES, *HONEST.split("\n"), *SIGNS.split(), *BLANKS]


def is_clean(fragments: list[str], between: str) -> None:
    text = between.join(fragments)
    result = cleaned(text)
    assert code_in(result) == [] and result.count("\n") == text.count("\n")
    assert cleaned(result).count("\n") == text.count("\n")


TEXTS = given(st.lists(st.sampled_from(FRAGMENTS), max_size=14), st.sampled_from(["", " ", "\n"]))


@seed(1)
@settings(max_examples=100, deadline=None, database=None)
@TEXTS
@example(["@[", "simp", "macro"], " ")
def test_the_cleaned_file_has_no_code_and_the_same_lines(fragments: list[str], between: str) -> None:
    is_clean(fragments, between)


def test_code_in_the_middle_of_an_ordinary_file_is_found_at_every_line() -> None:
    lines = HONEST.split("\n")
    comments = tokens_of(HONEST).comments
    for at in range(1, len(lines)):
        before = sum(map(len, lines[:at])) + at
        if not any(start < before < end for start, end in comments):
            text = "\n".join([*lines[:at], "", "#eval 1" if at % 2 else 'macro "x" : term => `(1)', "", *lines[at:]])
            assert code_in(text), at


def test_the_example_of_a_guard_is_not_linted_where_lean_knows_the_option() -> None:
    written = "#guard_msgs (drop info) in\n/-- doc -/ @[simp] example : 1 = 1 := rfl\n"
    assert Text(written).text.startswith(UNTRACED + UNLINTED + "#guard_msgs")
    assert Text(written, "4.35.0").text.startswith(UNTRACED + UNLINTED)
    assert Text(written, "4.29.0-rc1").text.startswith(UNTRACED + "#guard_msgs")
    assert UNLINTED not in Text("#guard_msgs in\ntheorem a : True := trivial\nexample : True := trivial\n").text


def test_the_word_example_in_comments_strings_and_names_is_left_alone() -> None:
    original = (
        '-- example : 1\n/- example -/ def a := "example : x"\n'
        "theorem my.example : True := trivial\ndef example' := 1\n"
    )
    assert Text(original).text == original


def test_what_a_command_expands_to_is_no_command_of_the_file() -> None:
    text = Text("macro_rules | `(a) => `(b)\ntheorem b : True := trivial\n")
    place = "[Elab.command] [0.5] "
    messages = [
        (FileMessage("information", place + "macro_rules", 1, 0, 1, 26), "trace"),
        (FileMessage("information", place + "@[macro a]", 1, 0, 1, 26), "trace"),
        (FileMessage("information", place + "inside", 1, 12, 1, 26), "trace"),
        (FileMessage("information", place + "theorem", 2, 0, 2, 27), "trace"),
        (FileMessage("warning", "unused", 2, 0, 2, 27), ""),
    ]
    found = text.commands(messages)
    assert [(each.keyword, each.line, each.seconds) for each in found] == [("macro_rules", 1, 0.5), ("theorem", 2, 0.5)]
    assert found[0].end == found[1].start


def test_without_a_theorem_others_mean_the_same_and_without_notation_they_may_not() -> None:
    neutral = {"theorem a : True := trivial\n", "#eval 1\n", "def a := 1\n", "example : True := trivial\n"}
    for written in neutral:
        assert Text(written).command(0, len(written)).neutral, written
    for written in ("open Nat\n", "variable (n : Nat)\n", 'notation "x" => 1\n', "instance : Inhabited Nat := ⟨1⟩\n"):
        assert not Text(written).command(0, len(written)).neutral, written
