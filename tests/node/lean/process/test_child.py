"""Confined children: what counts as their memory, and what ends them."""

import asyncio
import os
import sys

import pytest

from node.lean.process.child import ConfinedChild
from node.lean.process.fresh import FILE_BYTES, Limits, run_fresh

pytestmark = pytest.mark.process

PYTHON = (sys.executable, "-I", "-S", "-c")
EAT = "data = bytearray(300 << 20); data[::4096] = b'x' * len(data[::4096])\nprint('eaten', flush=True)\ninput()"
MAP = (
    "import mmap\nfile = open({path!r}, 'rb')\nwhole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
    "sum(whole[::4096])\nprint('mapped', flush=True)\ninput()"
)


async def started(code: str, *, memory_mb: float = 1000, tree: bool = False) -> ConfinedChild:
    """A child that has printed its first line."""
    child = await ConfinedChild.start(
        [*PYTHON, code], environment=None, memory_mb=memory_mb, tree=tree, stdin=asyncio.subprocess.PIPE
    )
    assert (await child.stdout.readline()).strip()
    return child


async def test_memory_counts_what_is_its_own_and_not_the_files_that_it_maps(tmp_path):
    file = tmp_path / "module"
    file.write_bytes(os.urandom(1 << 20) * 200)
    child = await started(MAP.format(path=str(file)))
    assert child.resident_mb() > 200 and child.own_mb() < 50
    await child.kill()
    eater = await started(EAT)
    assert eater.own_mb() > 290
    await eater.kill()
    assert eater.own_mb() == eater.resident_mb() == eater.cpu_seconds() == 0


async def test_what_a_process_has_started_counts_where_the_whole_tree_is_meant():
    parent = (
        f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {EAT!r}], stdin=sys.stdin)\n"
        "child.wait()"
    )
    whole, alone = await started(parent, tree=True), await started(parent)
    assert whole.own_mb() > 290 > alone.own_mb()
    await whole.kill()
    await alone.kill()


async def test_the_guard_ends_a_process_that_grows_beyond_what_it_began_with():
    child = await started(EAT, memory_mb=100)
    child.guard.base_mb = child.own_mb()
    async with child.guard:
        await asyncio.sleep(0.3)  # several looks: nothing has grown
        assert child.alive and not child.guard.exceeded
        child.guard.base_mb = 0
        assert await child.process.wait() == -9
    assert child.guard.exceeded
    await child.kill()


async def test_a_file_grows_to_its_limit_and_no_further(tmp_path):
    code = f"file = open('big', 'wb'); file.truncate({FILE_BYTES + 1})"
    finished = await run_fresh([*PYTHON, code], environment=None, folder=tmp_path, limits=Limits())
    assert finished.code != 0 and (tmp_path / "big").stat().st_size == 0
