"""Kinds of syntax, and constants in printed terms. No process."""

import pytest

from node.lean.adapters.repl.infotrees import kind_of_command, kind_of_term, kinds_of_printed, read_trace
from node.lean.adapters.repl.protocol import BadRequest, lines_of_options
from node.lean.adapters.repl.tactics import named_constants
from node.lean.worker.process import Diagnostic, Position, Range


@pytest.mark.parametrize(
    ("printed", "kinds"),
    [
        ("(Tactic.exact \"exact\" `h)", ("Lean.Parser.Tactic.exact", ["exact", "ident"])),
        ('(Lean.cdot (Lean.cdotTk "·") (Tactic.tacticSeq []))',
         ("Lean.cdot", ["Lean.cdotTk", "Lean.Parser.Tactic.tacticSeq"])),
        ('[(Tactic.exact "exact" `h) [] "("]', ("null", ["Lean.Parser.Tactic.exact", "null", "("])),
        ('(Tactic.«tactic_<;>_»\n (group "a)" `«b c») "<;>" [])',
         ("Lean.Parser.Tactic.«tactic_<;>_»", ["group", "<;>", "null"])),
        ("(«term_(_)» `x <missing>)", ("«term_(_)»", ["ident", "missing"])),
        ('"by"', ("by", [])),
        ("", ("missing", [])),
    ],
)  # fmt: skip
def test_kinds_are_read_from_printed_syntax(printed, kinds):
    assert kinds_of_printed(printed) == kinds


@pytest.mark.parametrize(
    ("source", "elaborator", "kinds"),
    [
        ("h", "Lean.Elab.Term.elabIdent", ("ident", [])),
        ("Prop", "Lean.Elab.Term.elabProp", ("Lean.Parser.Term.prop", ["Prop"])),
        ("h.1", "Lean.Elab.Term.elabProj", ("Lean.Parser.Term.proj", [])),
        ("p ∧ q", "«_aux_Init_Notation___macroRules_term_∧__1»", ("«term_∧_»", [])),
        ("f x", "Lean.Elab.Term.elabApp", ("Lean.Parser.Term.app", [])),
        ("12", "Lean.Elab.Term.elabNumLit", ("num", ["12"])),
        ("f x", "", ("null", [])),
    ],
)
def test_kinds_of_terms_come_from_their_source_and_elaborator(source, elaborator, kinds):
    assert kind_of_term(source, elaborator) == kinds


def test_kinds_of_commands_name_the_declaration():
    modifiers = "Lean.Parser.Command.declModifiers"
    declaration = "Lean.Elab.Command.elabDeclaration"
    assert kind_of_command("@[simp] private def f := 1", declaration) == (
        "Lean.Parser.Command.declaration",
        [modifiers, "Lean.Parser.Command.definition"],
    )
    assert kind_of_command("variable (x : Nat)", "Lean.Elab.Command.elabVariable")[0] == (
        "Lean.Parser.Command.variable"
    )


def test_constants_of_a_term_are_its_names_without_binders_locals_holes_and_words():
    term = (
        "@Eq.mpr.{0} (@Eq.{u_1} Nat x (f «a b».c)) (fun (y : Nat) (h' : p) => @id.{0} h' y ?m.3) x✝ "
        '(let z : Sort u := Type u_2; nat_lit 3) "Nat.zero" (∀ (f : Nat), g f) h.{0}'
    )
    assert named_constants(term, {"x", "h", "p"}) == {"Eq.mpr", "Eq", "Nat", "«a b».c", "id", "g", "h"}


def test_steps_give_layouts_and_expected_types():
    message = (
        "[Elab.command] ✅️ theorem t (p : Prop) : p :=\n      by\n      skip\n"
        "  [Elab.step] ✅️ expected type: Sort ?u.1, term\n      Prop\n    [Elab.step.result] Prop\n"
        "  [Elab.step] 💥️ expected type: <not-available>, term\n      Prop\n"
        "  [Elab.step] ❌️ failed to pretty print term (use something)"
    )
    place = Range(Position(0, 0), Position(0, 0))
    layouts = read_trace([Diagnostic(place, "other"), Diagnostic(place, message)]).layouts
    assert layouts.of("theorem t (p:Prop) : p := by\n  skip") == "theorem t (p : Prop) : p :=\n  by\n  skip"
    assert [layouts.next_expected("Prop") for _ in range(3)] == ["Sort ?u.1", None, None]
    assert layouts.of("intro\n      x\n        y") == "intro\n  x\n    y"


def test_options_of_a_request_are_lines_and_nonsense_is_told():
    given = [[["pp", "all"], True], [["maxHeartbeats"], 7], [["a"], 'b"\\'], [["Elab", "async"], True]]
    assert lines_of_options(given) == [
        "set_option pp.all true",
        "set_option maxHeartbeats 7",
        'set_option a "b\\"\\\\"',
    ]
    assert lines_of_options(None) == []
    for wrong in (["pp.all"], [[["pp all"], True]], [[["a\nb"], 1]], [[["a"], None]]):
        with pytest.raises(BadRequest, match="setOptions"):
            lines_of_options(wrong)
