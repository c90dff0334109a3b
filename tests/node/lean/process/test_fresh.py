"""Watched processes, of which it is known what they wrote before their end; and scratch folders."""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from node.lean.process.fresh import Limits, WatchedProcess, run_watched, scratch_folder

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


LEAVE_ONE = (
    "import sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
    "from node.lean.process.fresh import scratch_folder\n"
    "print(scratch_folder('proofmesh-x-'))"
)


@pytest.mark.process
def test_a_folder_that_a_process_left_is_removed_and_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    subprocess.run([sys.executable, "-c", LEAVE_ONE, str(tmp_path)], check=True)
    ours, strangers = scratch_folder("proofmesh-y-"), tmp_path / "proofmesh-x-notes"
    strangers.mkdir()
    made = scratch_folder("proofmesh-x-")
    assert sorted(tmp_path.iterdir()) == sorted([ours, strangers, made])
