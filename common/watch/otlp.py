"""Exports spans to an OpenTelemetry collector: OTLP over HTTP, as JSON, which needs no package beside aiohttp."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

import structlog

if TYPE_CHECKING:
    import aiohttp

from common.life import metrics
from common.protocol.messages import Spans
from common.watch.spans import as_otlp

Export = Callable[[Spans], None]
"""Takes spans, and returns at once."""

WAITING = 100
"""Most messages that wait for the collector: some seconds of a busy node. Further ones are lost."""

TRY_SECONDS = (0.5, 2.0, 8.0)
"""Pauses before a message is sent again."""

TIMEOUT_SECONDS = 10.0

AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which a client sends again, by the specification of OTLP."""

_lost = metrics.counter("otlp_lost_spans", "Spans that the OpenTelemetry collector did not take")

log = structlog.get_logger("otlp")


@asynccontextmanager
async def exporting(url: str) -> AsyncIterator[Export]:
    """An exporter for as long as the block lasts; without a URL it drops what it gets, because nobody wants it."""
    if not url:
        yield lambda message: None
        return
    waiting: asyncio.Queue[Spans] = asyncio.Queue(WAITING)

    def export(message: Spans) -> None:
        if waiting.full():
            _lost.inc(len(message.spans))
        else:
            waiting.put_nowait(message)

    sending = asyncio.create_task(_send(f"{url.rstrip('/')}/v1/traces", waiting), name="otlp")
    try:
        yield export
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


async def _send(url: str, waiting: asyncio.Queue[Spans]) -> None:
    import aiohttp

    well = True
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, headers=_headers()) as session:
        while True:
            message = await waiting.get()
            body = as_otlp(message.role, message.node_id, message.spans)
            problem = await _sent(session, url, body)
            if problem:
                _lost.inc(len(message.spans))
            if problem and well:
                log.warning("the OpenTelemetry collector takes no spans", url=url, reason=problem)
            elif not problem and not well:
                log.info("the OpenTelemetry collector takes spans again", url=url)
            well = not problem


async def _sent(session: aiohttp.ClientSession, url: str, body: dict[str, object]) -> str:
    """Send a body, again after errors that may pass. Returns the problem; empty: none."""
    import aiohttp

    problem = ""
    for pause in (*TRY_SECONDS, 0.0):
        try:
            async with session.post(url, json=body) as response:
                if response.ok:
                    return ""
                problem = f"status {response.status}"
                if response.status not in AGAIN:
                    return problem
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem = f"{type(error).__name__}: {error}"
        await asyncio.sleep(pause)
    return problem


def _headers() -> dict[str, str]:
    """What OTEL_EXPORTER_OTLP_HEADERS says, as NAME=VALUE,NAME=VALUE with %-escapes."""
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    return {name.strip(): unquote(value.strip()) for name, equals, value in pairs if equals and name.strip()}
