"""What the words of a command line mean: statements, lines and names of files."""

from pathlib import Path

import pytest

from node.proving.statements import BadTarget, Target, line_target, name_target, read_target

FILE = """/-! A file. -/
namespace Foo
variable (p q : Prop)

/-- Two, with a sorry in words. -/
@[simp]
theorem swap (h : p ∧ q) : q ∧ p := by
  constructor
  · sorry
  · exact (sorry)
-- theorem not_there : True := sorry

/-- Next. -/
theorem term (h : p) : p ∧ p := ⟨sorry, h⟩

namespace Inner
theorem swap : let x := 1; x = 1 := rfl
  theorem indented (n : Nat) : n = n := by
    rfl
end Inner

set_option maxRecDepth 100 in
theorem cases : ∀ n : Nat, 0 + n = n
  | 0 => rfl
  | n + 1 => sorry

example : 1 = 1 := by sorry
def value : Nat := sorry
def other : Nat := 1
end Foo
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.lean"
    path.write_text(FILE, encoding="utf-8")
    return path


def whole(target: Target, reading: int = 0) -> str:
    """The file up to the command's end, as the target reads it."""
    place = target.readings[reading].place
    assert place is not None
    return f"{place.context.text}{place.before}<GAP>{place.after}"


def line_of(text: str) -> int:
    return FILE[: FILE.index(text)].count("\n") + 1


def test_a_statement_stands_by_itself_and_has_a_negation():
    target = read_target(["theorem t (p : Prop) : p → p := by sorry"])
    assert [theorem.signature for theorem in target.readings] == ["theorem t (p : Prop) : p → p"]
    assert [theorem.signature for theorem in target.negations] == ["theorem t_neg : ¬ (∀ (p : Prop), p → p)"]


@pytest.mark.parametrize(
    ("text", "tactic"),
    [("  · sorry", True), ("  · exact (sorry)", None), ("theorem term", False), ("  | n + 1 => sorry", None)],
)
def test_a_sorry_is_left_out_of_its_command_with_all_above_it(file: Path, text: str, tactic: bool | None):
    """`tactic`: which reading comes first, where the look shows it; the other one comes second."""
    target = line_target(file, line_of(text))
    assert target.gap and len(target.readings) == 2
    before, found, after = whole(target).partition("<GAP>")
    assert found and FILE.startswith(f"{before}sorry{after.rstrip()}")
    places = [theorem.place for theorem in target.readings]
    first, second = [place.tactic for place in places if place]
    assert first is not second and (tactic is None or first is tactic)


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("term", "theorem term (h : p) : p ∧ p := by\n  "),
        ("Foo.swap", "theorem swap (h : p ∧ q) : q ∧ p := by\n  "),
        ("Inner.swap", "theorem swap : let x := 1; x = 1 := by\n  "),
        ("_root_.Foo.cases", "theorem cases : ∀ n : Nat, 0 + n = n := by\n  "),
    ],
)
def test_a_theorem_is_found_by_its_name_and_its_proof_left_aside(file: Path, name: str, before: str):
    place = name_target(file, name).readings[0].place
    assert place is not None and place.before.endswith(before) and place.after == "\n" and place.tactic


def test_a_statement_in_a_files_context_is_read_behind_it_and_before_its_last_ends(file: Path):
    target = read_target(["theorem swap (h : p) : p := by sorry"], file)
    assert target.name == "swap" and target.file == file
    behind, inside = (theorem.place.context.text for theorem in target.readings if theorem.place)
    assert behind == FILE and inside == FILE.removesuffix("end Foo\n")
    assert [theorem.signature for theorem in target.readings] == ["theorem swap (h : p) : p"] * 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{file}:12"], "12: no `sorry` and no theorem on this line (there are some on lines 9, 10, 14)"),
        (["{file}:29"], "29: no `sorry` and no theorem on this line"),
        (["{file}:900"], "900: the file has 30 lines"),
        (["{file}", "swop"], "no theorem swop; did you mean Foo.swap"),
        (["{file}", "swap"], "swap may be Foo.swap (line 6), Foo.Inner.swap (line 17)"),
        (["{file}", "zzz"], "no theorem zzz; it has 5 theorems"),
        (["{file}"], "Name a line"),
        (["{folder}/none.lean:1"], "none.lean: No such file"),
        (["{folder}:1"], "a folder; name a Lean file"),
        (["p → p"], "a statement begins with `theorem NAME`"),
        (["theorem t (p : Prop : p"], "never closed"),
        (["a", "b", "c"], "give it one statement"),
    ],
)
def test_what_is_not_there_is_told(file: Path, words: list[str], told: str):
    with pytest.raises(BadTarget) as raised:
        read_target([word.format(file=file, folder=file.parent) for word in words])
    assert told in str(raised.value)
