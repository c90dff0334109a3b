"""Serves an HTTP application until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aiohttp import web


async def serve_http(
    application: web.Application,
    host: str,
    port: int,
    stop: asyncio.Event,
    *,
    say: Callable[[str], None],
    facts: str,
    drain_seconds: float,
    handler_cancellation: bool = False,
) -> bool:
    """Serve until `stop` is set, then let open requests end; False where the port is not to be had, which is said.

    `facts`: stands behind the address in the first line. `drain_seconds`: what open requests have to end.
    `handler_cancellation`: whether a client that leaves ends its request.
    """
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=drain_seconds, handler_cancellation=handler_cancellation
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            say(f"cannot listen on {host}:{port} ({error.strerror}); choose another with --host and --port")
            return False
        say(f"http://{host}:{runner.addresses[0][1]}, {facts}")
        await stop.wait()
        say("stopping")
    finally:
        await runner.cleanup()
    return True
