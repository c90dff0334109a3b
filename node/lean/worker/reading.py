"""Reads a document's diagnostics: what became of each candidate, and which outcomes the document leaves open. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.lean import Outcome, OutcomeKind
from node.lean.text.goals import factorise, split_goals
from node.lean.text.statement import BY_COLUMN
from node.lean.worker.document import STATE, CandidateBlock, Form, LeanDocument, LeanExample
from node.lean.worker.frames import SENTINEL
from node.lean.worker.framing import Diagnostic

_UNSOLVED = "unsolved goals"

PARSER_MESSAGE = re.compile(
    r"unexpected |expected |unknown tactic|unterminated|missing |invalid escape|tabs are not allowed"
)
"""How the messages of Lean's parser begin."""

SUGGESTION = "Try this"
"""How Lean begins to say what a tactic that searches has found."""

HEARTBEATS = re.compile(r"\(deterministic\) timeout|maximum number of heartbeats")
"""In the message of a tactic that used up its heartbeats."""

_RUNTIME = re.compile(
    r"\(deterministic\) timeout|maximum number of heartbeats|maximum recursion depth|memory|interrupted|stack"
)
"""Lean's runtime exceptions: there is no recovery from them, so a whole declaration ends, and they depend on what else
it did."""

ALREADY_DECLARED = "has already been declared"
"""What Lean says of a name that is taken, having parsed the whole declaration and elaborated nothing of it."""


@dataclass
class DocumentReading:
    """What a document showed."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """Outcomes that are certain."""
    states: list[str] = field(default_factory=list)
    """Printed goals of the state at the end of the path, from STATE blocks (tags included)."""
    silent: set[int] = field(default_factory=set)
    """Candidates on copies that left neither goals nor errors. Lean holds back some errors (placeholders that nothing
    fills) where a declaration has others, so such a candidate has to be seen in an example without them."""
    unclear: set[int] = field(default_factory=set)
    """Candidates of a confirmation that something was wrong with."""
    unparsable: set[int] = field(default_factory=set)
    """Candidates that Lean's parser refused."""
    suspect: int | None = None
    """The first candidate with an error that its neighbours, or Lean itself, may have caused."""
    broken: dict[int, str] = field(default_factory=dict)
    """Errors in the path to a block: it did not replay, or left a placeholder that nothing filled."""
    bad_statement: str = ""
    """Error in the statement."""
    messages: list[Diagnostic] = field(default_factory=list)
    """All diagnostics of a document without examples."""


@dataclass
class _Seen:
    """Diagnostics sorted by the block they belong to."""

    errors: dict[int, list[Diagnostic]] = field(default_factory=dict)
    goals: dict[int, str] = field(default_factory=dict)
    sentinels: set[int] = field(default_factory=set)
    """Lines of sentinels that spoke."""
    suggestions: dict[int, str] = field(default_factory=dict)
    """What a tactic that searches the library has found, in Lean's words."""
    path_errors: list[Diagnostic] = field(default_factory=list)
    statement_errors: list[Diagnostic] = field(default_factory=list)
    other_errors: list[Diagnostic] = field(default_factory=list)


def echoed(document: LeanDocument, diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether the diagnostics are about this very document. (An error in its statement keeps the echo away, too.)"""
    return not document.echo or any(document.echo in item.message.split("\n") for item in diagnostics)


def suspect_at(document: LeanDocument, lines: Sequence[int]) -> int | None:
    """The candidate that was running, given the lines that Lean had not finished; None when it was not in a block."""
    for line in lines:
        for block in document.blocks:
            if block.holds(line) and block.index != STATE:
                return block.index
    return None


def parser_refused(document: LeanDocument, diagnostics: Sequence[Diagnostic], index: int) -> str:
    """The parser's error in a candidate of a document that was not finished; empty when there is none.

    Lean elaborates what it could parse, and half a `repeat` runs for ever.
    """
    for block in document.blocks:
        for item in diagnostics:
            if block.index == index and block.holds(item.lines[0]) and PARSER_MESSAGE.match(item.message):
                return item.message
    return ""


def read(document: LeanDocument, diagnostics: Sequence[Diagnostic]) -> DocumentReading:
    """Read the final diagnostics of a document."""
    reading = DocumentReading(messages=[] if document.examples else list(diagnostics))
    for example in document.examples:
        inside = [item for item in diagnostics if example.first <= item.lines[0] <= example.last]
        seen = _sort(example, inside)
        if example.form is Form.PROBE:
            _read_probe(example, seen, reading)
        elif example.form is Form.CONFIRMATION:
            _read_confirmation(example, seen, reading)
        else:
            _read_example(example, seen, reading)
    return reading


def _sort(example: LeanExample, diagnostics: Sequence[Diagnostic]) -> _Seen:
    seen = _Seen()
    by_line = {line: block for block in example.blocks for line in range(block.first, block.last + 1)}
    for item in diagnostics:
        line = item.lines[0]
        if not item.is_error:
            # Of a gap that runs on several goals, Lean makes one message of the same words.
            if set(item.message.split("\n")) == {SENTINEL}:
                seen.sentinels.add(line)
            elif item.message.startswith(SUGGESTION) and line in by_line:
                seen.suggestions.setdefault(by_line[line].index, item.message[:MAX_MESSAGE])
        elif (block := _left_open(example, item)) is not None:
            seen.goals[block.index] = item.message
        elif (block := by_line.get(line)) is not None:
            seen.errors.setdefault(block.index, []).append(item)
        elif _encloses(example, item):
            pass  # Lean stopped before the end of the path's innermost block, which the missing sentinels say as well
        elif example.form is Form.PROBE and ALREADY_DECLARED in item.message:
            pass  # the name is taken, as it should be
        elif _is_whole(example, item) or (example.placed and line <= example.statement):
            seen.other_errors.append(item)  # of a file's command, nothing above the gap is known to be at fault
        elif line <= example.statement:
            seen.statement_errors.append(item)
        elif line < min(block.first for block in example.blocks):
            seen.path_errors.append(item)
        else:
            seen.other_errors.append(item)
    return seen


def _left_open(example: LeanExample, item: Diagnostic) -> CandidateBlock | None:
    """The block whose goals an `unsolved goals` message is about, if it is about a block's as a whole.

    In a bullet the message stands at the bullet. Without one it stands at what encloses the block: a bullet of the
    path, or the `by` of the statement.
    """
    if not item.message.startswith(_UNSOLVED):
        return None
    start, end = (item.full_range or item.range).start, item.lines[1]
    for block in example.blocks:
        if block.bulleted and start.line == block.first and start.character == block.column:
            return block
        if not block.bulleted and start.line < block.first <= end:
            return block
        if not block.bulleted and start.line == block.first and start.character < block.column:
            return block  # the bullet that encloses it begins on the same line
    return None


def _encloses(example: LeanExample, item: Diagnostic) -> bool:
    """Whether a message says that goals are left in something around the blocks."""
    start, end = item.lines
    return item.message.startswith(_UNSOLVED) and start < example.blocks[0].first <= end


def _is_whole(example: LeanExample, item: Diagnostic) -> bool:
    """Whether an error is about the declaration as a whole, or its proof: not about its statement.

    Such errors (the kernel's, or of recursion that does not end) stand at the keyword, or at the `by`.
    """
    start = (item.full_range or item.range).start
    if start.line == example.first and start.character == 0:
        return True
    return not example.placed and start.line == example.statement and start.character >= BY_COLUMN


def _read_probe(example: LeanExample, seen: _Seen, reading: DocumentReading) -> None:
    (block,) = example.blocks
    if seen.errors:
        reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR, message=_message(seen.errors[block.index]))
        reading.unparsable.add(block.index)


def _read_example(example: LeanExample, seen: _Seen, reading: DocumentReading) -> None:
    if seen.statement_errors:
        reading.bad_statement = reading.bad_statement or _message(seen.statement_errors)
        return
    if seen.path_errors:
        reading.broken |= {block.index: _message(seen.path_errors) for block in example.blocks}
        return
    if example.placed and [block.index for block in example.blocks] == [STATE]:
        # Only the goal was asked for, so no candidate has caused an error above the gap.
        above = [item for item in seen.other_errors if STATE not in seen.goals or not _is_whole(example, item)]
        if above:
            reading.bad_statement = reading.bad_statement or _message(above)
            return
        seen.other_errors.clear()
    if example.form is Form.SEPARATE:
        _read_alone(example.blocks[0], seen, reading)
    else:
        _read_copies(example, seen, reading)


def _read_alone(block: CandidateBlock, seen: _Seen, reading: DocumentReading) -> None:
    """One candidate with an example of its own: every error in it is its error."""
    errors = [*seen.errors.get(block.index, []), *seen.other_errors]
    refused = [item for item in errors if PARSER_MESSAGE.match(item.message)]
    if refused:  # whatever became of the half that could be parsed
        reading.outcomes[block.index] = _failed(OutcomeKind.ERROR, refused, block)
        reading.unparsable.add(block.index)
    elif errors:
        timeout = any(HEARTBEATS.search(item.message) for item in errors)
        kind = OutcomeKind.TIMEOUT if timeout else OutcomeKind.ERROR
        reading.outcomes[block.index] = _failed(kind, errors, block)
    elif block.sentinel not in seen.sentinels:
        reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR, message="Lean did not reach the end of the tactic")
    else:
        _settle(block, seen, reading)


def _read_copies(example: LeanExample, seen: _Seen, reading: DocumentReading) -> None:
    """Candidates on copies of one goal. What a block says at its own place counts; silence has to be confirmed."""
    blocks = example.blocks
    spoke = [place for place, block in enumerate(blocks) if block.index in seen.errors or block.index in seen.goals]
    reached = len(blocks) if example.end in seen.sentinels else max(spoke, default=-1)
    for place, block in enumerate(blocks):
        errors = seen.errors.get(block.index, [])
        if any(_is_runtime(item) for item in errors):
            reading.suspect = block.index if reading.suspect is None else reading.suspect
        elif errors:
            reading.outcomes[block.index] = _failed(OutcomeKind.ERROR, errors, block)
            if any(PARSER_MESSAGE.match(item.message) for item in errors):
                reading.unparsable.add(block.index)
        elif block.index in seen.goals:
            _settle(block, seen, reading)
        elif place < reached:
            reading.silent.add(block.index)


def _read_confirmation(example: LeanExample, seen: _Seen, reading: DocumentReading) -> None:
    """Candidates that should close their goals: they have, if there is nothing but sentinels."""
    sentinels = all(block.sentinel in seen.sentinels for block in example.blocks)
    problems = seen.errors or seen.goals or seen.path_errors or seen.statement_errors or seen.other_errors
    for block in example.blocks:
        if sentinels and not problems:
            reading.outcomes[block.index] = Outcome(OutcomeKind.PROVED, message=seen.suggestions.get(block.index, ""))
        else:
            reading.unclear.add(block.index)


def _settle(block: CandidateBlock, seen: _Seen, reading: DocumentReading) -> None:
    """The outcome of a block without errors, whose sentinel spoke."""
    goals = split_goals(seen.goals.get(block.index, ""))
    if block.index == STATE:
        reading.states.append(seen.goals.get(block.index, ""))
    elif sum(map(len, goals)) > MAX_GOALS:
        message = (
            f"it leaves {len(goals)} goals of {sum(map(len, goals))} characters; at most {MAX_GOALS} are passed on"
        )
        reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR, message=message)
    elif goals:
        reading.outcomes[block.index] = Outcome(OutcomeKind.GOALS, factorise(goals))
    else:
        reading.outcomes[block.index] = Outcome(OutcomeKind.PROVED, message=seen.suggestions.get(block.index, ""))


def _is_runtime(item: Diagnostic) -> bool:
    return bool(_RUNTIME.search(item.message))


def _failed(kind: OutcomeKind, errors: Sequence[Diagnostic], block: CandidateBlock) -> Outcome:
    """The outcome of a candidate with errors: the first one counts."""
    line = _first(errors).range.start.line
    return Outcome(kind, message=_message(errors), line=line - block.first if block.holds(line) else None)


def _message(errors: Sequence[Diagnostic]) -> str:
    """The first error's text, as Lean wrote it."""
    return _first(errors).message[:MAX_MESSAGE]


def _first(errors: Sequence[Diagnostic]) -> Diagnostic:
    return min(errors, key=lambda item: (item.range.start.line, item.range.start.character))


MAX_MESSAGE = 1000
"""Characters kept of Lean's message: enough to read, and a batch of 100 stays far below a message's limit."""

MAX_GOALS = 32_768
"""Characters of all goals that a tactic may leave: far more than a policy reads, and ten such outcomes fit into one
message."""
