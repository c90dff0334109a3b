"""Every command line in docs/migrating.md uses existing commands and flags."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shlex
from pathlib import Path

import pytest

from node.mesh.cli import main
from node.mesh.commands import COMMANDS, exists
from node.mesh.train import TRAINERS

PAGE = Path(__file__).parents[3] / "docs" / "migrating.md"

LINES = list(dict.fromkeys(re.findall(r"`proofmesh ([^`]+)`", PAGE.read_text(encoding="utf-8"))))

FAMILIES = ("train", "stp", "premises", "tokenizer", "eval")
"""Commands whose first word may be another command."""


@functools.cache
def help_of(*words: str) -> str:
    """The output of `proofmesh WORDS --help`."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return said.getvalue()


def command_of(words: list[str]) -> tuple[str, ...]:
    """The words that name the command."""
    return tuple(words[: 2 if words[0] in FAMILIES and re.fullmatch(r"[a-z][a-z-]+", words[1]) else 1])


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_of_the_page_is_one_that_there_is(line: str) -> None:
    words = shlex.split(line.partition(" and ")[0])
    name = command_of(words)
    assert words[0] in COMMANDS
    if len(name) == 2 and name[0] == "train" and name[1] in TRAINERS and not exists(TRAINERS[name[1]].entry):
        pytest.skip(f"this installation has no {TRAINERS[name[1]].entry}")
    flags = [word for word in words if word.startswith("--")]
    known = set(re.findall(r"--[a-z][\w.-]*", help_of(*name)))
    assert known, f"{name} has no help"
    assert [flag for flag in flags if flag not in known] == []


def test_a_page_with_another_flag_would_fail() -> None:
    assert "--no-such-flag" not in help_of("fill") and "--write" in help_of("fill")
