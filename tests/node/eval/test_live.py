"""What an evaluation shows while it runs."""

import io

from rich.console import Console

from node.eval.folder import AttemptRecord, Standing
from node.eval.live import LINE_SECONDS, LiveView
from tests.node.eval.small import plan, solved, statement, unsolved


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def console(terminal: bool = False, height: int = 40) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, height=height)


def printed(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


def test_without_a_terminal_a_line_comes_every_ten_seconds_and_at_the_end():
    clock, out = Clock(), console()
    statements = [statement(f"s{index}") for index in range(4)]
    with LiveView(plan(), statements, [], 4, out, clock) as view:
        clock.now += 2
        view.recorded(solved("s0", 3))
        assert printed(out).count("\n") == 1  # what there is to do
        clock.now += LINE_SECONDS
        view.recorded(unsolved("s1"))
        assert printed(out).count("\n") == 2
        clock.now += 1
        view.recorded(solved("s2", 3))
    lines = printed(out).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("0/4 attempts") and "4 to play" in lines[0]
    assert "2/4 attempts, 1 solved, 1 unsolved, rate 50.0% (9.5% to 90.5%)" in lines[1]
    assert "0.17 attempts/s, 12 s so far, 12 s left" in lines[1]
    assert lines[2].startswith("3/4 attempts")


def test_what_was_done_before_counts_as_done_but_not_for_the_speed():
    clock = Clock()
    already = [
        solved("s0", 3),
        AttemptRecord(name="s1", number=0, standing=Standing.UNDECIDED),
        unsolved("s1"),
        AttemptRecord(name="s2", number=0, standing=Standing.UNDECIDED),  # is played again
    ]
    view = LiveView(plan(), [statement(f"s{index}") for index in range(12)], already, 12, console(), clock)
    assert view.line().startswith("2/12 attempts, 1 solved, 1 unsolved, rate 50.0%")
    clock.now += 10
    view.recorded(unsolved("s2"))
    assert "0.10 attempts/s" in view.line() and "1 min 30 s left" in view.line()


def test_proofs_are_counted_by_the_budget_that_finds_them():
    view = LiveView(plan(), [statement(name) for name in "abcde"], [], 5, console(), Clock())
    for name, at in [("a", 1), ("b", 8), ("c", 9), ("d", 40)]:
        view.recorded(solved(name, at))
    view.recorded(unsolved("e"))
    assert view.counts.solved_within() == [(8, 2), (16, 3), (32, 3), (64, 4)]
