import shutil
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import msgspec
import pytest

from common.protocol.messages import Span
from common.records.lately import BUCKET, Fault, Lately, course, slowest
from common.records.readers import DATABASE
from common.records.rows import PARTS, Parts
from common.watch import spans
from scripts.made_run import multiply
from tests.message_values import heartbeat, node_info
from tests.ui.monitors import ask, mesh
from ui.runs import Kind, Run
from ui.views.learning import verdict_of
from ui.views.why import BINS, resources


def copied(run: Run, to: Path) -> Path:
    """A copy of a run's folder, to change."""
    return shutil.copytree(run.path(""), to / "copy")


def sums(attempts: int = 10, **parts: float) -> Lately:
    """Sums over attempts that took so many seconds each for some parts."""
    whole = Parts(**{each.name: attempts * parts.get(each.name, 0.0) for each in fields(Parts)})
    return Lately(attempts, 8 * attempts, 0.0, 0.0, 0.0, whole)


def test_the_parts_are_those_of_the_records_of_the_last_minutes(made: Run) -> None:
    found = ask(made, "why")
    with sqlite3.connect(made.records) as db:
        rows = db.execute(
            f"SELECT {', '.join(PARTS)} FROM timelines JOIN results USING (attempt_id)"
            " WHERE recorded >= (SELECT MAX(recorded) FROM results) - 600"
        ).fetchall()
    db.close()
    assert found["attempts"] == len(rows) > 0 and [each["part"] for each in found["parts"]] == list(PARTS)
    for each, column in zip(found["parts"], zip(*rows, strict=True), strict=True):
        assert each["seconds"] == pytest.approx(sum(column) / len(rows)) and each["advice"]
    assert sum(each["share"] for each in found["parts"]) == pytest.approx(1)
    assert sum(each["share"] for each in found["evidence"]) <= 1 and len(found["evidence"]) == 4


def test_the_verdict_is_the_learners_once_it_tells_and_counts_the_suspect_that_it_names() -> None:
    run = mesh("demo", node_info("l", "learner"), now=time.time())
    assert verdict_of(run).fault is Fault.NONE
    told = Lately(4, 8, 1.0, 20.0, 0.0, sums(4, lean_run=5.0).parts)
    run.mesh.see_heartbeat(heartbeat("l", "learner", **told.values()), time.time() - 60)
    assert verdict_of(run).fault is Fault.PAUSED, "by the monitor's clock"
    run.mesh.see_heartbeat(heartbeat("l", "learner", 2.0, **told.values()), time.time())
    found = ask(run, "why")
    assert found["verdict"]["fault"] == "lean"
    assert found["verdict"]["text"].startswith("Lean is slow: an expansion waits 2.5 s for it, 100.0%")
    assert [each["fault"] for each in found["evidence"] if each["counts"]] == ["lean"]
    assert found["evidence"][0]["seconds"] == 2.5 and found["seconds"] == 120 and found["slowest"] is None


def test_the_slowest_attempts_come_first_by_the_time_that_is_asked_for(made: Run) -> None:
    with sqlite3.connect(made.records) as db:
        names = list(PARTS)
        told = db.execute(f"SELECT attempt_id, {', '.join(names)} FROM timelines").fetchall()
        rows = {name: dict(zip(names, parts, strict=True)) for name, *parts in told}
        latest = db.execute("SELECT MAX(recorded) FROM results").fetchone()[0]
    db.close()

    def played(parts: Mapping[str, float]) -> float:
        return sum(parts.values()) - parts["dispatch"] - parts["queue"]

    found = ask(made, "why", of="run", by="played")["slowest"]
    assert [each["id"] for each in found] == sorted(rows, key=lambda name: -played(rows[name]))[: len(found)]
    assert len(found) == 20 and found[0]["parts"] == pytest.approx(rows[found[0]["id"]])
    lately = ask(made, "why")["slowest"]
    assert lately and all(each["recorded"] >= latest - 600 for each in lately)
    times = [sum(each["parts"].values()) for each in lately]
    assert times == sorted(times, reverse=True)


def test_the_shares_over_the_run_are_of_its_buckets_and_cost_the_same_in_a_long_run(made: Run, tmp_path: Path) -> None:
    found = ask(made, "why_course")
    assert found["time"] == sorted(found["time"]) and set(found["shares"]) == set(PARTS)
    for place in range(len(found["time"])):
        assert sum(each[place] for each in found["shares"].values()) == pytest.approx(1)
    assert sum(found["attempts"]) == 260 or max(found["attempts"]) == BUCKET
    folder = copied(made, tmp_path)
    multiply(folder, 20)
    with sqlite3.connect(folder / DATABASE) as db:
        assert {count for _, count, _ in course(db, 10)} == {BUCKET}
        assert len(slowest(db, 5)) == 5
    db.close()


def test_who_worked_when_is_told_by_the_spans(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    play = Span("a", "1" * 16, "play", 1000.0, 60.0)
    lean = Span("a", "2" * 16, "lean", 1030.0, 30.0, node="lean-1", requests=2, waited=10.0, ran=10.0)
    lost = Span("a", "3" * 16, "policy", 1000.0, 60.0, requests=3)
    other = Span("a", "4" * 16, "attempt", 1000.0, 60.0)
    line = msgspec.json.encode(spans.as_otlp("prover", "prover-1", [play, lean, lost, other]))
    (folder / spans.FILE).write_bytes(line + b"\n{}\nno line\n")
    found = ask(Run("run", Kind.LEARNER, folder), "lanes")
    lanes = {(each["node"], each["kind"]): each for each in found["lanes"]}
    assert set(lanes) == {("prover-1", "play"), ("lean-1", "lean")} and found["seconds"] == 60
    assert lanes["prover-1", "play"]["levels"] == "9" * BINS
    worked = lanes["lean-1", "lean"]
    # 10 s under way, half of it before and half after; it waited from 1035 s to 1045 s, and ran to 1055 s
    assert worked["levels"] == "0" * 90 + "9" * 20 + "0" * 10
    assert worked["mean"] == pytest.approx(10 / 60) and worked["most"] == pytest.approx(1)


def beside(**values: dict[str, float]) -> Run:
    """A mesh with one node of each role, which says these values."""
    roles = {name.replace("_", "-"): told for name, told in values.items()}
    run = mesh("demo", *(node_info(role, role) for role in roles), now=time.time())
    for role, told in roles.items():
        run.mesh.see_heartbeat(heartbeat(role, role, **told), time.time())
    return run


@pytest.mark.parametrize(
    ("spent", "queue", "named"),
    [
        ({"lean_wait": 2.0, "lean_run": 1.0, "queue": 9.0}, 4.0, "Full: Lean workers. An attempt waits 2.0 s"),
        ({"lean_wait": 2.0, "lean_run": 3.0, "queue": 9.0}, 4.0, "Full: the search slots (8.0 of 8"),
        ({"verify_wait": 2.0, "verify_run": 1.0, "queue": 9.0}, 0.0, "Full: the search slots"),
        ({"lean_wait": 2.0, "lean_run": 1.0, "policy_wait": 4.0}, 1.0, "Full: inference"),
        ({"lean_wait": 0.05, "lean_run": 0.01}, 1.0, "No resource is full: 8.0 of 8"),
    ],
)
def test_the_full_resource_is_what_searches_wait_for(spent: dict[str, float], queue: float, named: str) -> None:
    run = beside(
        prover={"searches": 8.0, "searches_max": 8.0},
        lean_proxy={"workers": 2.0, "queue": queue, "verify_queue": 0.0},
        inference={"queue": queue},
        broker={"attempts_waiting": 7.0, "results_waiting": 0.0},
    )
    found = resources(run, sums(**spent), 120.0)
    assert found["full"].startswith(named)
    slots = next(each for each in found["resources"] if each.name == "search slots")
    assert (slots.has, slots.used, slots.queue, slots.nodes) == (8.0, 8.0, 7.0, 1)
    run = beside(prover={"searches": 1.0, "searches_max": 8.0})
    found = resources(run, sums(queue=1.0, lean_run=1.0), 120.0)
    assert found["full"] == "No resource is full: 1.0 of 8 search slots are in use."


def test_a_run_of_another_kind_has_no_parts_and_one_that_has_just_begun_none_yet(made: Run, tmp_path: Path) -> None:
    for kind in (Kind.TRAINING, Kind.SELF_PLAY, Kind.EVALUATION):
        run = Run("other", kind, tmp_path)
        found = ask(run, "why")
        assert found["kind"] == kind and found["parts"] == found["evidence"] == [] and found["slowest"] is None
        assert ask(run, "why_course")["time"] == [] and ask(run, "lanes")["lanes"] == []
    folder = copied(made, tmp_path)
    with sqlite3.connect(folder / DATABASE) as db:
        for table in ("timelines", "proofs", "transitions", "results"):
            db.execute(f"DELETE FROM {table}")
    db.close()
    run = Run("new", Kind.LEARNER, folder)
    found = ask(run, "why")
    assert found["attempts"] == 0 and found["parts"] == [] and found["slowest"] == []
    assert ask(run, "why_course")["time"] == []
