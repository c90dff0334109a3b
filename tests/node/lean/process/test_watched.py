"""A process that is watched: what it wrote before it was ended is known."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from node.lean.process.fresh import Limits, WatchedProcess, run_watched

pytestmark = pytest.mark.process

LIMITS = Limits(seconds=60, memory_mb=500)


async def watched(code: str, limits: Limits = LIMITS, patience: float = 60.0) -> WatchedProcess:
    """What a Python program comes to."""
    command = [sys.executable, "-I", "-S", "-c", code]
    return await run_watched(command, environment=None, limits=limits, patience=lambda written: patience)


async def test_each_limit_cuts_it():
    busy = "import time\nwhile True: print('x'); time.sleep(0.05)"
    assert (await watched(busy, Limits(seconds=1))).cut == "not done after 1 s"
    silent = "import time; time.sleep(1000)"
    assert (await watched(silent, Limits(seconds=1))).cut in ("not done after 1 s", "nothing new for 1 s")
    flood = await watched("while True: print('x' * 1000)")
    assert flood.cut == "more than 4 MB of output" and flood.output.startswith("xxx")
    eats = await watched("x = []\nwhile True: x.append(bytearray(10 ** 7))", Limits(seconds=60, memory_mb=100))
    assert eats.cut == "more than 100 MB of memory"


async def test_nothing_is_left_open():
    async def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the number alone

    await watched("pass")
    before = await descriptors()
    await asyncio.gather(*(watched("print(1)") for _ in range(5)))
    with pytest.raises(FileNotFoundError):
        await run_watched([Path("/nowhere/lean")], environment=None, limits=LIMITS, patience=lambda written: 1.0)
    task = asyncio.create_task(watched("while True: pass"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert await descriptors() == before
