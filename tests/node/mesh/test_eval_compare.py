"""`proofmesh eval compare`: tables, JSON, the picture, and what it refuses."""

import json

import pytest

from node.command.evaluate.compare import main
from node.eval.folder import ATTEMPTS, PLAN
from tests.node.eval.small import benchmark, outcomes, statement, undecided, unsolved, write


@pytest.fixture
def evals(tmp_path):
    """Two evaluations: the second wins t3 and t4, and loses t2."""
    write(tmp_path / "list", [*outcomes({"t1": 3, "t2": 5, "t3": 0, "t4": 0}), unsolved("t5", tactics=100)])
    write(
        tmp_path / "network",
        [*outcomes({"t1": 2, "t2": 0, "t3": 9, "t4": 40, "t5": 0}), undecided("t6")],
        [statement(f"t{number}", flaw="vacuous" if number == 4 else "") for number in range(1, 7)],
        label="network demo",
    )
    return tmp_path


def test_json_has_all_of_it(evals, capsys):
    assert main([str(evals / "list"), str(evals / "network"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["statements"] == {
        "paired_by": "name",
        "in_both": 5,
        "only_in_baseline": 0,
        "only_in_other": 1,
        "compared": 5,
        "left_out_in_baseline": {},
        "left_out_in_other": {},
    }
    assert (found["won"], found["lost"]) == (["t3", "t4"], ["t2"])
    assert found["exact_until_lean_attempts"] == 100
    assert [(each["limit"], each["exact"]) for each in found["by_lean_attempts"]][-2:] == [(128, False), (256, False)]
    assert found["without_flawed"]["statements"] == 4
    assert found["other"]["what"] == "network demo, mcts"
    assert found["baseline"]["deviation"] is None
    assert found["total"]["difference"] == pytest.approx(0.2)


def test_folders_joined_by_commas_are_seeds_of_one_side(tmp_path, capsys):
    for seed, found in enumerate(({"t1": 3, "t2": 0}, {"t1": 4, "t2": 6})):
        write(tmp_path / f"a{seed}", outcomes(found), seed=seed)
        write(tmp_path / f"b,{seed}", outcomes({"t1": 0, "t2": 0}), seed=seed)
    sides = [f"{tmp_path}/a0,{tmp_path}/a1", f"{tmp_path}/b,0"]  # a folder whose name has a comma stays one folder
    assert main(sides) == 0
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
    ],
)
def test_bad_input_is_one_clear_line(evals, arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(evals)
    write(evals / "other", outcomes({"u1": 3}), [statement("u1", "True")], benchmark=benchmark("d2", "x.jsonl"))
    write(evals / "damaged", outcomes({"t1": 3}))
    (evals / "damaged" / ATTEMPTS).write_text("{}\n")
    (evals / "foreign").mkdir()
    (evals / "foreign" / PLAN).write_text("[1]")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("proofmesh eval compare: ") and err.count("\n") == 1
    assert said in err
