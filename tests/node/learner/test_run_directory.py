from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.protocol.subjects import BadRunName
from common.records.database import RunDirectoryError
from node.learner.run import RunDirectory


@pytest.mark.process
def test_a_directory_has_one_owner_and_says_which(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path, "demo")
    first.open()
    program = (
        "import sys; from pathlib import Path; from node.learner.run import RunDirectory\n"
        "from common.records.database import RunDirectoryError\n"
        "try: RunDirectory(Path(sys.argv[1]), 'demo').open()\n"
        "except RunDirectoryError as error: print(error)"
    )
    other = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert f"in use by process {os.getpid()}" in other.stdout
    first.close()
    again = RunDirectory(tmp_path, "demo")
    again.open()
    again.close()


@pytest.mark.process
def test_a_killed_owner_does_not_block_the_next(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from node.learner.run import RunDirectory\n"
        "RunDirectory(Path(sys.argv[1]), 'demo').open(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    directory = RunDirectory(tmp_path, "demo")
    directory.open()
    directory.close()


def test_a_folder_that_cannot_be_written_is_said_clearly() -> None:
    with pytest.raises(RunDirectoryError, match=r"cannot be written.*--directory"):
        RunDirectory(Path("/proc/proofmesh-runs"), "demo").open()


def test_a_file_in_the_way_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(RunDirectoryError, match="cannot be written"):
        RunDirectory(tmp_path / "runs", "demo").open()


def test_bad_run_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRunName):
        RunDirectory(tmp_path, "../demo")
