"""`proofmesh serve`: a verification service with Kimina Lean Server's HTTP API, on any toolchain.

With `--generators` it also suggests tactics to editors, by LeanCopilot's external API.

Clients and reward functions for that server work with this one. Unlike that server, it accepts a snippet as proved only
if Lean's kernel accepts it in fresh processes, and if it uses only Lean's own axioms.

Exit code: 0 stopped, 1 cannot listen on the port or reach the broker, 2 for a wrong configuration or a Lean that cannot
be used.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from common.limits import Duration, Megabytes, Natural, Port, Positive, Share, Timeout
from common.machine import LEAN_SHARE, LEAN_WORKER_MB, is_loopback, read_machine
from common.output.command import Exit, UserError
from common.output.visible import say
from common.settings import LeanSettings, WebSettings
from node.lean.snippets.snippet import HEARTBEATS, MEMORY_MB, VERIFY_SECONDS, SnippetLimits, SnippetService

if TYPE_CHECKING:
    from node.lean.snippets.checker import SnippetChecker
    from node.lean.toolchain.lean_toolchain import LeanToolchain
    from node.serve.application import Application
    from node.serve.suggestions import Suggestions


KEY_VARIABLE = "LEAN_SERVER_API_KEY"
"""The environment variable from which Kimina's client reads its key."""

REMOTE_SNIPPETS = 64
"""Default of the snippets at lean-proxies at the same time. This is more than the workers of a few machines, because
busy lean-proxies refuse snippets."""


@dataclass
class ServeSettings(WebSettings):
    """Serve Kimina Lean Server's HTTP API over our Lean workers, or over the lean-proxies of a mesh."""

    section = "serve"

    host: str = "127.0.0.1"
    """Address to listen on. Any address except loopback needs a key or `client_ca`, because clients can run any Lean
    code."""

    port: Port = 8000
    """Port to listen on; 0 takes a free one."""

    api_key: str = ""
    """The key that clients must send as `Authorization: Bearer KEY`. If empty, LEAN_SERVER_API_KEY of the environment;
    without both, no key is needed, and `serve` listens on loopback only. A key in a flag is visible in the list of
    processes; use the environment or a file."""

    url: str = ""
    """A broker, nats://HOST:PORT: the lean-proxies of its run check the snippets. Empty: workers of this process."""

    run: str = "demo"
    """With `url`: the run whose lean-proxies check the snippets."""

    workers: Natural = 0
    """Snippets that run at the same time, each in its own Lean process. 0 means one for each core, and at most as many
    as half of the memory holds. With `url`: snippets at lean-proxies at the same time; 0 means 64."""

    spares: Natural = 4
    """Further Lean processes that stay idle with the imports of earlier snippets, as far as memory allows, for snippets
    with the same imports."""

    queue: Natural = 1024
    """Most snippets that wait for a worker. While more wait, new requests get 429."""

    max_snippets: Positive = 512
    """Most snippets of a request. Longer requests get 413."""

    client_share: Share = 0.5
    """Share of the queue for one client (an address): while more of its snippets wait or run, its new requests get 429.
    A request that is taken may add `max_snippets` to them."""

    memory_mb: Megabytes = MEMORY_MB
    """Memory that a Lean process may use in addition to its header's. A snippet that needs more is stopped."""

    longest: Timeout = 3600.0
    """Longest time limit of a snippet in seconds, whatever its request asks for."""

    verify_seconds: Timeout = VERIFY_SECONDS
    """Time limit in seconds of the trusted verdict on a snippet that elaborates without errors."""

    heartbeats: Positive = HEARTBEATS
    """Lean's `maxHeartbeats`, unless a snippet sets it (Lean's default is the same)."""

    max_body_mb: Positive = 32
    """Most megabytes of a request. Longer ones get 413."""

    drain_seconds: Duration = 10.0
    """After a request to stop, seconds in which open requests may finish."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, no child processes, one folder to write to, and
    only their toolchain, project and input to read."""

    generators: tuple[str, ...] = ()
    """Models that give editors tactics (`POST /generate`, LeanCopilot's external API), each as NAME=POLICY, such as
    `demo=own:runs/demo`. A policy is any that `prove --policy` knows."""

    encoders: tuple[str, ...] = ()
    """Models that give vectors of states (`POST /encode`), each as NAME=ENCODER: the folder of an index of premises, of
    a retriever, or an id of Hugging Face's hub."""

    config: Path | None = None
    """A TOML file. Its sections [serve] and [lean] have the defaults of the flags."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header: section [lean] of the file."""

    def resolved_requests(self) -> int:
        """Snippets at lean-proxies at the same time."""
        return self.workers or REMOTE_SNIPPETS

    def resolved_workers(self) -> int:
        """Workers on this machine: one for each core, because the service expects to be alone on the machine."""
        machine = read_machine()
        return self.workers or max(1, min(machine.cores, int(machine.memory_mb * LEAN_SHARE / LEAN_WORKER_MB)))


PATIENCE_SECONDS = 600.0
"""Seconds, besides those of its check, for which a request is repeated while all lean-proxies are busy or absent."""

CONNECT_SECONDS = 10.0
"""Seconds to wait for a connection to the broker."""


def main(argv: Sequence[str]) -> int:
    """Entry point. Returns the exit code."""
    import tyro

    from common import config

    file = config.config_file(argv)
    default = config.load(ServeSettings, file, "serve")
    default.config = file
    settings = tyro.cli(ServeSettings, args=list(argv), default=default, prog="proofmesh serve")
    config.check_flags(settings)
    settings.api_key = settings.api_key or os.environ.get(KEY_VARIABLE, "")
    if not (settings.api_key or settings.client_ca or is_loopback(settings.host)):
        # Not one that is made at each start, as for the monitor: its clients are programs, which keep their key.
        return _failed(
            f"--host {settings.host}: other machines could run Lean code here, because no key is set; set "
            f"{KEY_VARIABLE} (or api_key in [serve]), for example to {secrets.token_urlsafe(24)}, or client_ca, or "
            "listen on 127.0.0.1",
            Exit.UNUSABLE,
        )
    return asyncio.run(serve(settings))


async def serve(settings: ServeSettings) -> int:
    """Serve until SIGINT or SIGTERM. Returns the exit code."""
    from common.life import logging

    logging.configure("warning")
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return await (serve_there(settings, stop) if settings.url else serve_here(settings, stop))


async def serve_there(settings: ServeSettings, stop: asyncio.Event) -> int:
    """Serve over the lean-proxies of a mesh until `stop` is set. Returns the exit code."""
    from common.bus import Bus, BusSettings, BusUnavailable
    from common.protocol.subjects import BadRunName
    from node.lean.snippets.asked import AskedSnippets

    broker = BusSettings(url=settings.url)
    try:
        bus = await Bus.connect(broker, run=settings.run, name="serve", wait=CONNECT_SECONDS, outage=PATIENCE_SECONDS)
    except BadRunName as error:
        return _failed(str(error), Exit.UNUSABLE)
    except BusUnavailable as error:
        return _failed(str(error), Exit.FAILED)
    at_once = settings.resolved_requests()
    checker = AskedSnippets(
        bus,
        at_once=at_once,
        queue=settings.queue,
        verify_seconds=settings.verify_seconds,
        patience=PATIENCE_SECONDS + 2 * (settings.longest + settings.verify_seconds),
    )
    return await serve_on(settings, checker, stop, f"over the lean-proxies of run {settings.run} at {broker.url}")


async def serve_here(settings: ServeSettings, stop: asyncio.Event) -> int:
    """Serve over workers of this process until `stop` is set. Returns the exit code."""
    from common.life.waiting import unless_stopped
    from node.lean.process.protections import READS_NOT_CONFINED
    from node.lean.toolchain.find import find
    from node.lean.toolchain.lean_toolchain import LeanProblem
    from node.lean.worker.pool import workers_that_fit

    try:
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        return _failed(str(error), Exit.UNUSABLE)
    # 1. The toolchain, and how far its processes can be confined here.
    for note in toolchain.notes:
        _say(note)
    if settings.sandbox:
        toolchain = await toolchain.confined()
    # 2. A worker imports the header before the port opens: the first client does not wait for it. It shows how many
    # workers fit into memory.
    checker = make_checker(settings, toolchain)
    try:
        await unless_stopped(checker.prepare(), stop)
    except LeanProblem as error:
        await checker.stop()
        return _failed(str(error), Exit.UNUSABLE)
    if not settings.workers:
        checker.limit(workers_that_fit(read_machine(), max(worker.lean.header_mb for worker in checker.workers)))
    # 3. Whoever starts a service for others should see what is not protected.
    gaps = ", ".join(toolchain.protections.gaps()) or "none"
    if not toolchain.protections.reads:
        _say(READS_NOT_CONFINED)
    facts = f"{checker.at_once} workers, Lean {toolchain.version} ({toolchain.name}); not protected: {gaps}"
    return await serve_on(settings, checker, stop, facts)


async def serve_on(settings: ServeSettings, service: SnippetService, stop: asyncio.Event, facts: str) -> int:
    """Serve over a snippet service until `stop` is set. Returns the exit code. `facts`: text for the first line."""
    from common.life.serving import serve_http
    from node.serve import suggestions

    key = "with a key" if settings.api_key else "with certificates" if settings.client_ca else "without a key"
    try:
        async with suggestions.opened(settings.generators, settings.encoders, _say) as models:
            return await serve_http(
                make_application(settings, service, models).application(),
                settings,
                settings.port,
                stop,
                say=_say,
                facts=f"{key}; {facts}",
                drain_seconds=settings.drain_seconds,
                handler_cancellation=True,
            )
    except UserError as error:
        await service.stop()
        return _failed(str(error), error.exit_code)


def make_application(
    settings: ServeSettings, service: SnippetService, suggestions: Suggestions | None = None
) -> Application:
    """The HTTP application over a service. `suggestions`: its models for editors."""
    from common.life.metrics import METRICS
    from common.life.serving import Access
    from node.serve.application import Application

    max_body = settings.max_body_mb * 2**20
    return Application(
        service,
        METRICS,
        access=Access(settings, settings.api_key),
        max_body=max_body,
        max_snippets=settings.max_snippets,
        client_most=max(1, int(settings.client_share * settings.queue)),
        longest=settings.longest,
        suggestions=suggestions,
    )


def make_checker(settings: ServeSettings, toolchain: LeanToolchain) -> SnippetChecker:
    """A snippet service over workers of this process."""
    from node.lean.snippets import checker

    limits = SnippetLimits(
        workers=settings.resolved_workers(),
        header_seconds=settings.lean.header_seconds,
        spares=settings.spares,
        room_mb=read_machine().memory_mb * LEAN_SHARE,
        queue=settings.queue,
        heartbeats=settings.heartbeats,
        memory_mb=settings.memory_mb,
        verify_seconds=settings.verify_seconds,
    )
    return checker.make_checker(toolchain, limits)


def _failed(message: str, code: int) -> int:
    _say(message)
    return code


def _say(message: str) -> None:
    say(f"proofmesh serve: {message}", file=sys.stderr, flush=True)
