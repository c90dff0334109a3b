"""Repeats what must reach the broker until it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina
import structlog

from common.bus.errors import BusError

R = TypeVar("R")

FIRST, LONGEST, JITTER = 0.25, 5.0, 0.25
"""Seconds: the first pause, which doubles up to the longest, with up to so much more at random. A broker that restarts
is back after one to three."""

log = structlog.get_logger("bus")

# Every caller says in its own words what it waits for; stamina's own lines would say it again, in words of its own.
stamina.instrumentation.set_on_retry_hooks(())


async def persistently(
    send: Callable[[], Awaitable[R]],
    complaint: str,
    *,
    tries: int | None = None,
    until: Callable[[], bool] = lambda: False,
    **context: str,
) -> R:
    """Try until it succeeds, with a pause after every BusError: a broker that is away or full is waited for.

    Each failure is logged as `complaint` with its `context`. Raises the last BusError after `tries`, or when `until()`
    is true after a failure.
    """

    def again(error: Exception) -> bool:
        if not isinstance(error, BusError):
            return False
        log.warning(complaint, reason=str(error), **context)
        return not until()

    async for attempt in stamina.retry_context(
        on=again, attempts=tries, timeout=None, wait_initial=FIRST, wait_max=LONGEST, wait_jitter=JITTER
    ):
        with attempt:
            return await send()
    raise AssertionError("stamina ends with a result or an error")
