"""The records of self-play, and what people see of them: real SQLite, kills, full disks, damaged files, commands."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from common.lean import Theorem
from common.output.command import Exit
from node.command.stp.command import main
from node.command.stp.run import RECIPE, keep_recipe
from node.command.stp.status import main_show, main_status, states
from node.stp.readers import RunReader, open_run, summarise
from node.stp.records import (
    FILE,
    AttemptRow,
    Conjecture,
    Fate,
    Found,
    Part,
    Proof,
    RoundKind,
    Seed,
    Stage,
    Statement,
    StpError,
)
from node.stp.report import PICTURES, write_report
from node.stp.store import StpStore
from tests.commands import Called, Run
from tests.files import limited_files
from tests.node.stp.filled import ADD_COMM, SEEDS, TEST, TRAIN, fill, fill_round, filled, verify
from tests.node.stp.tiny_run import tiny_plan


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_what_is_there_already_changes_nothing_and_first_proofs_are_kept(tmp_path: Path) -> None:
    store = filled(tmp_path)
    before = dump(tmp_path / FILE)
    fill(store)
    assert dump(tmp_path / FILE) == before
    store.add_attempts([AttemptRow("1-train_5", 1, "train_5", 64, 1, "proved", "", 1.0, (Found("simp"),))])
    assert store.attempts_of(1)["1-train_5"].found == () and store.unverified() == []


def test_records_come_back_as_they_were_added(tmp_path: Path) -> None:
    store = filled(tmp_path, rounds=1)
    assert [each.theorem for each in store.statements()] == [*TRAIN, *TEST]
    assert [each.theorem for each in store.statements("test")] == list(TEST)
    assert store.seeds_of(1) == list(SEEDS)
    made = store.conjectures(1)
    assert [each.name for each in made] == [f"conjecture_1_{number}" for number in range(8)]
    assert made[5].theorem is None and made[5].fate is Fate.CUT
    assert store.conjectures(1, Fate.CUT, Fate.KNOWN) == [made[2], made[5]]
    assert store.conjecture("conjecture_1_4") == made[4] and made[4].reason == "unknown identifier 'd'"
    attempt = store.attempts_of(1)["1-train_0"]
    assert attempt.found == (Found("exact Nat.add_comm a b", 20, 2, 0.25), Found("omega", 12, 5, 0.0))
    (example,) = store.conjecturer_examples(1)
    assert example.seed == SEEDS[0] and example.name == "conjecture_1_0"
    row = store.round(1)
    assert row is not None and row.reached(Stage.TRAINED) and row.seconds[Part.PROVING] == 40.0 and row.weights == 2


def test_solved_statements_have_their_best_rate_and_first_round(tmp_path: Path) -> None:
    store = filled(tmp_path)
    store.add_attempts([AttemptRow("again", 2, "train_0", 4, 3, "proved", "", 1.0, (Found("omega", 3, 0),))])
    solved = {each.theorem.name: each for each in store.solved()}
    assert solved["train_0"].rate == 0.75 and solved["train_0"].round == 1
    assert [each.script for each in solved["train_0"].proofs] == ["omega", "exact Nat.add_comm a b"]
    assert solved["train_2"].round == 2
    assert {each.theorem.name for each in store.unproved()} == {"train_5", "train_6", "train_7"}
    summary = summarise(store)
    assert [(each.number, each.samples, each.solved) for each in summary.rounds[1:]] == [(1, 704, 3), (2, 260, 5)]
    assert (summary.samples, summary.statements) == (964, 8)


def test_only_verified_proofs_count_and_those_of_the_initial_data_when_they_are_sampled(tmp_path: Path) -> None:
    store = filled(tmp_path, rounds=0)
    assert store.solved() == [] and len(store.proofs("train_0")) == 1
    store.begin_round(1, 1, 0.0)
    found = (Found("native_decide", 5, 0), Found("exact Nat.add_comm a b", 2, 1))
    store.add_attempts([AttemptRow("a", 1, "train_0", 8, 7, "proved", "", 1.0, found)])
    assert store.solved() == [] and store.attempted(1)["train_0"].correct == 0
    assert len(store.unverified(1)) == 2
    verify(store, 1)
    tried = store.attempted(1)["train_0"]
    assert (tried.samples, tried.correct) == (8, 2) and [each.lemmas for each in tried.proofs] == [(ADD_COMM.name,)]
    assert [reason for _, reason in store.refused("train_0")] == ["it rests on the axiom Lean.ofReduceBool"]
    store.add_proofs(1, [(Proof("train_0", "native_decide"), "")])
    assert len(store.refused("train_0")) == 1, "a verdict stays as it is"
    store.add_attempts([AttemptRow("b", 1, "train_0", 4, 1, "proved", "", 1.0, (Found("omega"),))])
    assert [each.theorem.name for each in store.solved()] == ["train_0"] and store.unverified() == []


def test_seconds_of_a_stage_are_counted_once(tmp_path: Path) -> None:
    store = filled(tmp_path, rounds=1)
    store.begin_round(2, 1, 0.0)
    store.spend(2, Part.PROVING, 5.0)
    for _ in range(2):
        store.reach(2, Stage.ATTEMPTED, 1.0, seconds={Part.PROVING: 3.0})
    store.reach(2, Stage.SEEDED, 2.0, seconds={Part.PROVING: 3.0})
    row = store.round(2)
    assert row is not None and row.stage is Stage.ATTEMPTED and row.seconds == {Part.PROVING: 8.0}
    with pytest.raises(StpError, match="has no round 9"):
        store.reach(9, Stage.SEEDED, 1.0)


def test_what_is_known_leaves_out_what_was_too_much_and_later_rounds(tmp_path: Path) -> None:
    store = filled(tmp_path)
    known = store.known(lambda theorem: theorem.name)
    assert {"train_0", "test_1", "conjecture_1_4", "conjecture_2_0"} <= known
    assert "conjecture_1_7" not in known and "conjecture_1_5" not in known
    assert "conjecture_2_0" not in store.known(lambda theorem: theorem.name, before=2)


def test_a_name_belongs_to_one_statement(tmp_path: Path) -> None:
    store = filled(tmp_path, rounds=1)
    with pytest.raises(StpError, match="has another statement with the name train_0"):
        store.add_statements([Statement(TRAIN[1]), Statement(Theorem("train_0", "", "1 = 1"))])
    (made, *_) = store.conjectures(1)
    theorem = Theorem("train_0", TRAIN[0].binders, TRAIN[0].conclusion)
    changed = type(made)("train_0", 1, Seed(*(made.seed.theorem, "simp", ADD_COMM)), "", Fate.NEW, theorem)
    with pytest.raises(StpError, match="has the name of a conjecture, train_0"):
        store.add_conjectures([changed])


def test_a_reader_sees_whole_rounds_while_another_process_writes(tmp_path: Path) -> None:
    writer = filled(tmp_path, rounds=1)
    reader = RunReader(tmp_path / FILE, read_only=True)
    changes = reader.changes()
    with reader.snapshot():
        before = len(reader.conjectures())
        fill_round(writer, 2)
        assert len(reader.conjectures()) == before, "one state of the file"
    assert len(reader.conjectures()) == 2 * before and reader.changes() != changes
    with pytest.raises(StpError, match="readonly"):
        reader.note("a", 1)


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"SQLite format 3\0" + b"\7" * 5000])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_damaged_file_is_one_line(tmp_path: Path, content: bytes, read_only: bool) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StpError, match="the file is damaged: restore it") as error:
        StpStore(tmp_path / FILE, read_only=read_only)
    assert "\n" not in str(error.value)
    assert (tmp_path / FILE).read_bytes() == content


def test_a_file_of_a_newer_version_stays_as_it_is_and_one_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StpError, match="holds no run of self-play"):
        StpStore(tmp_path / "none" / FILE, read_only=True)
    with pytest.raises(StpError, match="cannot be used"):
        StpStore(tmp_path / "none" / FILE)
    filled(tmp_path, rounds=1).close()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = (tmp_path / FILE).read_bytes()
    for read_only in (False, True):
        with pytest.raises(StpError, match="schema version 99; this version of proofmesh knows up to"):
            StpStore(tmp_path / FILE, read_only=read_only)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_full_disk_is_one_line_and_the_last_good_state_stays(tmp_path: Path) -> None:
    store = filled(tmp_path, rounds=1)
    before = dump(tmp_path / FILE)
    wal = tmp_path / f"{FILE}-wal"
    full = pytest.raises(StpError, match=r"free some space|the disk may be full")
    with limited_files(wal.stat().st_size), full as error:
        store.note("large", "x" * 2_000_000)
    assert "What was recorded is kept" in str(error.value) and "\n" not in str(error.value)
    assert dump(tmp_path / FILE) == before
    fill_round(store, 2)  # there is room again
    again = StpStore(tmp_path / FILE)
    assert len(again.rounds()) == 3 and again.noted("large") is None


CHILD = """
import sys
from pathlib import Path
from node.stp.records import FILE, AttemptRow, Conjecture, Fate, Found
from node.stp.store import StpStore
from tests.node.stp.filled import SEEDS, TRAIN

store = StpStore(Path(sys.argv[1]) / FILE)
for number in range(100_000):
    made = [Conjecture(f"c_{number}_{each}", 1, SEEDS[0], "x", Fate.CUT) for each in range(20)]
    store.add_conjectures(made)
    found = tuple(Found(f"simp [h{number}, {each}]", 1, each) for each in range(20))
    store.add_attempts([AttemptRow(f"a-{number}", 1, TRAIN[5].name, 32, 20, "proved", "", 1.0, found)])
    print(number, flush=True)
"""


@pytest.mark.process
def test_a_kill_in_the_middle_leaves_whole_transactions_and_all_that_were_told(tmp_path: Path) -> None:
    filled(tmp_path, rounds=1).close()
    root = Path(__file__).parents[3]
    argv = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(argv, cwd=root, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(10)]
        os.kill(child.pid, signal.SIGKILL)
    store = StpStore(tmp_path / FILE)
    made = sum(each.name.startswith("c_") for each in store.conjectures(1))
    attempts = {name: each for name, each in store.attempts_of(1).items() if name.startswith("a-")}
    assert made % 20 == 0 and all(len(each.found) == 20 for each in attempts.values())
    assert {f"a-{number}" for number in told} <= set(attempts)
    assert store._rows("PRAGMA integrity_check") == [("ok",)] and store._rows("PRAGMA foreign_key_check") == []
    fill_round(store, 2)  # and the run goes on
    store.close()


# --- commands: status, show, the page, lines about bad input ----------------------------------------------------------
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
    assert row(text, "seconds", "start")[-2:] == ["train", "91%"] and "\x1b" not in text and "…" not in text
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
def test_what_is_not_there_is_one_line(stp: Run, run: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
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
