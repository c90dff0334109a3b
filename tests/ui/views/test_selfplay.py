from pathlib import Path

import pytest

from common.output.command import UserError
from node.stp.records import FILE
from node.stp.store import StpStore
from tests.node.stp.filled import OUTPUTS, filled
from tests.ui.monitors import ask, small_run
from ui.runs import Run, Runs


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Initial training and three rounds."""
    filled(tmp_path / "run", 3).close()
    return Runs(tmp_path).get("run")


def test_each_round_is_told_from_conjectures_to_solved_statements(run: Run) -> None:
    found = ask(run, "selfplay")
    assert [each["number"] for each in found["rounds"]] == [0, 1, 2, 3]
    first = found["rounds"][1]
    assert (first["made"], first["elaborated"], first["proved"], first["barely"]) == (len(OUTPUTS), 3, 2, 1)
    once = dict.fromkeys(("elaborated", "not elaborated", "known", "cut", "refused", "surplus"), 1)
    assert first["fates"] == {"proved": 2, **once}
    assert (found["solved"], found["statements"], found["rounds"][2]["newly_solved"]) == (5, 8, 2)
    assert found["curve"][0] == [0, 0] and found["curve"][-1] == [found["samples"], found["solved"]]


def test_conjectures_are_found_cut_and_told_with_what_became_of_them(run: Run) -> None:
    def names(**parameters: str | int) -> list[str]:
        return [each["name"] for each in ask(run, "conjectures", **parameters)["rows"]]

    whole = names()
    assert whole == [f"conjecture_{round}_{place}" for round in (3, 2, 1) for place in reversed(range(len(OUTPUTS)))]
    assert names(from_=5, limit=4) == whole[5:9] and names(from_=99) == []
    assert names(fate="proved", round="2") == ["conjecture_2_1", "conjecture_2_0"]
    assert names(text="unknown identifier") == ["conjecture_3_4", "conjecture_2_4", "conjecture_1_4"]
    assert ask(run, "conjectures", fate="proved", limit="1")["total"] == 6
    assert names(text="'; DROP TABLE conjectures; --") == [] == names(fate="no such")
    proved = {each["name"]: each for each in ask(run, "conjectures", round="1")["rows"]}
    for name, told in (
        ("conjecture_1_0", {"correct": 2, "samples": 64}),  # one of the three that the prover called proofs was refused
        ("conjecture_1_3", {"fate": "elaborated", "correct": 0, "statement": "(a b c : Nat) : a + b = b + a + 1"}),
        ("conjecture_1_6", {"statement": "example (a b c : Nat) : sorry", "samples": 0}),
    ):
        assert proved[name].items() >= told.items()


def test_a_conjecture_and_a_statement_have_a_history(run: Run) -> None:
    told = dict(ask(run, "conjecture", name="conjecture_1_0")["paragraphs"])
    assert told["fate"] == "proved" and "rw [Nat.add_comm b a]" in told["proof 1"]
    assert "Nat.add_comm" in told["asked with"]
    assert dict(ask(run, "conjecture", name="train_0")["paragraphs"])["solved"] == "in round 1"
    with pytest.raises(UserError, match="no statement or conjecture nothing"):
        ask(run, "conjecture", name="nothing")


def test_a_run_that_has_just_begun_and_runs_of_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    StpStore(tmp_path / "begun" / FILE).close()
    small_run(tmp_path / "learner").close()
    runs = Runs(tmp_path)
    begun = ask(runs.get("begun"), "selfplay")
    assert (begun["rounds"], begun["curve"], begun["solved"]) == ([], [[0, 0]], 0)
    assert ask(runs.get("begun"), "conjectures")["rows"] == []
    assert ask(runs.get("learner"), "selfplay") == {"kind": "learner"} == ask(runs.get("learner"), "conjectures")
    with pytest.raises(UserError, match="holds no run of self-play"):
        ask(runs.get("learner"), "conjecture", name="x")
