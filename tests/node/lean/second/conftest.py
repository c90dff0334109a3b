"""One process of the second kernel for the session: reading the library takes it seconds."""

from collections.abc import Iterator
from typing import Any

import pytest

from node.lean.check.second.calling import SecondKernel
from tests.background import Background, Elsewhere


@pytest.fixture(scope="session")
def second_kernel(background: Background) -> Iterator[Any]:
    """A second kernel that every loop may ask. It is not confined, so that it may read everything."""
    kernel = SecondKernel()
    shared: Any = Elsewhere(background, kernel)
    shared.may_read = lambda folder: None
    yield shared
    background.run(kernel.close())
