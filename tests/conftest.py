"""For the whole suite: a real broker, a bus on a run of its own, and the tiers of tests (tests/tiers.py)."""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.life.process import kill_group, spawn_child
from common.protocol import subjects
from common.protocol.messages import LeanRunReply, LeanRunRequest
from tests import tiers

guard = tiers.Guard()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by these marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests whose fixtures start a broker or Lean."""
    for item in items:
        for mark in tiers.marks_of(item):
            item.add_marker(mark)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Refuse programs to a unit test, in its fixtures too."""
    slow = ["slow"] if item.get_closest_marker("slow") else []
    guard.begin(item.nodeid, [*tiers.marks_of(item), *slow])
    try:
        return (yield)
    finally:
        guard.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Fail a unit test that started a program and hid it."""
    result = yield
    guard.check()
    return result


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Leaves the logging of the test process as it was: commands that a test calls in this process set it up anew."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BusSettings]:
    """A real nats-server on a free loopback port, with a private store, for the whole session."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path_factory.mktemp("broker") / "store")))
    with asyncio.Runner() as runner:
        runner.run(server.start())
        yield server.bus
        runner.run(server.stop())


@pytest.fixture
async def own_broker(tmp_path: Path) -> AsyncIterator[Server]:
    """A broker for one test, which may kill and restart it."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path / "store")))
    await server.start()
    yield server
    await server.stop(grace=0)


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


@pytest.fixture
async def lean_proxy(bus: Bus, broker: BusSettings, run_name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A real lean-proxy with pocket Lean, as a child process on the run of `bus`; it answers when the test begins."""
    async with lean_proxy_process(bus, broker, run_name) as process:
        yield process


@asynccontextmanager
async def lean_proxy_process(
    bus: Bus, broker: BusSettings, run_name: str, *flags: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a lean-proxy that verifies proofs, and wait until it answers; it is stopped at the end, if it still
    runs."""
    argv = [sys.executable, "-m", "node.command.cli", "lean-proxy", "--workers", "2"]
    with tempfile.TemporaryDirectory(prefix="proofmesh-key-") as folder:
        key = ["--key", f"{folder}/verifier.pem"]
        process = await spawn_child([*argv, *key, *flags, "--run", run_name, "--bus.url", broker.url])
        try:
            ready = LeanRunRequest(theorem=Theorem("ready", "", "True"))
            await bus.request_patiently(subjects.LEAN_RUN, ready, LeanRunReply, timeout=30, deadline=180)
            yield process
        finally:
            await kill_group(process, grace=10)
