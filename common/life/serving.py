"""Serves an HTTP application until a stop event is set."""

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
    """Serve until `stop` is set, then wait for open requests. Returns False, with a message, if the port is not free.

    `say`: prints a line to the user. `facts`: text after the address in the first line. `drain_seconds`: time limit for
    open requests. `handler_cancellation`: whether a request is cancelled when its client disconnects.
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
        # Said only when the port is open: whoever waits for this line can connect at once.
        say(f"http://{host}:{runner.addresses[0][1]}, {facts}")
        await stop.wait()
        say("stopping")
    finally:
        await runner.cleanup()
    return True
