"""Commands in the test process: `main(argv)` and what it prints, without a start of Python for each."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

Command = Callable[[list[str]], int]
"""The `main` of a command."""


class Answer(NamedTuple):
    """What a command says."""

    code: int
    out: str
    err: str


class Called:
    """Calls commands: `called(main, "--flag", "value")`. In an asynchronous test that is
    `await asyncio.to_thread(called, ...)`, because most commands run a loop of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, command: Command, *arguments: object, stdin: str = "") -> Answer:
        """Run a command. Flags that cannot be parsed, and `--help`, end it as they end a process."""
        self._capsys.readouterr()
        with self._monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            try:
                code = command([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        printed = self._capsys.readouterr()
        assert "Traceback" not in printed.err, printed.err
        return Answer(code, printed.out, printed.err)
