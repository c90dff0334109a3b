"""`proofmesh leantree-server`: LeanTree's HTTP protocol over our Lean workers, on any toolchain, without a build step.

Clients can make Lean run any command. The server therefore listens on loopback unless configured otherwise, and Lean
processes are confined as far as the system allows.

Exit code: 0 stopped, 1 cannot listen on the port, 2 for a wrong configuration or a Lean that cannot be used.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Duration, Natural, Port, Timeout
from common.output.command import Exit
from common.output.visible import say
from common.settings import WebSettings
from node.lean.settings import LeanProcessSettings

if TYPE_CHECKING:
    from node.lean.adapters.leantree.server import LeanTreeServer
    from node.lean.toolchain.lean_toolchain import LeanToolchain

FIRST_NUMBERS = 2**40
"""Most different first process numbers. They are exact in every JSON reader, and hardly ever the same twice."""


@dataclass
class LeanTreeServerSettings(WebSettings):
    """Serve LeanTree's HTTP protocol over our Lean workers."""

    host: str = "127.0.0.1"
    """Address to listen on. Clients can run any Lean command, and LeanTree's own send no token: use only networks that
    you trust, or `client_ca`."""

    port: Port = 8000
    """Port to listen on; 0 takes a free one."""

    processes: Natural = 0
    """Most processes that clients hold at the same time. 0 means one for each worker. They share the workers."""

    idle_seconds: Timeout = 600.0
    """Seconds without a request after which a process is taken back (LeanTree's own limit is the same)."""

    drain_seconds: Duration = 10.0
    """After a request to stop, seconds in which open requests may finish."""

    header: str = ""
    """Lean commands with which every process starts, e.g. `import Mathlib`."""

    config: Path | None = None
    """A TOML file. Its sections [lean] and [lean_proxy] have the defaults of the flags for Lean."""

    lean: Annotated[LeanProcessSettings, tyro.conf.arg(name="")] = field(default_factory=LeanProcessSettings)
    """How Lean runs."""


def main(argv: Sequence[str]) -> int:
    """Entry point. Returns the exit code."""
    from common import config

    file = config.config_file(argv)
    default = LeanTreeServerSettings(config=file, lean=config.load(LeanProcessSettings, file, "lean_proxy"))
    settings = tyro.cli(LeanTreeServerSettings, args=list(argv), default=default, prog="proofmesh leantree-server")
    config.check_flags(settings)
    return asyncio.run(serve(settings))


async def serve(settings: LeanTreeServerSettings) -> int:
    """Serve until SIGINT or SIGTERM. Returns the exit code."""
    from node.lean.toolchain.find import find
    from node.lean.toolchain.lean_toolchain import LeanProblem

    # 1. A signal during the start ends it in order, too.
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        # 2. Lean, confined as far as this machine allows.
        toolchain = await asyncio.to_thread(find, settings.lean.lean)
    except LeanProblem as error:
        _say(str(error))
        return Exit.UNUSABLE
    for note in toolchain.notes:
        _say(note)
    if settings.lean.sandbox:
        toolchain = await toolchain.confined()
    return await serve_on(settings, toolchain, stop)


async def serve_on(settings: LeanTreeServerSettings, toolchain: LeanToolchain, stop: asyncio.Event) -> int:
    """Serve with a toolchain until `stop` is set. Returns the exit code."""
    from common.life.serving import serve_http

    server, workers = make_server(settings, toolchain)
    gaps = ", ".join(toolchain.protections.gaps()) or "none"
    return await serve_http(
        server.application(),
        settings,
        settings.port,
        stop,
        say=_say,
        facts=f"{workers} Lean workers; not protected: {gaps}",
        drain_seconds=settings.drain_seconds,
    )


def make_server(
    settings: LeanTreeServerSettings, toolchain: LeanToolchain, *, patience: float = 1.0
) -> tuple[LeanTreeServer, int]:
    """A server and the number of its workers. `patience`: see LeanTreeServer."""
    from common.life.serving import Access
    from node.lean.adapters.leantree.server import LeanTreeServer
    from node.lean.adapters.leantree.sessions import Sessions
    from node.lean.backend import OutcomeCache
    from node.lean.requests import Requests
    from node.lean.worker.pool import Pool
    from node.lean.worker.process import worker_options

    lean = settings.lean
    workers = lean.resolved_workers()
    # 1. The workers. LeanTree's "processes" are sessions over them, so that there may be more sessions than workers.
    pool = Pool(toolchain, worker_options(lean), workers=workers, queue=workers * lean.queue)
    requests = Requests(pool, OutcomeCache(lean.cache), longest=lean.resolved_tactic_seconds())
    # 2. The sessions. Their numbers begin somewhere else at each start: a client of an earlier server does not meet the
    # session of another.
    first = secrets.randbelow(FIRST_NUMBERS) + 1
    sessions = Sessions(settings.processes or workers, settings.idle_seconds, settings.header, first=first)
    return LeanTreeServer(requests, sessions, access=Access(settings), patience=patience), workers


def _say(message: str) -> None:
    say(f"proofmesh leantree-server: {message}", file=sys.stderr, flush=True)
