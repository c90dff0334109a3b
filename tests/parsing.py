"""Reads command lines with the real parser of options, and runs nothing."""

import contextlib
import io
import re
from collections.abc import Sequence
from typing import Any

import pytest
import tyro

from node.command.cli import main


class _Parsed(BaseException):
    """The options were read. Not an Exception: no command may handle it."""


def refusal_of(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What `proofmesh ARGUMENTS` says when its parser refuses them; empty if it takes them. The command does not run.

    Raises AssertionError if the command ends without having read options."""
    real = tyro.cli

    def read_only(*given: Any, **named: Any) -> Any:
        real(*given, **named)
        raise _Parsed

    said = io.StringIO()
    with monkeypatch.context() as patch, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        patch.setattr(tyro, "cli", read_only)
        try:
            code = main(list(arguments))
        except _Parsed:
            return ""
        except SystemExit as stopped:
            code = stopped.code
    assert code != 0, f"proofmesh {' '.join(arguments)} ended without having read options"
    return re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue()) or f"exit code {code}"
