"""The contract of `Attempts` in this process."""

from __future__ import annotations

import pytest

from tests.node.play.contract import *  # noqa: F403
from tests.node.play.contract import Place, here

pytestmark = pytest.mark.lean


@pytest.fixture
def place() -> Place:
    return here
