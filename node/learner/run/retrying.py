"""Repeats what must reach the broker until it has, or the learner is to stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from common import bus
from common.bus import BusError
from node.learner.run.run import Run

R = TypeVar("R")


class Stopping(Exception):
    """The node was told to stop while something waited for the broker."""


async def persistently(send: Callable[[], Awaitable[R]], run: Run, complaint: str) -> R:
    """Try until it succeeds. Raises Stopping when the node is to stop meanwhile."""
    try:
        return await bus.persistently(send, complaint, until=lambda: run.stopping)
    except BusError as error:
        raise Stopping(complaint) from error
