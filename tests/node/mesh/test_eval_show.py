"""`proofmesh eval show`: evaluations in a table, one in detail."""

import json

import pytest

from node.command.evaluate.show import main
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
