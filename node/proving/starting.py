"""Finds Lean and what it can be confined by, at once: each waits for processes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from common.lean_settings import LeanSettings
from node.lean.process.protections import detect, that_lean_starts_with
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain

A = TypeVar("A")
B = TypeVar("B")


async def confined_toolchain(settings: LeanSettings) -> LeanToolchain:
    """The Lean that the settings mean, with every protection that this system allows. Raises LeanProblem."""
    toolchain, protections = await together(asyncio.to_thread(find, settings), detect())
    protections = await that_lean_starts_with(protections, toolchain.command, toolchain.environment)
    return replace(toolchain, protections=protections)


async def together(first: Coroutine[Any, Any, A], second: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Both results. Where one fails or this is cancelled, it waits until both have ended: a process whose start nobody
    waits for keeps asyncio from ending (`common.process`)."""
    one, other = asyncio.create_task(first), asyncio.create_task(second)
    try:
        return await one, await other
    finally:
        one.cancel()
        other.cancel()
        await asyncio.gather(one, other, return_exceptions=True)
