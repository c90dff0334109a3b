"""Children: what counts as their memory, what ends them, what is known of them then; one that cannot start says nothing
about a proof."""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from common.lean import Theorem
from node.lean.check.verify.verifier import VerificationFailed
from node.lean.process import dialog
from node.lean.process.child import ConfinedChild
from node.lean.process.fresh import (
    FILE_BYTES,
    Limits,
    NotStarted,
    WatchedProcess,
    run_fresh,
    run_watched,
    scratch_folder,
)
from tests.node.lean.verify.recorded import opened

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


HONEST = Theorem("t", "(p : Prop)", "p → p"), "exact fun h => h"


@pytest.mark.process
async def test_a_child_without_its_modules_is_told_apart_from_data_that_is_too_much() -> None:
    child = dialog.Dialog("node.lean.nowhere", Limits(seconds=20, memory_mb=512))
    with pytest.raises(NotStarted, match=r"cannot start"):
        await child.ask({}, dict)


@pytest.mark.lean
async def test_a_proof_is_not_rejected_because_its_judge_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where packages are installed for one process and not for its children."""
    monkeypatch.setattr(dialog, "_START", "import a_package_that_is_not_there")
    async with opened() as verifier:
        for failed in await asyncio.gather(*(verifier.verify_many([HONEST] * n) for n in (1, 2))):
            assert all(isinstance(each, VerificationFailed) and "cannot start" in str(each) for each in failed)
