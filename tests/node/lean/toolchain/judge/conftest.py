"""Runs the judge on pocket Lean."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.judge.declarations import Answer, Data, answer

Run = Callable[[bytes], "subprocess.CompletedProcess[bytes]"]
Judge = Callable[[Data], Answer]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the judge on the bytes of a file."""
    toolchain = LeanToolchain.pocket()

    def run(content: bytes) -> subprocess.CompletedProcess[bytes]:
        file = tmp_path / "declarations"
        file.write_bytes(content)
        return subprocess.run(
            judge.command(toolchain, file, tmp_path), env=judge.environment(toolchain), capture_output=True, timeout=120
        )

    return run


@pytest.fixture
def judged(run: Run) -> Judge:
    """The judge's answer to declarations. Fails if it is not complete."""

    def judged(data: Data) -> Answer:
        finished = run(data.written())
        assert finished.returncode == 0, (finished.returncode, finished.stderr, finished.stdout[-500:])
        return answer(finished.stdout)

    return judged
