"""Finds commands, theorems and the ends of statements in a Lean file by patterns, without Lean. It can be wrong."""

from __future__ import annotations

import re
from itertools import pairwise

from common.lean import Theorem
from node.lean.check.files.commands import PROOFS, Command, Text, documented, is_prefix
from node.lean.text.lexing import ATTRIBUTE, blanked, lex, mentions, outside_brackets, tokens_of
from node.lean.text.statement import StatementError, parse_statement

_STATEMENT_WORD = re.compile(r"(?<![\w.'])(?:theorem|lemma|example)\b")
_BINDS = re.compile(r"(?:let|have|letI|haveI)\b")
_MODIFIERS = r"(?:(?:private|protected|public|noncomputable|nonrec|unsafe|partial|local|scoped)\s+){0,8}"
_DECLARES = "theorem|lemma|example|def|abbrev|instance|structure|class|inductive|opaque|axiom"
_BEGINS = re.compile(
    rf"^[ \t]*(?:{ATTRIBUTE}\s*){{0,6}}{_MODIFIERS}(?:{_DECLARES}|mutual|namespace|section|end|variable|universe)\b"
    rf"|^(?:@\[|#|{_MODIFIERS}(?:open|set_option|include|omit|attribute|notation3?|infix[lr]?|prefix|postfix|syntax"
    r"|macro|macro_rules|elab|elab_rules|deriving|export|run_cmd|run_elab|run_meta|initialize|simproc"
    r"|declare_syntax_cat|alias)\b)",
    re.MULTILINE,
)
"""The beginning of a command. Declarations may be indented, because no tactic begins with these words."""


class LookedAt:
    """A file's text with the commands that patterns find in it."""

    def __init__(self, original: str) -> None:
        # `Text` inserts an option before each `#guard_msgs`. Another name of the same length prevents that.
        self._text = Text(original.replace("#guard_msgs", "#guard_look"))
        self.original = original
        self.code = blanked(original)
        self.gaps = [mention.start for mention in mentions(original)]
        """Offsets of each `sorry`."""
        begins = [match.start() for match in _BEGINS.finditer(self.code)]
        starts = begins[:1] + [at for before, at in pairwise(begins) if not is_prefix(self.code, before, at)]
        read = tokens_of(original)
        self._comments = read.comments
        self._comment_ends = {end: number for number, (_, end) in enumerate(read.comments)}
        documented = [self._with_documentation(start) for start in starts]
        ends = [*documented[1:], len(original)][: len(starts)]
        self._begins = dict(zip(starts, documented, strict=True))
        self.commands = [self._text.command(start, max(start, end)) for start, end in zip(starts, ends, strict=True)]

    def _with_documentation(self, start: int) -> int:
        """Start of the documentation comment before a command, or of the command itself if it has none."""
        begin = documented(self.original, self._comments, self._comment_ends, start)
        if begin == start:
            return start
        line = self.original.rfind("\n", 0, begin) + 1
        return begin if self.original[line:begin].strip() else line

    def begin(self, command: Command) -> int:
        """Start of a command, including its documentation comment."""
        return self._begins[command.start]

    def stop(self, command: Command) -> int:
        """End of the last code of a command. Behind it are only comments and blank lines."""
        return command.start + len(self.code[command.start : command.end].rstrip())

    def first_line(self, command: Command) -> int:
        """The line of a command's first word, from 1."""
        blank = self.code[command.start : command.end]
        return self._text.line(command.start + len(blank) - len(blank.lstrip()))

    def command_at(self, line: int) -> Command | None:
        """The command whose code includes a line."""
        for command in self.commands:
            if self._text.line(command.start) <= line <= self._text.line(max(command.start, self.stop(command) - 1)):
                return command
        return None

    def theorems(self) -> list[tuple[str, Command]]:
        """The theorems with their full names."""
        spaces = self._text.namespaces(self.commands)
        return [
            (name.removeprefix("_root_.") if name.startswith("_root_.") else f"{space}{name}", command)
            for command in self.commands
            if command.keyword in PROOFS
            for space in [spaces[command.start]]
            for _, name, _ in self._text.declared(command)[:1]
        ]

    def lines_to_prove(self) -> set[int]:
        """Lines with a `sorry`, and the first lines of theorems."""
        gaps = {self._text.line(start) for start in self.gaps}
        return gaps | {self.first_line(each) for each in self.commands if each.keyword in PROOFS}

    def proof_start(self, command: Command) -> int:
        """End of a theorem's statement: the `:=` or the first `|` of its proof.

        A `let` or `have` outside brackets has its own `:=`, which is skipped.
        """
        bindings, stop = 0, self.stop(command)
        for at in outside_brackets(self.code, command.start, stop):
            if self.code.startswith(":=", at):
                if not bindings:
                    return at
                bindings -= 1
            elif self.code[at] == "|" and self._first_in_line(at):
                return at
            elif _BINDS.match(self.code, at) and not (self.code[at - 1].isalnum() or self.code[at - 1] in "_.'"):
                bindings += 1
        return stop

    def _first_in_line(self, at: int) -> bool:
        """True if only blanks stand before an offset in its line."""
        while at and self.code[at - 1] in " \t\r":
            at -= 1
        return not at or self.code[at - 1] == "\n"

    def read(self, command: Command) -> Theorem | None:
        """The statement of a theorem; None if it cannot be parsed."""
        keyword = _STATEMENT_WORD.search(self.code, command.start, command.end)
        if keyword is None:
            return None
        statement = self.original[keyword.start() : self.proof_start(command)]
        try:
            return parse_statement(lex(statement).bare)
        except StatementError:
            return None
