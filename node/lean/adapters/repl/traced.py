"""Reads Lean's trace of an elaboration: info trees, and elaboration steps in Lean's layout. Pure.

Info trees show the type of a term and the syntax of a tactic. Steps show the expected type of a term, and Lean's layout
of a piece of syntax. The two are matched by their text only. A piece of syntax without a step keeps its source's
layout.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.lean.text.lexing import lex
from node.lean.trace.infotree import Info, parse
from node.lean.worker.process import Diagnostic

TREES = ("set_option Elab.async false", "set_option trace.Elab.info true")
"""Lines before a command that make Lean print its info trees. Without threads, the tree of a theorem includes its body.
"""

STEPS = ("set_option trace.Elab.step true", "set_option trace.Elab.command true")
"""More lines before a command, which make Lean print its steps."""

NOT_PRINTED = "<failed to pretty print>"
"""The REPL's text for a piece of syntax that is not a tactic, such as `by` alone."""

_TRACE = re.compile(r"^\[Elab\.(info|step|command)\]", re.MULTILINE)
_NODE = re.compile(r"( *)\[Elab\.(?:step|command)(\.result)?\] ?(?:[✅❌💥]\ufe0f? ?)?(.*)")
_FAILED = "failed to pretty print"
_EXPECTED = "expected type: "
_NO_TYPE = "<not-available>"
_TERM = ", term\n"
_BROKEN = re.compile(r"\n[ \t]+")
_BLANK = re.compile(r"\s+")

_CONTENT_COLUMNS = 4
"""Columns by which the lines below a step's first line are further indented than its bracket."""


@dataclass
class Layouts:
    """Lean's layouts of syntax, and the expected types of terms. The key is the text without blanks."""

    printed: dict[str, str] = field(default_factory=dict)
    expected: dict[str, deque[str | None]] = field(default_factory=lambda: defaultdict(deque))
    """Types in the order of the elaboration; None for a term without an expected type."""

    def of(self, source: str) -> str:
        """Lean's layout of a piece of source. If Lean printed none: the source without its indentation."""
        return self.printed.get(_key(source)) or dedented(source)

    def next_expected(self, source: str) -> str | None:
        """The expected type of the next term with this text."""
        types = self.expected.get(_key(source))
        if not types:
            return None
        return types.popleft() if len(types) > 1 else types[0]


@dataclass
class Traced:
    """The info trees and layouts of an elaborated text."""

    trees: list[Info] = field(default_factory=list)
    layouts: Layouts = field(default_factory=Layouts)


def read(diagnostics: Sequence[Diagnostic]) -> Traced:
    """The trees and steps in Lean's messages, in the order of the text. Other messages are ignored."""
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
    """A piece of source without the common indentation of its lines after the first."""
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
        type_, separator, text = text.removeprefix(_EXPECTED).partition(_TERM)
        if separator:
            type_ = _BROKEN.sub(" ", type_)
            layouts.expected[_key(text)].append(None if type_ == _NO_TYPE else type_)
    if text.strip() and not text.strip().startswith(_FAILED):
        layouts.printed.setdefault(_key(text), textwrap.dedent(text.strip("\n")))


def _key(text: str) -> str:
    return _BLANK.sub("", lex(text).bare or text)
