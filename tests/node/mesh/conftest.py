"""Commands in the tests' own process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.node.mesh.calling import Command, Run


@pytest.fixture
def calling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Command], Run]:
    """Makes of a command's `main` one that gives exit code, output and errors, run in a folder of the test's own: a
    start of Python less."""
    monkeypatch.chdir(tmp_path)

    def calls(command: Command) -> Run:
        def call(*arguments: str) -> tuple[int, str, str]:
            code = command(list(arguments))
            printed = capsys.readouterr()
            return code, printed.out, printed.err

        return call

    return calls
