"""Finds Lean and the available sandbox protections concurrently, because both wait for processes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from common.lean_settings import LeanSettings
from node.lean.process.protections import detect
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain

A = TypeVar("A")
B = TypeVar("B")


async def confined_toolchain(settings: LeanSettings) -> LeanToolchain:
    """The Lean toolchain of these settings, with all protections that this system supports. Raises LeanProblem."""
    toolchain, protections = await together(asyncio.to_thread(find, settings), detect())
    return await toolchain.confined_by(protections)


async def together(first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Both results. If one fails or this is cancelled, waits until both have ended: asyncio cannot shut down while a
    process is starting that no task awaits (`common.life.process`)."""
    first_task, second_task = asyncio.create_task(first), asyncio.create_task(second)
    try:
        return await first_task, await second_task
    finally:
        first_task.cancel()
        second_task.cancel()
        await asyncio.gather(first_task, second_task, return_exceptions=True)
