"""What `proofmesh eval` reads: pocket, banks, known data sets, files; and what it says when it cannot."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from common.settings import LeanSettings
from node.bank import bank, command, sources
from node.bank.bank import BankError
from node.bank.benchmarks import check_lean, load_benchmark
from node.bank.elaboration import elaboration_errors
from node.lean.toolchain.advice import HEADER_REFUSED
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.bank.stand_ins import MINIF2F, PROOFNET_SHARP, PROVERBENCH, PUTNAM, lines

DATA = Path(__file__).parents[3] / ".." / "shared" / "data"

MINE = [
    {"name": "one", "statement": "theorem one (n : Nat) : n = n := by sorry", "source": "me", "points": 7},
    {"name": "two", "statement": "theorem two : 1 + 1 = 2"},
    {"name": "no", "statement": "def no : Nat := 3"},
]


@pytest.fixture
def data(tmp_path):
    """A folder with local copies of data sets."""
    folder = tmp_path / "data"
    folder.mkdir()
    lines(folder / "minif2f.jsonl", MINIF2F)
    lines(folder / "putnam_bench.jsonl", PUTNAM)
    (folder / "DeepSeek-ProverBench").mkdir()
    lines(folder / "DeepSeek-ProverBench" / "proverbench.jsonl", PROVERBENCH)
    return folder


def names(benchmark):
    return [each.theorem.name for each in benchmark.statements]


def flawed(benchmark):
    return [each.theorem.name for each in benchmark.statements if each.flaw]


def test_pocket_and_a_known_data_set_in_a_folder_are_benchmarks_by_split(data):
    found = load_benchmark("pocket:test")
    assert names(found) == [each.theorem.name for each in bank.load_statements("test")]
    assert (found.name, found.split, found.licence, flawed(found)) == ("pocket", "test", "MIT", [])
    assert load_benchmark("pocket").digest == found.digest != load_benchmark("pocket:valid").digest
    valid, test = (load_benchmark(f"minif2f:{split}", data=[data]) for split in ("valid", "test"))
    assert names(valid) == ["mathd_algebra_1"] and names(test) == ["amc12a_2001_p1", "mathd_algebra_314"]
    assert flawed(test) == ["mathd_algebra_314"]
    assert (test.name, test.split, test.licence, test.rows) == ("minif2f", "test", "MIT", 2)
    assert test.source == str(data / "minif2f.jsonl") and "2109.00110" in test.paper
    assert names(load_benchmark("MiniF2F", data=[data])) == names(test)
    assert names(load_benchmark("putnambench", data=[data])) == ["putnam_1900_a1"]
    assert names(load_benchmark("proverbench:test", data=[data])) == ["small_problem"]


def test_equal_content_has_the_same_digest_in_whatever_file(data, tmp_path):
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "other").mkdir()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(MINIF2F), tmp_path / "other" / "minif2f.parquet")
    first, second = (load_benchmark("minif2f:test", data=[folder]) for folder in (data, tmp_path / "other"))
    assert first.digest == second.digest
    lines(data / "minif2f.jsonl", [*MINIF2F[:2], {**MINIF2F[2], "header": "open List\n"}])
    assert load_benchmark("minif2f:test", data=[data]).digest != first.digest


def test_a_file_of_ones_own_keeps_its_other_fields_and_files_of_several_kinds_are_one_benchmark(tmp_path):
    found = load_benchmark(str(lines(tmp_path / "mine.jsonl", MINE)))
    assert names(found) == ["one", "two"] and found.rows == 3
    assert found.statements[0].extra == {"source": "me", "points": 7}
    [unread] = found.unread
    assert unread.name == "no" and "defines data" in unread.reason
    mine = lines(tmp_path / "mine.jsonl", MINE)
    (tmp_path / "more.txt").write_text("theorem one : 1 = 1\ntheorem three : 3 = 3 := by sorry\n", encoding="utf-8")
    (tmp_path / "last.lean").write_text("theorem four : 4 = 4 := sorry\ntheorem five : 5 = 5 := rfl\n")
    found = load_benchmark(f"{mine},{tmp_path / 'more.txt'},{tmp_path / 'last.lean'}")
    assert names(found) == ["one", "two", "one_more", "three", "four"] and found.name == "mine, more, last"


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.json", "mine.txt", "mine.lean"])
def test_a_file_as_editors_of_windows_write_it_is_read(tmp_path, name):
    row = b'{"name": "one",\r\n"statement": "theorem one (n : Nat) :\\r\\n  n = n := by sorry"}'
    text = {
        ".jsonl": row.replace(b"\r\n", b" ") + b"\r\n\r\n",
        ".json": b"[\r\n" + row + b"\r\n]\r\n",
        ".txt": b"theorem one (n : Nat) :\r\n  n = n\r\n",
        ".lean": b"theorem one (n : Nat) :\r\n  n = n := by\r\n  sorry\r\n",
    }[(tmp_path / name).suffix]
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text)
    [found] = load_benchmark(str(tmp_path / name)).statements
    assert (found.theorem.name, found.theorem.binders, found.theorem.conclusion) == ("one", "(n : Nat)", "n = n")


def test_files_say_the_split_of_rows_that_do_not_and_rows_of_no_split_are_in_none(tmp_path, capsys):
    (tmp_path / "MiniF2F").mkdir()
    for file, name in (("Valid", "a"), ("Test", "b")):
        (tmp_path / "MiniF2F" / f"{file}.lean").write_text(f"theorem {name} : 1 = 1 := sorry\n", encoding="utf-8")
    (tmp_path / "ProofNetSharp" / "data").mkdir(parents=True)
    rows = [{key: value for key, value in PROOFNET_SHARP[0].items() if key != "split"}]
    lines(tmp_path / "ProofNetSharp" / "data" / "valid-00000-of-00001.jsonl", rows)
    assert names(load_benchmark("minif2f:valid", data=[tmp_path])) == ["a"]
    assert names(load_benchmark("minif2f:test", data=[tmp_path])) == ["b"]
    assert names(load_benchmark("proofnet:valid", data=[tmp_path])) == ["Artin_exercise_2_3_2"]
    file = lines(tmp_path / "minif2f.jsonl", [{"name": "a", "formal_statement": "theorem a : 1 = 1", "header": ""}])
    with pytest.raises(BankError, match="1 rows do not say which split of minif2f they are of, first a"):
        load_benchmark("minif2f:test", data=[tmp_path])
    assert names(load_benchmark(str(file))) == ["a"]
    argv = ["import", str(file), "--no-check", "--out", str(tmp_path / "bank")]
    assert command.main(argv) == 2
    assert "name it with --split" in capsys.readouterr().err
    assert command.main([*argv, "--split", "test"]) == 0


def imported(tmp_path, source, *flags):
    out = tmp_path / "bank"
    assert command.main(["import", str(source), "--no-check", "--out", str(out), *flags]) == 0
    return out


def changed(out, **changes):
    """Change what a bank says of its source."""
    said = bank.manifest_of(out)
    record = msgspec.structs.replace(said.sources["minif2f"], **changes)
    bank.write_manifest(out, msgspec.structs.replace(said, sources={"minif2f": record}))


def test_a_bank_is_a_benchmark_with_its_flaws_and_its_source(data, tmp_path):
    out = imported(tmp_path, data / "minif2f.jsonl")
    found = load_benchmark(f"bank:{out}")
    assert names(found) == ["amc12a_2001_p1", "mathd_algebra_314"]
    assert flawed(found) == ["mathd_algebra_314"]
    assert (found.licence, found.source, found.notes) == ("MIT", str(data / "minif2f.jsonl"), ())
    assert names(load_benchmark(f"bank:{out}:valid")) == ["mathd_algebra_1"]
    assert load_benchmark(str(out)).statements == found.statements
    assert found.digest == load_benchmark("minif2f:test", data=[data]).digest


def test_of_a_benchmark_some_families_are_kept_unless_a_file_has_brackets_in_its_name(tmp_path):
    for spec in ("puzzles[Wheels7]", "puzzles[Wheels7]:test", "puzzles [ Wheels7, Ring8 ]:valid"):
        found = load_benchmark(spec)
        assert {each.family for each in found.statements} <= {"Wheels7", "Ring8"} and found.spec == spec
    whole, part = load_benchmark("puzzles:test"), load_benchmark("puzzles[Wheels7]:test")
    assert part.statements == tuple(each for each in whole.statements if each.family == "Wheels7")
    assert part.digest != whole.digest and part.split == "test"
    file = tmp_path / "mine[new].txt"
    file.write_text("theorem a : 1 = 1\n")
    out = imported(tmp_path, file).rename(tmp_path / "bank[new]")
    for spec in (str(file), str(out), f"bank:{out}", f"bank:{out}:train"):
        assert len(load_benchmark(spec).statements) == 1


def test_a_file_of_a_bank_is_read_with_the_banks_rule_and_alone_only_if_nothing_is_missing(tmp_path):
    folder = bank.BUNDLED["puzzles"]
    assert load_benchmark(str(folder / "test.jsonl.gz")).rule == load_benchmark("puzzles:test").rule is not None
    row = {"name": "t", "binders": "", "conclusion": "x = x", "context": "0123"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(BankError, match="name the bank's folder"):
        load_benchmark(str(tmp_path / "rows.jsonl"))


def test_a_bank_whose_statements_are_all_in_train_is_evaluated_on_them_and_one_without_test_names_its_splits(tmp_path):
    """README: `bank import MyStatements.lean --out bank`, then `eval --bench bank:bank`."""
    (tmp_path / "Mine.lean").write_text("theorem a : 1 = 1 := by sorry\n\ntheorem b : 2 = 2 := by sorry\n")
    out = imported(tmp_path, tmp_path / "Mine.lean")
    for spec in (f"bank:{out}", str(out)):
        found = load_benchmark(spec)
        assert (names(found), found.split) == (["a", "b"], "train")
        assert any("in the split `train`" in note for note in found.notes)
    assert load_benchmark(f"bank:{out}:train").notes == ()
    with pytest.raises(BankError, match=r"no statement in the split `test` .*2 in `train`.*bank:.*:train"):
        load_benchmark(f"bank:{out}:test")
    (tmp_path / "two.lean").write_text("theorem c : 3 = 3 := by sorry\n")
    imported(tmp_path, tmp_path / "two.lean", "--split", "valid")
    with pytest.raises(BankError, match=r"no statement in the split `test` .*2 in `train`, 1 in `valid`"):
        load_benchmark(f"bank:{out}")


def test_an_imported_bank_may_stand_for_a_data_set_says_what_it_lacks_and_is_refused_under_another_lean(data, tmp_path):
    out = imported(tmp_path, data / "minif2f.jsonl")
    changed(out, statements=5)
    out.rename(tmp_path / "minif2f")
    found = load_benchmark("minif2f:test", data=[tmp_path])
    assert found.name == "minif2f" and len(found.statements) == 2
    assert found.notes == ("2 statements of its sources are not in the bank, in any split (see import.json)",)
    out = imported(tmp_path, data / "minif2f.jsonl")
    changed(out, lean="4.9.0", library={"mathlib": "0123456789abcdef"})
    with pytest.raises(BankError, match=r"tried under Lean 4\.9\.0, and this is Lean 4\.35\.0; import it again"):
        check_lean(load_benchmark(f"bank:{out}"), LeanToolchain(("lean",), version="4.35.0"))
    with pytest.raises(BankError, match=r"mathlib was at 0123456789ab when .* and is absent now"):
        check_lean(load_benchmark(f"bank:{out}"), LeanToolchain(("lean",), version="4.9.0"))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("minif2g:test", r"no benchmark `minif2g:test` \(did you mean `minif2f`\?\): there are pocket"),
        ("", "no benchmark ``"),
        ("missing.jsonl", r"missing\.jsonl: no such file"),
        ("minif2f:train", "minif2f has no split 'train', but valid and test"),
        ("pocket:dev", "no split 'dev'"),
        ("bank:nowhere", "nowhere: no such folder"),
        ("puzzles[Wheels9]:test", "no statement of the families Wheels9; it has Hinge8, Ring8, Wheels7, Wheels8"),
        ("puzzles[]", "the brackets name no family"),
        (f"puzzles[{'x' * 300}]", "no statement of the families x"),
        ("x" * 300, "no benchmark"),
    ],
)
def test_an_unknown_benchmark_is_one_clear_line(spec, says):
    with pytest.raises(BankError, match=says) as error:
        load_benchmark(spec)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.jsonl", b"", "there is no statement in it"),
        ("empty.lean", b"theorem a : 1 = 1 := rfl", "there is no statement in it"),
        ("empty.txt", b"\n\n", "there is no statement in it"),
        ("no.jsonl", b'{"name": "x", "statement": "def x := 1"}', "no statement in it .1 rows: x: it defines data"),
        ("cut.jsonl", b'{"name": "x"', "line 1"),
        ("cut.jsonl.gz", gzip.compress(b'{"statement": "theorem a : 1 = 1"}\n' * 99, mtime=0)[:-9], "cannot be read"),
        ("bad.txt", b"\xff\xfe", "cannot be read as UTF-8"),
        ("latin.jsonl", b'{"name": "x"}\n{"name": "\xe9"}\n', "line 2: not UTF-8"),
        ("bad.parquet", b"PAR1", "cannot be read as parquet"),
        ("other.csv", b"a,b", "unknown format; known are"),
        ("number.json", b"3", "neither a list of statements"),
        ("list.jsonl", b"[1]", "a list instead of an object"),
    ],
)
def test_a_damaged_or_empty_file_is_one_clear_line(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BankError, match=says) as error:
        load_benchmark(str(tmp_path / name))
    assert "\n" not in str(error.value) and name in str(error.value)


@pytest.fixture
def offline(monkeypatch):
    """The switch that the hub's libraries have for machines without a net."""
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    sources.revision_of.cache_clear()


def test_without_a_net_one_line_says_what_to_do_and_a_data_set_of_the_hub_has_its_splits_in_its_rows(offline, tmp_path):
    with pytest.raises(BankError, match=r"hf download --repo-type dataset AI-MO/minif2f_test .*--data FOLDER") as error:
        load_benchmark("minif2f-numina:test", data=[tmp_path])
    assert "\n" not in str(error.value)
    folder = tmp_path / "dataset"
    folder.mkdir()
    for split in ("train", "test"):
        lines(folder / f"{split}.jsonl", [{"name": split, "formal_statement": f"theorem {split} : 1 = 1"}])
    assert {row["name"]: row["split"] for row in sources.rows_of_hub(str(folder))} == {"train": "train", "test": "test"}
    with pytest.raises(BankError, match="cannot be loaded from the Hugging Face hub"):
        list(sources.rows_of_hub(str(tmp_path / "nothing")))


@pytest.mark.lean
async def test_statements_that_lean_does_not_take_are_told_apart_and_the_others_asked_once(tmp_path):
    rows = [*MINE[:2], {"name": "bad", "statement": "theorem bad : nope = 1"}]
    rows.append({"name": "far", "statement": "theorem far : 1 = 1", "header": "import Mathlib"})
    found = load_benchmark(str(lines(tmp_path / "mine.jsonl", rows)))
    asked: list[int] = []
    theorems, toolchain = [each.theorem for each in found.statements], find(LeanSettings())
    for _ in range(2):
        errors = await elaboration_errors(theorems, toolchain, folder=tmp_path / "kept", begin=asked.append)
        assert set(errors) == {"bad", "far"}
        assert "Unknown identifier `nope`" in errors["bad"] and errors["far"].startswith(HEADER_REFUSED)
        assert "Mathlib" in errors["far"]
    assert asked == [4, 2], "the project may have been mended: what is refused is asked again"


@pytest.mark.parametrize(
    ("spec", "statements", "unread", "flaws"),
    [
        ("minif2f:test", 244, 0, 13),
        ("proofnet:valid", 178, 7, 3),
        pytest.param("minif2f:valid", 244, 0, 0, marks=pytest.mark.slow),
        pytest.param("proofnet:test", 179, 7, 0, marks=pytest.mark.slow),
    ],
)
def test_the_real_benchmarks_are_read_whole(spec, statements, unread, flaws):
    name, _, split = spec.partition(":")
    if not (DATA / f"{name}.jsonl").exists():
        pytest.skip(f"../shared/data/{name}.jsonl is not here: other people's data is not part of the project")
    found = load_benchmark(spec, data=[DATA])
    assert (len(found.statements), len(found.unread), len(flawed(found))) == (statements, unread, flaws)
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert found.rows == sum(row["split"] == split for row in rows)
    assert all("defines data" in each.reason for each in found.unread) and len(set(names(found))) == statements
    assert all("informal_prefix" in each.extra for each in found.statements)
