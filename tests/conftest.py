"""For the whole suite: a real broker, a warm pocket Lean, runs of one's own on both, commands in process, and the tiers
of tests (tests/tiers.py).

What is shared lives in a thread with an event loop (tests/background.py); tests keep loops of their own."""

import asyncio
import gc
import logging
import os
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from broker import streams
from broker.launcher import Server
from broker.settings import BrokerSettings
from common.bus import Bus, BusSettings
from common.lean import Theorem
from common.life.context import NodeContext
from common.life.process import kill_group, spawn_child
from common.machine import thread_environment
from common.protocol import subjects
from common.protocol.messages import LeanRunReply, LeanRunRequest
from node.lean.opened import OpenedLean
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests import tiers
from tests.background import (
    Background,
    RunOnBroker,
    SharedLean,
    connected,
    on_bus,
    shared_lean,
    started,
    without_shared_nodes,
)
from tests.commands import Called

# Tests share the machine, and torch's threads wait for each other: with two on busy cores, a training of seconds takes
# a minute. This is before the first import of torch, and for children, too.
for name, value in thread_environment(1).items():
    os.environ.setdefault(name, value)

guard = tiers.Guard()

gc.disable()  # until all tests are collected: what is imported stays


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of which no test is selected: some import what takes seconds."""
    is_file = collection_path.suffix == ".py" and collection_path.is_file()
    return (is_file and tiers.is_deselected(collection_path, config.option.markexpr)) or None


def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over what is imported and collected, a million objects."""
    gc.freeze()
    gc.enable()


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
    # Tracebacks are plain text: structlog's default draws each one with `rich`, in a tenth of a second and more.
    *others, _ = structlog.get_config()["processors"]
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[without_shared_nodes, *others, renderer])
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.fixture(scope="session")
def background() -> Iterator[Background]:
    """The event loop of shared nodes, in a thread of its own."""
    background = Background()
    yield background
    background.close()


@pytest.fixture(scope="session")
def broker(background: Background, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BusSettings]:
    """A real nats-server on a free loopback port, with a private store, for the whole session."""
    server = Server(BrokerSettings(port=0, store=str(tmp_path_factory.mktemp("broker") / "store")))
    background.run(server.start())
    yield server.bus
    background.run(server.stop())


@pytest.fixture(scope="session")
def warm_lean(background: Background, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLean]:
    """Warm pocket Lean for the whole session, with a key that signs verdicts."""
    with shared_lean(background, tmp_path_factory.mktemp("lean")) as lean:
        yield lean


@pytest.fixture
def lent_lean(warm_lean: SharedLean, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opens pocket Lean in this process gets the session's warm Lean: commands, evaluations and the library start
    none of their own, and it is known how it can be confined. Not for tests of settings of Lean's processes."""
    from node.eval import alone
    from node.lean import opened
    from proofmesh import engine

    ours = warm_lean.toolchain
    opening, confining = opened.open_lean, LeanToolchain.confined

    def is_ours(theirs: LeanToolchain) -> bool:
        """Not one with another header or with modules of its own."""
        parts = ((each.command, each.environment, each.default_header) for each in (ours, theirs))
        return next(parts) == next(parts)

    @asynccontextmanager
    async def lent(settings: LeanProcessSettings, toolchain: LeanToolchain) -> AsyncIterator[OpenedLean]:
        if is_ours(toolchain):
            yield warm_lean.opened()
        else:
            async with opening(settings, toolchain) as lean:
                yield lean

    async def confined(toolchain: LeanToolchain) -> LeanToolchain:
        return replace(toolchain, protections=ours.protections) if is_ours(toolchain) else await confining(toolchain)

    monkeypatch.setattr(LeanToolchain, "confined", confined)
    for module in (alone, opened, engine):
        monkeypatch.setattr(module, "open_lean", lent)


@pytest.fixture
async def own_broker(tmp_path: Path) -> AsyncIterator[Server]:
    """A broker for one test, which may kill and restart it."""
    async with started(Server(BrokerSettings(port=0, store=str(tmp_path / "store")))) as server:
        yield server


@pytest.fixture
def run_name() -> str:
    """A run name that no other test has."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def mesh_run(background: Background, broker: BusSettings, run_name: str) -> Iterator[RunOnBroker]:
    """A run of the test's own, with its streams; for tests without a bus, `mesh_run.flags` are a command's."""
    run = RunOnBroker(run_name, broker)
    background.run(on_bus(run, streams.ensure))
    yield run
    background.run(on_bus(run, streams.remove))


@pytest.fixture
async def bus(mesh_run: RunOnBroker) -> AsyncIterator[Bus]:
    """A connected bus on a fresh run, with its streams."""
    async with connected(mesh_run.bus, mesh_run.name) as bus:
        yield bus


@pytest.fixture
def lean_proxy(warm_lean: SharedLean, mesh_run: RunOnBroker) -> Iterator[NodeContext]:
    """A lean-proxy with a key on the test's run, in this process. It shares its warm Lean with other tests: a test that
    kills it or its workers takes `own_lean_proxy`."""
    with warm_lean.served(mesh_run) as node:
        yield node


@pytest.fixture
async def own_lean_proxy(bus: Bus, broker: BusSettings, run_name: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A lean-proxy with pocket Lean, as a child process on the run of `bus`; it answers when the test begins."""
    async with lean_proxy_process(bus, broker, run_name) as process:
        yield process


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Calls commands in this process, in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return Called(monkeypatch, capsys)


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
