"""Finds Lean and what it can be confined by, at once: each waits for processes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from common.lean_settings import LeanSettings
from node.lean.process.protections import detect, that_lean_starts_with
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain


async def confined_toolchain(settings: LeanSettings) -> LeanToolchain:
    """The Lean that the settings mean, with every protection that this system allows. Raises LeanProblem."""
    toolchain, protections = await asyncio.gather(asyncio.to_thread(find, settings), detect())
    protections = await that_lean_starts_with(protections, toolchain.command, toolchain.environment)
    return replace(toolchain, protections=protections)
