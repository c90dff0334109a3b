"""Reads statements out of text: rows of plain files, and the theorem that a row's text states. Text only, no Lean runs.

In reading order: where a given proof starts, the statements of `.txt` and `.lean` files as rows, answers that a
benchmark leaves open, and a text as a Theorem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from common.lean import Context, Place, Theorem
from node.lean.check.files.commands import PROOFS, SYNTAX, Command, Text
from node.lean.text.lexing import blanked, lex, outside_brackets, uncommented
from node.lean.text.rules import header_problem, statement_problem
from node.lean.text.script import below
from node.lean.text.statement import NAME, StatementError, parse_statement

_WORD = re.compile(r"(?<![\w.'!?«])(?:let|have|letI|haveI|match|fun|λ)(?![\w'!?»])|:=|\|(?=\s)")
_BINDS = frozenset({"let", "have", "letI", "haveI"})
_HAS_ALTERNATIVES = frozenset({"match", "fun", "λ"})

_ALTERNATIVE = re.compile(r"\|\s[\w\s.,'@«»+:()\[\]⟨⟩|-]*=>")
"""The first case of a proof. Its patterns contain no relation, because `| x | = fun y => y` is an absolute value."""


def given_proof(code: str) -> int | None:
    """The position where the proof after a statement starts; None without a proof. `code`: text with comments and
    strings blanked.

    The `:=` of a `let` or `have` and the cases of a `match` or `fun` belong to the statement.
    """
    outside = set(outside_brackets(code))
    bound, alternatives = 0, False
    for match in _WORD.finditer(code):
        word = match.group()
        if match.start() not in outside:
            continue
        if word in _BINDS:
            bound += 1
        elif word in _HAS_ALTERNATIVES:
            alternatives = True
        elif word == ":=" and bound:
            bound -= 1
        elif word == ":=" or (not bound and not alternatives and _ALTERNATIVE.match(code, match.start())):
            return match.start()
    return None


# ----------------------------------------------------------------------------------------------------------------------
# Reads statements of plain files as rows: `.txt` files, and unproved theorems of `.lean` files. Text only.
#
# A theorem of a `.lean` file is unproved if its proof contains `sorry`. Its header is the text above it without the
# other unproved theorems, because an assumption must not count as proved.

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


# ----------------------------------------------------------------------------------------------------------------------
# Fills in the answers that a benchmark's statements leave open. Pure.
#
# PutnamBench writes `abbrev ANSWER : T := sorry`, followed by a comment with the answer. A prover should find only
# the proof, so the answer replaces ANSWER in the statement, as in PutnamBench's script
# lean4/scripts/rewrite_solutions.py.

_OPEN = re.compile(
    r"^[ \t]*(?:noncomputable[ \t]+)?(?:abbrev|def)[ \t]+(?P<name>[\w.']+)(?P<type>[^\n]*?(?:\n[ \t]+[^\n]*?)*?)"
    r":=\s*sorry[ \t]*(?P<comment>(?:\n?[ \t]*--[^\n]*)+)\n?",
    re.MULTILINE,
)


def filled(header: str, text: str) -> tuple[str, str]:
    """A statement's header and text, with `((ANSWER) : T)` for each answer in a comment.

    An answer without a comment, or with arguments, stays open. The statement then depends on `sorry` and is refused.
    """
    for match in [*_OPEN.finditer(header), *_OPEN.finditer(text)]:
        kind, answer = match["type"].strip(), _answer(match["comment"])
        if not kind.startswith(":") or not answer:
            continue
        header, text = header.replace(match.group(), ""), text.replace(match.group(), "")
        value = f"(({answer}) : {kind.removeprefix(':').strip()})"
        header, text = (_replaced(match["name"], value, each) for each in (header, text))
    return header, text


def _replaced(name: str, value: str, text: str) -> str:
    """The text with a name replaced by a value. Longer names that contain the name stay."""
    return re.sub(rf"(?<![\w.']){re.escape(name)}(?![\w'])", lambda _: value, text)


def _answer(comment: str) -> str:
    lines = (line.strip().removeprefix("--").strip() for line in comment.splitlines())
    return "\n  ".join(line for line in lines if line)


# ----------------------------------------------------------------------------------------------------------------------
# Parses the text of a data set's statement into a Theorem: a header and a statement, without a proof. Pure.
#
# Such a text may contain imports, comments, definitions that the statement needs, and a complete or incomplete proof.

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
    # 1. The last theorem's start. Comments go first, because the word `theorem` in a comment begins nothing.
    code = _without_comments(text)
    starts = list(_START.finditer(code))
    if not starts and _DATA.match(code):
        raise Refused("it defines data (`def`), not a proposition, so there is nothing to prove")
    if not starts:
        raise Refused("no theorem in it: no line starts with `theorem`, `lemma` or `example`")
    before, statement = code[: starts[-1].start("own")], code[starts[-1].end() :]
    # 2. What stands before it becomes the header. `... in` holds for one declaration only: as a header it has to hold
    # for the theorem, thus without `in`.
    if _MUTUAL.search(before):
        raise Refused(IN_MUTUAL)
    if scoped := _ONLY_HERE.search(before):
        before = before[: scoped.start()] + _IN.sub("\n", scoped.group()).rstrip()
    # Universe parameters of the theorem's own become a `universe` line, since a Theorem has no place for them.
    if own := _UNIVERSES.match(statement):
        statement = own.group(1) + statement[own.end() :]
        before += f"\nuniverse {' '.join(own.group(2).replace(',', ' ').split())}"
    # 3. A header may set things up, but assume nothing: an `axiom` or a `sorry` there would prove anything.
    header = _tidy(f"{_without_comments(header)}\n{before}")
    if problem := header_problem(header):
        raise Refused(problem)
    if unproved := _UNPROVED.search(header):
        raise Refused(f"`{unproved.group(1)}` stands before the theorem: an assumption there would count as proved")
    try:
        # 4. The statement itself.
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
