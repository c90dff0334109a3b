"""Recognizes snippets that are one theorem with a tactic proof behind a plain header. Pure.

Most reward functions send such snippets. They can be verified like proofs of the mesh, many together. A snippet that
cannot be read without doubt does not count as one of them.
"""

from __future__ import annotations

import re

from common.lean import Theorem
from node.lean.text.lexing import ambiguity, lex, outside_brackets
from node.lean.text.rules import header_problem, proof_problem, statement_problem
from node.lean.text.statement import StatementError, parse_statement

MOST_CHARACTERS = 20_000
"""Most characters of a snippet that is verified in a batch: a longer one would delay the others."""

_START = re.compile(r"^(?:theorem|lemma|example)\b", re.MULTILINE)
_HEADER_LINE = re.compile(
    r"import [\w.]+|open(?: scoped)?(?: [\w.]+)+|universe(?: \w+)+|set_option max(?:Heartbeats|RecDepth) \d+"
)
_OTHER_COMMANDS = {"in", "hiding", "renaming", "export", "variable", "section", "namespace"}
"""Words that a line of a plain header does not contain."""
_BY = re.compile(r"\s*by(?![\w'])[ \t]*\n?")


def single_proof(code: str) -> tuple[Theorem, str] | None:
    """The theorem and its tactic block; None if the snippet is anything else."""
    if len(code) > MOST_CHARACTERS:
        return None
    lexed = lex(code)
    if lexed.problem or lexed.glued or ambiguity(lexed.bare):
        return None
    starts = [match.start() for match in _START.finditer(lexed.code)]
    header = _header(lexed.code[: starts[0]]) if len(starts) == 1 else None
    assign = _assignment(lexed.code, starts[0]) if header is not None else None
    by = _BY.match(lexed.code, assign + 2) if assign is not None else None
    if header is None or by is None:
        return None
    try:
        theorem = parse_statement(code[starts[0] : assign], header)
    except StatementError:
        return None
    # The first tactic keeps its column, because the indentation of the lines below is relative to it.
    column = by.end() - (code.rfind("\n", 0, by.end()) + 1)
    script = " " * column + code[by.end() :].rstrip()
    problem = header_problem(header) or statement_problem(theorem.binders, theorem.conclusion) or proof_problem(script)
    return None if problem else (theorem, script)


def _header(code: str) -> str | None:
    """The commands before the theorem without comments; None if one of them does not belong to a plain header."""
    lines = [" ".join(line.split()) for line in code.split("\n") if line.strip()]
    for line in lines:
        if not _HEADER_LINE.fullmatch(line) or not _OTHER_COMMANDS.isdisjoint(line.split()):
            return None
    return "\n".join(lines)


def _assignment(code: str, start: int) -> int | None:
    """Position of the first `:=` outside all brackets."""
    return next((at for at in outside_brackets(code, start) if code.startswith(":=", at)), None)
