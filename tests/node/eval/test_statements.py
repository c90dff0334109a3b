"""Which statements of a benchmark are evaluated, and what the plan says of it."""

from common.lean import Theorem
from node.bank.benchmarks import Benchmark, BenchmarkStatement
from node.bank.importing import Refusal
from node.eval.statements import chosen, facts_of


def benchmark(count: int = 12) -> Benchmark:
    statements = tuple(
        BenchmarkStatement(Theorem(f"t{number}", "", "True"), "logic" if number % 3 else "nat", 1 + number % 2)
        for number in range(count)
    )
    return Benchmark("x", "x", "", statements, (Refusal("row 9", "it is empty", "row 9"),))


def test_a_sample_is_spread_and_always_the_same():
    few = chosen(benchmark(), 6)
    assert few == chosen(benchmark(), 6)
    assert [each.family for each in few].count("nat") == 2
    assert len(chosen(benchmark(), 0)) == len(chosen(benchmark(), 99)) == 12


def test_all_rows_add_up_and_those_of_a_sample_too():
    whole = facts_of(benchmark(), chosen(benchmark(), 0))
    assert (whole.rows, whole.statements + len(whole.unread), whole.notes) == (13, 13, ())
    sample = facts_of(benchmark(), chosen(benchmark(), 6))
    assert (sample.statements, sample.unread, sample.notes) == (6, (), ("6 of its 12 statements are evaluated",))
