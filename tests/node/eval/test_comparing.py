"""Evaluations compared: which statements are paired, differences, smaller budgets, equal Lean attempts."""

import msgspec
import pytest

from common.protocol.attempts import Ended
from node.eval.comparing import Comparison, compare, sides_of
from node.eval.folder import Budgets, Evaluation, LeanFacts, Standing
from tests.node.eval.small import benchmark, outcomes, solved, statement, undecided, unsolved, write


def compared(*groups: Evaluation | list[Evaluation]) -> Comparison:
    found = compare(sides_of([each if isinstance(each, list) else [each] for each in groups]), seed=1)
    return found[0]


def test_the_difference_is_that_of_the_same_statements_and_names_say_which_are_won_and_lost(tmp_path):
    first = write(tmp_path / "a", outcomes({"t1": 3, "t2": 5, "t3": 0, "t4": 0, "t5": 0}))
    second = write(tmp_path / "b", outcomes({"t1": 2, "t2": 0, "t3": 9, "t4": 64, "t5": 0}))
    found = compared(first, second)
    assert (found.total.statements, found.total.first, found.total.second) == (5, 0.4, 0.6)
    assert found.total.difference == pytest.approx(0.2) and found.total.low <= -0.2 and found.total.high >= 0.6
    assert (found.total.both, found.total.only_first, found.total.only_second, found.total.neither) == (1, 1, 2, 1)
    assert found.total.p == found.total.mcnemar == 1.0
    assert (found.won, found.lost, found.tries, found.warnings) == (("t3", "t4"), ("t2",), (1, 1), ())


def test_statements_that_do_not_count_on_both_sides_are_left_out_and_told(tmp_path):
    rows = [statement(f"t{number}", refused="unknown constant" * (number == 2)) for number in range(1, 5)]
    first = write(tmp_path / "a", [*outcomes({"t1": 3, "t3": 2}), undecided("t4")], rows)
    second = write(tmp_path / "b", outcomes({"t1": 0, "t2": 4, "t4": 4}), rows[:2] + rows[3:])
    found = compared(first, second)
    assert [each.name for each in found.pairing.pairs] == ["t1"]
    assert (found.pairing.shared, found.pairing.only_first, found.pairing.only_second) == (3, 1, 0)
    assert found.pairing.left_out_first == {Standing.NOT_ELABORATED: 1, Standing.UNDECIDED: 1}
    assert found.pairing.left_out_second == {} and (found.total.first, found.total.second) == (1.0, 0.0)


def test_smaller_budgets_are_compared_up_to_what_both_had(tmp_path):
    first = write(tmp_path / "a", outcomes({"t1": 8, "t2": 17, "t3": 0}))
    records = [solved("t1", 9), solved("t2", 2), unsolved("t3", simulations=32)]
    second = write(tmp_path / "b", records, budgets=Budgets(simulations=32))
    found = compared(first, second)
    assert [(each.limit, each.exact) for each in found.simulations] == [(8, True), (16, True), (32, True)]
    assert found.exact_simulations == 32
    told = [(each.found.only_first, each.found.only_second, each.found.both) for each in found.simulations]
    assert told == [(1, 1, 0), (0, 1, 1), (0, 0, 2)]
    assert "64 simulations in a, 32 simulations in b" in found.warnings[0]


def test_equal_lean_attempts_are_exact_up_to_what_the_shortest_unsolved_attempt_has_tried(tmp_path):
    first = write(tmp_path / "a", [solved("t1", 2), unsolved("t2", tactics=90), unsolved("t3", tactics=200)])
    exhausted = unsolved("t3", simulations=3, ended=Ended.EXHAUSTED)
    found = compared(first, write(tmp_path / "b", [solved("t1", 30), solved("t2", 20), exhausted]))
    assert found.exact_lean_attempts == 90
    by_limit = {each.limit: each for each in found.lean_attempts}
    assert {limit: each.exact for limit, each in by_limit.items()} == {
        limit: limit <= 90 for limit in (8, 16, 32, 64, 90, 120)
    }
    assert (by_limit[8].found.first, by_limit[8].found.second) == (pytest.approx(1 / 3), 0.0)
    assert by_limit[90].found.second == pytest.approx(1 / 3)  # t2 with its 80th tactic, t1 with its 120th
    last = by_limit[120]
    assert (last.open_first, last.open_second) == (pytest.approx(1 / 3), 0.0)  # t2 had 90, t3 200
    assert last.found.second == pytest.approx(2 / 3)


def test_with_several_passes_rates_are_means_and_the_test_takes_as_many_attempts_of_each_side(tmp_path):
    first = write(tmp_path / "a", outcomes({"t1": 0, "t2": 0}) + outcomes({"t1": 3, "t2": 0}, number=1))
    second = write(tmp_path / "b", outcomes({"t1": 0, "t2": 5}))
    found = compared(first, second)
    assert (found.total.first, found.total.second) == (0.25, 0.5)
    # t1 was solved by the second pass, which the other side does not have.
    assert found.tries == (1, 1) and not found.single
    assert (found.total.only_first, found.total.only_second) == (0, 1)
    assert any("a has 2 attempts at a statement and b 1" in each for each in found.warnings)
    both = write(tmp_path / "c", outcomes({"t1": 0, "t2": 0}) + outcomes({"t1": 0, "t2": 4}, number=1))
    found = compared(first, both)
    assert (found.tries, found.won, found.lost) == ((2, 2), ("t2",), ("t1",))


def test_seeds_of_a_side_are_averaged_for_each_statement_and_their_spread_is_told(tmp_path):
    seeds = [{"t1": 3, "t2": 0}, {"t1": 3, "t2": 2}, {"t1": 0, "t2": 0}]
    first = [write(tmp_path / f"a{seed}", outcomes(each), seed=seed) for seed, each in enumerate(seeds)]
    second = [write(tmp_path / f"b{seed}", outcomes({"t1": 1, "t2": 1}), seed=seed) for seed in range(3)]
    found = compared(first, second)
    assert found.first.rates == (0.5, 1.0, 0.0)
    assert (found.first.deviation, found.second.deviation) == (pytest.approx(0.5), 0.0)
    assert (found.total.first, found.total.difference) == pytest.approx(((2 / 3 + 1 / 3) / 2, 0.5))
    assert (found.total.low, found.total.high) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (found.first.label, found.tries, found.warnings) == ("a0 (3 seeds)", (3, 3), ())


def test_other_benchmarks_are_paired_by_what_statements_say_twice_said_ones_in_their_order(tmp_path):
    mine, theirs = ([statement(f"{side}{number}", "n = n") for number in (3, 4)] for side in "tu")
    mine = [statement("t1"), statement("t2"), *mine]
    theirs += [
        msgspec.structs.replace(statement("u1"), theorem=msgspec.structs.replace(mine[0].theorem, name="u1")),
        statement("t2", conclusion="n < n"),
    ]
    first = write(tmp_path / "a", outcomes({"t1": 0, "t2": 0, "t3": 2, "t4": 0}), mine)
    second = write(tmp_path / "b", outcomes({"u1": 5, "t2": 5, "u3": 0, "u4": 0}), theirs, benchmark=benchmark("other"))
    found = compared(first, second)
    assert not found.pairing.by_name
    assert (found.pairing.shared, found.pairing.only_first, found.pairing.only_second) == (3, 1, 1)
    assert (found.won, found.lost) == (("t1",), ("t3",))
    assert "the benchmarks are not the same (pocket:test and FILE.jsonl): 3 statements in both" in found.warnings[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lean": LeanFacts(version="4.30.0")}, "Lean differs: 4.29.1 in a, 4.30.0 in b"),
        (
            {"lean": LeanFacts(version="4.29.1", library={"mathlib": "0123456789abcdef"})},
            "the library differs: none in a, mathlib 0123456789ab in b",
        ),
        ({"samples": 8}, "samples for each expansion differ: 4 in a, 8 in b"),
        ({"leaves": 4}, "expansions in flight differ: 1 in a, 4 in b"),
        (
            {"budgets": Budgets(simulations=64, seconds=9)},
            "budgets differ, so compare at budgets that both had: 64 simulations in a, 64 simulations, 9 s in b",
        ),
    ],
)
def test_what_is_unfair_is_said(tmp_path, changes, said):
    first = write(tmp_path / "a", outcomes({"t1": 3}))
    second = write(tmp_path / "b", outcomes({"t1": 3}), **changes)
    assert said in compared(first, second).warnings
