import json
import time
from pathlib import Path

import pytest

from common import curves
from common.curves import METRICS, About, encode_line, write_about
from common.records.readers import DATABASE
from common.records.store import Store
from tests.node.learner.builders import FAILED, PROVED, planned, result, row
from tests.ui.monitors import evaluated, mesh, small_run
from ui.runs import NotHere, Runs
from ui.views.evaluating import EvaluationsQuery, Statement, compared, evaluations
from ui.views.learning import verdict_of
from ui.views.listing import Listing, ListQuery


def test_each_run_says_its_results_and_is_read_when_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_run(tmp_path / "learned").close()
    with (tmp_path / "learned" / curves.EVALUATIONS).open("ab") as file:
        file.write(curves.evaluation_line(evaluated("after", solved=3)))
    trained = tmp_path / "trained"
    trained.mkdir()
    write_about(trained, About(stage="sft", steps=2))
    (trained / METRICS).write_bytes(encode_line(time.time(), 1, {"loss": 1.0}))
    listing = Listing(Runs(tmp_path, mesh("live")))
    rows = listing.answer(ListQuery())
    by_name = {each["name"]: each for each in rows}
    assert rows[0]["name"] == "live" and by_name["live"]["state"] == "live"
    learned = by_name["learned"]
    assert (learned["state"], learned["proofs"]) == ("running", 1)
    assert (learned["before"].solved, learned["after"].solved) == (1, 3)
    assert (by_name["trained"]["state"], by_name["trained"]["stage"]) == ("running", "sft")
    monkeypatch.setattr("ui.views.listing._content", pytest.fail)
    short = listing.answer(ListQuery(short=1))
    assert {each["name"] for each in short} == {"live", "learned", "trained"}
    assert listing._row(listing._runs.get("learned"))["proofs"] == 1


def test_runs_are_compared_by_curves_results_and_the_settings_in_which_they_differ(tmp_path: Path) -> None:
    for name, rate in (("one", 0.1), ("two", 0.2)):
        small_run(tmp_path / name).close()
        text = f'[bus]\npassword = "secret-{name}"\n[learner.trainer]\nrate = {rate}\nbatch = 64\n'
        (tmp_path / name / "config.toml").write_text(text)
        (tmp_path / name / "summary.json").write_text(json.dumps({"solved_after": 3, "kind": "rl"}))
    listing = Listing(Runs(tmp_path))
    found = listing.answer(ListQuery(compare="one,two,one", quantity="loss"))
    assert [each["name"] for each in found["compared"]] == ["one", "two"]
    assert found["settings"] == [{"name": "learner.trainer.rate", "values": ["0.1", "0.2"]}]
    assert found["compared"][0]["results"] == {"solved_after": 3}
    assert found["compared"][0]["curve"] == [(1, 0.0, None, 2.0)] and found["compared"][0]["names"] == ["loss"]
    assert [each["name"] for each in listing.answer(ListQuery(compare="one,absent"))["compared"]] == ["one"]


def test_a_curve_over_expansions_says_what_was_spent_by_then(tmp_path: Path) -> None:
    small_run(tmp_path / "one").close()
    lines = [encode_line(float(at), at, {"loss": 1.0, "expansions": 100.0 * at}) for at in (2, 4)]
    (tmp_path / "one" / METRICS).write_bytes(b"".join(lines))
    (run,) = Listing(Runs(tmp_path)).answer(ListQuery(compare="one", quantity="loss"))["compared"]
    assert run["curve"] == [(2, 0.0, 200.0, 1.0), (4, 2.0, 400.0, 1.0)]
    assert [each["expansions"] for each in run["evaluations"]] == [200.0]  # it ended at 2.5 s


def test_an_evaluation_that_has_ended_has_its_result_and_its_options_in_the_list(tmp_path: Path) -> None:
    for name, solved in (("one", 3), ("two", 5)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "evaluation.json").write_text(json.dumps({"policy": name, "method": "mcts"}))
        (folder / "attempts.jsonl").write_text("")
        (folder / "results.json").write_text(json.dumps({"total": {"statements": 40, "solved": 1.0, "any": solved}}))
    listing = Listing(Runs(tmp_path))
    found = listing.answer(ListQuery(compare="one,two"))
    assert [each["evaluations"][0]["share"].solved for each in found["compared"]] == [3, 5]
    assert found["settings"] == [{"name": "policy", "values": ["one", "two"]}]
    row = listing._row(listing._runs.get("two"))
    assert (row["after"].solved, row["after"].of, row["finished"]) == (5, 40, True)
    (tmp_path / "two" / "results.json").write_text("{")
    assert listing._runs.get("two").evaluations() == []


def test_two_evaluations_differ_over_what_both_have_decided() -> None:
    def statements(**outcomes: str) -> list[Statement]:
        return [Statement(theorem=name, family="f", level=1, outcome=outcome) for name, outcome in outcomes.items()]

    first = statements(a="solved", b="unsolved", c="unsolved", d="undecided")
    second = statements(b="solved", c="solved", d="solved", a="unsolved", e="solved")
    found = compared(first, second)
    assert found["statements"] == 3 and found["difference"] == pytest.approx(1 / 3)
    won, lost = ([each.theorem for each in found[names]] for names in ("won_names", "lost_names"))
    assert (won, lost, found["won"], found["lost"]) == (["b", "c"], ["a"], 2, 1)
    assert found["p"] == pytest.approx(1.0) and found["low"] < 0 < found["high"]


def test_the_statements_of_an_evaluation_come_from_the_records_with_their_last_attempts(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    small_run(folder).close()
    store = Store(folder / DATABASE)
    store.add_theorems([row("v", "test"), row("w", "test")])
    evaluation = store.begin_evaluation("step-7", 1, 16, 0.0)
    for number, name, verdict in ((11, "v", FAILED), (12, "v", PROVED), (13, "w", None)):
        attempt = planned(number, name, "eval", evaluation)
        store.dispatch([attempt], 1.0)
        if verdict is not None:
            store.record(result(attempt.attempt), verdict, 2.0)
    store.close()
    run = Runs(tmp_path).get("run")
    found = evaluations(run, EvaluationsQuery())
    shown = [(each.theorem, each.outcome, each.attempt) for each in found["statements"]]
    assert shown == [("v", "solved", "run-12"), ("w", "outstanding", "run-13")] and found["label"] == "step-7"
    page = evaluations(run, EvaluationsQuery(outcome="outstanding", start=0, limit=1))
    assert ([each.theorem for each in page["statements"]], page["kept"], page["all"]) == (["w"], 1, 2)
    with pytest.raises(NotHere, match="no finished evaluation step-9"):
        evaluations(run, EvaluationsQuery(label="step-9"))
    assert evaluations(mesh(), EvaluationsQuery())["statements"] == [] and verdict_of(mesh()).fault == "none"
