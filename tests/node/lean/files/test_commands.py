"""Finding the commands of a file, from its text and from Lean's reports."""

from node.lean.check.files.commands import UNLINTED, UNREAD, UNTRACED, Command, Text
from node.lean.check.files.report import FileMessage


def commands_of(text: Text) -> list[Command]:
    """The commands recognized by their text, without Lean's reports."""
    found: list[Command] = []
    while (following := text.after(found[-1] if found else None)) is not None:
        found.append(following)
    return found


def test_an_example_gets_a_name_of_the_same_length() -> None:
    text = Text("example : True := trivial\n  example (n : Nat) :\n n = n := rfl\n")
    assert len(text.text) == len(text.original)
    assert text.text.startswith("def ℯ₀₀ : True")
    assert text.text.split("\n")[1].index("(n") == text.original.split("\n")[1].index("(n")


def test_a_name_that_the_file_uses_is_not_given_to_an_example() -> None:
    text = Text("theorem ℯ₀₀ : True := trivial\nexample : True := trivial\n")
    assert text.examples == {"ℯ₀₁"}


def test_the_option_for_a_guard_stands_before_its_own_documentation() -> None:
    for before, guard in (
        ("/-- doc -/\ntheorem a : True := trivial\n/- plain -/\n", "#guard_msgs in\n#print a\n"),
        ("/-- doc -/\ntheorem a : True := trivial\n-- plain -/\n", "#guard_msgs in\n#print a\n"),
        ("theorem a : True := trivial\n", "/-- info: 1 -/\n/- plain -/ -- other\n#guard_msgs in\n#print a\n"),
        ('def a := "/-- -/"\n', "#guard_msgs in\n#print a\n"),
        ("-- #guard_msgs in\n", "/-- a /- b -/ -/#guard_msgs in\n#print a\n"),
    ):
        assert Text(before + guard).text == before + UNTRACED + guard


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


def test_a_command_is_taken_out_without_moving_the_others() -> None:
    text = Text("theorem a : True := by\n  trivial\n\ntheorem b : True := trivial\n")
    first, second = commands_of(text)
    left = text.without([first])
    assert left.count("\n") == 4
    assert len(left) == len(text.text)
    assert left[second.start :] == text.text[second.start :]
    assert not left[: second.start].strip()


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


def test_what_lean_did_not_read_lies_behind_the_command() -> None:
    original = "theorem a : True := trivial\ngarbage here\ntheorem b : True := trivial\n"
    text = Text(original)
    end = original.index("theorem b")
    command = text.command(0, end, stop=original.index("\ngarbage"))
    rest = text.rest(command)
    assert rest is not None
    assert (rest.keyword, rest.line, original[rest.start : rest.end]) == (UNREAD, 2, "garbage here\n")
    assert text.rest(text.command(0, len(original))) is None


def test_namespaces_open_and_close() -> None:
    original = (
        "namespace A.B\nsection S\ntheorem x : True := trivial\nend S\nend B\n"
        "theorem y : True := trivial\nend A\ntheorem z : True := trivial\n"
    )
    text = Text(original)
    commands = commands_of(text)
    inside = {text.declared(each)[0][1]: text.namespace(commands, each) for each in commands if text.declared(each)}
    assert inside == {"x": "A.B.", "y": "A.", "z": ""}


def test_a_name_in_guillemets_is_told_whole() -> None:
    original = "mutual\n  theorem «odd name» : True := trivial\n  theorem a.«b c».d (n : Nat) : n = n := rfl\nend\n"
    text = Text(original)
    assert [name for _, name, _ in text.declared(text.command(0, len(original)))] == ["«odd name»", "a.«b c».d"]


def test_without_a_theorem_others_mean_the_same_and_without_notation_they_may_not() -> None:
    neutral = {"theorem a : True := trivial\n", "#eval 1\n", "def a := 1\n", "example : True := trivial\n"}
    for written in neutral:
        assert Text(written).command(0, len(written)).neutral, written
    for written in ("open Nat\n", "variable (n : Nat)\n", 'notation "x" => 1\n', "instance : Inhabited Nat := ⟨1⟩\n"):
        assert not Text(written).command(0, len(written)).neutral, written
