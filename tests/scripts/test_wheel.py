"""`pip install .` installs everything that is needed at run time, not only Python sources."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("broker", "common", "data", "node", "scripts", "ui")


@pytest.mark.slow
def test_a_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command = [*pip, "-w", tmp_path, tree]
    subprocess.run(command, check=True, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {name for name in filter(None, tracked.split("\0")) if name.startswith(tuple(f"{p}/" for p in PACKAGES))}
    assert {name for name in wanted if (ROOT / name).is_file() and not name.endswith(".md")} <= packed
