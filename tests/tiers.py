"""Which tests start programs: the tiers of the suite, and the guard that keeps them honest.

A test is marked `broker` (a real nats-server), `lean` (real Lean) or `process` (any other program, which may start
these). A test that uses a fixture which starts one is marked by that; the others say it themselves. A test with none of
these marks that is not `slow` is a unit test: it may start no program at all, in whichever run.
"""

import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

MARKS = ("broker", "lean", "process")

LEAN_TESTS = ("traced", "elaborate", "elaborate_each", "printed", "wire")
FIXTURES = {
    "broker": ("broker", "own_broker"),
    "lean": ("warm_lean", "own_lean_proxy", "shared_service", *LEAN_TESTS),
    "process": ("browser",),
}
"""Fixtures that start a program, by the mark that they give; tests may use them through other fixtures."""

_EVENTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec", "os.spawn")
"""Python's audit events of programs that are started; asyncio's and multiprocessing's go through these."""
FONTS = "fc-list"
"""matplotlib starts this to find fonts when it draws for the first time on a machine."""

SHARED = "nodes of tests"
"""How the names of threads begin that run what the session shares (tests/background.py): a worker of Lean may be
replaced while a unit test runs."""


class ProgramStarted(Exception):
    """A unit test started a program."""


class Guard:
    """Refuses programs while a unit test runs, also in other threads than the test's."""

    def __init__(self) -> None:
        self._unit_test = ""
        self._started: list[str] = []
        self._main_process = os.getpid()
        sys.addaudithook(self._hear)

    def begin(self, test: str, marks: Sequence[str]) -> None:
        """A test begins: without a mark it may start nothing."""
        self._unit_test = "" if marks else test
        self._started = []

    def check(self) -> None:
        """Raise ProgramStarted if the test has started a program: the code under test may have caught that already."""
        if self._started:
            raise ProgramStarted(f"{self._started[0]}: mark this test {', '.join(MARKS[:-1])} or {MARKS[-1]}")

    def end(self) -> None:
        """No test runs."""
        self._unit_test = ""

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if (
            self._unit_test
            and event in _EVENTS
            and arguments[0] != FONTS
            and os.getpid() == self._main_process
            and not threading.current_thread().name.startswith(SHARED)
        ):
            self._started.append(f"{self._unit_test} starts a program ({event} {str(arguments[:2])[:200]})")
            self.check()


def marks_of(item: pytest.Item) -> list[str]:
    """The marks by which a test may start programs: its own, and those of its fixtures."""
    names = set(getattr(item, "fixturenames", ()))
    return [mark for mark in MARKS if item.get_closest_marker(mark) or not names.isdisjoint(FIXTURES.get(mark, ()))]


def is_deselected(file: Path, expression: str) -> bool:
    """Whether `-m expression` selects no test of a file, by the marks that the file gives to all its tests: it need not
    be imported then. Only `not MARK and ...` is understood."""
    refused = {name for part in expression.split(" and ") if (name := part.removeprefix("not ")) != part}
    marks = re.search(r"^pytestmark = (\[.*?\]|.*?)$", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return marks is not None and not refused.isdisjoint(re.findall(r"pytest\.mark\.(\w+)", marks[1]))
