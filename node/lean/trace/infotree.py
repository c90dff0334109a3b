"""Parses the info trees that Lean prints with `-D trace.Elab.info=true`. Pure.

An info tree is Lean's own record of an elaboration: each tactic with its position, its syntax and the goals before and
after it, including macro expansions and the steps of `rw`. Every Lean has this option, so nothing has to be built.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

Position = tuple[int, int]
"""Line from 1 and column from 0 in characters, as in Lean."""

_BULLET = re.compile(r"( *)• (.*)", re.DOTALL)
_PLACE = r"⟨(\d+), (\d+)⟩(†?!?)-⟨(\d+), (\d+)⟩(†?!?)"
_TACTIC = re.compile(rf"\[?Tactic\]? @ {_PLACE}")
_COMMAND = re.compile(rf"\[?[Cc]ommand\]? @ {_PLACE}")
_TERM = re.compile(rf"(?:\[Term\] )?@?(\S+)( \(isBinder := true\))? : .* @ {_PLACE}(?: @ \S+)?", re.DOTALL)
_KIND = re.compile(r"[(\[]*(\S+)")
_WRAPPED = re.compile(r"\n[ \t]+")

_SYNTHETIC = "†"
"""Lean's mark on positions of syntax that is not in the source: parts of a macro's expansion."""

_CANONICAL = "!"
"""Lean's mark on synthetic positions that nevertheless stand for text of the source."""


@dataclass(frozen=True)
class Span:
    """A piece of source: from `start` to before `end`."""

    start: Position
    end: Position

    def holds(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass
class Info:
    """A node of an info tree, as printed."""

    head: str
    """The text behind the bullet on the first line."""
    body: list[str] = field(default_factory=list)
    """Further lines of the node itself, without its indentation."""
    children: list[Info] = field(default_factory=list)

    @cached_property
    def tactic(self) -> TacticInfo | None:
        """The tactic that it describes (or a piece of one: brackets, separators, sequences); None if it has none."""
        match = _TACTIC.match(self.head)
        return None if match is None else _tactic(self, match)

    @cached_property
    def command(self) -> Span | None:
        """The span of the command that it describes; None if it describes none."""
        match = _COMMAND.match(self.head)
        return None if match is None else _span(match)

    @cached_property
    def name(self) -> NameInfo | None:
        """The name and its span, if it describes a term that is just a name; None otherwise."""
        match = _TERM.fullmatch("\n".join([self.head, *self.body]).rstrip())
        if match is None or match.group(5):
            return None
        numbers = [int(match.group(group)) for group in (3, 4, 6, 7)]
        span = Span((numbers[0], numbers[1]), (numbers[2], numbers[3]))
        return NameInfo(match.group(1), span, binder=bool(match.group(2)))

    def walk(self) -> Iterator[Info]:
        """This node and all nodes below it, in printed order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(frozen=True)
class NameInfo:
    """A name that elaborated to a constant or to a local variable (Lean's output does not say which)."""

    name: str
    span: Span
    binder: bool


@dataclass(frozen=True)
class TacticInfo:
    """A tactic with the goals before and after it."""

    node: Info
    span: Span
    synthetic: bool
    """True for a part of a macro's expansion. Its span is then the macro's."""
    kind: str
    """Kind of the syntax node as Lean prints it (`Tactic.rwSeq`); for an atom, the atom in quotes."""
    before: tuple[str, ...]
    """Goals before, main goal first, with tags and without Lean's line breaks."""
    after: tuple[str, ...]

    @property
    def parts(self) -> list[TacticInfo]:
        """The nearest tactics inside it."""
        return nearest(self.node)


def parse(text: str) -> list[Info]:
    """The trees of one `trace.Elab.info` message, one for each command."""
    roots: list[Info] = []
    stack: list[tuple[int, Info]] = []
    for line in text.split("\n"):
        match = _BULLET.match(line)
        indent = len(match.group(1)) if match else -1
        # `•` is also an infix operator, so it counts as a bullet only at an indentation where a node can begin.
        if match and (not stack or indent <= stack[-1][0] + 2):
            while stack and stack[-1][0] >= indent:
                stack.pop()
            info = Info(match.group(2))
            (stack[-1][1].children if stack else roots).append(info)
            stack.append((indent, info))
        elif stack:
            stack[-1][1].body.append(line[stack[-1][0] + 2 :])
    return roots


def nearest(node: Info) -> list[TacticInfo]:
    """The nearest tactics below a node. The search passes through macro expansions and terms, but not tactics."""
    tactics: list[TacticInfo] = []
    stack = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if child.tactic is not None:
            tactics.append(child.tactic)
        else:
            stack.extend(reversed(child.children))
    return tactics


def _tactic(node: Info, match: re.Match[str]) -> TacticInfo:
    lines = [line.rstrip() for line in node.body]
    first = _section(lines, "before", 0)
    second = _section(lines, "after", first)
    kind = _KIND.match(lines[0] if lines else "")
    return TacticInfo(
        node,
        _span(match),
        _SYNTHETIC in match.group(3) and _CANONICAL not in match.group(3),
        (kind.group(1) if kind else "").rstrip(")]"),
        tuple(split_lines(lines[first + 1 : second])),
        tuple(split_lines(lines[second + 1 :])),
    )


def _section(lines: Sequence[str], word: str, start: int) -> int:
    """Index of the line that begins a list of goals: `before` alone, or `before no goals`."""
    for number in range(start, len(lines)):
        if lines[number] in (word, f"{word} no goals"):
            return number
    return len(lines)


def split_lines(lines: Sequence[str]) -> list[str]:
    """Split the goals of an info tree, which are printed without blank lines between them.

    A goal ends with its conclusion. Continuation lines are indented and are joined to the line before.
    """
    goals: list[list[str]] = []
    concluded = True
    for line in lines:
        if line[:1] in (" ", "\t", "") and goals:
            goals[-1].append(line)
            continue
        if concluded:
            goals.append([])
        goals[-1].append(line)
        concluded = line.startswith(("⊢", "| "))
    return [_WRAPPED.sub(" ", "\n".join(goal)).rstrip("\n") for goal in goals]


def _span(match: re.Match[str]) -> Span:
    line, column, end_line, end_column = (int(match.group(group)) for group in (1, 2, 4, 5))
    return Span((line, column), (end_line, end_column))


# --- the text of a file by Lean's positions ---------------------------------------------------------------------------

_IMPORT = re.compile(r"^[ \t]*(?:(?:public|meta|private)\s+)*import(?:\s+all)?[ \t]+(.+)$", re.MULTILINE)
_CONTEXT = re.compile(r"^[ \t]*((?:open|variable|universe|namespace|section)\b.*)$", re.MULTILINE)


class LeanSource:
    """The text of a file. Positions count characters (code points), as in Lean."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def offset(self, position: Position) -> int:
        """Character offset of a position."""
        line, column = position
        return self._starts[line - 1] + column if line <= len(self._starts) else len(self.text)

    def position(self, offset: int) -> Position:
        """The position of a character offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]

    def slice(self, span: Span) -> str:
        return self.text[self.offset(span.start) : self.offset(span.end)]

    def tactic(self, span: Span) -> str:
        """The text of a tactic moved to column 0: further lines lose the indentation of the first one."""
        return dedent(self.slice(span), span.start[1])

    @property
    def imports(self) -> list[str]:
        """Names of the imported modules."""
        return [name for line in _IMPORT.findall(self.text) for name in line.split("--")[0].split()]

    def context(self, end: Position) -> list[str]:
        """The `open`, `variable`, `universe`, `namespace` and `section` lines before a position."""
        return _CONTEXT.findall(self.text[: self.offset(end)])


def dedent(text: str, columns: int) -> str:
    """Remove up to `columns` leading spaces from each line below the first."""
    first, *further = text.split("\n")
    cut = [line[min(columns, len(line) - len(line.lstrip(" "))) :].rstrip() for line in further]
    return "\n".join([first.rstrip(), *cut]).rstrip()
