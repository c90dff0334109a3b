"""Divides a Lean text into tokens, in linear time. No Lean needed.

Names, numbers, strings, characters and comments are divided as Lean does. A symbol is one character, because which
longer ones exist depends on the libraries. Where a longer symbol or an error would make Lean divide the text
differently, the place is reported as doubtful.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from node.lean.text.identifiers import NAME
from node.lean.text.lexing import comment_end

_PART = rf"(?:{NAME}|«[^»]*»)"
_ESCAPE = r"\\(?:[\\\"'ntr{]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|\r?\n)"
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]+)
    |(?P<line>--[^\n]*)
    |(?P<block>/-)
    |(?P<raw>r\#*")
    |(?P<name>{_PART}(?:\.{_PART})*)
    |(?P<string>"[^"\\]*(?:{_ESCAPE}[^"\\]*)*")
    |(?P<char>'(?:[^\\']|{_ESCAPE})')
    |(?P<broken>[0-9]+[eE](?![0-9+-])|0[xX](?![0-9a-fA-F])|0[bB](?![01])|0[oO](?![0-7]))
    |(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9]+(?:_+[0-9]+)*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    |(?P<symbol>:=|=>|''|.)""",
    re.VERBOSE | re.DOTALL,
)

_FORMS_NO_TOKEN = frozenset(".,;()[]{}⟨⟩")
"""Symbols that form no longer token with a comment or a character literal directly behind them."""

_SAFE_BRACES = re.compile(r"[^{}]*(?:\{[^{}'\"«»\\]*\}[^{}]*)*")
"""A string in which `{`...`}` may be code (`s!"{x}"`), but that ends where a plain string ends."""


_UNUSUAL_DOCUMENTATION = re.compile(r"/-[-!](?:[ \n]|\r\n)*(?:--|/-|[\t\r])")
_SPACE_ERROR = re.compile(r"\t|\r(?!\n)")
_BEHIND_QUOTE = frozenset("\"'-/«»\\#@")


class Token(NamedTuple):
    """A token of a file."""

    kind: str
    """`name`, `string`, `char`, `number` or `symbol`."""
    text: str
    start: int
    end: int
    column: int
    """0: at the start of its line; 1: first in its line, but indented; 2: behind another token."""


@dataclass(frozen=True)
class Tokens:
    """A text divided into tokens, without comments."""

    tokens: list[Token]
    comments: list[tuple[int, int]]
    """Start and end of each comment, documentation included."""
    doubtful: int
    """Offset of the first place that Lean may divide differently; the text's length if there is none."""
    end: int
    """Offset where reading ended: the text's length, or the start of a comment or string that never ends."""


def tokens_of(text: str) -> Tokens:
    """Divide a text into tokens, in linear time: every step moves forwards, and the first failure ends it."""
    tokens: list[Token] = []
    comments: list[tuple[int, int]] = []
    doubtful, at, column = len(text), 0, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None and match.lastgroup is not None
        kind, start, end = match.lastgroup, at, match.end()
        before = tokens[-1] if tokens and tokens[-1].end == start else None
        # 1. White space and comments.
        if kind == "space":
            if _SPACE_ERROR.search(text, start, end):
                doubtful = min(doubtful, start)
            column = 0 if text[end - 1] == "\n" else 1 if "\n" in match.group() else max(column, 1)
            at = end
            continue
        if kind in ("line", "block"):
            if before is not None and before.kind == "symbol" and before.text not in _FORMS_NO_TOKEN:
                doubtful = min(doubtful, before.start)
            closed = end if kind == "line" else comment_end(text, start)
            if closed < 0:
                return Tokens(tokens, comments, min(doubtful, start), start)
            # Versions of Lean may differ in what the last `/` belongs to. White space and comments behind `/--` belong
            # to that token, and after an error in them, Lean goes on inside the comment.
            if text.startswith(("/--/", "/-/"), start) or _UNUSUAL_DOCUMENTATION.match(text, start):
                doubtful = min(doubtful, start)
            comments.append((start, closed))
            column = 0 if text[closed - 1] == "\n" else max(column, 1)
            at = closed
            continue
        # 2. Strings and other tokens.
        if kind == "raw":
            closing = text.find('"' + "#" * (end - start - 2), end)
            if closing < 0:
                return Tokens(tokens, comments, min(doubtful, start), start)
            kind, end = "string", closing + (end - start - 1)
        elif (kind == "symbol" and text[start] in '"«') or kind == "broken":
            return Tokens(tokens, comments, min(doubtful, start), start)
        if _is_doubtful(text, kind, start, end, before):
            doubtful = min(doubtful, start)
        tokens.append(Token(kind, text[start:end], start, end, column))
        at, column = end, 2
    return Tokens(tokens, comments, doubtful, len(text))


def _is_doubtful(text: str, kind: str, start: int, end: int, before: Token | None) -> bool:
    """True if Lean may read something else here, depending on the tokens of libraries or after an error.

    `before`: the token directly before it.
    """
    glued = before is not None and before.text not in _FORMS_NO_TOKEN - {"]", ")", "}", "⟩"}
    if kind == "string" and text[start] != "r" and "{" in text[start:end]:
        inside = text[start + 1 : end - 1]
        return "--" in inside or "/-" in inside or "\\{" in inside or not _SAFE_BRACES.fullmatch(inside)
    if kind == "char":
        return glued and not text[start + 1].isalnum()  # `xs[i]'h` has a token `]'`
    if kind != "symbol":
        return False
    if text[start] == "'":
        return not _BEHIND_QUOTE.isdisjoint(text[end : end + 3])  # after an error, Lean goes on some characters behind
    # `-/` ends a comment that was not opened; other spaces than Lean's are errors.
    return text.startswith("-/", start) or not text[start].isprintable() or text[start].isspace()
