"""What an evaluation shows while it runs."""

import io

from rich.console import Console

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
