"""Reads what Lean prints of an elaboration when it is asked to: info trees, and each step in Lean's own layout. Pure.

Info trees show a term's type and a tactic's syntax; the steps show the type that was expected of a term, and how Lean
lays a piece of syntax out. Both go together by the text alone, so a piece of syntax without a step keeps the layout
that its source has.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.lean.text.lexing import lex
from node.lean.trace.infotree import Info, parse
from node.lean.worker.framing import Diagnostic

TREES = ("set_option Elab.async false", "set_option trace.Elab.info true")
"""Before a command: Lean prints its info trees. Without threads, a theorem's body stands in its command's tree."""

STEPS = ("set_option trace.Elab.step true", "set_option trace.Elab.command true")
"""Before a command, besides: Lean prints its steps."""

NOT_PRINTED = "<failed to pretty print>"
"""What the REPL says of a piece of syntax that is no tactic, such as `by` alone."""

_TRACE = re.compile(r"^\[Elab\.(info|step|command)\]", re.MULTILINE)
_NODE = re.compile(r"( *)\[Elab\.(?:step|command)(\.result)?\] ?(?:[✅❌💥]\ufe0f? ?)?(.*)")
_FAILED = "failed to pretty print"
_EXPECTED = "expected type: "
_NO_TYPE = "<not-available>"
_TERM = ", term\n"
_BROKEN = re.compile(r"\n[ \t]+")
_BLANK = re.compile(r"\s+")

_CONTENT_COLUMNS = 4
"""Columns by which the lines below a step's first one stand further in than its bracket."""


@dataclass
class Layouts:
    """Lean's layouts of syntax, and the types that it expected of terms, by text without blanks."""

    printed: dict[str, str] = field(default_factory=dict)
    expected: dict[str, deque[str | None]] = field(default_factory=lambda: defaultdict(deque))
    """In the order of the elaboration; None where no type was expected."""

    def of(self, source: str) -> str:
        """The layout of a piece of source; as it stands there, without its indentation, where Lean printed none."""
        return self.printed.get(_key(source)) or dedented(source)

    def next_expected(self, source: str) -> str | None:
        """The type that was expected of the next term with this text."""
        types = self.expected.get(_key(source))
        if not types:
            return None
        return types.popleft() if len(types) > 1 else types[0]


@dataclass
class Traced:
    """What Lean printed of a text."""

    trees: list[Info] = field(default_factory=list)
    layouts: Layouts = field(default_factory=Layouts)


def read(diagnostics: Sequence[Diagnostic]) -> Traced:
    """The trees and steps in Lean's messages, in the order of the text; other messages are passed over."""
    traced = Traced()
    for item in sorted(diagnostics, key=lambda item: (item.range.start.line, item.range.start.character)):
        marks = [*_TRACE.finditer(item.message)]
        ends = [*(mark.start() for mark in marks[1:]), len(item.message)][: len(marks)]
        for mark, end in zip(marks, ends, strict=True):
            if mark.group(1) == "info":
                traced.trees += parse(item.message[mark.end() : end])
            else:
                _steps(item.message[mark.start() : end], traced.layouts)
    return traced


def dedented(source: str) -> str:
    """A piece of source without the indentation that its lines have in common, the first line aside."""
    first, *others = source.split("\n")
    common = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first, *(line[max(0, common - 2) :] for line in others)])


def _steps(text: str, layouts: Layouts) -> None:
    lines: list[str] = []
    column = 0
    result = True
    for line in [*text.split("\n"), "[Elab.step]"]:
        match = _NODE.match(line)
        if match is None:
            lines.append(line)
            continue
        if not result:
            _step(lines, column, layouts)
        column, result, lines = len(match.group(1)), bool(match.group(2)), [match.group(3)]


def _step(lines: Sequence[str], column: int, layouts: Layouts) -> None:
    begin = column + _CONTENT_COLUMNS
    first, *others = lines
    text = "\n".join([first, *(line[min(begin, len(line) - len(line.lstrip())) :] for line in others)]).rstrip()
    if text.startswith(_EXPECTED):
        type_, found, text = text.removeprefix(_EXPECTED).partition(_TERM)
        if found:
            type_ = _BROKEN.sub(" ", type_)
            layouts.expected[_key(text)].append(None if type_ == _NO_TYPE else type_)
    if text.strip() and not text.strip().startswith(_FAILED):
        layouts.printed.setdefault(_key(text), textwrap.dedent(text.strip("\n")))


def _key(text: str) -> str:
    return _BLANK.sub("", lex(text).bare or text)
