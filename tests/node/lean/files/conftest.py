"""One verifier of files for all tests that change nothing about it: its processes are started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.background import Background, Elsewhere
from tests.node.lean.files.verified import Verifying, file_verifier


@pytest.fixture(scope="session")
def verifying(background: Background) -> Iterator[Verifying]:
    """With Lean as it is and ordinary limits."""
    with background.opened(file_verifier()) as verifier:
        yield Elsewhere(background, Verifying(verifier))
