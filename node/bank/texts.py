"""Reads statements of plain files as rows: `.txt` files, and unproved theorems of `.lean` files. Text only.

A theorem of a `.lean` file is unproved if its proof contains `sorry`. Its header is the text above it without the other
unproved theorems, because an assumption must not count as proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from node.bank.given_proofs import given_proof
from node.lean.check.files.commands import PROOFS, SYNTAX, Command, Text
from node.lean.text.lexing import blanked, uncommented
from node.lean.text.statement import NAME

Row = dict[str, Any]

_SORRY = re.compile(r"\b(?:sorry|admit)\b")
_STATEMENT = re.compile(
    r"[ \t]*(?:(?:set_option|open|omit|include|universe|variable|attribute)\b.*?\sin[ \t]+)*(?:@\[[^\]]*\]\s*)*"
    r"(?:(?:private|protected|noncomputable|nonrec)\s+)*(?:theorem|lemma|example)\b"
)
_BEFORE_ONE = re.compile(
    r"(?:(?:set_option|open|omit|include|universe|variable|attribute)\b.*\sin|(?:@\[[^\]]*\]\s*)+)\s*"
)
"""A line that belongs to the statement in the next line."""
_OTHER = re.compile(
    r"(?:import|open|def|abbrev|instance|structure|class|inductive|axiom|opaque|namespace|section|end|variable|universe"
    r"|set_option|attribute|mutual|noncomputable|local|notation|macro|syntax|#\w+)\b|.*\b(?:theorem|lemma|example)\b"
    r"|(?!fun\b|let\b|have\b|show\b|if\b|forall\b|exists\b)[A-Za-z]+\s+[\w.']+\s*(?:[({\[].*)?:(?!=)"
)
"""An unindented line that does not continue a statement. The last alternative is a misspelt `theorem NAME ... :`."""
_SCOPED = re.compile(r"\sin\s+(?:@\[[^\]]*\]\s*)*(?:(?:private|protected|noncomputable|nonrec)\s+)*(?:theorem|lemma)\b")
"""A theorem after `attribute [simp] h in` or another command that applies only to the next command."""
_END = re.compile(r"^[ \t]*end\b", re.MULTILINE)
_NAME = re.compile(rf"\b(?:theorem|lemma)\s+({NAME})")


UNREAD = "(unread)"
"""Field of a row that is not a statement: the reason."""

IN_MUTUAL = "it is in a `mutual` block, whose theorems are proved together: state it outside of the block"

INDENTED = "it is indented: theorems of a .lean file must start at column 0"

NO_STATEMENT = (
    "no statement: a statement starts with `theorem`, `lemma` or `example` and continues in indented lines; put "
    "definitions and headers into a .lean file"
)


def statements_of_text(text: str) -> Iterator[Row]:
    """The statements of a text with their lines, and a row with UNREAD for each line that belongs to no statement.

    A statement ends at a blank line and at the start of the next statement. Indented lines belong to it, and unindented
    lines before its proof, unless they look like another command.
    """
    lines: list[str] = []
    begin = 0
    whole = text.split("\n")
    for number, (line, code) in enumerate(zip(whole, uncommented(text).split("\n"), strict=True), start=1):
        if not code.strip():
            if lines and line.strip():
                lines.append(code)  # a comment
            elif lines:
                yield {"statement": "\n".join(lines), "line": begin}
                lines = []
        elif lines and _goes_on(lines, code):
            lines.append(code)
        else:
            if lines:
                yield {"statement": "\n".join(lines), "line": begin}
            lines, begin = [], number
            if _STATEMENT.match(code) or _BEFORE_ONE.fullmatch(code):
                lines.append(code)
            else:
                yield {UNREAD: NO_STATEMENT, "line": number}
    if lines:
        yield {"statement": "\n".join(lines), "line": begin}


def _goes_on(lines: Sequence[str], code: str) -> bool:
    """True when a line belongs to the statement of the lines above."""
    if all(_BEFORE_ONE.fullmatch(each) or not each.strip() for each in lines):
        return True
    if _STATEMENT.match(code) or _BEFORE_ONE.fullmatch(code):
        return False
    if code[0].isspace() or code.startswith("|") or _SORRY.fullmatch(code.strip()):
        return True
    return not _OTHER.match(code) and given_proof(blanked("\n".join(lines))) is None


def statements_of_lean(text: str) -> Iterator[Row]:
    """The unproved theorems of a Lean file, with their name, their line, and the text above as header."""
    file = Text(text)
    before: list[Command] = []
    left_out: list[Command] = []
    begin = file.after(None)
    while begin is not None:
        if begin.keyword == "mutual":
            begin = _mutual(file, begin)
        first, others = _theorems(file, begin)
        inside = file.namespace(before, begin)
        if first is not None and _SORRY.search(file.code, first.start, first.end):
            yield {
                "name": inside + _name(file.code[first.start : first.end], first.line),
                "statement": file.original[first.start : first.end],
                "header": _without(file.original[: first.start], left_out),
                "line": first.line,
            }
            left_out.append(first)
        unread = [each for each in others if _SORRY.search(file.code, each.start, each.end)]
        for each in unread:
            name = inside + _name(file.code[each.start : each.end], each.line)
            yield {"name": name, UNREAD: IN_MUTUAL if begin.keyword == "mutual" else INDENTED, "line": each.line}
        if unread and begin.keyword == "mutual":
            left_out.append(begin)
        before.append(begin)
        begin = file.after(begin)


def _theorems(file: Text, command: Command) -> tuple[Command | None, list[Command]]:
    """The theorem that a command declares, and other theorems inside the command's text."""
    starts = [match.start() for match in _NAME.finditer(file.code, command.start, command.end)]
    scopes = command.keyword in SYNTAX or command.keyword.startswith(("attribute", "#"))
    scoped = scopes and _SCOPED.search(file.code, command.start, command.end) is not None
    own = command.keyword in PROOFS or scoped
    within = starts[1:] if own and command.keyword != "example" else starts
    others = [file.command(start, end) for start, end in pairwise([*within, command.end])]
    return file.command(command.start, within[0] if within else command.end) if own else None, others


def _mutual(file: Text, begin: Command) -> Command:
    """The whole block from `mutual` to its `end`."""
    end = _END.search(file.code, begin.start)
    return file.command(begin.start, end.end() if end else len(file.text))


def _name(code: str, line: int) -> str:
    """The name of a theorem; for an `example`, a name with its line."""
    match = _NAME.search(code)
    return match.group(1).rstrip(".") if match else f"example_{line}"


def _without(text: str, commands: list[Command]) -> str:
    """The text without some commands."""
    parts, at = [], 0
    for each in commands:
        parts.append(text[at : each.start])
        at = each.end
    return "".join([*parts, text[at:]])
