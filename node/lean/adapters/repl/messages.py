"""Lean's messages as the REPL tells them: of a command by their places, of a tactic without. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.lean.adapters.repl import protocol
from node.lean.adapters.repl.holes import Filled
from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.protocol import ProofStatus, ReplMessage, severity_name
from node.lean.holes.positions import characters, position
from node.lean.worker.framing import Diagnostic
from node.lean.worker.reading import PARSER_MESSAGE

_METAVARIABLES = re.compile(
    r"\(kernel\) declaration has metavariables|don't know how to synthesize|contains metavariable"
)
_KERNEL = re.compile(r"\(kernel\) |fail to show termination|failed to infer structural recursion")

_TRACE = re.compile(r"^\[[\w.]+\] ?", re.MULTILINE)
"""Begins a trace of Lean's, by its class; its lines are indented."""

_TRACERS = {"trace", "trace_state", "dbg_trace"}
"""Tactics whose messages are traces without a class; they stand at the tactic's first word."""


_INFORMATION = 3
"""Severity of what is no error and no warning."""


@dataclass
class Inside:
    """What Lean says of a tactic."""

    messages: list[ReplMessage] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)


def of_command(diagnostics: Sequence[Diagnostic], prepared: Prepared) -> list[ReplMessage]:
    """The messages of a command, with their places in it."""
    told = []
    for item in diagnostics:
        whole = item.full_range or item.range
        start = prepared.place(whole.start)
        if start is not None:
            end = prepared.place(whole.end) or prepared.place_of(len(prepared.code))
            told.append(ReplMessage(severity_name(item), item.message, start, end))
    return told


def in_tactic(diagnostics: Sequence[Diagnostic], filled: Filled) -> Inside:
    """The messages and traces of a tactic; the REPL gives them no places."""
    inside = Inside()
    lines = filled.text.split("\n")
    for item in diagnostics:
        if not is_inside(item, filled):
            continue
        if item.severity >= _INFORMATION and (traces := _traces(item, lines)):
            inside.traces += traces
        else:
            inside.messages.append(ReplMessage(severity_name(item), item.message, end_pos=protocol.NOWHERE))
    return inside


def is_inside(item: Diagnostic, filled: Filled) -> bool:
    """Whether a message is about the tactic, and not about what stands around it, perhaps in the same line."""
    start, begin = (item.full_range or item.range).start, position(filled.text, filled.start)
    return (begin.line, begin.character) <= (start.line, start.character) < (filled.sentinel.line, 0)


def status(diagnostics: Sequence[Diagnostic], filled: Filled, sorry: bool) -> str:
    """The status of a proof without goals, by what Lean says of it as a whole."""
    if sorry:
        return ProofStatus.HAS_SORRY
    for item in diagnostics:
        if item.is_error and _METAVARIABLES.search(item.message):
            return ProofStatus.HAS_METAVARIABLES
        if item.is_error and _KERNEL.search(item.message):
            return f"Error: kernel type check failed: {item.message}"
    return ProofStatus.COMPLETED


def failure(diagnostics: Sequence[Diagnostic], filled: Filled) -> str:
    """Why Lean did not get to the end of a tactic."""
    inside = [item for item in diagnostics if item.is_error and is_inside(item, filled)]
    for item in inside:
        if PARSER_MESSAGE.match(item.message):
            line = item.range.start.line - filled.first + 1
            return f"<input>:{line}:{_column(item, filled)}: {item.message}"
    others = [item for item in diagnostics if item.is_error]
    return (inside or others)[0].message if inside or others else "Lean did not reach the end of the tactic"


def _column(item: Diagnostic, filled: Filled) -> int:
    """Column of a message in the tactic's own text."""
    line = filled.text.split("\n")[item.range.start.line]
    return max(0, characters(line, item.range.start.character) - filled.indent)


def _traces(item: Diagnostic, lines: Sequence[str]) -> list[str]:
    """The traces in a message; none when it is another message."""
    text = item.message.strip()
    starts = [match.start() for match in _TRACE.finditer(text)]
    if starts and starts[0] == 0:
        return [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    start, line = item.range.start, lines[item.range.start.line]
    word = re.match(r"\w*", line[characters(line, start.character) :])
    return [text] if word is not None and word.group() in _TRACERS else []
