"""Splits a text into commands, and collects those that an import does not restore. Pure.

A compiled module keeps declarations. Commands whose effect ends with their section or file (namespaces, sections,
variables, options) must be repeated behind its import: `open_scope` collects them. Commands are recognized by their
text, without Lean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.lean.check.files.looked import LookedAt

_SCOPED_COMMANDS = frozenset({"variable", "open", "universe", "set_option", "include", "omit", "suppress_compilation"})
"""Commands whose effect lasts to the end of their section."""

_LOCAL = re.compile(r"\blocal\b")
_LOCAL_DECLARATION = re.compile(r"@\[[^\]]*\blocal\b|\blocal\s+(?:instance|simproc|dsimproc)\b")
"""Declarations with an attribute whose effect lasts to the end of their section. They cannot be repeated."""

_PRIVATE = re.compile(r"(?<![\w.'@])private(?=\s)")
_SECTION_NAME = re.compile(r"\bsection\b[ \t]*([^\s]*)")


@dataclass(frozen=True)
class Piece:
    """A command of a text, including the white space and comments behind it."""

    start: int
    end: int
    keyword: str


@dataclass
class _Scope:
    """A namespace, a section, or the file."""

    opener: str
    commands: list[str]


class ScopedText:
    """A text split into commands."""

    def __init__(self, text: str, start: int) -> None:
        """`start`: offset behind the imports, where the first command may begin."""
        self._text = LookedAt(text)
        self.pieces = list(self._pieces(start))

    def start_of(self, at: int) -> int:
        """Start of the command that contains an offset; 0 above the first command."""
        return max((piece.start for piece in self.pieces if piece.start <= at), default=0)

    def of(self, pieces: Sequence[Piece]) -> str:
        """The text of consecutive commands."""
        return self._text.original[pieces[0].start : pieces[-1].end] if pieces else ""

    def public(self, pieces: Sequence[Piece]) -> str:
        """The text of commands with `private` blanked out, so that other modules can use them. No column moves."""
        if not pieces:
            return ""
        start, end = pieces[0].start, pieces[-1].end
        original, code = self._text.original[start:end], self._text.code[start:end]
        characters = list(original)
        for match in _PRIVATE.finditer(code):
            characters[match.start() : match.end()] = " " * len("private")
        return "".join(characters)

    def open_scope(self, count: int) -> str | None:
        """Commands that restore the scope behind the first `count` commands; None if that is impossible."""
        scopes = [_Scope("", [])]
        for piece in self.pieces[:count]:
            code = self._text.code[piece.start : piece.end]
            if _LOCAL_DECLARATION.search(code):
                scopes[-1].commands.append("")  # marks a scope that cannot be restored
                continue
            self._enter(scopes, piece, code)
            if not scopes:
                return None
        lines = [line for scope in scopes for line in (scope.opener, *scope.commands)]
        if any(not command for scope in scopes for command in scope.commands):
            return None
        return "".join(f"{line}\n" for line in lines if line)

    def _enter(self, scopes: list[_Scope], piece: Piece, code: str) -> None:
        """Update the open scopes by one command."""
        words = code.split()
        if piece.keyword == "namespace":
            scopes += [_Scope(f"namespace {part}", []) for part in words[words.index("namespace") + 1].split(".")]
        elif piece.keyword == "section":
            name = _SECTION_NAME.search(code)
            parts = name.group(1).split(".") if name else [""]
            opener = code[: name.start() if name else 0].strip()
            scopes += [_Scope(f"{opener} section {part}".strip(), []) for part in parts]
        elif piece.keyword == "end":
            name_parts = words[1].split(".") if len(words) > 1 else [""]
            del scopes[len(scopes) - min(len(name_parts), len(scopes)) :]
        elif piece.keyword in _SCOPED_COMMANDS or _LOCAL.search(code):
            scopes[-1].commands.append(self._text.original[piece.start : piece.end].rstrip())

    def _pieces(self, start: int) -> Iterator[Piece]:
        """The commands, recognized by their text. A `mutual` block is one command."""
        commands = [command for command in self._text.commands if command.start >= start]
        firsts = []
        inside = False
        for command in commands:
            if not inside:
                firsts.append(command)
            inside = command.keyword == "mutual" or (inside and command.keyword != "end")
        begins = [self._text.begin(command) for command in firsts]
        ends = [*begins[1:], len(self._text.original)]
        for command, begin, end in zip(firsts, begins, ends, strict=True):
            yield Piece(begin, end, command.keyword)
