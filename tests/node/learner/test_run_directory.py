from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.records.database import RunDirectoryError
from node.learner.run import RunDirectory


@pytest.mark.process
def test_a_directory_has_one_owner_which_is_named_and_a_killed_one_does_not_block_the_next(tmp_path: Path) -> None:
    ours = RunDirectory(tmp_path, "demo")
    ours.open()
    program = (
        "import os, sys; from pathlib import Path; from node.learner.run import RunDirectory\n"
        "from common.records.database import RunDirectoryError\n"
        "RunDirectory(Path(sys.argv[1]), 'other').open()\n"
        "try: RunDirectory(Path(sys.argv[1]), 'demo').open()\n"
        "except RunDirectoryError as error: print(error, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    other = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert other.returncode == -9 and f"in use by process {os.getpid()}" in other.stdout
    ours.close()
    for name in ("demo", "other"):
        again = RunDirectory(tmp_path, name)
        again.open()
        again.close()


def test_a_folder_that_cannot_be_written_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    for folder in (Path("/proc/proofmesh-runs"), tmp_path / "runs"):
        with pytest.raises(RunDirectoryError, match=r"cannot be written.*--directory"):
            RunDirectory(folder, "demo").open()
