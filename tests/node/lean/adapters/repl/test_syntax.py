"""Kinds of syntax, and constants in printed terms. No process."""

import pytest

from node.lean.adapters.repl.protocol import BadRequest, lines_of_options
from node.lean.adapters.repl.tactics import named_constants


def test_constants_of_a_term_are_its_names_without_binders_locals_holes_and_words():
    term = (
        "@Eq.mpr.{0} (@Eq.{u_1} Nat x (f «a b».c)) (fun (y : Nat) (h' : p) => @id.{0} h' y ?m.3) x✝ "
        '(let z : Sort u := Type u_2; nat_lit 3) "Nat.zero" (∀ (f : Nat), g f) h.{0}'
    )
    assert named_constants(term, {"x", "h", "p"}) == {"Eq.mpr", "Eq", "Nat", "«a b».c", "id", "g", "h"}


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
