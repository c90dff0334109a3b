"""Runs the judge on pocket Lean."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.toolchain.judge.declarations import Answer, Data, answer

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Judge = Callable[[Data], Answer]


RUNS_CODE = "def runsCode : List Name := ["
"""Constants by which the kernel would run compiled code. Pocket Lean has none of them: Nat.gcd is another one here."""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the judge on documents. The command, as users run it, elaborates the program each time, which takes seconds:
    here it does so once, and keeps the compiled program for the tests."""
    toolchain, folder = LeanToolchain.pocket(), tmp_path_factory.mktemp("judge")
    text = judge.program(toolchain)
    assert RUNS_CODE in text
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(judge, "program", lambda _: text.replace(RUNS_CODE, f'{RUNS_CODE}dotted ["Nat", "gcd"], '))
        *lean, run, program = judge.command(toolchain, folder)
    keeping = [f"--root={folder}", "-o", str(folder / "JudgeProgram.olean")]
    compiled = asked([*lean, *keeping, run, program], toolchain, [Data().written()])
    assert compiled.returncode == 0 and not compiled.stderr, compiled
    assert answer(compiled.stdout, 0, 0) == Answer([], [])
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
