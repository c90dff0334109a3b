"""Verifiers of files for all tests that change nothing about them: their processes are started once."""

from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from node.lean.check.files.report import FileReport
from tests.background import Background, Elsewhere
from tests.node.lean.files.verified import Verifying, own_verifying
from tests.node.lean.olean.judges import File, forging_verifier


@pytest.fixture(scope="session")
def verifying(background: Background) -> Iterator[Verifying]:
    """With Lean as it is and ordinary limits."""
    with background.opened(own_verifying()) as verifying:
        yield Elsewhere(background, verifying)


Judged = Callable[[Sequence[File]], Awaitable[list[FileReport]]]


@pytest.fixture(scope="session")
def judged(background: Background) -> Iterator[Judged]:
    """Gives the reports of a whole verifier on files whose compiled files are forged."""
    with background.opened(forging_verifier()) as forging:
        yield Elsewhere(background, forging).judged
