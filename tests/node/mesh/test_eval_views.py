"""`proofmesh eval compare` and `proofmesh eval show`: tables, JSON, the picture, and what they refuse."""

import json

import pytest

from node.command.evaluate.compare import main as compare
from node.command.evaluate.show import main as show
from node.eval.folder import ATTEMPTS, PLAN
from tests.node.eval.small import benchmark, outcomes, statement, undecided, unsolved, write


@pytest.fixture
def sides(tmp_path):
    """Two evaluations: the second wins t3 and t4, and loses t2."""
    write(tmp_path / "list", [*outcomes({"t1": 3, "t2": 5, "t3": 0, "t4": 0}), unsolved("t5", tactics=100)])
    found = [*outcomes({"t1": 2, "t2": 0, "t3": 9, "t4": 40, "t5": 0}), undecided("t6")]
    statements = [statement(f"t{number}", flaw="vacuous" if number == 4 else "") for number in range(1, 7)]
    write(tmp_path / "network", found, statements, label="network demo")
    return tmp_path


def test_json_has_all_of_it(sides, capsys):
    assert compare([str(sides / "list"), str(sides / "network"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    counts = {"in_both": 5, "only_in_baseline": 0, "only_in_other": 1, "compared": 5}
    nothing = {"left_out_in_baseline": {}, "left_out_in_other": {}}
    assert found["statements"] == {"paired_by": "name", **counts, **nothing}
    assert (found["won"], found["lost"]) == (["t3", "t4"], ["t2"])
    assert (found["exact_until_lean_attempts"], found["without_flawed"]["statements"]) == (100, 4)
    assert [(each["limit"], each["exact"]) for each in found["by_lean_attempts"]][-2:] == [(128, False), (256, False)]
    assert (found["other"]["what"], found["baseline"]["deviation"]) == ("network demo, mcts", None)
    assert found["total"]["difference"] == pytest.approx(0.2)


def test_folders_joined_by_commas_are_seeds_of_one_side(tmp_path, capsys):
    for seed, found in enumerate(({"t1": 3, "t2": 0}, {"t1": 4, "t2": 6})):
        write(tmp_path / f"a{seed}", outcomes(found), seed=seed)
        write(tmp_path / f"b,{seed}", outcomes({"t1": 0, "t2": 0}), seed=seed)
    sides = [f"{tmp_path}/a0,{tmp_path}/a1", f"{tmp_path}/b,0"]  # a folder whose name has a comma stays one folder
    assert compare(sides) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "A a0 (2 seeds): the list of tactics, mcts; 75.0% ± 35.4 over seeds (50.0%, 100.0%)" in text
    assert "B b,0: the list of tactics, mcts " in text
    assert "! a0 (2 seeds) has 2 attempts at a statement and b,0 1: rates are means" in text
    assert "solved with one of the first 1 attempts" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list"], "one side is no comparison: name two or more folders"),
        ([], "one side is no comparison: name two or more folders"),
        (["list", "list"], "list: named twice; name two different evaluations"),
        (["list", "nowhere"], "nowhere: has no evaluation (no evaluation.json)"),
        (["list", "other"], "list and other have no statement in common: one evaluates pocket:test, the other x.jsonl"),
        (["list", "damaged"], "attempts.jsonl, line 1: cannot be read"),
        (["list", "foreign"], "evaluation.json: cannot be read"),
        (["list", "network", "--picture", "x.gif"], "--picture x.gif: name a .png or .svg file"),
        (["list", "network", "--picture", "nowhere/x.png"], "--picture nowhere/x.png: cannot be written"),
        (["nowhere"], "nowhere: no such folder; `proofmesh eval --out FOLDER` makes one"),
        (["empty"], "empty: has no evaluation (no evaluation.json)"),
    ],
)
def test_bad_input_is_one_clear_line(sides, arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(sides)
    write(sides / "other", outcomes({"u1": 3}), [statement("u1", "True")], benchmark=benchmark("d2", "x.jsonl"))
    write(sides / "damaged", outcomes({"t1": 3}))
    (sides / "damaged" / ATTEMPTS).write_text("{}\n")
    for name in ("foreign", "empty"):
        (sides / name).mkdir()
    (sides / "foreign" / PLAN).write_text("[1]")
    command = show if arguments in (["nowhere"], ["empty"]) else compare
    assert command(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"proofmesh eval {command.__module__.rpartition('.')[2]}: ")
    assert err.count("\n") == 1 and said in err


# --- proofmesh eval show ----------------------------------------------------------------------------------------------
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
    assert show([str(evals)]) == 0
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
    assert "without flawed ones: 33.3%" in words and "not elaborated: 1; undecided: 1" in words
    assert "the list of tactics, random, 64 simulations; Lean 4.29.1" in words
    assert "not finished: 3 attempts missing" in words


def test_json_of_several_is_a_list_of_rows_and_of_one_its_results(evals, capsys):
    assert show([str(evals), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    told = [(row["rate"], row["missing"], row["undecided"], row["not_elaborated"]) for row in rows]
    assert told == [(1.0, 0, 0, 0), (1.0, 0, 1, 1), (0.5, 0, 0, 0), (0.0, 3, 0, 0)]
    assert rows[0]["rate_without_flawed"] is None
    assert show([str(evals / "list"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["solved"] == 2
