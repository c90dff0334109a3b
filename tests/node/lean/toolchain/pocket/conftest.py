"""Pocket Lean for these tests: one call elaborates a whole file, because most of the time goes into starting Lean."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from node.lean.toolchain.pocket import build


@dataclass(frozen=True)
class Diagnostic:
    """One message of Lean: first line (from 1), severity (`error`, `warning`, `information`) and text."""

    line: int
    severity: str
    text: str


Elaborate = Callable[[str], list[Diagnostic]]


def elaborate_file(text: str) -> list[Diagnostic]:
    """Elaborate a Lean file in a fresh process; the messages in order of their lines."""
    command = [*build.command(), "-DmaxErrors=1000000", "--json", "--stdin"]
    outcome = subprocess.run(
        command, env=build.environment(), input=text, capture_output=True, text=True, check=False, timeout=170
    )
    assert outcome.returncode in (0, 1), outcome.stderr
    messages = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [Diagnostic(m["pos"]["line"], m["severity"], m["data"]) for m in messages]


@pytest.fixture(scope="session")
def elaborate() -> Elaborate:
    """Elaborates the text of a Lean file and returns Lean's messages."""
    return elaborate_file


@pytest.fixture(scope="session")
def elaborate_each() -> Callable[[list[str]], list[list[Diagnostic]]]:
    """Elaborates many independent pieces in one file, and returns the messages of each."""

    def each(pieces: list[str]) -> list[list[Diagnostic]]:
        starts, line = [], 1
        for piece in pieces:
            starts.append(line)
            line += piece.count("\n") + 1
        messages = elaborate_file("\n".join(pieces))
        ends = [*starts[1:], line]
        return [[m for m in messages if start <= m.line < end] for start, end in zip(starts, ends, strict=True)]

    return each
