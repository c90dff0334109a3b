"""Nodes in processes of their own (`node_program.py`), for tests of signals and of what is left of a killed node."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from common.bus import Bus
from common.life.process import kill_group, spawn_child
from common.protocol.messages import NodeInfo
from tests.background import RunOnBroker
from tests.waiting import answered

PROGRAM = Path(__file__).with_name("node_program.py")


@asynccontextmanager
async def node_process(kind: str, run: RunOnBroker, **options: Any) -> AsyncIterator[asyncio.subprocess.Process]:
    """A node of a run that does what a function of the program does; it is killed at the end of the block.
    `options`: of `spawn_child`."""
    own = {"PYTHONPATH": str(PROGRAM.parents[2]), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, PROGRAM, kind, run.bus.url, run.name]
    process = await spawn_child(command, env=own | options.pop("env", {}), **options)
    try:
        yield process
    finally:
        await kill_group(process, grace=0)


async def got(url: str, **options: Any) -> tuple[int, str]:
    """Status and text of a page."""
    async with ClientSession() as http, http.get(url, **options) as response:
        return response.status, await response.text()


async def registered(bus: Bus, state: str) -> NodeInfo:
    """Wait for the only node of the run to be in a state, and return its entry."""
    (found,) = await answered(bus.nodes, lambda nodes: [each.state for each in nodes] == [state], 20, f"one {state}")
    return found
