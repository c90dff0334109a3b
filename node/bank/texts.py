"""Statements in plain files as rows: `.txt`, and `.lean` files with theorems that are left to be proved. Text only.

A theorem of a `.lean` file is left to be proved when its proof holds `sorry`. All that stands above it is its header,
but for the theorems there that are left to be proved, too: what is assumed must not count as proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from node.lean.files.commands import PROOFS, Command, Text
from node.lean.text.statement import NAME

Row = dict[str, Any]

_SORRY = re.compile(r"\b(?:sorry|admit)\b")
_STATEMENT = re.compile(
    r"[ \t]*(?:@\[[^\]]*\]\s*)?(?:(?:private|protected|noncomputable|nonrec)\s+)*(?:theorem|lemma|example)\b"
)
_NAME = re.compile(rf"\b(?:theorem|lemma)\s+({NAME})")


def statements_of_text(text: str) -> Iterator[Row]:
    """One statement a line; one of several lines ends where the next `theorem` begins, or at a blank line."""
    parts: list[str] = []
    for line in [*text.splitlines(), ""]:
        if parts and (not line.strip() or _STATEMENT.match(line)):
            yield {"statement": "\n".join(parts)}
            parts = []
        if line.strip() and (parts or not line.lstrip().startswith("--")):
            parts.append(line)


def statements_of_lean(text: str) -> Iterator[Row]:
    """The theorems of a Lean file that are left to be proved, with their name, line, and all that stands above."""
    file = Text(text)
    before: list[Command] = []
    left_out: list[Command] = []
    begin = file.after(None)
    while begin is not None:
        if begin.keyword in PROOFS and _SORRY.search(file.code, begin.start, begin.end):
            yield {
                "name": file.namespace(before, begin) + _name(file.code[begin.start : begin.end], begin.line),
                "statement": file.original[begin.start : begin.end],
                "header": _without(file.original[: begin.start], left_out),
                "line": begin.line,
            }
            left_out.append(begin)
        before.append(begin)
        begin = file.after(begin)


def _name(code: str, line: int) -> str:
    """The name of a theorem; of an `example`, one by its line."""
    named = _NAME.search(code)
    return named.group(1).rstrip(".") if named else f"example_{line}"


def _without(text: str, commands: list[Command]) -> str:
    """The text without some commands."""
    parts, at = [], 0
    for each in commands:
        parts.append(text[at : each.start])
        at = each.end
    return "".join([*parts, text[at:]])
