"""Finding the commands of a file, from its text and from Lean's reports."""

from node.lean.check.files.commands import UNLINTED, UNTRACED, Text
from node.lean.check.files.report import FileMessage


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
