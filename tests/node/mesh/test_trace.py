"""`proofmesh trace`: files, folders, resuming, errors; with genuine Lean."""

import json

import pytest

from node.command import trace
from tests.repositories import commit, repository

pytestmark = pytest.mark.lean

GOOD = "theorem {name} (n m : Nat) (h : n = m) : n + 0 = m := by\n  rw [Nat.add_zero, h]\n"
BAD = "theorem broken (n : Nat) : n = n + 1 := by\n  rw [Nat.add_zero]\n"


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_files(folder):
    (folder / "sub").mkdir(parents=True)
    (folder / ".lake").mkdir()
    (folder / "a.lean").write_text(GOOD.format(name="first") + BAD + GOOD.format(name="second"))
    (folder / "sub" / "b.lean").write_text(GOOD.format(name="third"))
    (folder / ".lake" / "c.lean").write_text(GOOD.format(name="not_ours"))
    return folder


def test_a_folder_is_traced_with_errors_by_theorem_and_a_second_run_does_nothing_again(tmp_path, capsys):
    source, out = make_files(tmp_path / "source"), tmp_path / "out"
    formats = ["--format", "proofmesh", "leandojo", "leantree", "transitions"]
    assert trace.main([str(source), "--out", str(out), "--jobs", "2", *formats]) == 0
    said = capsys.readouterr()
    assert "2 files (0 of an earlier run, 0 failed); 4 theorems (1 that Lean does not accept)" in said.out
    assert "a.lean:3: broken:" in said.err
    steps = rows(out / "steps.jsonl")
    assert [(row["file"], row["theorem"], row["tactic"]) for row in steps] == [
        (file, name, tactic)
        for file, name in (("a.lean", "first"), ("a.lean", "second"), ("sub/b.lean", "third"))
        for tactic in ("rw [Nat.add_zero]", "rw [h]")
    ]
    assert len(rows(out / "theorems.jsonl")) == 4 and len(rows(out / "leantree.jsonl")) == 2
    assert len(json.loads((out / "leandojo" / "theorems.json").read_text())) == 3
    written = {path: path.read_bytes() for path in (out / "files").iterdir()}
    (source / "sub" / "b.lean").write_text(GOOD.format(name="renamed"))
    assert trace.main([str(source), "--out", str(out)]) == 0
    assert "2 files (1 of an earlier run" in capsys.readouterr().out
    assert sum(path.read_bytes() == text for path, text in written.items()) == 1
    assert rows(out / "steps.jsonl")[-1]["theorem"] == "renamed"


def test_a_commit_of_a_repository_is_traced_and_what_cannot_be_cloned_is_told_in_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("node.lean.trace.sources.cache_directory", lambda: tmp_path / "cache")
    origin = repository(tmp_path / "origin", {"A.lean": GOOD.format(name="first"), "lakefile.toml": 'name = "a"\n'})
    first = commit(origin)
    commit(origin, {"A.lean": GOOD.format(name="second")})
    out = ["--out", str(tmp_path / "out"), "--jobs", "1", "--no-split"]
    assert trace.main([f"file://{origin}@{first}", "--lean.toolchain", "pocket", *out]) == 0
    (row,) = rows(tmp_path / "out" / "steps.jsonl")
    assert (row["theorem"], row["commit"], row["url"]) == ("first", first, f"file://{origin}")
    capsys.readouterr()
    refused = {f"file://{origin}@v9": "no branch or tag `v9`", f"file://{origin}": "no commit given"}
    for name, reason in refused.items():
        assert trace.main([name, *out]) == 2
        assert reason in capsys.readouterr().err
