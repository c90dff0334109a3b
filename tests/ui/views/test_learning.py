"""Training and self-play, as their pages show them."""

from pathlib import Path

import pytest

from common.curves import METRICS, About, encode_line, write_about
from common.output.command import UserError
from common.records.readers import DATABASE
from common.records.rows import WeightsRow
from common.records.store import Store
from node.stp.records import FILE
from node.stp.store import StpStore
from scripts.made_run import make_run
from tests.node.eval.small import outcomes, write
from tests.node.stp.filled import OUTPUTS, filled
from tests.ui.monitors import ask, mesh, small_run
from ui.runs import Run, Runs
from ui.server import encode
from ui.views import NoQuery
from ui.views.training import POINTS, VERSIONS, curves, training


def learner(folder: Path, lines: list[tuple[int, dict[str, float]]]) -> Run:
    """A learner's run with these points, a second apart."""
    folder.mkdir()
    Store(folder / DATABASE).close()
    content = (encode_line(1000.0 + place, step, values) for place, (step, values) in enumerate(lines))
    (folder / METRICS).write_bytes(b"".join(content))
    return Runs(folder.parent).get(folder.name)


def test_the_warm_start_is_apart_from_reinforcement_learning(tmp_path: Path) -> None:
    warm = [(10, {"loss": 3.0}), (50, {"valid_loss": 2.0, "value_loss": 1.5})]
    going = training(learner(tmp_path / "going", warm), NoQuery())
    assert going["warm"] == {"loss": [(10, 3.0)], "valid_loss": [(50, 2.0)], "value_loss": [(50, 1.5)]}
    assert going["curves"] == {}
    later = [(50, {"eval_solve_rate": 0.1}), (60, {"loss": 9.0, "value_loss": 4.0, "solve_rate": 0.2})]
    begun = training(learner(tmp_path / "begun", warm + later), NoQuery())
    assert begun["warm"] == going["warm"]
    assert begun["curves"] == {"loss": [(60, 9.0)], "value_loss": [(60, 4.0)], "solve_rate": [(60, 0.2)]}
    assert (begun["step"], begun["last"], begun["progress"]) == (60, 1003.0, None)


def test_a_long_curve_is_drawn_with_means_and_keeps_its_end(tmp_path: Path) -> None:
    lines = [(step, {"loss": float(step % 2), "solve_rate": 1e308}) for step in range(3 * POINTS - 1)]
    found = curves(learner(tmp_path / "run", lines).points())
    assert len(found["loss"]) == POINTS and found["loss"][-1][0] == 3 * POINTS - 2
    assert {round(value, 3) for _, value in found["loss"][:-1]} == {0.333, 0.667}
    assert {value for _, value in found["solve_rate"]} == {1e308}, "their sum is larger than any number"
    assert len(encode(found)) < 20_000


def test_a_stage_tells_how_long_it_takes_without_the_time_that_it_stood_still(tmp_path: Path) -> None:
    def stage(name: str, times: list[float], started: float, steps: int = 20) -> Run:
        folder = tmp_path / name
        folder.mkdir()
        write_about(folder, About(stage="sft", steps=steps, parameters=7, started=started))
        lines = (encode_line(time, step, {"loss": 1.0}) for step, time in enumerate(times, start=1))
        (folder / METRICS).write_bytes(b"".join(lines))
        return Runs(tmp_path).get(name)

    times = [100.0, 101.0, 5000.0, 5002.0, 5004.0]
    shown = training(stage("resumed", times, 4999.0), NoQuery())
    expected = {"stage": "sft", "steps": 20, "parameters": 7, "started": 4999.0, "left": 30.0, "done": False}
    assert shown["progress"] == expected and shown["warm"] == {}
    assert training(stage("ended", times, 4999.0, steps=5), NoQuery())["progress"]["done"]
    begun = training(stage("begun", [], 1.0), NoQuery())
    assert begun["progress"]["left"] is None and begun["step"] is None
    assert training(stage("one", [100.0], 1.0), NoQuery())["progress"]["left"] is None


def test_versions_of_the_weights_tell_what_search_did_with_them(tmp_path: Path) -> None:
    make_run(tmp_path / "run", theorems=16, attempts=40)
    run = Runs(tmp_path).get("run")
    found = training(run, NoQuery())
    assert [(each["version"], each["step"]) for each in found["versions"]] == [(4, 300), (3, 200), (2, 100), (1, 0)]
    assert all(0 < each["proved"] < each["results"] and each["age"] >= 0 for each in found["versions"])
    ages = [each["age"] for each in found["versions"]]
    assert ages == sorted(ages)
    store = Store(tmp_path / "run" / DATABASE)
    for version in range(5, VERSIONS + 15):
        store.add_weights(WeightsRow(version, version, "d", f"w-{version}"), 2e9)
    store.close()
    found = training(run, NoQuery())
    assert (len(found["versions"]), found["all_versions"]) == (VERSIONS, VERSIONS + 14)
    assert found["versions"][0]["results"] == 0


def test_a_run_without_training_has_no_curves(tmp_path: Path) -> None:
    write(tmp_path / "evaluation", outcomes({"t": 1}))
    for run in (Runs(tmp_path).get("evaluation"), mesh()):
        found = training(run, NoQuery())
        assert (found["kind"], found["curves"], found["warm"], found["versions"]) == (run.kind, {}, {}, [])


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
