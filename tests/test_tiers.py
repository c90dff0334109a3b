import subprocess
import sys
from collections.abc import Iterator

import pytest

from common.bus import Bus
from tests.tiers import Guard, ProgramStarted


@pytest.fixture
def guard() -> Iterator[Guard]:
    """A second guard, beside the one that watches over this test."""
    guard = Guard()
    yield guard
    guard.end()


@pytest.mark.process
def test_a_unit_test_cannot_start_a_program_even_if_it_hides_the_refusal_and_a_marked_one_may(guard: Guard) -> None:
    guard.begin("a test", [])
    with pytest.raises(ProgramStarted):
        subprocess.run([sys.executable, "--version"], check=True)
    with pytest.raises(ProgramStarted):
        guard.check()
    guard.begin("a test", ["process"])
    subprocess.run([sys.executable, "--version"], check=True)
    guard.check()


def test_a_fixture_that_needs_the_broker_marks_its_tests(bus: Bus, request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("broker") is not None


def test_a_test_without_programs_has_no_such_mark(request: pytest.FixtureRequest) -> None:
    assert not {"broker", "lean", "process"} & {mark.name for mark in request.node.iter_markers()}
