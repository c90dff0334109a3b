"""Nodes that run in the test process, in one thread with one event loop for the whole session.

pytest-asyncio gives each test a loop of its own, which ends with the test; so what several tests share lives here
instead, and tests keep their loops. Tests without a loop use these nodes, too: a command's `main` runs a loop itself.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlparse

import msgspec
import structlog

from broker.launcher import Server
from common.bus import Bus, BusSettings, Signer
from common.lean import Theorem
from common.life.logging import Forwarder
from common.life.node import Main, NodeContext, NodeFailure, live
from common.protocol import subjects
from common.protocol.messages import LeanRunReply, LeanRunRequest
from common.settings import NodeSettings
from node.lean.backend import OutcomeCache
from node.lean.opened import OpenedLean
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean_proxy.service import ServedLean, answer, confined_toolchain, load_header, make_signer, opened_lean
from node.lean_proxy.settings import LeanProxySettings
from tests.tiers import SHARED

T = TypeVar("T")

READY_SECONDS = 60.0
"""Most seconds until a node runs, or has left."""


class Background:
    """An event loop in a thread. Its methods are called from other threads, and wait."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(ThreadPoolExecutor(4, thread_name_prefix=SHARED))
        self._thread = threading.Thread(target=self.loop.run_forever, name=SHARED, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float = READY_SECONDS) -> T:
        """The result of a coroutine."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    @contextmanager
    def opened(self, block: AbstractAsyncContextManager[T], timeout: float = READY_SECONDS) -> Iterator[T]:
        """Enter an asynchronous block, and leave it in the same task at the end of this one."""
        entered: Future[T] = Future()
        leave = asyncio.Event()

        async def hold() -> None:
            async with block as value:
                entered.set_result(value)
                await leave.wait()

        holding = asyncio.run_coroutine_threadsafe(hold(), self.loop)

        def ended(held: Future[None]) -> None:
            if not entered.done():
                error = None if held.cancelled() else held.exception()
                entered.set_exception(error or RuntimeError("the block was left before it had begun"))

        holding.add_done_callback(ended)
        try:
            yield entered.result(timeout)
        finally:
            self.loop.call_soon_threadsafe(leave.set)
            holding.result(timeout)

    @contextmanager
    def node(self, role: str, settings: NodeSettings, main: Main, **capacity: int) -> Iterator[NodeContext]:
        """A node of a role: `main` is what the role does, as in `run_node`. It is registered when the block begins and
        has drained when the block ends. Raises NodeFailure if it does not start."""
        context = NodeContext(role, settings, capacity)
        started: Future[int | None] = Future()

        async def runs(ctx: NodeContext) -> None:
            await ctx.bus.register(ctx.info())
            self.loop.call_soon(lambda: started.done() or started.set_result(None))
            await main(ctx)

        life = asyncio.run_coroutine_threadsafe(live(context, runs, Forwarder(role, context.id)), self.loop)
        life.add_done_callback(lambda ended: started.done() or started.set_result(ended.result()))
        if (code := started.result(READY_SECONDS)) is not None:
            raise NodeFailure(f"the {role} ended with exit code {code}: {context.crash}")
        try:
            yield context
        finally:
            self.loop.call_soon_threadsafe(context.stopping.set)
            self.loop.call_soon_threadsafe(context.changed.set)
            life.result(READY_SECONDS)

    def close(self) -> None:
        """End the loop and its thread. What still runs in it is cancelled."""

        async def end() -> None:
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(READY_SECONDS)
        self.loop.close()


def without_shared_nodes(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: shared nodes do not write into the output of the test that happens to run."""
    if threading.current_thread().name.startswith(SHARED):
        raise structlog.DropEvent
    return event


@dataclass(frozen=True)
class RunOnBroker:
    """A run of its own on the session's broker, with its streams."""

    name: str
    bus: BusSettings

    @property
    def flags(self) -> tuple[str, ...]:
        """The run, as flags of commands that ask a mesh."""
        return "--url", self.bus.url, "--run", self.name

    @property
    def node(self) -> NodeSettings:
        """The settings of a node of this run."""
        return NodeSettings(run=self.name, bus=self.bus)


async def on_bus(run: RunOnBroker, act: Callable[[Bus], Awaitable[object]]) -> None:
    """Do something over a connection of its own, such as making the run's streams."""
    async with connected(run.bus, run.name) as bus:
        await act(bus)


@asynccontextmanager
async def connected(settings: BusSettings, run: str, name: str = "test", **options: Any) -> AsyncIterator[Bus]:
    """A bus of a run for the length of a block. `options`: of `Bus.connect`."""
    bus = await Bus.connect(settings, **{"run": run, "name": name, "wait": 10, **options})
    yield bus
    await bus.close()


@asynccontextmanager
async def started(server: Server) -> AsyncIterator[Server]:
    """A broker for the length of a block; it is killed at the end."""
    await server.start()
    try:
        yield server
    finally:
        await server.stop(grace=0)


async def start_again(server: Server) -> None:
    """Start a broker that was stopped, on the port and store that it had."""
    server.settings = replace(server.settings, port=urlparse(server.bus.url).port or 0)
    await server.start()


class Elsewhere:
    """An object of the shared thread: its coroutine methods run there, and other loops may await them."""

    def __init__(self, background: Background, thing: object) -> None:
        self._background = background
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._thing, name)
        if not inspect.iscoroutinefunction(value):
            return value

        async def there(*arguments: Any, **named: Any) -> Any:
            # Who is cancelled here cancels there, too.
            running = asyncio.run_coroutine_threadsafe(value(*arguments, **named), self._background.loop)
            return await asyncio.wrap_future(running)

        return there


@dataclass(frozen=True)
class SharedLean:
    """Warm pocket Lean, of which any number of lean-proxies serve any runs."""

    background: Background
    lean: ServedLean
    toolchain: LeanToolchain
    signer: Signer
    settings: LeanProxySettings

    @contextmanager
    def served(self, run: RunOnBroker) -> Iterator[NodeContext]:
        """A lean-proxy of this run, with counts and a cache of its own. It has answered when the block begins."""
        shared = self.lean.requests
        requests = Requests(
            shared.backend, OutcomeCache(self.settings.cache), self.settings.resolved_tactic_seconds(), shared.contexts
        )

        async def main(ctx: NodeContext) -> None:
            ctx.facts = msgspec.structs.replace(self.toolchain.facts(), verifier=self.signer.public)
            await answer(ctx, replace(self.lean, requests=requests), self.signer)

        capacity = {"workers": shared.backend.workers, "verifications": self.settings.resolved_verifications()}
        with self.background.node("lean-proxy", run.node, main, **capacity) as node:
            ready = LeanRunRequest(theorem=Theorem("ready", "", "True"))
            asked = node.bus.request_patiently(subjects.LEAN_RUN, ready, LeanRunReply, timeout=30, deadline=60)
            self.background.run(asked)
            yield node

    def opened(self, **changes: Any) -> OpenedLean:
        """This Lean as `open_lean` gives it, for the loop of a test, with a cache of its own. `changes`: of settings
        that are none of the processes'."""
        shared, verifier = self.lean.requests, self.lean.verifier
        settings = replace(self.settings, **changes)
        backend: Any = Elsewhere(self.background, shared.backend)
        contexts: Any = None if shared.contexts is None else Elsewhere(self.background, shared.contexts)
        verifying: Any = Elsewhere(self.background, verifier)
        verifying.statements = Elsewhere(self.background, verifier.statements)
        requests = Requests(backend, OutcomeCache(settings.cache), settings.resolved_tactic_seconds(), contexts)
        return OpenedLean(requests, self.toolchain, settings, verifying, asyncio.Semaphore(1))


@contextmanager
def shared_lean(background: Background, folder: Path) -> Iterator[SharedLean]:
    """Start pocket Lean with two workers, of which one is warm."""
    settings = LeanProxySettings(workers=2, key=str(folder / "verifier.pem"))

    @asynccontextmanager
    async def opened() -> AsyncIterator[SharedLean]:
        ctx = NodeContext("lean-proxy", NodeSettings())  # for its log; it never connects
        signer = make_signer(ctx, settings)
        assert signer is not None
        toolchain = await confined_toolchain(ctx, settings, signer)
        async with opened_lean(settings, toolchain) as lean:
            await load_header(ctx, lean.requests.backend)
            yield SharedLean(background, lean, toolchain, signer, settings)

    with background.opened(opened(), timeout=180) as lean:
        yield lean
