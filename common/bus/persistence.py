"""Retries operations on the broker until they succeed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina
import structlog

from common.bus.errors import BusError

R = TypeVar("R")

FIRST, LONGEST, JITTER = 0.25, 5.0, 0.25
"""Seconds: the first pause doubles up to the longest pause; a random part up to JITTER is added. A broker needs one to
three seconds to restart."""

log = structlog.get_logger("bus")

# `persistently` logs each failure itself, so stamina's own log lines are switched off.
stamina.instrumentation.set_on_retry_hooks(())


async def persistently(
    send: Callable[[], Awaitable[R]],
    complaint: str,
    *,
    tries: int | None = None,
    until: Callable[[], bool] = lambda: False,
    **context: str,
) -> R:
    """Retry `send` until it succeeds, with a pause after every BusError, while the broker is unreachable or full.

    Each failure is logged as `complaint` with its `context`. Raises the last BusError after `tries` attempts, or if
    `until()` is true after a failure.
    """

    def should_retry(error: Exception) -> bool:
        if not isinstance(error, BusError):
            return False
        log.warning(complaint, reason=str(error), **context)
        return not until()

    async for attempt in stamina.retry_context(
        on=should_retry, attempts=tries, timeout=None, wait_initial=FIRST, wait_max=LONGEST, wait_jitter=JITTER
    ):
        with attempt:
            return await send()
    raise AssertionError("stamina ends with a result or an error")
