"""Collecting the commands of a text that an import does not restore."""

import pytest

from node.lean.gaps.contexts import ScopedText

TEXT = """\
universe u
open Nat (succ)
namespace A.B
variable (p : Prop)
theorem one (h : p) : p := h
/-- About
two. -/
section
variable {q : Prop}
open Classical in
theorem two (h : q) : q := h
end
section Inner
set_option maxRecDepth 600
set_option maxHeartbeats 400 in
theorem three : True := trivial
mutual
theorem even : True := trivial
theorem odd : True := trivial
end
private theorem four : True := trivial -- private to nobody
end Inner
end B
local notation "⟪" x "⟫" => x
noncomputable section
theorem five : True := trivial
"""


def scope_behind(line: str, text: str = TEXT) -> str | None:
    scoped = ScopedText(text, 0)
    count = next(number for number, piece in enumerate(scoped.pieces) if line in scoped.of([piece])) + 1
    return scoped.open_scope(count)


def test_the_commands_of_a_text_cover_it_and_a_mutual_block_is_one():
    scoped = ScopedText(TEXT, 0)
    assert scoped.of(scoped.pieces) == TEXT
    keywords = [piece.keyword for piece in scoped.pieces]
    assert keywords.count("mutual") == 1 and keywords.count("theorem") == 5
    assert scoped.of([scoped.pieces[keywords.index("section")]]).startswith("/-- About")


OUTER = ["universe u", "open Nat (succ)", "namespace A"]
INNER = [*OUTER, "namespace B", "variable (p : Prop)"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("theorem one", INNER),
        ("theorem two", [*INNER, "section", "variable {q : Prop}"]),
        ("private", [*INNER, "section Inner", "set_option maxRecDepth 600"]),
        ("theorem five", [*OUTER, 'local notation "⟪" x "⟫" => x', "noncomputable section"]),
    ],
)
def test_what_is_open_behind_a_command_is_said_again(line, expected):
    assert scope_behind(line).split("\n") == [*expected, ""]


def test_local_instances_cannot_be_said_again_while_they_hold():
    local = "section\nlocal instance : Inhabited Nat := ⟨1⟩\ntheorem one : True := trivial\nend\n"
    text = f"{local}theorem two : True := trivial\n"
    assert scope_behind("theorem one", text) is None
    assert scope_behind("theorem two", text) == ""
