"""Parses the text of a data set's statement into a Theorem: a header and a statement, without a proof. Pure.

Such a text may contain imports, comments, definitions that the statement needs, and a complete or incomplete proof.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from common.lean import Theorem
from common.places import Context, Place
from node.bank.given_proofs import given_proof
from node.bank.texts import IN_MUTUAL
from node.lean.text.filling import below
from node.lean.text.lexing import blanked, lex
from node.lean.text.rules import header_problem, statement_problem
from node.lean.text.statement import NAME, StatementError, parse_statement

_SCOPES = r"(?:set_option|open|omit|include|universe|variable|attribute)\b"
_START = re.compile(
    rf"^[ \t]*(?:{_SCOPES}[^\n]*?\sin[ \t]+)*"
    r"(?P<own>(?:@\[[^\]]*\]\s*)*(?:(?:private|protected|noncomputable|nonrec)\s+)*)(?=(?:theorem|lemma|example)\b)",
    re.MULTILINE,
)
_DATA = re.compile(r"\s*(noncomputable\s+)?(def|abbrev|instance)\b")
_UNPROVED = re.compile(r"\b(sorry|admit|axiom)\b")
_ONLY_HERE = re.compile(rf"^[ \t]*(?:{_SCOPES}[^\n]*?\sin(?:\s+|\Z))+\Z", re.MULTILINE)
"""Commands that apply only to the next theorem. Before a single theorem, the same commands without `in` do as well."""
_IN = re.compile(rf"\sin(?:\s+(?={_SCOPES})|\s*\Z)")
_MUTUAL = re.compile(r"^[ \t]*mutual\b(?!.*^[ \t]*end\b)", re.MULTILINE | re.DOTALL)
_UNIVERSES = re.compile(rf"((?:theorem|lemma)\s+{NAME})\.\{{([\w\s,]+)\}}")
"""`theorem t.{u, v}`: universes of this theorem only."""
_BLANK_LINES = re.compile(r"\n\s*\n+")


class Refused(ValueError):
    """The text is not a statement that a bank can store; the message says why."""


def theorem(text: str, header: str = "", name: str = "") -> Theorem:
    """The last theorem of a text. The text before it becomes a part of its header. Raises Refused."""
    code = _without_comments(text)
    starts = list(_START.finditer(code))
    if not starts and _DATA.match(code):
        raise Refused("it defines data (`def`), not a proposition, so there is nothing to prove")
    if not starts:
        raise Refused("no theorem in it: no line starts with `theorem`, `lemma` or `example`")
    before, statement = code[: starts[-1].start("own")], code[starts[-1].end() :]
    if _MUTUAL.search(before):
        raise Refused(IN_MUTUAL)
    if scoped := _ONLY_HERE.search(before):
        before = before[: scoped.start()] + _IN.sub("\n", scoped.group()).rstrip()
    if own := _UNIVERSES.match(statement):
        statement = own.group(1) + statement[own.end() :]
        before += f"\nuniverse {' '.join(own.group(2).replace(',', ' ').split())}"
    header = _tidy(f"{_without_comments(header)}\n{before}")
    if problem := header_problem(header):
        raise Refused(problem)
    if unproved := _UNPROVED.search(header):
        raise Refused(f"`{unproved.group(1)}` stands before the theorem: an assumption there would count as proved")
    try:
        parsed = parse_statement(_without_proof(statement), header)
    except StatementError as error:
        raise Refused(str(error)) from error
    if problem := statement_problem(parsed.binders, parsed.conclusion):
        raise Refused(problem)
    return Theorem(name or parsed.name, parsed.binders, parsed.conclusion, header)


def _without_comments(text: str) -> str:
    """The text with its comments blanked. Raises Refused if a bracket, string or comment is not closed."""
    lexed = lex(text)
    if lexed.problem:
        raise Refused(lexed.problem)
    return lexed.bare if lexed.comments else text


def _without_proof(statement: str) -> str:
    """The statement without the proof after it."""
    return statement[: given_proof(blanked(statement))]


def _tidy(header: str) -> str:
    """The header with its imports first, each once, without blank lines at its ends or repeated blank lines."""
    lines = [line.rstrip() for line in header.split("\n")]
    imports = list(dict.fromkeys(line.strip() for line in lines if line.strip().startswith("import ")))
    commands = "\n".join(line for line in lines if not line.strip().startswith("import ")).strip("\n")
    return "\n".join([*imports, *([_BLANK_LINES.sub("\n\n", commands).strip("\n")] if commands.strip() else [])])


def in_file(row: Mapping[str, Any]) -> bool:
    """True for a row of a theorem in a file: it has `statement`, and `context`, the text above the statement."""
    return isinstance(row.get("context"), str) and isinstance(row.get("statement"), str)


def theorem_in_file(row: Mapping[str, Any]) -> Theorem:
    """The theorem of a row with `name`, `statement`, `context`. Raises Refused.

    If the row has a `place` (`before`, `after`, `tactic`), the theorem is the gap between `before` and `after`, and the
    statement only describes it.
    """
    context, name = Context.of(row["context"]), str(row.get("name") or "")
    if "place" in row:
        try:
            gap = msgspec.convert(row["place"], _Gap)
        except msgspec.ValidationError as error:
            raise Refused(f"its `place` is malformed: {error}") from error
        return Theorem(name or "t", "", row["statement"], place=Place(context, gap.before, gap.after, gap.tactic))
    stated = theorem(row["statement"], name=name)
    if stated.header:
        raise Refused("`statement` has text before its theorem: move that text to `context`")
    return below(context, stated)


class _Gap(msgspec.Struct):
    before: str
    after: str = "\n"
    tactic: bool = True
