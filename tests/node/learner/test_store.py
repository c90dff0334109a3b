"""The rule of the records: recorded = dispatched - outstanding, each id once, whatever happens in whatever order."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from common.lean import Context, Place, Theorem
from common.protocol.attempts import AttemptOutcome, AttemptResult, AttemptStatistics, ResultPart, Transition, divide
from common.protocol.messages import MessageError, encode
from common.records.database import RunDirectoryError, migrate
from common.records.rows import Example, Planned, TheoremRow, Verdict, VerifiedProof, WeightsRow
from common.records.schema import MIGRATIONS, SCHEMA_VERSION
from common.records.store import Store
from tests.node.learner.builders import FAILED, PROVED, planned, proved, result, row


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "proofs.sqlite")
    store.add_theorems([row("t"), row("u"), row("v", "test")])
    return store


def test_an_attempt_is_outstanding_until_its_result_is_recorded(store: Store) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    assert store.open_attempt("run-1") == plan.attempt and store.outstanding() == {"train": 1}
    assert store.record(result(plan.attempt), PROVED, now=2.0)
    assert store.open_attempt("run-1") is None and store.outstanding() == {}
    assert store.ids() == ({"run-1"}, set(), {"run-1"})
    assert store.audit().sound


def test_the_first_result_wins_and_a_second_changes_nothing(store: Store) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    assert store.record(result(plan.attempt, "failed"), FAILED, now=2.0)
    before = store.counts()
    assert not store.record(result(plan.attempt, prover="prover-b"), PROVED, now=3.0)
    assert store.counts() == before and before["transitions"] == 0


def test_a_result_of_an_unknown_attempt_is_not_recorded(store: Store) -> None:
    assert not store.record(result(planned(7).attempt), PROVED, now=1.0)
    assert store.counts()["results"] == 0 and store.audit().sound


def test_only_verified_proofs_leave_a_proof_and_transitions(store: Store) -> None:
    plans = [planned(1), planned(2, "u")]
    store.dispatch(plans, now=1.0)
    store.record(result(plans[0].attempt), Verdict(AttemptOutcome.REJECTED, "uses sorryAx"), now=2.0)
    store.record(result(plans[1].attempt), proved(transitions=3), now=2.0)
    counts = store.counts()
    assert (counts["train:rejected"], counts["train:proved"], counts["proofs"], counts["transitions"]) == (1, 1, 1, 3)


def test_proofs_of_test_statements_never_leave_transitions(store: Store) -> None:
    evaluation = store.begin_evaluation("before", weights=1, simulations=16, now=1.0)
    plan = planned(1, "v", "eval", evaluation)
    store.dispatch([plan], now=1.0)
    store.record(result(plan.attempt), PROVED, now=2.0)
    assert store.counts()["proofs"] == 1 and store.examples() == []
    assert store.evaluated(evaluation) == {"v": ["proved"]}


def test_parts_are_reassembled_in_any_order_and_when_they_come_twice(store: Store) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    whole = msgspec.structs.replace(result(plan.attempt), message="x" * 5_000)
    first, second, third = parts_of(whole)
    others = (
        msgspec.structs.replace(second, prover_id="prover-b"),
        msgspec.structs.replace(second, digest="of another play"),
        msgspec.structs.replace(second, parts=4),
    )
    for part in (third, *others, third, first):
        assert store.keep_part(part) is None
    assert store.keep_part(second) == whole
    assert store.record(whole, PROVED, now=2.0)
    assert store.record(whole, PROVED, now=2.0) is False
    assert sqlite3.connect(store.path).execute("SELECT COUNT(*) FROM parts").fetchone() == (0,)


def parts_of(whole: AttemptResult) -> list[ResultPart]:
    """The result in parts of about two kilobytes."""
    return [part for part in divide(whole, 2_900) if isinstance(part, ResultPart)]


def test_parts_that_make_no_result_are_refused_and_forgotten(store: Store) -> None:
    plan, other = planned(1), planned(2)
    store.dispatch([plan, other], now=1.0)
    long = {"message": "x" * 5_000}
    first, second, third = parts_of(msgspec.structs.replace(result(plan.attempt), **long))
    foreign = parts_of(msgspec.structs.replace(result(other.attempt), **long))
    as_ours = [msgspec.structs.replace(part, attempt_id=plan.attempt.attempt_id) for part in foreign]
    damaged = msgspec.structs.replace(second, payload=second.payload[:-1])
    for parts in ([first, damaged, third], as_ours):
        assert [store.keep_part(part) for part in parts[:-1]] == [None, None]
        with pytest.raises(MessageError):
            store.keep_part(parts[-1])
        assert sqlite3.connect(store.path).execute("SELECT COUNT(*) FROM parts").fetchone() == (0,)


def test_an_attempt_that_an_older_version_dispatched_is_still_ours(store: Store) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    older = msgspec.msgpack.encode(msgspec.structs.replace(plan.attempt, v=1))
    store._db.execute("UPDATE outbox SET payload = ?", (older,))
    assert store.open_attempt("run-1") == plan.attempt
    assert store.unpublished(10) == [(plan.attempt, 0)]


def test_a_file_with_parts_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, "x", MIGRATIONS[:1])
    db.execute("INSERT INTO parts VALUES ('run-1', 'p', 0, 2, x'00')")
    db.close()
    plan = planned(1)
    whole = msgspec.structs.replace(result(plan.attempt), message="x" * 5_000)
    assert [Store(path).keep_part(part) for part in parts_of(whole)][-1] == whole


def test_the_outbox_gives_what_was_not_published_and_all_of_it_after_a_restart(store: Store) -> None:
    plans = [planned(number) for number in (1, 2, 3)]
    store.dispatch(plans, now=1.0)
    store.published(["run-1", "run-2"], now=1.5)
    assert [attempt.attempt_id for attempt, _ in store.unpublished(10)] == ["run-3"]
    store.record(result(plans[0].attempt, "failed"), FAILED, now=2.0)
    again = Store(store.path)
    assert again.publish_again() == 2
    assert [(attempt.attempt_id, tries) for attempt, tries in again.unpublished(10)] == [("run-2", 1), ("run-3", 0)]
    assert again.unpublished(10)[0][0] == plans[1].attempt
    assert again.next_number() == 4


def test_evaluations_and_weights_are_kept(store: Store) -> None:
    first = store.begin_evaluation("before", 3, 16, now=1.0)
    assert store.begin_evaluation("before", 9, 99, now=2.0) == first
    row = store.evaluation("before")
    assert row is not None and (row.weights, row.simulations, row.finished) == (3, 16, None)
    store.finish_evaluation(first, now=5.0)
    found = store.evaluation("before")
    assert found is not None and found.finished == 5.0 and store.evaluation("after") is None
    store.add_weights(WeightsRow(1, 100, "d", "weights-1"), now=1.0)
    assert store.weights() == [WeightsRow(1, 100, "d", "weights-1")]


def test_notes_survive_a_restart(store: Store) -> None:
    store.note("progress", {"phase": "rl", "worked": 1.5})
    assert Store(store.path).noted("progress") == {"phase": "rl", "worked": 1.5}
    assert store.noted("nothing", 3) == 3


def test_a_full_disk_is_said_clearly_and_loses_nothing(store: Store) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    store._db.execute(f"PRAGMA max_page_count = {store._db.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(RunDirectoryError, match=r"full.*free some space"):
        store.record(result(plan.attempt), proved(transitions=2000), now=2.0)
    assert store.ids() == ({"run-1"}, {"run-1"}, set())
    store._db.execute("PRAGMA max_page_count = 100000")
    assert store.record(result(plan.attempt), proved(transitions=2000), now=2.0)
    assert store.counts()["transitions"] == 2000


def test_a_read_only_database_is_said_clearly(store: Store) -> None:
    store._db.execute("PRAGMA query_only = 1")
    with pytest.raises(RunDirectoryError, match=r"readonly.*writable"):
        store.dispatch([planned(1)], now=1.0)


def test_a_file_that_is_no_database_is_said_clearly(tmp_path: Path) -> None:
    path = tmp_path / "proofs.sqlite"
    path.write_bytes(b"not a database at all, but long enough to look at" * 100)
    with pytest.raises(RunDirectoryError, match="damaged"):
        Store(path)


def test_a_file_of_a_newer_version_is_refused(store: Store) -> None:
    store._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(RunDirectoryError, match="schema version"):
        Store(store.path)


def test_a_migration_that_fails_leaves_the_old_schema(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
    migrate(db, "x", ("CREATE TABLE a (n INTEGER);",))
    db.execute("INSERT INTO a VALUES (1)")
    with pytest.raises(sqlite3.OperationalError):
        migrate(db, "x", ("", "ALTER TABLE a ADD COLUMN m INTEGER; ALTER TABLE nothing ADD COLUMN m INTEGER;"))
    db.close()
    db = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
    assert migrate(db, "x", ("", "ALTER TABLE a ADD COLUMN m INTEGER;")) == 1
    assert db.execute("SELECT n, m FROM a").fetchall() == [(1, None)]


def test_a_database_of_an_earlier_version_keeps_its_rows_and_takes_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "proofs.sqlite"
    db = sqlite3.connect(path, isolation_level=None)
    migrate(db, "x", MIGRATIONS[:1])
    db.execute("INSERT INTO theorems VALUES ('t', 'train', '', 'True', '', 'logic', 1)")
    for number in (1, 2):
        plan = planned(number)
        db.execute(
            "INSERT INTO attempts VALUES (?, ?, 't', 'train', 16, NULL, NULL, 0.0)", (number, plan.attempt.attempt_id)
        )
    db.execute("INSERT INTO results VALUES ('run-1', 'prover-a', 'failed', '', 3, 2, 0.5, 1, 1, 9.0)")
    db.execute("INSERT INTO outbox (attempt_id, payload) VALUES ('run-2', ?)", (encode(planned(2).attempt),))
    db.close()
    store = Store(path)
    assert store.audit().sound and store.ids() == ({"run-1", "run-2"}, {"run-2"}, {"run-1"})
    old = store.costs()["train"]
    assert (old["attempts"], old["simulations"], old["seconds"], old["nodes"], old["seconds_lean"]) == (1, 3, 0.5, 0, 0)
    assert store.record(result(planned(2).attempt, "failed"), FAILED, now=10.0)
    assert store.costs()["train"]["attempts"] == 2


def test_what_an_attempt_has_cost_is_kept(store: Store) -> None:
    plans = [planned(1), planned(2, "u"), planned(3, "v", "eval")]
    store.dispatch(plans, now=1.0)
    statistics = AttemptStatistics(
        simulations=5,
        expansions=4,
        nodes=9,
        tactics_tried=24,
        tactics_failed=11,
        seconds=3.0,
        seconds_policy=1.5,
        seconds_lean=2.25,
        lean_attempts=23,
        tokens=180,
    )
    for plan in plans:
        whole = msgspec.structs.replace(result(plan.attempt, "failed"), statistics=statistics)
        store.record(whole, FAILED, now=2.0)
    costs = store.costs()
    assert costs["eval"] == {
        "attempts": 1,
        "simulations": 5,
        "expansions": 4,
        "expansions_lost": 0,
        "nodes": 9,
        "tactics_tried": 24,
        "tactics_failed": 11,
        "seconds": 3.0,
        "seconds_policy": 1.5,
        "seconds_lean": 2.25,
        "lean_attempts": 23,
        "tokens": 180,
    }
    assert costs["train"] == {name: 2 * value for name, value in costs["eval"].items()}


class Records(RuleBasedStateMachine):
    """Dispatch, publish, results, duplicates, crashes (a new Store on the file), in any order."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.store = self._open()
        self.store.add_theorems([row("t")])
        self.open: dict[str, object] = {}
        self.done: dict[str, str] = {}
        self.number = 0

    def _open(self) -> Store:
        store = Store(Path(self.folder.name) / "proofs.sqlite")
        store._db.execute("PRAGMA synchronous = OFF")  # the kernel survives this test; fsync would only slow it
        return store

    @rule(count=st.integers(1, 4))
    def dispatch(self, count: int) -> None:
        plans = [planned(self.number + 1 + index) for index in range(count)]
        self.store.dispatch(plans, now=0.0)
        self.number += count
        self.open |= {plan.attempt.attempt_id: plan.attempt for plan in plans}

    @precondition(lambda self: self.open)
    @rule(data=st.data(), outcome=st.sampled_from(["proved", "failed", "rejected", "error"]))
    def receive(self, data: st.DataObject, outcome: str) -> None:
        attempt_id = data.draw(st.sampled_from(sorted(self.open)))
        attempt = self.open.pop(attempt_id)
        claimed = "proved" if outcome in ("proved", "rejected") else outcome
        verdict = PROVED if outcome == "proved" else Verdict(AttemptOutcome(outcome))
        assert self.store.record(result(attempt, claimed), verdict, now=0.0)  # type: ignore[arg-type]
        self.done[attempt_id] = outcome

    @precondition(lambda self: self.done)
    @rule(data=st.data())
    def receive_again(self, data: st.DataObject) -> None:
        attempt_id = data.draw(st.sampled_from(sorted(self.done)))
        attempt = planned(int(attempt_id.split("-")[1])).attempt
        assert not self.store.record(result(attempt, prover="late"), PROVED, now=0.0)

    @rule()
    def publish(self) -> None:
        self.store.published([attempt.attempt_id for attempt, _ in self.store.unpublished(3)], now=0.0)

    @rule()
    def crash(self) -> None:
        self.store.close()
        self.store = self._open()
        assert self.store.publish_again() == len(self.open)

    @rule()
    def crash_inside_a_transaction(self) -> None:
        """What a kill leaves of an open transaction: nothing."""
        plan = planned(self.number + 1)
        try:
            self.store.dispatch([plan, plan], now=0.0)  # the second insert fails
        except RunDirectoryError:
            return
        raise AssertionError("an attempt was dispatched twice")

    @invariant()
    def sound(self) -> None:
        audit = self.store.audit()
        assert audit.sound, audit
        dispatched, outstanding, recorded = self.store.ids()
        assert outstanding == set(self.open) and recorded == set(self.done)
        assert dispatched == outstanding | recorded and len(dispatched) == self.number

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestRecords = Records.TestCase
TestRecords.settings = settings(
    max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_a_theorem_in_a_file_is_known_again_after_a_restart(tmp_path: Path) -> None:
    context = Context.of("def double (n : Nat) : Nat := n + n\n" * 50)
    place = Place(context, "theorem a : double 1 = 2 := ", "\n", tactic=False)
    in_file = TheoremRow(Theorem("a", "", "double 1 = 2", place=place), "train", "file", 1)
    other = TheoremRow(msgspec.structs.replace(in_file.theorem, name="b"), "test", "file", 2)
    alone = row("c")
    store = Store(tmp_path / "proofs.sqlite")
    store.add_theorems([in_file, other, alone])
    plan = planned(1, "a")
    attempt = msgspec.structs.replace(plan.attempt, theorem=in_file.theorem)
    store.dispatch([Planned(1, attempt)], now=1.0)
    store.close()
    again = Store(tmp_path / "proofs.sqlite")
    assert [again.theorem(name) for name in ("a", "b", "c", "d")] == [in_file, other, alone, None]
    assert again.open_attempt(attempt.attempt_id) == attempt
    assert again._rows("SELECT COUNT(*) FROM contexts") == [(1,)]


def test_a_run_of_an_earlier_version_keeps_its_theorems(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "proofs.sqlite", isolation_level=None)
    migrate(connection, "proofs.sqlite", MIGRATIONS[:3])
    connection.execute("INSERT INTO theorems VALUES ('t', 'train', '', 'True', 'open Nat', 'f', 1)")
    connection.close()
    store = Store(tmp_path / "proofs.sqlite")
    assert store.theorem("t") == TheoremRow(Theorem("t", "", "True", "open Nat"), "train", "f", 1)


def test_failed_tactics_are_kept_and_transitions_from_before_have_none(tmp_path: Path) -> None:
    path = tmp_path / "proofs.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, "proofs.sqlite", MIGRATIONS[:6])
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("INSERT INTO transitions VALUES (1, 'run-0', '⊢ p', 'rfl', 2)")
    connection.close()
    store = Store(path)
    store.add_theorems([row("t")])
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    failed = Transition("⊢ q", "rfl", 1, ("simp [h']", 'exact "x"'))
    verdict = Verdict(AttemptOutcome.PROVED, proof=VerifiedProof("  rfl", (failed,)))
    assert store.record(result(plan.attempt), verdict, now=2.0)
    assert store.examples() == [Example(1, Transition("⊢ p", "rfl", 2)), Example(2, failed)]
    store.close()
