"""Reads a .lean file of theorems: its header, and each theorem with its proof. Pure; Lean is not asked.

What stands behind a proof, up to the next theorem, counts as part of the proof: so a command there is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from common.lean import Theorem
from node.lean.text.lexing import CLOSING, OPENING, ambiguity, lex
from node.lean.text.rules import HEADER_STOPS
from node.lean.text.statement import StatementError, parse_statement

_START = re.compile(r"^(theorem|lemma|example)\b", re.MULTILINE)
_HEADER = re.compile(
    r"import( [\w.«»]+)+|universe( \w+)+|open( [\w.«»()→,]+)+"
    r"|set_option (maxRecDepth|(synthInstance\.)?max(Heartbeats|Size)|exponentiation\.threshold) \d+"
    r"|set_option (pp|linter)\.[\w.]+ \w+"
)
"""One command of a header. `set_option` only with limits and what is for show: some others switch checks off."""

_BY = re.compile(r"\s*by(?![\w'])[ \t]*\n?")


class UnreadableFile(ValueError):
    """The text is not a file of theorems with tactic proofs; the message says what is wrong, and in which line."""


@dataclass(frozen=True)
class WrittenProof:
    """A theorem of a file, with the tactic block behind its `:= by`."""

    theorem: Theorem
    script: str
    line: int
    """Where the theorem begins, from 1."""


def read_proofs(text: str) -> list[WrittenProof]:
    """The theorems of a file. Raises UnreadableFile."""
    lexed = lex(text)
    if lexed.problem:
        raise UnreadableFile(lexed.problem)
    if lexed.glued:
        raise UnreadableFile("a comment begins right behind a sign: put white space before it, to say that it is one")
    if problem := ambiguity(lexed.bare):
        raise UnreadableFile(problem)
    starts = [match.start() for match in _START.finditer(lexed.code)]
    if not starts:
        raise UnreadableFile("no theorem here: a line that begins with `theorem NAME` was looked for")
    header = _header(lexed.code[: starts[0]])
    ends = [*starts[1:], len(text)]
    return [_proof(text, lexed.code, start, end, header) for start, end in zip(starts, ends, strict=True)]


def _header(code: str) -> str:
    """The commands before the first theorem, without comments. Raises UnreadableFile."""
    lines = [(number, line.strip()) for number, line in enumerate(code.split("\n"), start=1) if line.strip()]
    for number, line in lines:
        words = re.split(r"[\s.()«»,]+", line)
        if not _HEADER.fullmatch(" ".join(line.split())) or any(word in HEADER_STOPS for word in words[1:]):
            raise UnreadableFile(
                f"line {number}: {line[:60]!r}; before the theorems only `import`, `open`, `universe` and options that "
                "limit or show may stand, one in a line"
            )
    return "\n".join(line for _, line in lines)


def _proof(text: str, code: str, start: int, end: int, header: str) -> WrittenProof:
    line = code.count("\n", 0, start) + 1
    assign = _assignment(code, start, end)
    if assign is None:
        raise UnreadableFile(f"line {line}: a theorem without `:= by`; only tactic proofs are checked")
    by = _BY.match(code, assign + 2, end)
    if by is None:
        raise UnreadableFile(f"line {line}: a proof begins with `:= by`; write `:= by exact ...` for a term")
    try:
        theorem = parse_statement(code[start:assign], header)
    except StatementError as error:
        raise UnreadableFile(f"line {line}: {error}") from error
    # The first tactic keeps its column, which the lines below are measured by.
    column = by.end() - (code.rfind("\n", 0, by.end()) + 1)
    return WrittenProof(theorem, " " * column + text[by.end() : end].rstrip(), line)


def _assignment(code: str, start: int, end: int) -> int | None:
    """Position of the first `:=` outside all brackets."""
    depth = 0
    for position in range(start, end):
        if code[position] in OPENING:
            depth += 1
        elif code[position] in CLOSING:
            depth -= 1
        elif depth == 0 and code.startswith(":=", position):
            return position
    return None
