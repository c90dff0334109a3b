"""Repeats what must reach the broker until it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from common.bus import BusError
from node.learner.run import Run

R = TypeVar("R")

PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds between tries; the last for every further one. A broker that restarts is back after one to three."""


class Stopping(Exception):
    """The node was told to stop while something waited for the broker."""


async def persistently(send: Callable[[], Awaitable[R]], run: Run, complaint: str) -> R:
    """Try until it succeeds. Raises Stopping when the node is to stop meanwhile."""
    turn = 0
    while True:
        try:
            return await send()
        except BusError as error:
            run.log.warning(complaint, reason=str(error))
        if run.stopping:
            raise Stopping(complaint)
        await asyncio.sleep(PAUSES[min(turn, len(PAUSES) - 1)])
        turn += 1
