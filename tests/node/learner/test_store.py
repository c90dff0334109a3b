"""The rule of the records: recorded = dispatched - outstanding, each id once, whatever happens in whatever order; and
the statistics of theorems tell what the results tell, whichever way they came about."""

import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from common.lean import Context, Place, TacticRule, Theorem
from common.protocol import attempts
from common.protocol.messages import MessageError, encode
from common.records.database import RunDirectoryError, migrate
from common.records.rows import Example, Planned, Recent, Standing, TheoremRow, Verdict, VerifiedProof, learn
from common.records.schema import MIGRATIONS, SCHEMA_VERSION
from common.records.store import Store
from tests.node.learner.builders import FAILED, PROVED, planned, result, row

BEFORE_STATISTICS = 5
"""The last schema version without the table `theorem_statistics`."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "proofs.sqlite")
    store.add_theorems([row("t"), row("u"), row("v", "test")])
    return store


def test_parts_are_reassembled_in_any_order_and_when_they_come_twice(store: Store) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    whole = msgspec.structs.replace(result(plan.attempt), message="x" * 5_000)
    first, second, third = parts_of(whole)
    changes = ({"prover_id": "prover-b"}, {"digest": "of another play"}, {"parts": 4})
    others = [msgspec.structs.replace(second, **change) for change in changes]
    for part in (third, *others, third, first):
        assert store.keep_part(part) is None
    assert store.keep_part(second) == whole
    assert [store.record(whole, PROVED, now=2.0) for _ in range(2)] == [True, False]
    assert sqlite3.connect(store.path).execute("SELECT COUNT(*) FROM parts").fetchone() == (0,)


def parts_of(whole: attempts.AttemptResult) -> list[attempts.ResultPart]:
    """The result in parts of about two kilobytes."""
    return [part for part in attempts.divide(whole, 2_910) if isinstance(part, attempts.ResultPart)]


def test_parts_of_endless_results_fill_no_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(1)
    store.dispatch([plan], now=1.0)
    first, *_ = parts_of(msgspec.structs.replace(result(plan.attempt), message="x" * 5_000))
    monkeypatch.setattr("common.records.store.MAX_PARTS", 2)
    monkeypatch.setattr("common.protocol.attempts.MAX_PARTS", 2)
    others = [msgspec.structs.replace(first, digest=f"{number:032x}") for number in range(5)]
    for keep in (store.keep_part, attempts.PartialResults().add):
        assert [keep(part) for part in others[:4]] == [None] * 4
        with pytest.raises(MessageError, match="parts of many results"):
            keep(others[4])
        assert keep(others[4]) is None, "it begins anew"


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
    assert store.open_attempt("run-1") == plan.attempt and store.unpublished(10) == [(plan.attempt, 0)]


def test_the_outbox_gives_what_was_not_published_and_all_of_it_after_a_restart(store: Store) -> None:
    plans = [planned(number) for number in (1, 2, 3)]
    store.dispatch(plans, now=1.0)
    store.published(["run-1", "run-2"], now=1.5)
    assert [attempt.attempt_id for attempt, _ in store.unpublished(10)] == ["run-3"]
    store.record(result(plans[0].attempt, "failed"), FAILED, now=2.0)
    again = Store(store.path)
    assert again.publish_again() == 2
    assert [(attempt.attempt_id, tries) for attempt, tries in again.unpublished(10)] == [("run-2", 1), ("run-3", 0)]
    assert again.unpublished(10)[0][0] == plans[1].attempt and again.next_number() == 4


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
    db.execute("INSERT INTO transitions VALUES (1, 'run-1', '⊢ p', 'rfl', 2)")
    db.execute("INSERT INTO outbox (attempt_id, payload) VALUES ('run-2', ?)", (encode(planned(2).attempt),))
    db.close()
    store = Store(path)
    audit = store.audit()
    assert audit.sound and (audit.dispatched, audit.outstanding, audit.recorded) == (2, 1, 1)
    old = store.costs()["train"]
    assert (old["attempts"], old["simulations"], old["seconds"], old["nodes"], old["seconds_lean"]) == (1, 3, 0.5, 0, 0)
    new = attempts.Transition("⊢ q", "rfl", 1)
    verdict = Verdict(attempts.AttemptOutcome.PROVED, proof=VerifiedProof("  rfl", (new,)))
    assert store.record(result(planned(2).attempt), verdict, now=10.0)
    assert store.costs()["train"]["attempts"] == 2
    assert store.examples() == [Example(1, attempts.Transition("⊢ p", "rfl", 2)), Example(2, new)]


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
        verdict = PROVED if outcome == "proved" else Verdict(attempts.AttemptOutcome(outcome))
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
        counts = (self.number, len(self.open), len(self.done))
        assert (audit.dispatched, audit.outstanding, audit.recorded) == counts

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestRecords = Records.TestCase
TestRecords.settings = settings(
    max_examples=10,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_a_theorem_in_a_file_is_known_again_after_a_restart_and_its_rule_for_tactics_may_change(tmp_path: Path) -> None:
    context = Context.of("def double (n : Nat) : Nat := n + n\n" * 50)
    place = Place(context, "theorem a : double 1 = 2 := ", "\n", tactic=False)
    in_file = TheoremRow(Theorem("a", "", "double 1 = 2", place=place), "train", "file", 1)
    other = TheoremRow(msgspec.structs.replace(in_file.theorem, name="b"), "test", "file", 2)
    alone = row("c")
    store = Store(tmp_path / "proofs.sqlite")
    store.add_theorems([in_file, other, alone])
    attempt = msgspec.structs.replace(planned(1, "a").attempt, theorem=in_file.theorem)
    store.dispatch([Planned(1, attempt)], now=1.0)
    store.close()
    again = Store(tmp_path / "proofs.sqlite")
    assert [again.theorem(name) for name in ("a", "b", "c", "d")] == [in_file, other, alone, None]
    assert again.open_attempt(attempt.attempt_id) == attempt
    assert again._rows("SELECT COUNT(*) FROM contexts") == [(1,)]
    ruled = row("t")
    ruled = replace(ruled, theorem=msgspec.structs.replace(ruled.theorem, rule=TacticRule(("rw",), ("simp",))))
    for each in (row("t"), ruled):
        store = Store(tmp_path / "proofs.sqlite")
        store.add_theorems([each, row("u")])
        assert [store.theorem("t"), store.theorem("u")] == [each, row("u")]
        store.close()


def test_records_that_cannot_be_opened_are_said_clearly(store: Store) -> None:
    store.close()
    with sqlite3.connect(store.path) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(RunDirectoryError, match="schema version"):
        Store(store.path)
    other = store.path.with_name("other.sqlite")
    other.write_bytes(b"not a database at all, but long enough to look at" * 100)
    with pytest.raises(RunDirectoryError, match="damaged"):
        Store(other)


OUTCOMES = ["proved"] * 4 + ["failed"] * 4 + ["rejected", "error", "undecided", "bad-statement"]


def verdict(outcome: str, steps: int) -> Verdict:
    if outcome != "proved":
        return Verdict(attempts.AttemptOutcome(outcome))
    told = tuple(attempts.Transition(f"⊢ {left}", "rfl", left) for left in range(steps, 0, -1))
    return Verdict(attempts.AttemptOutcome.PROVED, proof=VerifiedProof("  rfl", told, (), "4.35"))


def play(store: Store, seed: int) -> dict[str, Standing]:
    """Dispatch and record attempts of all kinds in any order; what is known of theorems by them."""
    generator = random.Random(seed)
    names = [f"t{index}" for index in range(8)]
    store.add_theorems(row(name) for name in names)
    kinds = ["train", "train", "disprove", "eval"]
    plans = [planned(n, generator.choice(names[:6]), generator.choice(kinds)) for n in range(1, 90)]
    store.dispatch(plans, now=1.0)
    generator.shuffle(plans)
    known: dict[str, Standing] = {}
    for weights, plan in enumerate(plans[:80]):
        outcome, attempt = generator.choice(OUTCOMES), plan.attempt
        spent = attempts.AttemptStatistics(weights_last=weights, expansions=generator.randrange(9), lean_attempts=7)
        came = msgspec.structs.replace(result(attempt, "failed"), statistics=spent)
        assert store.record(came, verdict(outcome, generator.randrange(4)), now=2.0)
        if attempt.purpose != "eval":
            learn(known.setdefault(attempt.theorem_id, Standing()), attempt.purpose == "disprove", outcome)
    return known


def table(path: Path) -> list[tuple[object, ...]]:
    return sqlite3.connect(path).execute("SELECT * FROM theorem_statistics ORDER BY theorem_id").fetchall()


@pytest.mark.parametrize("seed", range(2))
def test_recorded_results_leave_what_the_matchmaker_learns_from_them(tmp_path: Path, seed: int) -> None:
    store = Store(tmp_path / "proofs.sqlite")
    assert play(store, seed) == store.standings()


def test_a_run_of_an_earlier_version_has_the_same_statistics_filled_from_its_history(tmp_path: Path) -> None:
    path = tmp_path / "proofs.sqlite"
    store = Store(path)
    play(store, seed=1)
    store.close()
    kept = table(path)
    assert len(kept) == 6
    later = (("transitions", "failed"), ("proofs", "default_header"), ("transitions", "weight"), ("theorems", "rule"))
    with sqlite3.connect(path) as database:
        for name in ("theorem_statistics", "states_off_proof", "timelines"):
            database.execute(f"DROP TABLE {name}")
        for name, column in later:  # came with later versions
            database.execute(f"ALTER TABLE {name} DROP COLUMN {column}")
        database.execute(f"PRAGMA user_version = {BEFORE_STATISTICS}")
    database.close()
    assert "theorem_statistics" not in "".join(MIGRATIONS[:BEFORE_STATISTICS])
    Store(path).close()
    assert table(path) == kept


def test_costs_and_the_shortest_proof_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "proofs.sqlite")
    store.add_theorems([row("t")])
    plans = [planned(1), planned(2), planned(3), planned(4, "t", "disprove"), planned(5)]
    store.dispatch(plans, now=1.0)
    told = [("failed", 0), ("proved", 5), ("proved", 3), ("undecided", 0)]
    for weights, (plan, (outcome, steps)) in enumerate(zip(plans, told, strict=False), start=1):
        spent = attempts.AttemptStatistics(weights_last=weights, expansions=10, lean_attempts=30)
        came = msgspec.structs.replace(result(plan.attempt, "failed"), statistics=spent)
        store.record(came, verdict(outcome, steps), now=2.0)
    #       attempts, failures, tries, proofs, disproved, refused, in a row, shortest, budget, weights, costs
    assert table(store.path) == [("t", 3, 1, 3, 2, 0, 0, 2, 3, 16, 4, 40, 120)]
    assert store.outstanding_theorems() == ["t"] and store.recent(2) == [Recent("t", True), Recent("t", True)]
    assert store.recent(9) == [Recent("t", False), Recent("t", True), Recent("t", True)]
