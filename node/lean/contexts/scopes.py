"""The commands of a text, and what of them a module does not keep: namespaces, sections, variables, options. Pure.

A compiled module keeps declarations. What holds only to the end of a section or of the file has to be said again behind
its import: `open_scope` collects these commands. Commands are told apart by their look, without Lean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.lean.files.looked import LookedAt

_KEPT = frozenset({"variable", "open", "universe", "set_option", "include", "omit", "suppress_compilation"})
"""Commands that hold to the end of their section."""

_LOCAL = re.compile(r"\blocal\b")
_LOCAL_DECLARATION = re.compile(r"@\[[^\]]*\blocal\b|\blocal\s+(?:instance|simproc|dsimproc)\b")
"""Declarations with an attribute that holds to the end of their section: they cannot be said again."""

_PRIVATE = re.compile(r"(?<![\w.'@])private(?=\s)")
_SECTION_NAME = re.compile(r"\bsection\b[ \t]*([^\s]*)")


@dataclass(frozen=True)
class Piece:
    """A command of a text, with the white space and comments behind it."""

    start: int
    end: int
    keyword: str


@dataclass
class _Scope:
    """A namespace, a section, or the file."""

    opener: str
    commands: list[str]


class ScopedText:
    """A text as commands."""

    def __init__(self, text: str, start: int) -> None:
        """`start`: where its first command may begin, behind the imports."""
        self._text = LookedAt(text)
        self.pieces = list(self._pieces(start))

    def start_of(self, at: int) -> int:
        """Where the command begins that holds a place; 0 above the first."""
        return max((piece.start for piece in self.pieces if piece.start <= at), default=0)

    def of(self, pieces: Sequence[Piece]) -> str:
        """The text of neighbouring commands."""
        return self._text.original[pieces[0].start : pieces[-1].end] if pieces else ""

    def public(self, pieces: Sequence[Piece]) -> str:
        """The same without `private`, so that another module can name what they declare. No column moves."""
        if not pieces:
            return ""
        start, end = pieces[0].start, pieces[-1].end
        original, code = self._text.original[start:end], self._text.code[start:end]
        characters = list(original)
        for match in _PRIVATE.finditer(code):
            characters[match.start() : match.end()] = " " * len("private")
        return "".join(characters)

    def open_scope(self, count: int) -> str | None:
        """Commands that bring back what is open behind the first `count` commands; None where none can."""
        scopes = [_Scope("", [])]
        for piece in self.pieces[:count]:
            code = self._text.code[piece.start : piece.end]
            if _LOCAL_DECLARATION.search(code):
                scopes[-1].commands.append("")  # marks a scope that cannot be opened again
                continue
            self._enter(scopes, piece, code)
            if not scopes:
                return None
        lines = [line for scope in scopes for line in (scope.opener, *scope.commands)]
        if any(not command for scope in scopes for command in scope.commands):
            return None
        return "".join(f"{line}\n" for line in lines if line)

    def _enter(self, scopes: list[_Scope], piece: Piece, code: str) -> None:
        """Follow one command."""
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
        elif piece.keyword in _KEPT or _LOCAL.search(code):
            scopes[-1].commands.append(self._text.original[piece.start : piece.end].rstrip())

    def _pieces(self, start: int) -> Iterator[Piece]:
        """Commands by their look; a `mutual` block is one."""
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
