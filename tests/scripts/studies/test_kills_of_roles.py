"""A mesh whose nodes are killed role by role, and the count of its records."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from common.records.readers import outstanding, results
from common.records.store import Store
from scripts.studies.kills_of_roles import ROLES, RoleKillSettings, tallied
from tests.node.learner.builders import FAILED, PROVED, planned, result, row, write_bank
from tests.node.mesh.whole import private_cache

ROOT = Path(__file__).parents[3]


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


def change(database: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.execute(statement)
        db.commit()


def test_sound_records_are_counted(database: Path) -> None:
    tally = tallied(database, results(database))
    assert tally.sound
    assert (tally.dispatched, tally.outstanding, tally.recorded, tally.proofs) == (5, 2, 3, 1)
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
    change(database, statement)
    tally = tallied(database, before)
    assert not tally.sound
    assert msgspec.to_builtins(tally)[field] == 1


def test_a_proof_without_its_result_is_seen(database: Path) -> None:
    change(database, "UPDATE results SET outcome = 'failed' WHERE outcome = 'proved'")
    assert not tallied(database, ()).sound


def test_there_are_no_records_before_the_learner_made_them(tmp_path: Path) -> None:
    assert results(tmp_path / "none.sqlite") == [] and outstanding(tmp_path / "none.sqlite") == set()


def study(*flags: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scripts.studies.kills_of_roles", *flags]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **env})


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (RoleKillSettings(roles=("prover", "nobody")), "there is no nobody"),
        (RoleKillSettings(roles=()), "name at least one"),
        (RoleKillSettings(out=ROOT), "it is there already"),
        (RoleKillSettings(checkpoint=ROOT / "nowhere", out=ROOT / "none"), "no such folder"),
    ],
)
def test_what_cannot_be_tried_is_said(settings: RoleKillSettings, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        settings.check()


@pytest.mark.process
def test_senseless_flags_are_one_line() -> None:
    done = study("--kills", "0")
    assert done.returncode == 2
    assert "--kills" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(1200)
def test_nothing_is_lost_when_a_node_of_each_role_is_killed(tmp_path: Path) -> None:
    bank, out = write_bank(tmp_path / "bank"), tmp_path / "numbers.json"
    flags = ["--kills", "1", "--bank", str(bank), "--out", str(tmp_path / "study"), "--json", str(out)]
    done = study(*flags, PROOFMESH_CACHE=str(private_cache(tmp_path)))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    assert found["sound"] and {role: each["kills"] for role, each in found["roles"].items()} == dict.fromkeys(ROLES, 1)
    assert all(count >= 1 for count in found["restarts"].values())
    records = found["records"]
    assert records["recorded"] == records["dispatched"] - records["outstanding"] > len(ROLES)
    assert records["outcomes"].keys() <= {"proved", "failed"}, "no fault of the mesh is taken for one of a theorem"
