import os
import signal
import subprocess
import sys

import pytest

from common.life import faults

PROGRAM = """
from common.life import faults
for turn in range(3):
    faults.reach("other")
    print("before", turn, flush=True)
    faults.reach("here")
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("fault", "printed"),
    [("here", ["before 0"]), ("here#3", ["before 0", "before 1", "before 2"])],
)
def test_process_is_killed_at_its_point(fault: str, printed: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "PROOFMESH_FAULT": fault}, capture_output=True, text=True
    )
    assert run.returncode == -signal.SIGKILL
    assert run.stdout.splitlines() == printed


@pytest.mark.parametrize("fault", ["elsewhere", "here#9"])
def test_points_that_are_not_asked_for_do_nothing(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(faults.VARIABLE, fault)
    for _ in range(3):
        faults.reach("here")
