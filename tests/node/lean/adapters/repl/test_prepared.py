"""A command's places, with lines of ours before it. No process."""

from hypothesis import given, strategies as st

from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.protocol import CommandPosition
from node.lean.trace.infotree import Span
from node.lean.worker.process import Position

OURS = ["set_option a true", "set_option b true"]


def test_lines_of_ours_stand_between_environment_and_command():
    prepared = Prepared.of("def a := 1\n", "#check a\n#check 𝔸a", OURS)
    assert prepared.text == "def a := 1\nset_option a true\nset_option b true\n#check a\n#check 𝔸a"
    assert prepared.position(0) == Position(3, 0) and prepared.position(17) == Position(4, 9)
    assert prepared.place(Position(4, 9)) == CommandPosition(2, 8)
    assert [prepared.place(Position(line, 0)) for line in range(3)] == [None] * 3
    assert prepared.offsets(Span((4, 7), (4, 8))) == (7, 8)
    assert prepared.offsets(Span((2, 0), (2, 5))) is None


def test_they_stand_behind_imports_and_again_behind_an_end():
    code = "-- first\nimport Init\nnamespace X\n/-\nend of a comment\n-/\nend X\ndef b := 1"
    written = Prepared.of("", code, ["ours"]).text.split("\n")
    assert written == [
        *("-- first", "import Init", "ours", "namespace X", "/-", "end of a comment", "-/", "end X", "ours"),
        "def b := 1",
    ]


@given(st.text("ab\n𝔸 ⊢end", max_size=40), st.text("ab\n", max_size=10), st.booleans())
def test_every_place_of_a_command_is_found_again(code, environment, ours):
    before = environment + "\n" if environment else ""
    prepared = Prepared.of(before, code, OURS if ours else ())
    if not ours:
        assert prepared.text == before + code
    for offset in range(len(code) + 1):
        assert prepared.place(prepared.position(offset)) == prepared.place_of(offset)
