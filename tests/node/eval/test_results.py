"""What came of an evaluation, counted from its records."""

import msgspec
import pytest

from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Ended, SearchShape
from node.eval.folder import AttemptRecord, Standing, standing
from node.eval.results import results_of
from tests.node.eval.small import evaluation, solved, statement, undecided, unsolved


def test_what_is_neither_solved_nor_unsolved_does_not_count():
    found = results_of(
        evaluation(
            [statement("a"), statement("b"), statement("c"), statement("d", refused="unknown identifier")],
            [solved("a"), unsolved("b"), undecided("c")],
        )
    )
    assert (found.total.statements, found.total.solved) == (2, 1)
    assert found.total.rate == 0.5
    assert found.standings == {
        Standing.SOLVED: 1,
        Standing.UNSOLVED: 1,
        Standing.UNDECIDED: 1,
        Standing.NOT_ELABORATED: 1,
    }
    assert found.missing == 0


def test_an_attempt_that_was_played_again_counts_once_and_costs_twice():
    found = results_of(evaluation([statement("a")], [undecided("a"), solved("a")]))
    assert (found.total.statements, found.total.solved, found.standings[Standing.UNDECIDED]) == (1, 1, 0)
    assert found.costs.attempts == 2


def test_smaller_budgets_are_read_off_the_same_attempts():
    found = results_of(
        evaluation(
            [statement("a"), statement("b"), statement("c")],
            [solved("a", 8, lean_attempts=30), solved("b", 9, lean_attempts=130), unsolved("c")],
        )
    )
    assert [(limit, tally.solved) for limit, tally in found.budgets["simulations"]] == [
        (8, 1),
        (16, 2),
        (32, 2),
        (64, 2),
    ]
    assert [(limit, tally.solved) for limit, tally in found.budgets["lean_attempts"]] == [
        (8, 0),
        (16, 0),
        (32, 1),
        (64, 1),
        (128, 1),
        (256, 2),
    ]


def test_several_passes_give_scores_and_pass_at_k():
    attempts = [solved("a", number=0), unsolved("a", number=1), unsolved("b", number=0), unsolved("b", number=1)]
    found = results_of(evaluation([statement("a"), statement("b")], attempts))
    assert (found.total.solved, found.total.any, found.passes) == (0.5, 1, 2)
    assert [(each.k, each.unbiased) for each in found.pass_at] == [(1, 0.25), (2, 0.5)]
    assert found.pass_at[0].blocks == 2
    assert found.pass_at[0].mean == 0.25


@pytest.mark.parametrize(
    ("outcome", "statistics", "expected"),
    [
        (AttemptOutcome.PROVED, {}, Standing.SOLVED),
        (AttemptOutcome.FAILED, {"ended": Ended.SIMULATIONS}, Standing.UNSOLVED),
        (AttemptOutcome.BAD_STATEMENT, {}, Standing.NOT_ELABORATED),
        (AttemptOutcome.UNDECIDED, {"ended": Ended.SECONDS}, Standing.UNSOLVED),
        (AttemptOutcome.UNDECIDED, {"ended": Ended.SECONDS, "expansions_lost": 1}, Standing.UNDECIDED),
        (AttemptOutcome.UNDECIDED, {"ended": Ended.SIMULATIONS, "expansions_lost": 1}, Standing.UNDECIDED),
        (AttemptOutcome.ERROR, {}, Standing.UNDECIDED),
        (AttemptOutcome.POISONED, {}, Standing.UNDECIDED),
    ],
)
def test_time_that_was_used_up_is_a_budget_and_a_lost_expansion_is_not(outcome, statistics, expected):
    assert standing(outcome, msgspec.structs.replace(AttemptStatistics(), **statistics)) is expected


def test_what_searches_did_is_summed_and_values_are_judged_by_how_well_they_tell_solved_states():
    def shaped(record: AttemptRecord, shape: SearchShape | None) -> AttemptRecord:
        return msgspec.structs.replace(record, statistics=msgspec.structs.replace(record.statistics, shape=shape))

    found = SearchShape(
        expanded=6, expansions=10, dead=1, dead_expansions=3, choices=2, depth=4, depths=20, proof_steps=3,
        on_proof=2, error_on_proof=1.0, off_proof=1, error_off_proof=2.0,
        solved=(2, 0, 1), unsolved=(0, 0, 1), tried={"rw": 5, "simp": 9}, legal={"rw": 2, "simp": 1}, used={"rw": 2},
    )  # fmt: skip
    lost = SearchShape(expanded=4, expansions=10, dead=2, dead_expansions=5, unsolved=(1, 0, 0, 1))
    lost = msgspec.structs.replace(lost, depths=10, depth=6, tried={"simp": 1})
    attempts = [
        shaped(solved("a", 3), found),
        unsolved("b"),
        shaped(unsolved("c"), lost),
        shaped(solved("c", 9, 1), None),
    ]
    search = results_of(evaluation([statement(name) for name in "abc"], attempts)).search
    assert search is not None
    assert (search.attempts, search.expansions, search.states, search.off_proofs) == (2, 20, 10, (3, 3))
    assert (search.on_dead, search.on_dead_again, search.choices) == (8 / 20, 5 / 20, 2 / 10)
    assert (search.depth, search.deepest, search.proof_depth, search.deepest_proof) == (1.5, 6, 3.0, 3)
    assert (search.error_on_proofs, search.error_off_proofs) == (0.5, 2.0)
    # Bins of solved states 0 0 2, of others 0 2 3: 0 wins 1/2 + 1 + 1, twice; 2 wins 0 + 1/2 + 1; of nine pairs.
    assert search.auc == pytest.approx((2.5 + 2.5 + 1.5) / 9, abs=1e-4)
    assert search.until_solved["simulations"] == (3, 9) and search.passes_until_solved == {1: 1, 2: 1}
    assert list(search.heads.items()) == [("rw", (5, 2, 2)), ("simp", (10, 1, 0))]
    assert results_of(evaluation([statement("b")], [unsolved("b")])).search is None
