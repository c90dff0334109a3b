"""What came of an evaluation, counted from its records; and curves of solved statements against the budget."""

import msgspec
import pytest

from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Ended, SearchShape
from common.statistics import wilson
from node.eval.curves import curve_of
from node.eval.folder import AttemptRecord, Standing, standing
from node.eval.results import results_of
from tests.node.eval.small import evaluation, solved, statement, undecided, unsolved


def test_what_is_neither_solved_nor_unsolved_does_not_count_and_what_was_played_again_counts_once():
    statements = [*map(statement, "abc"), statement("d", refused="unknown identifier")]
    found = results_of(evaluation(statements, [solved("a"), unsolved("b"), undecided("c")]))
    assert (found.total.statements, found.total.solved, found.total.rate, found.missing) == (2, 1, 0.5, 0)
    counted = (Standing.SOLVED, Standing.UNSOLVED, Standing.UNDECIDED, Standing.NOT_ELABORATED)
    assert found.standings == dict.fromkeys(counted, 1)
    found = results_of(evaluation([statement("a")], [undecided("a"), solved("a")]))
    assert (found.total.statements, found.total.solved, found.standings[Standing.UNDECIDED]) == (1, 1, 0)
    assert found.costs.attempts == 2


def test_smaller_budgets_are_read_off_the_same_attempts():
    attempts = [solved("a", 8, lean_attempts=30), solved("b", 9, lean_attempts=130), unsolved("c")]
    found = results_of(evaluation([*map(statement, "abc")], attempts))
    for name, expected in (
        ("simulations", {8: 1, 16: 2, 32: 2, 64: 2}),
        ("lean_attempts", {8: 0, 16: 0, 32: 1, 64: 1, 128: 1, 256: 2}),
    ):
        assert {limit: tally.solved for limit, tally in found.budgets[name]} == expected


def test_several_passes_give_scores_and_pass_at_k():
    attempts = [solved("a", number=0), unsolved("a", number=1), unsolved("b", number=0), unsolved("b", number=1)]
    found = results_of(evaluation([statement("a"), statement("b")], attempts))
    assert (found.total.solved, found.total.any, found.passes) == (0.5, 1, 2)
    assert [(each.k, each.unbiased) for each in found.pass_at] == [(1, 0.25), (2, 0.5)]
    assert (found.pass_at[0].blocks, found.pass_at[0].mean) == (2, 0.25)


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
    lost = SearchShape(
        expanded=4, expansions=10, dead=2, dead_expansions=5, unsolved=(1, 0, 0, 1), depths=10, depth=6,
        tried={"simp": 1},
    )  # fmt: skip
    attempts = [shaped(solved("a", 3), found), unsolved("b"), shaped(unsolved("c"), lost)]
    attempts.append(shaped(solved("c", 9, 1), None))
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


# --- curves -----------------------------------------------------------------------------------------------------------
def test_a_curve_steps_where_each_proof_was_found_and_is_a_lower_bound_behind_what_was_given_up():
    attempts = [solved("a", 4), solved("b", 4), solved("c", 50), unsolved("d")]
    curve = curve_of(results_of(evaluation([*map(statement, "abcd")], attempts)), "simulations", "mine")
    assert (curve.points, curve.label) == ([(4, 0.5), (50, 0.75), (64, 0.75)], "mine")
    assert all(low < share < high for (_, share), low, high in zip(curve.points, curve.low, curve.high, strict=True))
    attempts = [solved("a", 50, lean_attempts=300), unsolved("b"), unsolved("c", simulations=5, ended=Ended.EXHAUSTED)]
    results = results_of(evaluation([statement(name) for name in "abc"], attempts))
    assert curve_of(results, "simulations").complete_until == 64
    curve = curve_of(results, "lean_attempts")
    assert (curve.complete_until, curve.points[-1][0]) == (4 * 64, 300)  # the proof took 300


def test_wilsons_interval_agrees_with_published_values():
    # Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    published = {(81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0.0, 0.1611)}
    for counts, interval in (published | {(1, 29): (0.0061, 0.1718)}).items():
        assert wilson(*counts) == pytest.approx(interval, abs=5e-5)
