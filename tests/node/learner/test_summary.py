"""The end of a run in numbers: evaluations compared, totals of the mesh, tables."""

import pytest

from common.protocol.messages import Heartbeat
from node.learner import summary
from node.learner.summary import compare


def outcomes(*solved: int, total: int = 160) -> dict[str, bool]:
    return {f"t{index}": index in solved for index in range(total)}


def test_counts_are_exact_and_the_interval_is_that_of_the_paired_difference() -> None:
    before, after = outcomes(*range(50)), outcomes(*range(10, 80))
    found = compare(before, after, seed=1)
    assert (found.total, found.before, found.after, found.both) == (160, 50, 70, 40)
    assert found.difference == pytest.approx(20 / 160)
    # 30 gained, 10 lost: standard error sqrt((40 - 20²/160) / 160²) = 0.0387.
    assert found.low == pytest.approx(0.125 - 1.96 * 0.0387, abs=0.01)
    assert found.high == pytest.approx(0.125 + 1.96 * 0.0387, abs=0.01)


def test_evaluations_of_different_theorems_are_refused() -> None:
    with pytest.raises(ValueError, match="different theorems"):
        compare(outcomes(total=3), outcomes(total=4), seed=1)


def test_a_statement_that_is_undecided_on_either_side_is_left_out_and_never_counts_as_unsolved() -> None:
    before: dict[str, bool | None] = {"a": False, "b": False, "c": True, "d": True, "e": None}
    after: dict[str, bool | None] = {"a": True, "b": None, "c": None, "d": True, "e": True}
    found = compare(before, after, seed=1)
    assert (found.total, found.before, found.after, found.both) == (5, 2, 3, 1)
    assert (found.undecided_before, found.undecided_after, found.compared) == (1, 2, 2)
    alone = compare({"a": False, "d": True}, {"a": True, "d": True}, seed=1)
    assert (found.difference, found.low, found.high) == (alone.difference, alone.low, alone.high) == (0.5, 0.0, 1.0)


def test_evaluations_with_nothing_decided_twice_say_nothing_about_the_difference() -> None:
    found = compare({"a": None, "b": True}, {"a": True, "b": None}, seed=1)
    assert (found.compared, found.difference, found.low, found.high) == (0, 0.0, -1.0, 1.0)


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
