"""Commands that read a learner's records: `inspect`, `report` and `recheck`."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.curves import METRICS, encode_line
from common.lean import Context, Place, Theorem
from common.output.command import Exit
from common.protocol.attempts import AttemptStatistics, PlayParts
from common.records.readers import DATABASE, Order, read_levels, read_theorems, replay_rows, shortest
from common.records.rows import Arrival, TheoremRow, Verdict, VerifiedProof
from common.records.store import Store
from node.command.proofs import attempt, recheck
from node.command.proofs.inspect import main
from node.command.proofs.recheck import PROGRESS, Judged
from node.command.watch import report
from tests.commands import Run
from tests.node.learner.builders import FAILED, PROVED, planned, result, row


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """`easy` proved, `hard` failed three times, `false` disproved, `new` never tried."""
    store = Store(tmp_path / DATABASE)
    store.add_theorems([row("easy"), row("hard", level=2), row("false", level=2), row("new"), row("scored", "test")])
    told = [("easy", "train", PROVED), ("false", "disprove", PROVED)]
    told += [("hard", "train", FAILED)] * 3
    plans = [planned(number, name, purpose) for number, (name, purpose, _) in enumerate(told, start=1)]
    store.dispatch(plans, 1.0)
    for plan, (_, _, verdict) in zip(plans, told, strict=True):
        store.record(result(plan.attempt), verdict, now=2.0)
    return store


def test_theorems_of_a_run_are_read_while_the_learner_works_and_when_it_has_gone(store: Store) -> None:
    levels, theorems = read_levels(store.path), read_theorems(store.path, 9, Order.HARDEST)
    counts = [(each.level, each.theorems, each.tried, each.proved, each.disproved) for each in levels]
    assert counts == [(1, 2, 1, 1, 0), (2, 2, 2, 0, 1)]
    results = [(each.theorem_id, each.result, each.failures) for each in theorems]
    assert results == [("hard", "open", 3), ("easy", "proved 1 of 1", 0), ("false", "disproved", 0)]
    assert [each.theorem_id for each in read_theorems(store.path, 1, Order.TRIED)] == ["hard"]
    store.close()
    before = {each.name: each.read_bytes() for each in store.path.parent.iterdir()}
    assert (read_levels(store.path), read_theorems(store.path, 9, Order.HARDEST)) == (levels, theorems)
    assert {each.name: each.read_bytes() for each in store.path.parent.iterdir()} == before


def test_inspect_writes_the_shortest_proofs(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "proofs.lean"
    assert main([str(store.path.parent), "--proofs", str(file)]) == Exit.DONE
    assert "2 proofs in" in capsys.readouterr().out
    text = file.read_text()
    assert "-- easy: proved 1 time" in text and "-- false_neg: disproved 1 time" in text and "scored" not in text
    proofs = {each.theorem.name: each.script for each in shortest(store.path)}
    assert all(script.strip() in text for script in proofs.values()) and set(proofs) == {"easy", "false_neg"}


def test_proofs_replace_no_file_of_others(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, beside = tmp_path / "mine.lean", tmp_path / "proofs-2024.lean"
    for file in (mine, beside):
        file.write_text("theorem t : True := trivial\n")
    assert main([str(store.path.parent), "--proofs", str(mine)]) == Exit.UNUSABLE
    assert "mine.lean exists, and proofmesh did not write it" in capsys.readouterr().err
    for _ in range(2):
        assert main([str(store.path.parent), "--proofs", str(tmp_path / "proofs.lean")]) == Exit.DONE
    assert all(file.read_text() == "theorem t : True := trivial\n" for file in (mine, beside))


def test_attempts_tactics_theorems_and_proofs_are_filtered_and_printed_as_json(store: Store, called: Run) -> None:
    store.dispatch([planned(6, "new")], 3.0)
    store.close()

    def rows(*options: str) -> list[dict[str, Any]]:
        answer = called(main, store.path.parent, *options, "--json")
        assert answer.code == Exit.DONE
        return [json.loads(line) for line in answer.out.splitlines()]

    attempts = rows("--attempts", "9")
    newest = [(each["theorem_id"], each["outcome"], each["recorded"]) for each in attempts[:2]]
    assert newest == [("new", "outstanding", None), ("hard", "failed", 2.0)]
    assert [each["number"] for each in attempts] == [6, 5, 4, 3, 2, 1]
    assert [each["theorem_id"] for each in rows("--attempts", "9", "--filter", "disprove")] == ["false"]
    (hard,) = rows("--theorems", "9", "--filter", "har")
    assert (hard["theorem_id"], hard["result"]) == ("hard", "open")
    assert {each["name"] for each in rows("--proofs", "-")} == {"easy", "false_neg"}
    steps = list(replay_rows(store.path))
    tactics = rows("--tactics", "9")
    assert sum(each["uses"] for each in tactics) == len(steps)
    assert all(each["head"] in each["example"] for each in tactics)
    assert rows("--tactics", "9", "--filter", "no such tactic") == []
    # For people: escaped, and the proofs as the file has them.
    assert "theorem «easy»" in called(main, store.path.parent, "--proofs", "-", "--filter", "easy").out
    for option in ("--attempts", "--tactics", "--theorems"):
        assert called(main, store.path.parent, option, "3").code == Exit.DONE
    refused = called(main, store.path, "--attempts", "3")
    assert refused.code == Exit.UNUSABLE and f"--attempts: {store.path} is not a run directory" in refused.err


def test_an_attempt_is_shown_with_parts_of_its_time_unless_its_run_is_an_older_one(store: Store, called: Run) -> None:
    plan, folder = planned(60, "hard"), store.path.parent
    store.dispatch([plan], 100.0)
    play = PlayParts(asked=101.0, search=1.0, lean_run=2.0)
    came = msgspec.structs.replace(result(plan.attempt, "failed"), statistics=AttemptStatistics(parts=play))
    arrival = Arrival(stored=110.0, received=110.5, ahead=0.0, spent={"store": 0.5})
    store.record(came, FAILED, 111.0, arrival)
    store.close()
    shown = called(attempt.main, "run-6", "--run", folder)  # the only one with this beginning
    assert shown.code == Exit.DONE and "run-60 (train): failed" in shown.out and "p ∧ q → q ∧ p" in shown.out
    assert "recorded 11.0 s later" in shown.out and "Most of it is queue" in shown.out and "54.5%" in shown.out
    told = json.loads(called(attempt.main, "run-60", "--run", folder, "--json").out)
    assert (told["total"], told["largest"], told["parts"]["queue"]) == (11.0, "queue", 6.0)
    (newest,) = called(main, folder, "--attempts", "1", "--json").out.splitlines()
    assert json.loads(newest)["parts"] == told["parts"] and "queue 6.0" in called(main, folder, "--attempts", "1").out
    for beginning, problem in (("run-", "begins several"), ("x", "no attempt 'x'"), ("", "no attempt ''")):
        refused = called(attempt.main, beginning, "--run", folder)
        assert refused.code == Exit.UNUSABLE and problem in refused.err
    with sqlite3.connect(store.path) as database:
        database.execute("DROP TABLE timelines")
        database.execute("PRAGMA user_version = 11")
    database.close()
    assert "run-1" in called(main, store.path.parent, "--attempts", "9").out
    assert "is not recorded" in called(attempt.main, "run-1", "--run", store.path.parent).out


def test_a_report_is_one_page_about_the_last_minutes_and_the_whole_run(store: Store, called: Run) -> None:
    folder = store.path.parent
    lines = [encode_line(9.0, step, {"loss": 1 / step, "solve_rate": 0.5}) for step in (1, 2)]
    (folder / METRICS).write_bytes(b"".join(lines))
    (folder / "mesh.toml").write_text('[run]\nname = "<script>"\n[bus]\npassword = "geheim"\n', encoding="utf-8")
    assert called(report.main, folder).code == Exit.DONE
    page = (folder / "report.html").read_text(encoding="utf-8")
    for shown in ("no attempt was recorded lately", "hard", "easy", "&lt;script&gt;", "training step", "rfl"):
        assert shown in page
    assert not any(loaded in page for loaded in ("<script", "src=", "@import", "geheim"))
    assert "is not a run directory" in called(report.main, folder / "none").err
    (folder / "mesh.toml").unlink()  # a page without a configuration
    plans = [planned(number, "new") for number in (11, 12, 13)]
    store.dispatch(plans, 999.0)
    for plan, now in zip(plans, (1000.0, 1000.5, 1060.4), strict=True):
        told = AttemptStatistics(parts=PlayParts(asked=999.0, search=0.5))
        played = msgspec.structs.replace(result(plan.attempt), statistics=told)
        store.record(played, FAILED, now, Arrival(stored=now, received=now, ahead=0.0, spent={}))
    assert called(report.main, folder, "--minutes", "1").code == Exit.DONE
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "the last 1 minutes: 2 latest attempts" in page and "the whole run: 3 latest attempts" in page
    assert "&lt;script&gt;" not in page


# --- recheck: every recorded proof is verified anew, and what the records only claim is found -------------------------
SWAP = Theorem("swap", "(p q : Prop)", "p ∧ q → q ∧ p")
FALSE = Theorem("false", "", "(1 : Nat) = 2")
CONTEXT = Context.of("variable (p : Prop)\n")
GAP = Theorem("gap", "", "p → p", place=Place(CONTEXT, "theorem gap : p → p := by\n  ", "\n"))
OPENED = Theorem("opened", "(m n : Nat)", "succ m = succ n → m = n")
HONEST = {SWAP: "  intro h\n  exact ⟨h.2, h.1⟩", GAP: "  exact id", OPENED: "  exact succ.inj"}


def records(folder: Path, proofs: Mapping[Theorem, str], disproofs: Mapping[Theorem, str] | None = None) -> Path:
    """A run's folder with these proofs, recorded as verified. `open Nat` was the configured header."""
    store = Store(folder / DATABASE)
    store.add_theorems([TheoremRow(each, "train", "f", 1) for each in (*proofs, *(disproofs or {}))])
    plans = [planned(number, each.name) for number, each in enumerate(proofs, 1)]
    plans += [planned(len(plans) + number, each.name, "disprove") for number, each in enumerate(disproofs or {}, 1)]
    store.dispatch(plans, 1.0)
    for plan, script in zip(plans, [*proofs.values(), *(disproofs or {}).values()], strict=True):
        proof = VerifiedProof(script, (), (), "4.35.0", "open Nat")
        assert store.record(result(plan.attempt), Verdict(FAILED.outcome.PROVED, proof=proof), now=2.0)
    store.close()
    return folder


@pytest.mark.slow
def test_honest_proofs_are_accepted_again_by_both_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = records(tmp_path, HONEST, {FALSE: "  decide"})
    assert recheck.main([str(run)]) == Exit.DONE
    printed = capsys.readouterr()
    assert "4 of 4 recorded proofs accepted" in printed.out and "kernel and a second kernel" in printed.out
    assert sorted(each.name for each in run.iterdir()) == [DATABASE], "a complete recheck leaves nothing behind"


@pytest.mark.lean
def test_forged_records_are_found_and_a_recheck_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    escape = "  trivial\ntheorem proofmesh_recorded_2 : True := trivial"
    forged = {
        FALSE: "  simp_all",
        Theorem("also_false", "", "(2 : Nat) = 3"): escape,
        Theorem("assumed", "", "(3 : Nat) = 4"): "  sorry",
        Theorem("gap_false", "", "p", place=Place(CONTEXT, "theorem g : p := by\n  ", "\n")): "  assumption",
        Theorem("no_statement", "", "Nowhere.nothing"): "  trivial",
    }
    run = records(tmp_path, HONEST | forged)
    recheck._keep(run / PROGRESS, Judged(1, "of an earlier run", "Lean 4.35.0"))
    assert recheck.main([str(run), "--json", "--no-second-kernel", "--again"]) == Exit.FAILED
    printed = capsys.readouterr()
    assert "going on" not in printed.err
    found = json.loads(printed.out)
    assert (found["proofs"], found["accepted"]) == (8, 3)
    assert {row["theorem"] for row in found["rejected"]} == {each.name for each in forged}
    assert all(row["reason"] for row in found["rejected"])
    # As if it had been interrupted behind the last verdict but one, and another Lean had judged the first proof.
    for number in range(2, found["proofs"]):
        recheck._keep(run / PROGRESS, Judged(number, "" if number <= found["accepted"] else "forged", found["by"]))
    recheck._keep(run / PROGRESS, Judged(1, "", "Lean 3, the kernel of yesterday"))
    with (run / PROGRESS).open("ab") as out:
        out.write(b'{"number": 8, "prob')  # the line that a kill has cut off
    assert recheck.main([str(run), "--no-second-kernel"]) == Exit.FAILED
    printed = capsys.readouterr()
    assert "going on after 6 of 8 proofs" in printed.err and "3 of 8 recorded proofs accepted" in printed.out
    assert not (run / PROGRESS).exists()
