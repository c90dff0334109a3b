"""A second node of the run, and a separate broker that a test may kill."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings


@pytest.fixture
async def other(broker: BusSettings, bus: Bus) -> AsyncIterator[Bus]:
    """Another node of the same run."""
    other = await Bus.connect(broker, run=bus.run, name="other", wait=10)
    yield other
    await other.close()


@pytest.fixture
async def own_broker(tmp_path: Path) -> AsyncIterator[Server]:
    """A broker for one test, which may kill and restart it."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "store")))
    await server.start()
    yield server
    await server.stop(grace=0)
