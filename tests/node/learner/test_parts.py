"""Small pure parts of the learner: plateau, held-out theorems, evaluation bookkeeping, totals of the mesh."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.messages import Heartbeat
from node.bank.bank import BankTransition
from node.learner import data, summary
from node.learner.errors import DataError
from node.learner.evaluator import needs_attempt, solved_by
from node.learner.settings import LearnerSettings
from node.learner.warm_start import Plateau, key
from tests.node.learner.builders import row, write_bank


def test_a_plateau_is_reached_after_some_measurements_without_gain() -> None:
    plateau = Plateau(patience=2, least_gain=0.01)
    for loss in (5.0, 4.0, 3.0, 2.99):
        plateau = plateau.see(loss)
    assert not plateau.reached and plateau.stale == 1
    assert plateau.see(2.98).reached
    assert not plateau.see(2.5).reached and plateau.see(2.5).stale == 0


def test_the_same_theorems_are_held_out_everywhere() -> None:
    rows = [BankTransition(f"t{index % 50}", 1, "f", f"s{index}", "rfl", 1) for index in range(500)]
    trained, held_out = data.split_held_out(rows)
    assert len(trained) + len(held_out) == 500 and 0 < len(held_out) < 150
    assert data.split_held_out(rows[:1]) in (([trained[0]], []), ([], [held_out[0]]))


def test_a_warm_start_can_use_a_share_of_the_theorems_and_is_measured_on_the_same_ones() -> None:
    rows = [BankTransition(f"t{index % 200}", 1, "f", f"s{index}", f"rw [h{index % 200}]", 1) for index in range(2000)]
    whole, held_out = data.split_held_out(rows)
    part, same = data.split_held_out(rows, 0.4)
    assert same == held_out
    assert 0.25 < len(part) / len(whole) < 0.55
    assert {each.state for each in part} < {each.state for each in whole}
    tactics = {each.tactic for each in part}
    assert len(part) == 10 * len(tactics), "a theorem is used with all its steps or not at all"
    assert data.split_held_out(rows, 0.0)[0] == []


def test_a_test_statement_among_the_train_statements_is_refused(tmp_path: Path) -> None:
    bank = write_bank(tmp_path / "bank")
    (bank / "test.jsonl.gz").write_bytes((bank / "train.jsonl.gz").read_bytes())
    with pytest.raises(DataError, match="24 train statements are test statements too"):
        data.load(LearnerSettings(bank=str(bank)), tmp_path / "segments")


def test_a_missing_bank_is_said_clearly(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        data.load(LearnerSettings(bank=str(tmp_path)), tmp_path / "segments")


def test_a_warm_start_is_named_by_all_it_depends_on(tmp_path: Path) -> None:
    settings = LearnerSettings(bank=str(write_bank(tmp_path / "bank")))
    loaded = data.load(settings, tmp_path / "segments")
    first = key(settings, loaded)
    settings.trainer.ranks, settings.trainer.threads = 2, 7
    assert key(settings, loaded) == first
    settings.trainer.batch += 1
    second = key(settings, loaded)
    settings.seed += 1
    assert len({first, second, key(settings, loaded)}) == 3


@pytest.mark.parametrize(
    ("attempts", "needed"),
    [
        ([], True),
        ([None], False),
        (["failed"], False),
        (["proved"], False),
        (["error"], True),
        (["error", "poisoned"], True),
        (["error", None], False),
        (["error", "error", "error"], False),
    ],
)
def test_a_statement_is_tried_again_only_when_infrastructure_failed(attempts: list[str | None], needed: bool) -> None:
    assert needs_attempt(attempts, retries=2) is needed


def test_a_statement_is_solved_by_a_verified_proof_alone() -> None:
    assert solved_by({"a": ["proved"], "b": ["rejected"], "c": ["error", "proved"], "d": [None]}) == {
        "a": True,
        "b": False,
        "c": True,
        "d": False,
    }


def test_counts_of_other_processes_are_kept_when_they_have_gone() -> None:
    totals: summary.Totals = {}

    def beat(node: str, role: str, **values: float) -> None:
        summary.hear(totals, Heartbeat(node_id=node, role=role, time=0.0, state="running", values=values))

    beat("p1", "prover", roots_solved=3, searches=8)
    beat("p1", "prover", roots_solved=5)
    beat("p2", "prover", roots_solved=2)
    beat("p1", "prover", roots_solved=4)  # a late heartbeat
    beat("l1", "lean-proxy", proofs_accepted=7, proofs_rejected=1)
    beat("u1", "ui", roots_solved=100)
    assert summary.mesh_totals(totals) == {
        "prover.roots_solved": 7,
        "lean-proxy.proofs_accepted": 7,
        "lean-proxy.proofs_rejected": 1,
    }


def test_tables_count_by_family_and_level() -> None:
    rows = [row("a", level=1), row("b", level=2), row("c", level=2)]
    tables = summary.by_group(rows, {"a": True, "b": False, "c": False}, {"a": True, "b": True, "c": False})
    assert tables == {"family": {"logic": [3, 1, 2]}, "level": {"1": [1, 1, 1], "2": [2, 0, 1]}}
