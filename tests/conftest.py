"""Fixtures for the whole suite: a real broker, and a bus on a run of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BusSettings]:
    """A real nats-server on a free loopback port, with a private store, for the whole session."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path_factory.mktemp("broker") / "store")))
    with asyncio.Runner() as runner:
        runner.run(server.start())
        yield server.bus
        runner.run(server.stop())


@pytest.fixture
def run_name() -> str:
    """A run name that no other test has."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def bus(broker: BusSettings, run_name: str) -> AsyncIterator[Bus]:
    """A connected bus on a fresh run, with its streams."""
    bus = await Bus.connect(broker, run=run_name, name="test", wait=10)
    await streams.ensure(bus)
    yield bus
    await streams.remove(bus)
    await bus.close()
