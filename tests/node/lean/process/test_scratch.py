"""Scratch folders: private, and cleaned up after processes that were killed."""

import subprocess
import sys
import tempfile

import pytest

from node.lean.process.fresh import scratch_folder

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
