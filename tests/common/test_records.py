import random
import sqlite3
import textwrap
import zlib
from pathlib import Path

import msgspec
import pytest

from common.lean import Context, Place, Theorem
from common.protocol.attempts import AttemptOutcome, AttemptResult, AttemptStatistics, KeptSearch, unplayed
from common.records import searches
from common.records.database import migrate
from common.records.readers import DATABASE, UnreadableRecords, latest
from common.records.rows import Planned, TheoremRow, Verdict, VerifiedProof
from common.records.schema import MIGRATIONS
from common.records.searches import BadSearch, KeptSearches, SearchState, SearchTree, kept_rows, packed, unpacked
from common.records.store import Store
from node.lean.text.script import written
from tests.message_values import attempt as new_attempt
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
    told = [(number, found.theorem_id, found.purpose, found.time) for number, found in during]
    assert told == [(2, "u", "eval", 12.0), (3, "u", "disprove", 13.0)] and during[0][1].simulations == 3
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
    given = "attempt_id, prover_id, outcome, message, simulations, expansions, seconds, weights_first, weights_last"
    database.execute(f"INSERT INTO results ({given}, recorded) VALUES ('a', 'p', 'proved', '', 2, 2, 1.0, 1, 1, 5.0)")
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


LEAF = SearchState(1, "⊢ b", 1, 0, 0.0, 0, 0, "intro")
ROOT = SearchState(0, "⊢ a", 0, 1, -2.0, 1, None, tactics=(searches.TakenTactic("intro", 1.0, 0, None, (1,)),))
TREE = SearchTree("theorem t : a", 1, 2, 1, (ROOT, LEAF))


def kept(store: KeptSearches, name: str, *, solved_at: int = 0, left: float = 9.0, asked: bool = True) -> None:
    """Keep the search of an attempt with a budget of 10 simulations: 1,000 bytes that do not compress."""
    attempt = new_attempt(name, theorem_id=f"of-{name}", simulations=10, keep_search=asked)
    outcome = AttemptOutcome.PROVED if solved_at else AttemptOutcome.FAILED
    result: AttemptResult = msgspec.structs.replace(
        unplayed(attempt, "prover-a", outcome, ""),
        statistics=AttemptStatistics(simulations=10, solved_at_simulations=solved_at),
        search=KeptSearch(random.Random(name).randbytes(1000), left),
    )
    store.keep(attempt, result, outcome)


def test_late_proofs_and_near_misses_stay_when_there_is_no_room(tmp_path: Path) -> None:
    store = KeptSearches(tmp_path, 4000)
    kept(store, "not-asked", solved_at=10, asked=False)
    kept(store, "late", solved_at=10)
    kept(store, "near", left=1.0)
    for number in range(5):
        kept(store, f"early-{number}", solved_at=1)
    kept(store, "lost", left=100.0)
    assert [each.attempt_id for each in kept_rows(tmp_path, 9)] == ["near", "late", "early-4", "early-3"]
    kept(store, "late", solved_at=1)  # a result that comes twice counts once
    assert [each.interest for each in kept_rows(tmp_path, 9, "late")] == [1.0]
    with pytest.raises(BadSearch, match=r"near.*cannot be read"):
        searches.kept_search(tmp_path, "of-near")
    with pytest.raises(BadSearch, match="no search of 'lost'"):
        searches.kept_search(tmp_path, "lost")
    store.close()


def test_a_tree_that_is_too_large_loses_messages_then_failed_tactics_then_all() -> None:
    assert unpacked("t", packed([TREE])) == (TREE,)

    def sized(state: int, message: int, count: int) -> SearchTree:
        noise = random.Random(1)
        failed = tuple(searches.FailedTactic("simp", "error", noise.randbytes(message).hex()) for _ in range(count))
        root = msgspec.structs.replace(ROOT, state=noise.randbytes(state).hex(), failed=failed)
        return msgspec.structs.replace(TREE, states=(root, LEAF))

    most = 2**16
    cases = {(10, 3000, 20): {2001}, (10, 3000, 250): {201}, (most // 2, 9, 1): {18}, (10, 99, 4000): set()}
    for size, lengths in cases.items():
        (found,) = unpacked("t", packed([sized(*size)], most))
        assert {len(each.message) for each in found.states[0].failed} == lengths
    assert packed([sized(2 * most, 9, 1)], most) == b""


@pytest.mark.parametrize(
    "trees",
    [
        b"no zlib",
        zlib.compress(b"no msgpack"),
        zlib.compress(msgspec.msgpack.encode([1])),
        zlib.compress(b"\xdd\xff\xff\xff\xff"),
        zlib.compress(bytes(2**21)),
        packed([msgspec.structs.replace(TREE, states=(ROOT,))]),
        packed([msgspec.structs.replace(TREE, states=(msgspec.structs.replace(ROOT, parent=0), LEAF))]),
        packed([msgspec.structs.replace(TREE, states=(msgspec.structs.replace(ROOT, best=1), LEAF))]),
        packed([msgspec.structs.replace(TREE, states=(LEAF, ROOT))]),
    ],
)
def test_a_search_that_a_prover_made_up_is_refused_when_read(trees: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "MOST_UNPACKED", 2**20)
    with pytest.raises(BadSearch, match="of-t: the search"):
        unpacked("of-t", trees)
