"""Plain text and Lean files as statements, and answers that a statement leaves open."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from node.bank import command
from node.bank.benchmarks import load_benchmark
from node.bank.importing import Reader
from node.bank.sources import read_rows
from node.bank.statements import IN_MUTUAL, INDENTED, NO_STATEMENT, filled, statements_of_lean, statements_of_text
from node.lean.text.lexing import uncommented

LEAN = """import Lean
/-- Doubled, without sorry. -/
def twice (n : Nat) : Nat := n + n

theorem proved (n : Nat) : twice n = 2 * n := by
  -- not a sorry
  unfold twice; omega

/-- The first. -/
theorem first (n : Nat) : twice n = n + n := by
  sorry

namespace Deep
variable (m : Nat)
@[simp] lemma second (h : m = 2) : twice m = 4 := by
  have : 1 = 1 := sorry
  simp [h, twice]
example : 2 = 2 := sorry
end Deep

set_option maxRecDepth 1000 in
theorem third : "sorry" = "sorry" := by sorry
"""


def test_each_theorem_with_sorry_is_a_statement_with_all_that_stands_above(tmp_path):
    assert list(statements_of_lean("theorem a : 1 = 1 := rfl\n")) == list(statements_of_lean("")) == []
    (tmp_path / "mine.lean").write_text(LEAN, encoding="utf-8")
    rows = list(read_rows(str(tmp_path / "mine.lean")))
    places = {"first": 10, "Deep.second": 15, "Deep.example_18": 18, "third": 21}
    assert {row["name"]: row["line"] for row in rows} == places
    for row in rows:
        assert "theorem proved" in row["header"] and row["header"].startswith("import Lean")
        assert "theorem first" not in row["header"] and "lemma second" not in row["header"]
    assert rows[1]["header"].endswith("variable (m : Nat)\n") and "end Deep" in rows[3]["header"]
    reading = Reader("mine").collect(rows)
    found = {each.theorem.name: each.theorem for each in reading.statements}
    assert list(found) == list(places) and reading.refused == []
    assert (found["Deep.second"].binders, found["Deep.second"].conclusion) == ("(h : m = 2)", "twice m = 4")
    assert found["third"].header.endswith("end Deep\n\nset_option maxRecDepth 1000")


def test_a_definition_without_a_value_refuses_what_stands_below_it_and_any_name_is_read(tmp_path):
    (tmp_path / "a.lean").write_text("def f : Nat := sorry\ntheorem a : f = f := sorry\n", encoding="utf-8")
    [refused] = Reader("a").collect(read_rows(str(tmp_path / "a.lean"))).refused
    assert refused.name == "a" and "would count as proved" in refused.reason
    text = "theorem A.«b c».d (n : Nat) : n = n := sorry\nopen Nat in\ntheorem e.{u, v} (α : Type u) : α = α := sorry\n"
    (tmp_path / "a.lean").write_text(text, encoding="utf-8")
    reading = Reader("a").collect(read_rows(str(tmp_path / "a.lean")))
    assert reading.refused == []
    first, second = (each.theorem for each in reading.statements)
    assert (first.name, first.binders) == ("A._b_c_.d", "(n : Nat)")
    assert (second.name, second.binders, second.header) == ("e", "(α : Type u)", "open Nat\nuniverse u v")


IN_ONE = """namespace A
mutual
  theorem one : ∀ n : Nat, n = n := fun n => two n
  theorem two : ∀ n : Nat, n = n := by sorry
end
mutual
theorem proved : 1 = 1 := rfl
end
theorem three : 1 = 1 := sorry
open Nat in theorem four : succ 0 = 1 := sorry
end A
"""


def test_theorems_in_mutual_blocks_and_indented_ones_are_refused_by_name_and_assumed_nowhere():
    rows = list(statements_of_lean(IN_ONE))
    reading = Reader("a").collect(rows)
    assert [(each.name, each.reason) for each in reading.refused] == [("A.two", IN_MUTUAL)]
    found = {each.theorem.name: each.theorem for each in reading.statements}
    assert list(found) == ["A.three", "A.four"]
    assert "two" not in found["A.three"].header and "theorem proved" in found["A.three"].header
    assert found["A.four"].conclusion == "succ 0 = 1" and found["A.four"].header.endswith("\nopen Nat")
    text = (
        "attribute [local simp] Nat.add_comm in\ntheorem a : 1 = 1 := by sorry\n  theorem b : 2 = 2 := by sorry\n"
        "theorem c : 3 = 3 := rfl\n  theorem d : 4 = 4 := rfl\n"
        "namespace N\n  lemma e : 5 = 5 := sorry\n  theorem f : 6 = 6 := rfl\nend N\n"
    )
    reading = Reader("a").collect(statements_of_lean(text))
    assert [each.theorem.name for each in reading.statements] == ["a"]
    assert reading.statements[0].theorem.header == "attribute [local simp] Nat.add_comm"
    assert [each.name for each in reading.refused] == ["b", "e"]
    assert {each.reason for each in reading.refused} == {INDENTED}


def test_a_text_has_a_statement_a_line_or_of_several_lines():
    text = "theorem a : 1 = 1\n-- a remark\ntheorem b (n : Nat)\n  : n = n := by sorry\n\n\n-- b\nlemma c :\n  True\n"
    rows = [row["statement"] for row in statements_of_text(text)]
    assert [row.split()[1] for row in rows] == ["a", "b", "c"]
    assert rows[1] == "theorem b (n : Nat)\n  : n = n := by sorry"


MIXED = """theorem a : 1 = 1 := by sorry
thoerem b : 2 = 2 := by sorry
  -- of b
theorem c (n : Nat)
: n = n ∧
n + 0 = n
thm d : 1 = 1
def e : Nat := 1
theorem f : 1 = 1 :=
sorry
rfl
/- theorem g : 1 = 1

theorem h : 1 = 1 -/
@[simp]
theorem i : "a" = "a" -- a remark
1. theorem j : 1 = 1
theorem k : ∀ n : Nat, n = n
| n => rfl
"""


def test_lines_of_a_text_that_are_no_statement_are_refused_with_their_number_and_reason(tmp_path):
    (tmp_path / "a.txt").write_text(MIXED, encoding="utf-8")
    reading = Reader("a", repeats=True).collect(read_rows(str(tmp_path / "a.txt")))
    assert [each.theorem.name for each in reading.statements] == ["a", "c", "f", "i", "k"]
    assert [each.name for each in reading.refused] == [f"line {number}" for number in (2, 7, 8, 11, 17)]
    assert {each.reason for each in reading.refused} == {NO_STATEMENT} and reading.rows == 10
    found = {each.theorem.name: each.theorem.conclusion for each in reading.statements}
    assert found["c"] == "n = n ∧\nn + 0 = n"


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(st.lists(st.sampled_from(MIXED.splitlines()), max_size=8))
def test_no_line_of_a_text_is_lost(lines):
    rows = list(statements_of_text("\n".join(lines)))
    told = sum(len(row["statement"].splitlines()) if "statement" in row else 1 for row in rows)
    code = [line for line in uncommented("\n".join(lines)).split("\n") if line.strip()]
    assert told >= len(code) and [row["line"] for row in rows] == sorted({row["line"] for row in rows})


def test_every_known_kind_of_file_in_a_folder_is_read_but_for_a_lakefile_and_the_others_are_named(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / ".lake").mkdir()
    for name in ("src/b.lean", "src/a.lean", "lakefile.lean", ".lake/c.lean"):
        (tmp_path / name).write_text(f"theorem {name[4]} : 1 = 1 := sorry\n", encoding="utf-8")
    found = {row["name"]: row["file"] for row in read_rows(str(tmp_path))}
    assert list(found.items()) == [(name, str(tmp_path / f"src/{name}.lean")) for name in "ab"]
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in {
        "a.jsonl": '{"statement": "theorem a : 1 = 1"}\n',
        "b.lean": "theorem b : 2 = 2 := sorry\n",
        "c.txt": "theorem c : 3 = 3\n",
        "d.txt": "no theorem\n",
        "e.csv": "theorem e : 5 = 5\n",
        "lakefile.lean": "theorem f : 6 = 6 := sorry\n",
        ".g.txt": "theorem g : 7 = 7\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = load_benchmark(str(folder))
    assert [each.theorem.name for each in found.statements] == ["a", "b", "c"]
    assert [each.name for each in found.unread] == ["d.txt, line 1"]
    assert found.notes == (f"not read of {folder}: e.csv, lakefile.lean",)


STATED = "/-- Find it. -/\ntheorem t : a = 5 ∧ b.a = a' :=\nsorry\n"


@pytest.mark.parametrize(
    ("opened", "value"),
    [
        ("abbrev a : Nat → Nat := sorry\n-- fun n => n\n", "((fun n => n) : Nat → Nat)"),
        ("abbrev a : Nat := sorry -- 5\n", "((5) : Nat)"),
        ("abbrev a :\n  Nat := sorry\n-- 5 +\n-- 6\n", "((5 +\n  6) : Nat)"),
        ("noncomputable abbrev a : Nat :=\n  sorry\n-- 5\n", "((5) : Nat)"),
    ],
)
def test_answers_in_comments_are_put_in_their_place(opened, value):
    expected = STATED.replace(": a =", f": {value} =")
    assert filled("open Nat\n", opened + STATED) == ("open Nat\n", expected)
    assert filled("open Nat\n" + opened, STATED) == ("open Nat\n", expected)


@pytest.mark.parametrize(
    "text",
    [
        "abbrev a : Nat := sorry\n",
        "abbrev a (n : Nat) : Nat := sorry\n-- n\n",
        "theorem a : 1 = 1 := sorry -- no answer\n",
        "abbrev a : Nat := 5\n-- sorry\n",
    ],
)
def test_what_is_no_answer_in_a_comment_stays_as_it_is(text):
    assert filled(text, STATED) == (text, STATED)


def test_bank_import_names_the_files_that_it_leaves_out_and_all_rows_that_are_not_read(tmp_path, capsys):
    rows = '{"name": "a", "statement": "def a := 1"}\n' * 2 + '{"name": "b", "statement": "theorem b : 1 = 1"}\n'
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")
    for number in range(12):
        (tmp_path / f"{number:02}.md").write_text("-", encoding="utf-8")
    out = tmp_path.parent / "bank"
    assert command.main(["import", str(tmp_path), "--no-check", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert set(json.loads((out / "import.json").read_text())["not_read"]) == {"a", "a_2"}
    assert "3 rows, 1 statement " in said and "00.md, 01.md" in said and "09.md and 2 more\n" in said
