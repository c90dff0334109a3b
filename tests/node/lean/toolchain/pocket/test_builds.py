"""Old builds of the library go, but never one that a process runs Lean from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.lean.toolchain.pocket import build

pytestmark = pytest.mark.lean

HOLD = """
import sys
from pathlib import Path
from node.lean.toolchain.pocket import build
print(build.hold(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""

PRUNE = """
import sys
from pathlib import Path
from node.lean.toolchain.pocket import build
for _ in range(50):
    build.prune(Path(sys.argv[1]), keep=1)
"""


def place(cache: Path, name: str, used: int) -> Path:
    """A build that was last used at this time."""
    directory = cache / f"pocket-{name}"
    (directory / "Pocket").mkdir(parents=True)
    (directory / "Pocket" / "Nat.olean").write_bytes(b"compiled")
    build.seal(directory, name)
    os.utime(directory / build.SEAL, (used, used))
    return directory


def left(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()}


def test_the_last_used_builds_stay(tmp_path: Path) -> None:
    for used, name in enumerate("abcd"):
        place(tmp_path, name, used)
    (tmp_path / "warm-start").mkdir()
    (tmp_path / ".pruned-pocket-z").mkdir()  # a process was killed while it pruned
    assert {path.name for path in build.prune(tmp_path)} == {"pocket-a", "pocket-b"}
    assert left(tmp_path) == {"pocket-c", "pocket-d", "warm-start"}


def test_a_build_that_a_process_holds_stays_until_the_process_is_killed(tmp_path: Path) -> None:
    oldest = place(tmp_path, "a", 0)
    for used, name in enumerate("bcd", start=1):
        place(tmp_path, name, used)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(oldest)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "True\n"
    os.utime(oldest / build.SEAL, (0, 0))  # holding it made it the last used one
    build.prune(tmp_path)
    assert left(tmp_path) == {"pocket-a", "pocket-c", "pocket-d"}
    holder.kill()
    holder.communicate()
    build.prune(tmp_path)
    assert left(tmp_path) == {"pocket-c", "pocket-d"}
    assert not build.hold(oldest)


def test_many_processes_prune_at_once(tmp_path: Path) -> None:
    for used in range(30):
        place(tmp_path, str(used), used)
    started = [subprocess.Popen([sys.executable, "-c", PRUNE, str(tmp_path)]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in started] == [0] * 4
    assert left(tmp_path) == {"pocket-29"}
    assert build.built_key(tmp_path / "pocket-29") == "29"
