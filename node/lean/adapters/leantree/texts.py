"""Parses the texts of LeanTree clients: a theorem with `sorry` as its proof, and commands. Pure."""

from __future__ import annotations

import re

from common.lean import Theorem
from node.lean.text.lexing import Lexed, lex
from node.lean.text.statement import StatementError, parse_statement

_START = re.compile(r"^[ \t]*(theorem|lemma|example)\b|(?<=\sin)\s+(theorem|lemma|example)\b", re.MULTILINE)
_ALL_SORRY = re.compile(r":=\s*(?:by\s*)?sorry\s*$")
_SORRY = re.compile(r"\bsorry\b")
_IMPORT = re.compile(r"^[ \t]*(?:public |meta )*import\b", re.MULTILINE)

_IN = re.compile(r"\s+in\s*(?=$|open\b|set_option\b|variable\b|universe\b)")
"""The `in` of `open Nat in theorem ...`. Before a single theorem, `open Nat` without `in` means the same."""


class BadTheorem(ValueError):
    """The text is not a single theorem whose whole proof is `sorry`; the message says what is wrong."""


def read_theorem(text: str, header: str) -> Theorem:
    """The theorem in a text such as `open Nat in theorem t : P := by sorry`, with the session's header.

    Commands may come before it, and comments may be anywhere. Raises BadTheorem.
    """
    lexed = lex(text)
    if lexed.problem:
        raise BadTheorem(lexed.problem)
    starts = list(_START.finditer(lexed.code))
    if len(starts) != 1:
        raise BadTheorem(f"the text has {len(starts)} theorems; send one `theorem NAME BINDERS : P := by sorry`")
    code = _without_comments(text, lexed)
    before, statement = code[: starts[0].start()], code[starts[0].start() :]
    sorries = len(_SORRY.findall(lexed.code))
    if sorries != 1 or not _ALL_SORRY.search(statement):
        raise BadTheorem(f"the text has `sorry` {sorries} times; use it once, in place of the whole proof")
    try:
        return parse_statement(statement, joined(header, _IN.sub("\n", before.strip())))
    except StatementError as error:
        raise BadTheorem(str(error)) from error


def joined(header: str, more: str) -> str:
    """Two texts of commands as one."""
    return "\n".join(part for part in (header.strip(), more.strip()) if part)


def imports(text: str) -> bool:
    """True when a text has an import, so that no other command can come before it."""
    return bool(_IMPORT.search(lex(text).code))


def _without_comments(text: str, lexed: Lexed) -> str:
    """The text with its comments blanked. A text with literals stays unchanged, because `code` blanks these too. The
    rules for statements then refuse it for its comments."""
    return lexed.code if lexed.comments and not {'"', "'"} & set(text) else text
