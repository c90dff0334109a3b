"""`proofmesh eval show`: evaluations in a table, one in detail."""

from __future__ import annotations

import json

import msgspec
import pytest

from node.command.evaluate.show import main
from node.eval.folder import PLAN
from tests.node.eval.small import benchmark, outcomes, statement, undecided, write


@pytest.fixture
def evals(tmp_path):
    """Three evaluations of one benchmark, in two folders, and one of another."""
    names = [statement(f"t{number}", flaw="vacuous" if number == 4 else "") for number in range(1, 5)]
    refused = [*names[:3], statement("t4", refused="unknown constant")]
    write(tmp_path / "list", outcomes({"t1": 3, "t2": 0, "t3": 0, "t4": 2}), names)
    write(tmp_path / "more" / "network", [*outcomes({"t1": 3, "t2": 7}), undecided("t3")], refused, label="network")
    write(tmp_path / "begun", outcomes({"t1": 0}), names, method="random")
    write(tmp_path / "mini", outcomes({"u1": 1}), benchmark=benchmark("d2", "minif2f:valid"))
    return tmp_path


@pytest.fixture(params=[80, 120])
def width(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def test_evaluations_are_grouped_by_benchmark_the_best_first(evals, width, capsys):
    assert main([str(evals)]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    lines = [line.split() for line in text.splitlines() if line.strip()]
    first = [words[0] for words in lines]
    order = ["minif2f:valid", "mini", "pocket:test", "more/network", "list", "begun"]
    assert [word for word in first if word in order] == order
    numbers = {words[0]: words[1:] for words in lines}
    assert numbers["more/network"][:4] == ["2", "of", "2", "100.0%"]
    assert numbers["list"][:4] == ["2", "of", "4", "50.0%"]
    words = " ".join(text.split())
    assert "without flawed ones: 33.3%" in words
    assert "not elaborated: 1; undecided: 1" in words
    assert "the list of tactics, random, 64 simulations; Lean 4.29.1" in words
    assert "not finished: 3 attempts missing" in words


def test_evaluations_of_the_same_statements_are_one_group_whatever_file_they_came_from(tmp_path, width, capsys):
    facts = benchmark("d3", "z.jsonl")
    unread = {"unread": (("line 2", "no statement"), ("line 3", "no statement"))}
    for name, spec, statements, solved_at in (("a", "z.jsonl", 1, 0), ("b", "y.jsonl", 1, 3), ("c", "z.jsonl", 2, 3)):
        made = msgspec.structs.replace(facts, spec=spec, statements=statements, **unread)
        write(tmp_path / name, outcomes({f"t{number}": solved_at for number in range(statements)}), benchmark=made)
    write(tmp_path / "d", outcomes({"t1": 3}), benchmark=benchmark("d4", "z.jsonl"))
    assert main([str(tmp_path)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line and not line.startswith((" ", "evaluation"))]
    assert [line if "digest" in line else line.split()[0] for line in lines] == [
        "y.jsonl = z.jsonl (1 statement, 2 rows not read, digest d3)",
        *("b", "a"),
        "z.jsonl (2 statements, 2 rows not read, digest d3)",
        "c",
        "z.jsonl (1 statement, digest d4)",
        "d",
    ]
    assert main([str(tmp_path / "b")]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "solved 1 of 1 statement, 100.0%" in words and "1 statement evaluated, 2 rows not read" in words
    assert "1 attempt, 3 simulations" in words


def test_evals_is_where_it_looks_when_nothing_is_named(evals, capsys, monkeypatch):
    monkeypatch.chdir(evals)
    (evals / "evals").mkdir()
    for each in ("list", "mini"):
        (evals / each).rename(evals / "evals" / each)
    assert main([]) == 0
    text = capsys.readouterr().out
    assert "mini" in text and "list" in text and "network" not in text


def test_one_evaluation_is_shown_in_detail(evals, width, capsys):
    assert main([str(evals / "list")]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    assert "solved 2 of 4 statements, 50.0%" in words
    assert "the list of tactics, mcts, 64 simulations for each attempt, seed 0" in words
    assert "digest of all d1" in words


def test_json_of_several_is_a_list_of_rows_and_of_one_its_results(evals, capsys):
    assert main([str(evals), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["rate"], row["missing"], row["undecided"], row["not_elaborated"]) for row in rows] == [
        (1.0, 0, 0, 0),
        (1.0, 0, 1, 1),
        (0.5, 0, 0, 0),
        (0.0, 3, 0, 0),
    ]
    assert rows[0]["rate_without_flawed"] is None
    assert main([str(evals / "list"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["solved"] == 2


def test_an_evaluation_that_has_not_begun_has_no_rate(tmp_path, capsys):
    write(tmp_path / "new", [], [statement("t1"), statement("t2")])
    write(tmp_path / "old", outcomes({"t1": 3, "t2": 0}))
    assert main([str(tmp_path), "--json"]) == 0
    old, new = json.loads(capsys.readouterr().out)
    assert (old["rate"], new["rate"], new["missing"], new["undecided"]) == (0.5, None, 2, 0)
    assert main([str(tmp_path)]) == 0
    assert "0 of 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("nowhere", "nowhere: no such folder; `proofmesh eval --out FOLDER` makes one"),
        ("empty", "empty: has no evaluation (no evaluation.json)"),
    ],
)
def test_nothing_there_is_one_clear_line(tmp_path, folder, said, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert main([folder]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("proofmesh eval show: ") and err.count("\n") == 1
    assert said in err


def test_one_that_cannot_be_read_does_not_hide_the_others(evals, capsys):
    (evals / "mini" / PLAN).write_text("{")
    assert main([str(evals)]) == 2
    out, err = capsys.readouterr()
    assert "list" in out
    assert "mini" in err and err.count("\n") == 1
