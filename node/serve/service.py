"""`proofmesh serve`: a verification service with Kimina Lean Server's HTTP API, on any toolchain.

Clients and reward functions for that server work with this one. Unlike that server, it accepts a snippet as proved only
if Lean's kernel accepts it in fresh processes, and if it uses only Lean's own axioms.

Exit code: 0 stopped, 1 cannot listen on the port or reach the broker, 2 for a wrong configuration or a Lean that cannot
be used.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from common.output.visible import say
from node.serve.settings import KEY_VARIABLE, ServeSettings

if TYPE_CHECKING:
    from node.lean.snippets.checker import SnippetChecker
    from node.lean.snippets.snippet import SnippetService
    from node.lean.toolchain.lean_toolchain import LeanToolchain
    from node.serve.application import Application

STOPPED, FAILED, WRONG = 0, 1, 2

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
    if not settings.api_key and not _is_loopback(settings.host):
        return _failed(
            f"--host {settings.host}: other machines could run Lean code here, because no key is set; set "
            f"{KEY_VARIABLE} (or --api-key, or api_key in [serve]), or listen on 127.0.0.1",
            WRONG,
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
        return _failed(str(error), WRONG)
    except BusUnavailable as error:
        return _failed(str(error), FAILED)
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

    try:
        toolchain = await asyncio.to_thread(find, settings.lean)
    except LeanProblem as error:
        return _failed(str(error), WRONG)
    for note in toolchain.notes:
        _say(note)
    if settings.sandbox:
        toolchain = await toolchain.confined()
    checker = make_checker(settings, toolchain)
    try:
        await unless_stopped(checker.prepare(), stop)
    except LeanProblem as error:
        await checker.stop()
        return _failed(str(error), WRONG)
    gaps = ", ".join(toolchain.protections.gaps()) or "none"
    if not toolchain.protections.reads:
        _say(READS_NOT_CONFINED)
    facts = f"{len(checker.workers)} workers, Lean {toolchain.version} ({toolchain.name}); not protected: {gaps}"
    return await serve_on(settings, checker, stop, facts)


async def serve_on(settings: ServeSettings, service: SnippetService, stop: asyncio.Event, facts: str) -> int:
    """Serve over a snippet service until `stop` is set. Returns the exit code. `facts`: text for the first line."""
    from common.life.serving import serve_http

    key = "with a key" if settings.api_key else "without a key"
    served = await serve_http(
        make_application(settings, service).application(),
        settings.host,
        settings.port,
        stop,
        say=_say,
        facts=f"{key}; {facts}",
        drain_seconds=settings.drain_seconds,
        handler_cancellation=True,
    )
    return STOPPED if served else FAILED


def make_application(settings: ServeSettings, service: SnippetService) -> Application:
    """The HTTP application over a service."""
    from common.life.hosts import Hosts
    from common.life.metrics import METRICS
    from node.serve.application import Application

    max_body = settings.max_body_mb * 2**20
    return Application(
        service,
        METRICS,
        hosts=Hosts(settings.host, settings.hosts),
        api_key=settings.api_key,
        max_body=max_body,
        max_snippets=settings.max_snippets,
        client_most=max(1, int(settings.client_share * settings.queue)),
        longest=settings.longest,
    )


def make_checker(settings: ServeSettings, toolchain: LeanToolchain) -> SnippetChecker:
    """A snippet service over workers of this process."""
    from node.lean.snippets.making import make_checker

    return make_checker(
        toolchain,
        workers=settings.resolved_workers(),
        queue=settings.queue,
        heartbeats=settings.heartbeats,
        memory_mb=settings.memory_mb,
        header_seconds=settings.lean.header_seconds,
        verify_seconds=settings.verify_seconds,
    )


def _is_loopback(host: str) -> bool:
    """True for an address that other machines cannot reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _failed(message: str, code: int) -> int:
    _say(message)
    return code


def _say(message: str) -> None:
    say(f"proofmesh serve: {message}", file=sys.stderr, flush=True)
