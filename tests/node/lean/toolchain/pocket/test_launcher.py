"""The launcher is a `lean` executable, anywhere, and ends with its parent when asked to."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from node.lean.toolchain.pocket import build, launcher

pytestmark = pytest.mark.lean


def test_a_missing_library_is_explained() -> None:
    environment = {launcher.LIBRARY_VARIABLE: "/no/such/libleanshared.so"}
    outcome = subprocess.run(
        [*build.command(), "--version"], env=environment, capture_output=True, text=True, check=False
    )
    assert (outcome.returncode, "no such file" in outcome.stderr) == (1, True)


def test_it_dies_with_its_parent() -> None:
    """A parent starts Lean on an endless input and is killed; Lean must not outlive it."""
    program = (
        "import os, subprocess, sys\n"
        "from node.lean.toolchain.pocket import build\n"
        "environment = build.environment() | {'PROOFMESH_DIE_WITH_PARENT': str(os.getpid())}\n"
        "child = subprocess.Popen([*build.command(), '--stdin'], env=environment, stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\n"
        "child.wait()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    wait_until(lambda: "libleanshared" in Path(f"/proc/{child}/maps").read_text())  # past its own prctl call
    parent.kill()
    parent.wait()
    wait_until(lambda: not alive(child))


def alive(process_id: int) -> bool:
    """Whether a process exists and is no zombie (an orphan's zombie waits for init)."""
    try:
        os.kill(process_id, 0)
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def wait_until(condition: object, seconds: float = 30) -> None:
    """Poll a condition until it holds; fails the test when it does not in time."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.01)
