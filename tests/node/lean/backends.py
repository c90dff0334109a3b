"""Every backend that can run here, with pocket Lean under it, for the conformance suite."""

import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from aiohttp import web

from common.lean import Step, Theorem
from common.protocol.messages import LeanRunReply, LeanRunRequest
from node.lean.adapters.leantree.backend import LeanTreeBackend
from node.lean.adapters.leantree.server import LeanTreeServer
from node.lean.adapters.leantree.service import LeanTreeServerSettings, make_server
from node.lean.adapters.repl.backend import ReplBackend
from node.lean.backend import Backend, OutcomeCache
from node.lean.requests import Requests
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions

PATIENCE = 60.0
"""Seconds for what ends by itself."""
Started = TypeVar("Started", bound=Backend)
REPL = f"{shlex.quote(sys.executable)} -m node.command.cli repl --no-sandbox"
"""Our own REPL, as a command."""


@asynccontextmanager
async def worker(workers: int = 1, queue: int = 100, memory_mb: int = 1024) -> AsyncIterator[Pool]:
    options = WorkerOptions(memory_mb=memory_mb)
    async with started(Pool(LeanToolchain.pocket(), options, workers=workers, queue=queue)) as pool:
        yield pool


@asynccontextmanager
async def repl(
    workers: int = 1, queue: int = 100, memory_mb: int = 1024, command: str = REPL
) -> AsyncIterator[ReplBackend]:
    options = WorkerOptions(memory_mb=memory_mb)
    command_line = tuple(shlex.split(command))
    async with started(ReplBackend(LeanToolchain.pocket(), command_line, options, workers, queue)) as backend:
        yield backend


@dataclass
class Served(LeanTreeBackend):
    """A client that sees its server's workers, as the suite wants it: over the wire nobody does."""

    server: LeanTreeServer | None = None

    @property
    def restarts(self) -> int:
        assert self.server is not None
        return self.lost + self.server.pool.restarts


@asynccontextmanager
async def leantree(workers: int = 1, queue: int = 100, memory_mb: int = 1024) -> AsyncIterator[LeanTreeBackend]:
    """A client of our own LeanTree server, over HTTP on loopback."""
    lean = LeanProcessSettings(workers=workers, queue=queue, memory_mb=memory_mb, tactic_seconds=60.0)
    server, _ = make_server(LeanTreeServerSettings(lean=lean), LeanToolchain.pocket())
    async with on_loopback(server.application()) as url, started(Served(url, workers, queue, server=server)) as backend:
        yield backend


@asynccontextmanager
async def on_loopback(application: web.Application, patience: float = 0.5) -> AsyncIterator[str]:
    """Serve on a free port; gives the address. `patience`: seconds in which open requests may end."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=patience)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def started(backend: Started) -> AsyncIterator[Started]:
    backend.start()
    try:
        yield backend
    finally:
        await backend.stop()


def requests_on(backend: Backend) -> Requests:
    return Requests(backend, OutcomeCache(0), longest=PATIENCE)


async def run(
    backend: Backend, theorem: Theorem, path: Iterable[Step], *tactics: str, timeout: float = PATIENCE
) -> LeanRunReply:
    request = LeanRunRequest(theorem=theorem, path=tuple(path), tactics=tactics, timeout=timeout)
    reply = await requests_on(backend).run(request)
    assert isinstance(reply, LeanRunReply), reply
    return reply


BACKENDS: dict[str, Callable[..., AbstractAsyncContextManager[Backend]]] = {
    "worker": worker,
    "repl": repl,
    "leantree": leantree,
}
"""Makers by name; each takes `workers`, `queue` and `memory_mb`."""
