"""A second node of the run."""

from collections.abc import AsyncIterator

import pytest

from common.bus import Bus, BusSettings
from tests.background import connected


@pytest.fixture
async def other(broker: BusSettings, bus: Bus) -> AsyncIterator[Bus]:
    """Another node of the same run."""
    async with connected(broker, bus.run, "other") as other:
        yield other
