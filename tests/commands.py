"""Commands in the test process: `main(argv)` and what it prints, without a start of Python for each. And programs that
are not everywhere."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

import pytest

from scripts.setup import tools

Command = Callable[[list[str]], int]
"""The `main` of a command."""


class Answer(NamedTuple):
    """What a command says."""

    code: int
    out: str
    err: str


Run = Callable[..., Answer]
"""A command: its arguments to what it says."""


class Called:
    """Calls commands: `called(main, "--flag", "value")`. In an asynchronous test that is
    `await asyncio.to_thread(called, ...)`, because most commands run a loop of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, command: Command, *arguments: object, stdin: str = "") -> Answer:
        """Run a command. Flags that cannot be parsed, and `--help`, end it as they end a process."""
        self._capsys.readouterr()
        with self._monkeypatch.context() as patched, _given(stdin) as pipe:
            patched.setattr(sys, "stdin", pipe)
            try:
                code = command([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        printed = self._capsys.readouterr()
        assert "Traceback" not in printed.err, printed.err
        return Answer(code, printed.out, printed.err)


@contextmanager
def _given(text: str) -> Iterator[TextIO]:
    """Standard input with this text, which is smaller than a pipe's buffer. Some commands read descriptor 0."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        with os.fdopen(reading, encoding="utf-8") as pipe:
            yield pipe
    finally:
        os.dup2(before, 0)
        os.close(before)


def found(name: str) -> str:
    """The path of a program that `just setup tools` gets. Skips the test if it is not here."""
    program = tools.find(name)
    if program is None:
        pytest.skip(f"no {name}: `just setup tools` gets it without root")
    return program
