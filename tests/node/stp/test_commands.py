"""What people see of a run of self-play: `stp status`, `stp show`, the page, and lines about bad input."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command.stp.command import main
from node.command.stp.run import RECIPE, keep_recipe
from node.command.stp.status import main_show, main_status, states
from node.stp.readers import open_run, summarise
from node.stp.records import FILE, Conjecture, Fate, RoundKind, Stage
from node.stp.report import PICTURES, write_report
from node.stp.store import StpStore
from tests.commands import Called, Run
from tests.node.stp.filled import SEEDS, fill_round, filled
from tests.node.stp.works import tiny_plan


@pytest.fixture
def run(tmp_path: Path) -> Path:
    filled(tmp_path / "run").close()
    return tmp_path / "run"


def row(text: str, title: str, first: str) -> list[str]:
    """The cells of a table's row in what was printed."""
    lines = text[text.index(f"\n{title}") :].splitlines()[3:]
    return next(line.split() for line in lines if line.split()[:1] == [first])


def test_status_has_each_rounds_numbers_also_as_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_status([str(run)]) == 0
    text = capsys.readouterr().out
    assert "5 of 8 statements solved (62.5%) with 960 sampled proofs; round 2: done" in text
    # seeds, made, cut, refused, known, surplus, elaborated of those shown to Lean, proved, barely
    assert row(text, "conjectures", "1") == ["1", "2", "8", "1", "1", "1", "1", "3/4", "2", "1"]
    # tried, new, solved, rate, samples, trained on, pass@1, pass@8
    assert row(text, "statements", "2") == ["2", "5", "2", "5", "62.5%", "256", "8+2", "50.0%", "75.0%"]
    assert row(text, "seconds", "1") == [*("1", "10", "4", "40", "6", "1", "30", "8", "99"), "prove", "40%"]
    assert row(text, "seconds", "start")[-2:] == ["train", "91%"]
    assert "\x1b" not in text and "…" not in text
    assert main_status([str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["solved"] == 5 and found["rounds"][1]["fates"]["not elaborated"] == 1
    assert found["rounds"][2]["per_second"]["proving"] == pytest.approx(6.4)
    assert found["curve"][-1] == [960, 5]
    numbers = summarise(open_run(run)).rounds[2].numbers()
    assert (numbers["solved"], numbers["samples"], numbers["seconds/proving"]) == (5.0, 256.0, 40.0)
    assert numbers["test/pass@8"] == 0.75 and all(type(each) is float for each in numbers.values())


def test_status_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    StpStore(filled(tmp_path / "runs" / "first", rounds=0).path).close()
    assert main_status(["first"]) == 0
    assert "runs/first: 0 of 8 statements solved" in capsys.readouterr().out
    assert main_status(["second"]) == 2
    said = "second holds no run of self-play (stp.sqlite does not exist); check the path"
    assert capsys.readouterr().err == f"proofmesh stp status: {said}\n"


def test_watching_sees_what_is_written_and_ends_with_the_run(run: Path) -> None:
    writer, seen = StpStore(run / FILE), []
    for state in states(open_run(run), 0.0):
        seen.append(state.rounds[-1].stage)
        if len(seen) == 1:
            fill_round(writer, 3)
        elif len(seen) == 2:
            writer.begin_round(4, 1, 0.0, RoundKind.FINAL)
            writer.reach(4, Stage.DONE, 0.0)
            assert summarise(open_run(run)).finished
    assert seen[0] == Stage.DONE and len(seen) == 3 and state.rounds[-1].kind is RoundKind.FINAL


def test_show_tells_a_conjectures_whole_way(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main_show([str(run), "conjecture_1_0"]) == 0
    text = re.sub(r" +", " ", capsys.readouterr().out)
    for part in (
        "conjecture_1_0 (round 1): proved",
        "seed theorem train_0 (a b c : Nat) : a + b = b + a := by\n exact Nat.add_comm a b",
        "asked with lemma Nat.add_comm",
        "the model wrote example (a b c : Nat) : a + b + c = c + (b + a)",
        "tried in round 1: 2 of 64 samples are proofs, 3.1%",
        "rw [Nat.add_comm b a]\n exact Nat.add_comm _ c",
        "refused it rests on the axiom Lean.ofReduceBool\n native_decide",
        "elegance 0.94",
        "a proof invokes it",
        "learned from it in round 1 (weight 1.25), 2 (weight 1.25)",
        "learned from its proofs in round 1 (1 proof, weight 0.450), 2",
    ):
        assert part in text, part


@pytest.mark.compute
def test_the_report_fetches_nothing_and_shows_foreign_text(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = StpStore(run / FILE)
    output = "\x1b[2J<script>alert(1)</script>"
    store.begin_round(3, 1, 0.0)
    store.add_conjectures([Conjecture("conjecture_3_0", 3, SEEDS[0], output, Fate.REFUSED, None, "\x1b[31mno")])
    assert main_show([str(run), "conjecture_3_0"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    written = {path.name: path for path in write_report(run)}
    assert set(written) == {*PICTURES, "stp.html", "status.json"}
    for name in PICTURES:
        assert written[name].read_bytes().startswith(b"\x89PNG")
    page = written["stp.html"].read_text(encoding="utf-8")
    assert page.count("<svg") == 3 and "conjecture_2_0 (round 2): proved" in page and "62.5%" in page
    assert not re.findall(r"""(?:src|href)=(?!["']?#)""", page)
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert json.loads(written["status.json"].read_text(encoding="utf-8"))["solved"] == 5


# --- bad input to proofmesh stp gives a one-line error before anything starts -----------------------------------------
@pytest.fixture
def stp(called: Called) -> Run:
    return partial(called, main)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "no recipe given"),
        (["run", "none.toml"], "none.toml"),
        (["run", "learner.toml"], "self-play has no learner"),
        (["resume", "."], "holds no run of self-play"),
        (["focus", ".", "theorem t : 1 = 1"], "holds no run of self-play"),
        (["status", "."], "holds no run of self-play"),
        (["show", ".", "conjecture_1_1"], "holds no run of self-play"),
        (["show", "run", "nothing"], "has no statement or conjecture nothing"),
        (["show", "run", "TRAIN_7"], "has no statement or conjecture TRAIN_7; did you mean train_7?"),
        (["show", "run", "round", "9"], "has no round 9; choose one of 0, 1, 2"),
        (["show", "run", "a", "b"], "`a b` is neither a name nor a round; write `round 2`, or one name"),
        (["play"], "no command `play`"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(
    stp: Run, run: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    (tmp_path / "learner.toml").write_text("[learner]\n")
    code, out, errors = stp(*arguments)
    assert code == Exit.UNUSABLE and not out
    assert says in errors and errors.count("\n") == 1


def test_a_run_that_has_begun_keeps_its_settings_and_says_which_have_changed(stp: Run, tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    plan.directory.mkdir(parents=True)
    keep_recipe(plan, "again")
    StpStore(plan.directory / FILE).close()
    before = (plan.directory / RECIPE).read_bytes()
    code, _, errors = stp("run", "tiny.toml", "--stp.seed", "5", "--stp.prover.samples", "3")
    assert code == Exit.UNUSABLE and errors.count("\n") == 1
    assert "other settings (stp.prover.samples, stp.seed;" in errors or "(stp.seed, stp.prover.samples;" in errors
    assert (plan.directory / RECIPE).read_bytes() == before
