"""A second node of the run."""

from collections.abc import AsyncIterator

import pytest

from common.bus import Bus, BusSettings


@pytest.fixture
async def other(broker: BusSettings, bus: Bus) -> AsyncIterator[Bus]:
    """Another node of the same run."""
    other = await Bus.connect(broker, run=bus.run, name="other", wait=10)
    yield other
    await other.close()
