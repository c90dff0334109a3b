"""Texts that clients send: a theorem with `sorry` in place of its proof, and commands. Pure."""

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
"""Of `open Nat in theorem ...`: before one theorem, `open Nat` is the same."""


class BadTheorem(ValueError):
    """The text is not one theorem whose whole proof is `sorry`; the message says what is wrong."""


def read_theorem(text: str, header: str) -> Theorem:
    """The theorem of a text such as `open Nat in theorem t : P := by sorry`, behind the session's header.

    Commands may stand before it, and comments anywhere. Raises BadTheorem.
    """
    lexed = lex(text)
    if lexed.problem:
        raise BadTheorem(lexed.problem)
    starts = list(_START.finditer(lexed.code))
    if len(starts) != 1:
        raise BadTheorem(f"{len(starts)} theorems; one was expected: `theorem NAME BINDERS : P := by sorry`")
    code = _without_comments(text, lexed)
    before, statement = code[: starts[0].start()], code[starts[0].start() :]
    sorries = len(_SORRY.findall(lexed.code))
    if sorries != 1 or not _ALL_SORRY.search(statement):
        raise BadTheorem(f"{sorries} occurrences of `sorry`; one was expected, in place of the whole proof")
    try:
        return parse_statement(statement, joined(header, _IN.sub("\n", before.strip())))
    except StatementError as error:
        raise BadTheorem(str(error)) from error


def joined(header: str, more: str) -> str:
    """Commands behind commands."""
    return "\n".join(part for part in (header.strip(), more.strip()) if part)


def imports(text: str) -> bool:
    """Whether a text imports something: then it can only stand first."""
    return bool(_IMPORT.search(lex(text).code))


def _without_comments(text: str, lexed: Lexed) -> str:
    """The text with its comments blanked. What is blanked may also be a literal: then the text stays as it is, and
    the rules for statements refuse it for its comments."""
    return lexed.code if lexed.comments and not {'"', "'"} & set(text) else text
