"""The parser of options takes every command line in docs/migrating.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from node.command.cli import COMMANDS
from node.command.train import TRAINERS
from node.mesh.roles import exists
from tests.parsing import refusal_of

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "migrating.md"

LINES = list(dict.fromkeys(re.findall(r"`proofmesh ([^`]+)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_of_the_page_is_taken(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line)
    assert words[0] in COMMANDS
    if words[0] == "train" and words[1] in TRAINERS and not exists(TRAINERS[words[1]].entry):
        pytest.skip(f"this installation has no {TRAINERS[words[1]].entry}")
    monkeypatch.chdir(ROOT)  # recipes are named from here
    assert refusal_of(words, monkeypatch) == ""
