import sqlite3
import textwrap
from pathlib import Path

import pytest

from common.lean import Context, Place, Theorem
from common.records.database import migrate
from common.records.readers import DATABASE, UnreadableRecords, latest
from common.records.rows import Planned, TheoremRow, Verdict, VerifiedProof
from common.records.schema import MIGRATIONS
from common.records.store import Store
from node.lean.text.script import written
from tests.node.learner.builders import FAILED, planned, result, row

SCRIPT = "  intro h\n  exact ⟨h.2, h.1⟩"
PROVED = Verdict(FAILED.outcome.PROVED, proof=VerifiedProof(SCRIPT, (), ("propext",), "4.35"))


def record(store: Store, plans: list[Planned]) -> None:
    store.dispatch(plans, 1.0)
    for plan in plans:
        store.record(result(plan.attempt), PROVED, now=10.0 + plan.number)


def test_the_newest_proofs_are_read_while_the_learner_writes_and_when_it_has_gone(tmp_path: Path) -> None:
    store = Store(tmp_path / DATABASE)
    store.add_theorems([row("t"), row("u")])
    record(store, [planned(1, "t"), planned(2, "u", "eval"), planned(3, "u", "disprove")])
    during = latest(store.path, 2)
    assert [(number, found.theorem_id, found.purpose, found.time) for number, found in during] == [
        (2, "u", "eval", 12.0),
        (3, "u", "disprove", 13.0),
    ]
    assert during[0][1].simulations == 3
    assert during[0][1].lean == written(row("u").theorem, textwrap.dedent(SCRIPT).split("\n"))
    assert during[1][1].lean.startswith("theorem u_neg : ¬ (∀ (p q : Prop), p ∧ q → q ∧ p) := by\n  intro h")
    store.close()
    names = sorted(each.name for each in tmp_path.iterdir())
    assert latest(store.path, 2) == during and latest(store.path, 5, after=2) == during[1:]
    assert sorted(each.name for each in tmp_path.iterdir()) == names, "something was written"


def test_the_proof_of_a_gap_stands_in_its_command(tmp_path: Path) -> None:
    store = Store(tmp_path / DATABASE)
    place = Place(Context.of("variable (p : Prop)\n"), "theorem gap : p → p := by\n  ", "\n")
    store.add_theorems([TheoremRow(Theorem("t", "", "p → p", place=place), "train", "file", 1)])
    record(store, [planned(1, "t")])
    ((_, found),) = latest(store.path, 5)
    assert found.lean == f"theorem gap : p → p := by\n{SCRIPT}"
    store.close()


def test_a_run_of_an_older_version_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    database = sqlite3.connect(path, isolation_level=None)
    migrate(database, "old", MIGRATIONS[:3])
    database.execute("INSERT INTO theorems VALUES ('t', 'train', '', 'True', '', 'f', 1)")
    database.execute("INSERT INTO attempts VALUES (1, 'a', 't', 'train', 8, NULL, NULL, 1.0)")
    database.execute(
        "INSERT INTO results (attempt_id, prover_id, outcome, message, simulations, expansions, seconds, weights_first,"
        " weights_last, recorded) VALUES ('a', 'p', 'proved', '', 2, 2, 1.0, 1, 1, 5.0)"
    )
    database.execute("INSERT INTO proofs VALUES (1, 'a', 't', 0, '  trivial', '', '4.35')")
    database.close()
    assert latest(path, 5)[0][1].lean == "theorem t : True := by\n  trivial"
    with sqlite3.connect(path) as after:
        assert after.execute("PRAGMA user_version").fetchone() == (3,)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert latest(tmp_path / DATABASE, 5) == []
    (tmp_path / DATABASE).write_text("no database, and long enough to look at" * 100)
    with pytest.raises(UnreadableRecords, match=DATABASE):
        latest(tmp_path / DATABASE, 5)
