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


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], subprocess.CompletedProcess[bytes]]:
    """Runs the judge on a file. The program is elaborated here, once, and not in each run as by `judge.command`: that
    takes a second. The compiled code is the same."""
    toolchain, folder = LeanToolchain.pocket(), tmp_path_factory.mktemp("judge")
    program = folder / "JudgeProgram.lean"
    program.write_text(judge.program(toolchain))
    command = [*toolchain.command, f"--root={folder}", "-o", str(program.with_suffix(".olean")), str(program)]
    compiled = subprocess.run(command, env=dict(toolchain.environment), capture_output=True, text=True, timeout=120)
    assert compiled.returncode == 0 and not compiled.stdout + compiled.stderr, compiled
    main = folder / "Main.lean"
    main.write_text("import JudgeProgram\n")

    def run(file: Path) -> subprocess.CompletedProcess[bytes]:
        command = [*toolchain.command, "--run", str(main), str(file)]
        return subprocess.run(command, env=judge.environment(toolchain, [folder]), capture_output=True, timeout=120)

    return run


@pytest.fixture
def run(tmp_path: Path, compiled: Callable[[Path], subprocess.CompletedProcess[bytes]]) -> Run:
    """Run the judge on the bytes of a file."""

    def run(content: bytes) -> subprocess.CompletedProcess[bytes]:
        file = tmp_path / "declarations"
        file.write_bytes(content)
        return compiled(file)

    return run


@pytest.fixture
def judged(run: Run) -> Judge:
    """The judge's answer to declarations. Fails if it is not complete."""

    def judged(data: Data) -> Answer:
        finished = run(data.written())
        assert finished.returncode == 0, (finished.returncode, finished.stderr, finished.stdout[-500:])
        return answer(finished.stdout, len(data.steps), len(data.queries))

    return judged
