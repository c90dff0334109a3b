"""A thousand lines of ordinary Lean are accepted and traced completely."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from node.lean.check.files.sources import collect
from node.lean.check.files.verifier import FileVerifier
from node.lean.toolchain.lean_toolchain import LeanToolchain

pytestmark = pytest.mark.lean

ORDINARY = Path(__file__).parents[1] / "toolchain" / "pocket" / "ordinary"


@pytest.mark.timeout(600)
async def test_every_theorem_of_the_ordinary_files_is_accepted():
    assert sum(len(file.read_text().splitlines()) for file in ORDINARY.glob("*.lean")) >= 1000
    verifier = FileVerifier(await LeanToolchain.pocket().confined(), at_once=2, seconds=120, memory_mb=2048)
    try:
        reports = [judged.report async for judged in verifier.verify(collect([ORDINARY])[0])]
    finally:
        verifier.close()
    rejected = [
        f"{report.file}:{each.line}: {each.reason}" for report in reports for each in report.declarations if each.reason
    ]
    assert not rejected and not any(report.problem for report in reports)
    assert sum(len(report.declarations) for report in reports) >= 200


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_ordinary_file_is_traced_whole(tmp_path):
    command = [sys.executable, "-m", "node.command.cli", "trace", str(ORDINARY), "--out", str(tmp_path / "out")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert re.search(
        r"14 files \(0 of an earlier run, 0 failed\); \d+ theorems \(0 that Lean does not accept\)", result.stdout
    )
