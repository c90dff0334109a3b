"""The launcher is a `lean` executable, anywhere, and ends with its parent when asked to."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from common.life.process import spawn_child
from node.lean.toolchain.pocket import build, launcher
from tests.waiting import eventually

pytestmark = pytest.mark.lean


def test_a_missing_library_is_explained() -> None:
    environment = {launcher.LIBRARY_VARIABLE: "/no/such/libleanshared.so"}
    outcome = subprocess.run(
        [*build.command(), "--version"], env=environment, capture_output=True, text=True, check=False
    )
    assert (outcome.returncode, "no such file" in outcome.stderr) == (1, True)


async def test_it_dies_with_its_parent() -> None:
    """A parent starts Lean on an endless input and is killed; Lean must not outlive it."""
    program = (
        "import os, subprocess, sys\n"
        "from node.lean.toolchain.pocket import build\n"
        "environment = build.environment() | {'PROOFMESH_DIE_WITH_PARENT': str(os.getpid())}\n"
        "child = subprocess.Popen([*build.command(), '--stdin'], env=environment, stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    parent = await spawn_child([sys.executable, "-c", program], stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(await parent.stdout.readline()))
    maps = Path(f"/proc/{child.pid}/maps")
    await eventually(lambda: "libleanshared" in maps.read_text())  # past its own prctl call
    parent.kill()
    await parent.wait()
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE  # an orphan's zombie waits for init
