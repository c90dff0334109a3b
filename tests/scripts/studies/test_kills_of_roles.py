import contextlib
import sqlite3
from pathlib import Path

import msgspec
import pytest

from common.records.readers import outstanding, results
from common.records.store import Store
from scripts.studies.kills_of_roles import tallied
from tests.node.learner.builders import FAILED, PROVED, planned, result, row


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Five attempts: one proved, two failed, two outstanding."""
    path = tmp_path / "proofs.sqlite"
    plans = [planned(number) for number in range(1, 6)]
    store = Store(path)
    store.add_theorems([row("t")])
    store.dispatch(plans, now=1.0)
    for plan, verdict in zip(plans[:3], (PROVED, FAILED, FAILED), strict=True):
        assert store.record(result(plan.attempt), verdict, now=2.0)
    store.close()
    return path


def test_sound_records_are_counted(database: Path) -> None:
    tally = tallied(database, results(database))
    assert tally.sound and (tally.dispatched, tally.outstanding, tally.recorded, tally.proofs) == (5, 2, 3, 1)
    assert tally.outcomes == {"proved": 1, "failed": 2}
    assert outstanding(database) == {"run-4", "run-5"}


@pytest.mark.parametrize(
    ("statement", "field"),
    [
        ("DELETE FROM outbox WHERE attempt_id = 'run-4'", "neither"),
        ("DELETE FROM results WHERE attempt_id = 'run-2'", "changed"),
        ("UPDATE results SET outcome = 'error' WHERE attempt_id = 'run-2'", "changed"),
        ("INSERT INTO outbox (attempt_id, payload) VALUES ('run-1', x'00')", "both"),
        ("UPDATE results SET attempt_id = 'other' WHERE attempt_id = 'run-3'", "strays"),
    ],
)
def test_every_loss_is_seen(database: Path, statement: str, field: str) -> None:
    before = results(database)
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        db.execute(statement)
    tally = tallied(database, before)
    assert not tally.sound and msgspec.to_builtins(tally)[field] == 1
