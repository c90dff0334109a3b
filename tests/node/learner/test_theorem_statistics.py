"""The statistics of theorems tell what the results tell, whichever way they came about."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import msgspec
import pytest

from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Transition
from common.records.rows import Recent, Standing, Verdict, VerifiedProof, learn
from common.records.schema import BEFORE_STATISTICS, MIGRATIONS
from common.records.store import Store
from tests.node.learner.builders import planned, result, row

OUTCOMES = ["proved"] * 4 + ["failed"] * 4 + ["rejected", "error", "undecided", "bad-statement"]


def verdict(outcome: str, steps: int) -> Verdict:
    if outcome != "proved":
        return Verdict(AttemptOutcome(outcome))
    told = tuple(Transition(f"⊢ {left}", "rfl", left) for left in range(steps, 0, -1))
    return Verdict(AttemptOutcome.PROVED, proof=VerifiedProof("  rfl", told, (), "4.35"))


def play(store: Store, seed: int) -> dict[str, Standing]:
    """Dispatch and record attempts of all kinds in any order; what is known of theorems by them."""
    generator = random.Random(seed)
    names = [f"t{index}" for index in range(8)]
    store.add_theorems(row(name) for name in names)
    plans = [
        planned(number, generator.choice(names[:6]), generator.choice(["train", "train", "disprove", "eval"]))
        for number in range(1, 90)
    ]
    store.dispatch(plans, now=1.0)
    generator.shuffle(plans)
    known: dict[str, Standing] = {}
    for weights, plan in enumerate(plans[:80]):
        outcome, attempt = generator.choice(OUTCOMES), plan.attempt
        spent = AttemptStatistics(weights_last=weights, expansions=generator.randrange(9), lean_attempts=7)
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
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE theorem_statistics")
        database.execute("ALTER TABLE transitions DROP COLUMN failed")  # came with later versions
        database.execute("ALTER TABLE proofs DROP COLUMN default_header")
        database.execute("ALTER TABLE transitions DROP COLUMN weight")
        database.execute("ALTER TABLE theorems DROP COLUMN rule")
        database.execute("DROP TABLE states_off_proof")
        database.execute("DROP TABLE timelines")
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
        spent = AttemptStatistics(weights_last=weights, expansions=10, lean_attempts=30)
        came = msgspec.structs.replace(result(plan.attempt, "failed"), statistics=spent)
        store.record(came, verdict(outcome, steps), now=2.0)
    #       attempts, failures, tries, proofs, disproved, refused, in a row, shortest, budget, weights, costs
    assert table(store.path) == [("t", 3, 1, 3, 2, 0, 0, 2, 3, 16, 4, 40, 120)]
    assert store.outstanding_theorems() == ["t"]
    assert store.recent(2) == [Recent("t", True), Recent("t", True)]
    assert store.recent(9) == [Recent("t", False), Recent("t", True), Recent("t", True)]
