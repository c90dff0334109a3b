"""Converts Lean's messages to the REPL's: those of a command have positions, those of a tactic do not. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.lean.adapters.repl import protocol
from node.lean.adapters.repl.holes import Filled
from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.protocol import ProofStatus, ReplMessage, severity_name
from node.lean.gaps.gap import characters, position
from node.lean.worker.process import Diagnostic
from node.lean.worker.reading import PARSER_MESSAGE

_METAVARIABLES = re.compile(
    r"\(kernel\) declaration has metavariables|don't know how to synthesize|contains metavariable"
)
_KERNEL = re.compile(r"\(kernel\) |fail to show termination|failed to infer structural recursion")

_TRACE = re.compile(r"^\[[\w.]+\] ?", re.MULTILINE)
"""Start of a trace message of Lean: its class. The following lines of the trace are indented."""

_TRACERS = {"trace", "trace_state", "dbg_trace"}
"""Tactics whose messages are traces without a class. The position of such a message is the tactic's first word."""


_INFORMATION = 3
"""The severity of a message that is neither an error nor a warning."""


@dataclass
class TacticMessages:
    """The messages and traces of a tactic."""

    messages: list[ReplMessage] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)


def of_command(diagnostics: Sequence[Diagnostic], prepared: Prepared) -> list[ReplMessage]:
    """The messages of a command, with their positions in it."""
    command_messages = []
    for item in diagnostics:
        whole = item.full_range or item.range
        start = prepared.place(whole.start)
        if start is not None:
            end = prepared.place(whole.end) or prepared.place_of(len(prepared.code))
            command_messages.append(ReplMessage(severity_name(item), item.message, start, end))
    return command_messages


def in_tactic(diagnostics: Sequence[Diagnostic], filled: Filled) -> TacticMessages:
    """The messages and traces of a tactic, without positions, as in the REPL."""
    inside = TacticMessages()
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
    """True for a message about the tactic. False for one about the text around it, which may be in the same line."""
    start, begin = (item.full_range or item.range).start, position(filled.text, filled.start)
    return (begin.line, begin.character) <= (start.line, start.character) < (filled.sentinel.line, 0)


def status(diagnostics: Sequence[Diagnostic], filled: Filled, sorry: bool) -> str:
    """The status of a proof without goals, from Lean's messages about the whole proof."""
    if sorry:
        return ProofStatus.HAS_SORRY
    for item in diagnostics:
        if item.is_error and _METAVARIABLES.search(item.message):
            return ProofStatus.HAS_METAVARIABLES
        if item.is_error and _KERNEL.search(item.message):
            return f"Error: kernel type check failed: {item.message}"
    return ProofStatus.COMPLETED


def failure(diagnostics: Sequence[Diagnostic], filled: Filled) -> str:
    """The error because of which Lean did not reach the end of a tactic."""
    inside = [item for item in diagnostics if item.is_error and is_inside(item, filled)]
    for item in inside:
        if PARSER_MESSAGE.match(item.message):
            line = item.range.start.line - filled.first + 1
            return f"<input>:{line}:{_column(item, filled)}: {item.message}"
    errors = inside or [item for item in diagnostics if item.is_error]
    return errors[0].message if errors else "Lean did not reach the end of the tactic"


def _column(item: Diagnostic, filled: Filled) -> int:
    """The column of a message in the tactic's text."""
    line = filled.text.split("\n")[item.range.start.line]
    return max(0, characters(line, item.range.start.character) - filled.indent)


def _traces(item: Diagnostic, lines: Sequence[str]) -> list[str]:
    """The traces in a message; empty if it is not a trace message."""
    text = item.message.strip()
    starts = [match.start() for match in _TRACE.finditer(text)]
    if starts and starts[0] == 0:
        return [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    start, line = item.range.start, lines[item.range.start.line]
    word = re.match(r"\w*", line[characters(line, start.character) :])
    return [text] if word is not None and word.group() in _TRACERS else []
