"""`proofmesh bank import`, with stand-ins of the datasets' own forms, and genuine (pocket) Lean."""

import gzip
import json

import pytest

from common.lean import Theorem
from node.bank import bank, command, elaboration
from node.bank.bank import BankError, load_statements, load_transitions
from node.bank.elaboration import Entry, Whitelist, key
from node.bank.importing import Reader
from node.bank.known import MINIF2F_HEADER
from node.bank.sources import read_rows
from node.bank.statements import Refused, theorem
from node.lean.text.lexing import lex
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.bank.stand_ins import NUMINA, WORKBOOK, lines


def benchmark(name, statement, split="valid", header="open Nat\n\n"):
    row = {"name": name, "split": split, "informal_prefix": "/-- Show it. -/\n", "formal_statement": statement}
    return {**row, "goal": "⊢ True", "header": header}


BENCHMARK = [
    benchmark("first", "theorem first (n : Nat) (h : n = 2) :\n  n + 0 = 2 := by\n"),
    benchmark("second", "theorem second : ∀ n : Nat, n = n :=", split="test"),
    benchmark("ill_typed", "theorem ill_typed (n : Nat) : n = nope := by\n"),
    benchmark("unparsable", "theorem unparsable (n : Nat) : n = = n := by\n"),
    benchmark("behind_it", "theorem behind_it (p : Prop) : p → p := by\n"),
    benchmark("data", "def data (n : Nat) : Nat :="),
    benchmark("needs_more", "theorem needs_more : 1 = 1 := by", header="import Elsewhere\n"),
    benchmark("own", "theorem own : twice 1 = 2 := by", header="def twice (n : Nat) : Nat := n + n\n"),
]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A private cache of whitelists; pocket Lean's own build stays where it is."""
    folder = tmp_path / "whitelists"
    monkeypatch.setattr("node.bank.elaboration.whitelists", lambda: folder)
    return folder


@pytest.mark.lean
def test_statements_that_elaborate_are_imported_and_a_second_import_asks_lean_only_for_what_is_new(
    tmp_path, cache, monkeypatch, capsys
):
    asked, real = [], elaboration.run_fresh

    async def counted(*arguments, **options):
        asked.append(arguments)
        return await real(*arguments, **options)

    monkeypatch.setattr(elaboration, "run_fresh", counted)
    source = lines(tmp_path / "mini.jsonl", BENCHMARK[:2])
    argv = ["import", str(source), "--out", str(tmp_path / "bank")]
    assert command.main(argv) == 0
    [file] = cache.iterdir()
    entries, before = file.read_bytes(), len(asked)
    assert command.main(argv) == 0
    assert len(asked) == before > 0 and file.read_bytes() == entries
    lines(source, BENCHMARK)
    capsys.readouterr()
    assert command.main(argv) == 0
    assert len(asked) > before and file.read_bytes().startswith(entries)
    out = capsys.readouterr().out
    assert "8 rows, 7 statements" in out and "4 of 7 elaborate under Lean 4.35" in out
    valid = {each.theorem.name: each for each in load_statements("valid", tmp_path / "bank")}
    assert list(valid) == ["first", "behind_it", "own"]
    assert valid["first"].theorem == Theorem("first", "(n : Nat) (h : n = 2)", "n + 0 = 2", "open Nat")
    assert valid["own"].theorem.header == "def twice (n : Nat) : Nat := n + n" and valid["own"].family == "mini"
    assert [each.theorem.name for each in load_statements("test", tmp_path / "bank")] == ["second"]
    assert load_statements("train", tmp_path / "bank") == [] and load_transitions(tmp_path / "bank") == []
    report = json.loads((tmp_path / "bank" / "import.json").read_text())
    assert set(report["do_not_elaborate"]) == {"ill_typed", "unparsable", "needs_more"}
    assert "nope" in report["do_not_elaborate"]["ill_typed"]
    assert "Lean refuses the header" in report["do_not_elaborate"]["needs_more"]
    assert "defines data" in report["not_read"]["data"]


def test_a_whitelist_with_a_half_written_line_is_taken_up_by_keys_of_toolchain_and_header(tmp_path):
    toolchain = LeanToolchain.pocket()
    found = Whitelist.open(tmp_path, toolchain)
    found.add([Entry("a", True)])
    with found.path.open("ab") as file:
        file.write(b'{"key":"b","ok"')
    again = Whitelist.open(tmp_path, toolchain)
    again.add([Entry("c", True), Entry("d", False, "it may be mended")])
    assert set(Whitelist.open(tmp_path, toolchain).known) == {"a", "c"}
    one, other = LeanToolchain(("lean",), version="4.1.0"), LeanToolchain(("lean",), version="4.2.0")
    statement = Theorem("a", "", "1 = 1", "open Nat")
    same = Theorem("another_name", "", "1 = 1", "open Nat")
    assert key(one, statement) == key(one, same)
    assert len({key(one, statement), key(other, statement), key(one, Theorem("a", "", "1 = 1"))}) == 3


@pytest.mark.compute
def test_lean_workbook_rows_are_read_from_json_and_parquet_alike(tmp_path):
    import pyarrow
    import pyarrow.parquet

    text = "theorem lean_workbook_2 : ∀ n : Nat, n = n  :=  by sorry"
    rows = [WORKBOOK[0], {**WORKBOOK[0], "id": "lean_workbook_2", "formal_statement": text}]
    rows.append({**WORKBOOK[0], "tactic": "simp"})  # the dataset has a row for each step of a proof
    (tmp_path / "lean_workbook.json").write_text(json.dumps(rows))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "workbook.parquet")
    names = ("lean_workbook.json", "workbook.parquet")
    first, second = (Reader("w").collect(read_rows(str(tmp_path / name))) for name in names)
    assert first == second and first.repeated == 1
    found = [(each.theorem.name, each.split, each.theorem.header) for each in first.statements]
    assert found == [(f"lean_workbook_{number}", "train", MINIF2F_HEADER) for number in (1, 2)]


def test_numina_statements_lose_comments_and_proof_and_keep_what_they_need(tmp_path):
    text = (
        "import Mathlib\nopen Nat\n\n/- What is $1 + 1$? -/\nlemma helper : 1 = 1 := by\n  rfl\n\n"
        "/-- The answer. -/\ntheorem number_theory_7 (n : Nat) (h₀ : n = 1) : -- of one\n    n + n = 2 := by\n"
        "  have h : n = 1 := by exact h₀\n  rw [h]\n"
    )
    rows = lines(tmp_path / "n.jsonl", [{**NUMINA[0], "formal_statement": text, "formal_ground_truth": ""}])
    [found] = (each.theorem for each in Reader("n").collect(read_rows(str(rows))).statements)
    assert (found.name, found.binders, found.conclusion) == ("number_theory_7", "(n : Nat) (h₀ : n = 1)", "n + n = 2")
    assert found.header.startswith("import Mathlib\nopen Nat\n\nlemma helper : 1 = 1 := by\n  rfl")
    assert not lex(found.header).comments


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lemma a : False := by sorry\n\ntheorem b : 1 = 2 := by sorry", "would count as proved"),
        ("axiom a : False\ntheorem b : 1 = 2 := by sorry", "would count as proved"),
        ("theorem b (n : Nat : n = n := by", "never closed"),
        ("set_option debug.skipKernelTC true\ntheorem b : 1 = 1 := by", "switch a check off"),
        ("#eval 1", "no theorem in it"),
        ("mutual\ntheorem a : 1 = 1 := b\ntheorem b : 1 = 1 := a\nend", "in a `mutual` block"),
    ],
)
def test_texts_that_are_no_statement_are_refused_with_the_reason(text, says):
    with pytest.raises(Refused, match=says):
        theorem(text)


@pytest.mark.parametrize(
    ("text", "conclusion", "header"),
    [
        ("open Nat in theorem t : succ 0 = 1 := rfl", "succ 0 = 1", "open Nat"),
        ("open Nat in set_option x 9 in\n@[simp] theorem t : 0 = 0", "0 = 0", "open Nat\nset_option x 9"),
        ("open Nat in\nopen List in\ntheorem t : 0 = 0", "0 = 0", "open Nat\nopen List"),
        ("def f := 1\nopen Nat in theorem t : f = 1", "f = 1", "def f := 1\nopen Nat"),
        ("theorem t : 1 = 1 := Eq.refl 1", "1 = 1", ""),
        (
            "theorem t : let x := 5; have y : x = 5 := a; x = 5 := by\n  rfl",
            "let x := 5; have y : x = 5 := a; x = 5",
            "",
        ),
        ("theorem t : let x := (by exact 5); x = 5 := let y := 1; rfl", "let x := (by exact 5); x = 5", ""),
        ("theorem t : ':' = ':' ∧ \":= 1\" = \":= 1\" := ⟨rfl, rfl⟩", "':' = ':' ∧ \":= 1\" = \":= 1\"", ""),
        ("theorem t : ∀ n : Nat, n = n | 0 => rfl | n + 1 => rfl", "∀ n : Nat, n = n", ""),
        ("theorem t : ∀ n m : Nat, n = m\n  | 0, m | m, 0 => by simp\n  | n, m => by omega", "∀ n m : Nat, n = m", ""),
        ("theorem t : (match 1 with | 0 => 1 | _ => 2) = 2 := rfl", "(match 1 with | 0 => 1 | _ => 2) = 2", ""),
        ("theorem t : 2 = match 1 with | 0 => 1 | _ => 2 := rfl", "2 = match 1 with | 0 => 1 | _ => 2", ""),
        ("theorem t (x : Int) : | x | = 3 ∧ id = fun y => y := by", "| x | = 3 ∧ id = fun y => y", ""),
    ],
)
def test_the_proof_that_is_given_and_what_holds_for_the_theorem_alone_are_taken_off(text, conclusion, header):
    found = theorem(text)
    assert (found.conclusion, found.header) == (conclusion, header)


def test_a_folder_and_lists_by_split_are_read_and_rows_of_no_known_format_are_told_with_their_fields(tmp_path):
    rows = {"validation": [BENCHMARK[0] | {"split": None}], "test": [{**BENCHMARK[1], "split": "test"}]}
    (tmp_path / "a.json").write_text(json.dumps(rows))
    lines(tmp_path / "b.jsonl", [BENCHMARK[4], {"question": "x"}])
    reading = Reader("a").collect(read_rows(str(tmp_path)))
    assert [each.theorem.name for each in reading.statements] == ["first", "second", "behind_it"]
    assert "question" in reading.refused[0].reason
    with pytest.raises(BankError, match="in this folder"):
        (tmp_path / "empty").mkdir()
        list(read_rows(str(tmp_path / "empty")))


def test_sources_share_a_bank_and_no_name_and_a_statement_that_is_scored_is_never_a_train_statement(tmp_path):
    other = [BENCHMARK[0] | {"split": "test", "header": "open three"}]
    for name, rows in (("one", BENCHMARK[:2]), ("two", BENCHMARK[:2]), ("three", other)):
        source = lines(tmp_path / f"{name}.jsonl", rows)
        assert command.main(["import", str(source), "--no-check", "--out", str(tmp_path / "bank")]) == 0
    assert [each.theorem.name for each in load_statements("valid", tmp_path / "bank")] == ["first", "first_two"]
    assert load_statements("test", tmp_path / "bank")[-1].theorem.name == "first_three"
    assert set(bank.manifest_of(tmp_path / "bank").commands) == {"one", "two", "three"}
    same = benchmark("again", "theorem again (n : Nat) (h : n = 2) :\n  n + 0 = 2 := by\n", split="train")
    train = lines(tmp_path / "train.jsonl", [same, benchmark("other", "theorem other : 2 = 2 :=", split="train")])
    scored = lines(tmp_path / "scored.jsonl", BENCHMARK[:1])
    for source in (train, scored):
        assert command.main(["import", str(source), "--no-check", "--out", str(tmp_path / "second")]) == 0
    assert [each.theorem.name for each in load_statements("train", tmp_path / "second")] == ["other"]
    assert json.loads((tmp_path / "second" / "import.json").read_text())["scored"] == 1


FILE = "namespace Foo\nvariable (p : Prop)\ndef double (n : Nat) : Nat := n + n\nend Foo\nopen Foo\n"
IN_FILE = [
    {"name": "below", "statement": "theorem below (n : Nat) : double n = n + n := by sorry", "context": FILE},
    {"name": "below", "statement": "lemma other : double 1 = 2", "context": FILE, "split": "test"},
    {"name": "gap", "statement": "p", "context": f"{FILE}variable (p : Prop)\n",
     "place": {"before": "theorem gap (h : p) : p := by\n  ", "after": "\n"}},
    {"name": "wrong", "statement": "theorem wrong : double = 1", "context": FILE},
    {"name": "no_place", "statement": "theorem x : True", "context": FILE, "place": {"after": ""}},
    {"name": "elsewhere", "statement": "theorem x : True", "context": "import Elsewhere\n"},
]  # fmt: skip


@pytest.mark.lean
def test_theorems_in_files_are_imported_with_the_text_above_them(tmp_path, cache, capsys):
    source = lines(tmp_path / "files.jsonl", IN_FILE)
    assert command.main(["import", str(source), "--split", "train", "--out", str(tmp_path / "bank")]) == 0
    assert "3 of 5 elaborate" in capsys.readouterr().out
    found = {each.theorem.name: each.theorem for each in load_statements("train", tmp_path / "bank")}
    assert list(found) == ["below", "gap"]
    place = found["below"].place
    assert place.context.text == FILE and place.before.endswith(" (n : Nat) : double n = n + n := by\n  ")
    assert found["gap"].place.before == "theorem gap (h : p) : p := by\n  "
    (test,) = load_statements("test", tmp_path / "bank")
    assert test.theorem.place.context.digest == place.context.digest
    contexts = gzip.decompress((tmp_path / "bank" / "contexts.jsonl.gz").read_bytes()).splitlines()
    assert len(contexts) == 2
