"""Runs the judge on pocket Lean."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.judge.declarations import Answer, Data, answer

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Judge = Callable[[Data], Answer]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the judge on documents. The program is elaborated here, once, and not in each run as by `judge.command`:
    that takes a second. The compiled code is the same."""
    toolchain, folder = LeanToolchain.pocket(), tmp_path_factory.mktemp("judge")
    program = folder / "JudgeProgram.lean"
    program.write_text(judge.program(toolchain))
    command = [*toolchain.command, f"--root={folder}", "-o", str(program.with_suffix(".olean")), str(program)]
    compiled = subprocess.run(command, env=dict(toolchain.environment), capture_output=True, text=True, timeout=120)
    assert compiled.returncode == 0 and not compiled.stdout + compiled.stderr, compiled
    main = folder / "Main.lean"
    main.write_text("import JudgeProgram\n")

    return lambda *documents: asked([*toolchain.command, "--run", str(main)], toolchain, documents, folder)


def asked(
    command: Sequence[str], toolchain: LeanToolchain, documents: Sequence[bytes], *folders: Path
) -> subprocess.CompletedProcess[bytes]:
    """The judge's process after these documents; its output is the last answer, if each document has one."""
    sent = b"".join(b"%d %08d\n%s" % (len(each), number, each) for number, each in enumerate(documents))
    environment = judge.environment(toolchain, folders)
    finished = subprocess.run(command, input=sent, env=environment, capture_output=True, timeout=120)
    answers = []
    while finished.stdout:
        head, _, rest = finished.stdout.partition(b"\n")
        length, number = map(int, head.split())
        assert number == len(answers)
        answers.append(rest[:length])
        finished.stdout = rest[length:]
    finished.stdout = answers[-1] if len(answers) == len(documents) else b""
    return finished


@pytest.fixture
def judged(run: Run) -> Judge:
    """The judge's answer to declarations. Fails if it is not complete."""

    def judged(data: Data) -> Answer:
        finished = run(data.written())
        assert finished.returncode == 0, (finished.returncode, finished.stderr, finished.stdout[-500:])
        return answer(finished.stdout, len(data.steps), len(data.queries))

    return judged
