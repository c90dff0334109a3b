"""`proofmesh bank list`, `stats`, `check`, and what `import` records for them."""

import gzip
import json

import msgspec
import pytest

from node.bank import bank, command
from node.lean.toolchain.lean_toolchain import LeanToolchain, library
from tests.node.bank.stand_ins import MINIF2F, WORKBOOK, lines


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A bank of two sources, in the folder that the process is in."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "minif2f.jsonl", MINIF2F)
    lines(tmp_path / "mine.jsonl", WORKBOOK)
    assert command.main(["import", "minif2f", "--data", ".", "--no-check"]) == 0
    assert command.main(["import", "mine.jsonl", "--no-check", "--licence", "CC0-1.0"]) == 0
    return tmp_path / "bank"


def test_an_import_records_where_statements_are_from_and_list_and_stats_say_what_there_is(small, capsys):
    said = bank.manifest_of(small)
    known, mine = said.sources["minif2f"], said.sources["mine"]
    assert (known.origin, known.licence, known.rows, known.statements, known.lean) == ("minif2f.jsonl", "MIT", 3, 3, "")
    assert known.homepage.startswith("https://") and known.paper.startswith("https://")
    assert (mine.origin, mine.licence) == ("mine.jsonl", "CC0-1.0")
    assert len({known.digest, mine.digest, ""}) == 3 and said.digest == bank.digest(small)
    assert said.commands["minif2f"] == "proofmesh bank import minif2f --data . --no-check"
    capsys.readouterr()
    assert command.main(["list", "--data", "."]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "numinamath-lean" in out and "minif2f.jsonl" in out and "hub:" in out
    assert "pocket" in out and "1 train, 1 valid, 2 test" in out
    assert command.main(["stats", "bank"]) == 0
    out = capsys.readouterr().out
    assert f"digest {bank.digest(small)}" in out and "test: 2 statements, 1 headers" in out
    assert "families: amc 1, mathd_algebra 1" in out and "known to be flawed: mathd_algebra_314" in out
    assert "source minif2f: 3 statements of 3 rows of minif2f.jsonl" in out and "licence CC0-1.0" in out


def test_a_manifest_may_allow_and_ban_tactics(small, capsys):
    before, manifest = bank.digest(small), bank.manifest_of(small)
    assert "allow" not in (small / "bank.json").read_text()
    bank.write_manifest(small, msgspec.structs.replace(manifest, allow=("rfl", "rw [h*]"), ban=("simp",)))
    assert {each.theorem.rule for each in bank.load_statements("test", small)} == {bank.manifest_of(small).rule}
    assert bank.digest(small) != before
    assert command.main(["stats", "bank"]) == 0
    assert "tactics: only rfl, rw [h*]; no simp\n" in capsys.readouterr().out
    row = {"theorem": "a", "level": 1, "family": "f", "state": "⊢ x", "tactic": "rw [g]", "remaining_steps": 1}
    (small / "transitions.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    assert command.main(["check", "bank"]) == 1
    assert "1 of its transitions have tactics that it does not allow, first `rw [g]` of a" in capsys.readouterr().out
    bank.write_manifest(small, msgspec.structs.replace(manifest, allow=("rw [",)))
    assert command.main(["stats", "bank"]) == 2
    told = "proofmesh bank: bank/bank.json: allow: 'rw [' is no tactic: write a head"
    assert capsys.readouterr().err.startswith(told)


def test_check_finds_what_was_changed(small, capsys):
    file = small / "test.jsonl.gz"
    rows = gzip.decompress(file.read_bytes())
    file.write_bytes(gzip.compress(rows.replace(b"n = n", b"n + 0 = n")))
    assert command.main(["check", "bank"]) == 1
    assert "its content is not what was written" in capsys.readouterr().out
    (small / "valid.jsonl.gz").write_bytes(gzip.compress(rows))
    file.write_bytes(gzip.compress(rows))
    (small / "train.jsonl.gz").write_bytes(gzip.compress(rows.replace(b'"name":"', b'"name":"again_')))
    assert command.main(["check", "bank"]) == 1
    out = capsys.readouterr().out
    assert "2 names stand for several statements" in out and "2 train statements are valid or test" in out
    file.write_bytes(rows)
    assert command.main(["check", "bank"]) == 2
    assert "test.jsonl.gz: cannot be read" in capsys.readouterr().err


@pytest.mark.lean
def test_check_finds_a_bank_of_another_lean(small, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("node.bank.elaboration.whitelists", lambda: tmp_path / "whitelists")
    assert command.main(["import", "mine.jsonl", "--header", "open Nat", "--name", "tried", "--split", "valid"]) == 0
    assert [each.theorem.header for each in bank.load_statements("valid", small)] == ["open Nat", "open Nat"]
    said = bank.manifest_of(small)
    assert said.sources["tried"].lean == "4.35.0" and said.sources["tried"].library == {}
    assert command.main(["check", "bank"]) == 0
    assert "of Lean 4.35.0" in capsys.readouterr().out
    old = msgspec.structs.replace(said.sources["tried"], lean="4.9.0")
    bank.write_manifest(small, msgspec.structs.replace(said, sources=said.sources | {"tried": old}))
    assert command.main(["check", "bank"]) == 1
    assert "tried: its statements were tried under Lean 4.9.0, and this is Lean 4.35.0" in capsys.readouterr().out


def test_the_library_of_a_lean_is_its_packages_and_its_project(tmp_path):
    packages = [{"name": "mathlib", "rev": "abc", "url": "x"}, {"name": "aesop", "rev": "def"}]
    (tmp_path / "lake-manifest.json").write_text(json.dumps({"version": "1.1.0", "packages": packages}))
    toolchain = LeanToolchain(("lean",), project=str(tmp_path))
    assert library(toolchain.project) == {"mathlib": "abc", "aesop": "def"}
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/master\n")
    (tmp_path / ".git" / "packed-refs").write_text("# pack-refs\n0123 refs/heads/master\n4567 refs/heads/other\n")
    assert library(toolchain.project)["project"] == "0123"
    (tmp_path / ".git" / "HEAD").write_text("89ab\n")
    assert library(toolchain.project)["project"] == "89ab" and library("") == {}


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (["stats", "nowhere"], 2, "no theorem bank"),
        (["check", "."], 2, "no theorem bank"),
        (["import", "bank", "--no-check"], 2, "is already a theorem bank"),
        (["import", "empty.jsonl", "--no-check"], 2, "empty.jsonl: there is nothing in it"),
        (["import", "missing.jsonl"], 2, "no file, no folder, no known data set"),
        (["eval"], 2, "there are import, list, stats and check"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(small, capsys, argv, code, says):
    (small.parent / "empty.jsonl").touch()
    capsys.readouterr()
    assert command.main(argv) == code
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1
