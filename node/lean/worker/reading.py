"""Reads a document's diagnostics: the outcome of each candidate, and which outcomes are still open. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.lean import Outcome, OutcomeKind
from node.lean.text.goals import factorise, split_goals
from node.lean.text.statement import BY_COLUMN
from node.lean.worker.document import SENTINEL, STATE, UNSOLVED, CandidateBlock, Form, LeanDocument, LeanExample
from node.lean.worker.process import Diagnostic

PARSER_MESSAGE = re.compile(
    r"unexpected |expected |unknown tactic|unterminated|missing |invalid escape|tabs are not allowed"
)
"""The start of a message of Lean's parser."""

SUGGESTION = "Try this"
"""The start of a message with the result of a search tactic such as `exact?`."""

HEARTBEATS = re.compile(r"\(deterministic\) timeout|maximum number of heartbeats")
"""Part of the message of a tactic that used up its heartbeats."""

_RUNTIME = re.compile(
    r"\(deterministic\) timeout|maximum number of heartbeats|maximum recursion depth|memory|interrupted|stack"
)
"""Lean's runtime exceptions. They abort the whole declaration, and they depend on the other tactics in it."""

ALREADY_DECLARED = "has already been declared"
"""Lean's error for a name that is already declared, after parsing the whole declaration and before elaborating it."""


@dataclass
class DocumentReading:
    """The outcomes that a document's diagnostics show."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """Outcomes that are certain."""
    states: list[str] = field(default_factory=list)
    """Printed goals of the state at the end of the path, from STATE blocks (with tags)."""
    silent: set[int] = field(default_factory=set)
    """Candidates on copies with neither goals nor errors. Lean does not report some errors (unassigned placeholders) if
    a declaration has other errors, so these candidates must run again in an example without other errors."""
    unclear: set[int] = field(default_factory=set)
    """Candidates of a confirmation that had an error or an open goal."""
    unparsable: set[int] = field(default_factory=set)
    """Candidates that Lean's parser rejected."""
    suspect: int | None = None
    """The first candidate with an error that other candidates, or Lean itself, may have caused."""
    contradictory: bool = False
    """True if an example shows both goals and an error of a candidate (terse), or an error in the steps before it
    (undone). Another form tells what counts."""
    broken: dict[int, str] = field(default_factory=dict)
    """Errors in the path to a block: the path did not replay, or left an unassigned placeholder."""
    bad_statement: str = ""
    """Error in the statement."""
    messages: list[Diagnostic] = field(default_factory=list)
    """All diagnostics of a document without examples."""


@dataclass
class _Report:
    """The diagnostics of one example, sorted by block."""

    errors: dict[int, list[Diagnostic]] = field(default_factory=dict)
    goals: dict[int, str] = field(default_factory=dict)
    sentinels: set[int] = field(default_factory=set)
    """Lines of the sentinels with a message."""
    suggestions: dict[int, str] = field(default_factory=dict)
    """Lean's `Try this` messages of tactics that search the library."""
    path_errors: list[Diagnostic] = field(default_factory=list)
    statement_errors: list[Diagnostic] = field(default_factory=list)
    other_errors: list[Diagnostic] = field(default_factory=list)
    has_errors: bool = False
    """True if Lean reported any error in the example."""


def echoed(document: LeanDocument, diagnostics: Sequence[Diagnostic]) -> bool:
    """True when the diagnostics contain the echo of this document. An error in the statement also removes the echo."""
    return not document.echo or any(document.echo in item.message.split("\n") for item in diagnostics)


def suspect_at(document: LeanDocument, lines: Sequence[int]) -> int | None:
    """The candidate that Lean was running, given the unfinished lines; None if Lean was not in a candidate's block."""
    for line in lines:
        for block in document.blocks:
            if block.holds(line) and block.index != STATE:
                return block.index
    return None


def parser_refused(document: LeanDocument, diagnostics: Sequence[Diagnostic], index: int) -> str:
    """The parser's error in a candidate of an unfinished document; empty without one.

    Lean elaborates the part that parses, and an incomplete `repeat` runs for ever.
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
        report = _sort(example, inside)
        if example.form is Form.PROBE:
            _read_probe(example, report, reading)
        elif example.form is Form.CONFIRMATION:
            _read_confirmation(example, report, reading)
        else:
            _read_example(example, report, reading)
    return reading


def _sort(example: LeanExample, diagnostics: Sequence[Diagnostic]) -> _Report:
    report = _Report(has_errors=any(item.is_error for item in diagnostics))
    by_line = {line: block for block in example.blocks for line in range(block.first, block.last + 1)}
    for item in diagnostics:
        line = item.lines[0]
        if not item.is_error:
            # For a gap that runs on several goals, Lean joins equal messages into one.
            if set(item.message.split("\n")) == {SENTINEL}:
                report.sentinels.add(line)
            elif example.form is Form.TERSE and line in by_line and line == by_line[line].sentinel:
                report.goals[by_line[line].index] = item.message
            elif item.message.startswith(SUGGESTION) and line in by_line:
                report.suggestions.setdefault(by_line[line].index, item.message[:MAX_MESSAGE])
        elif (block := _left_open(example, item)) is not None:
            report.goals[block.index] = item.message
        elif (block := by_line.get(line)) is not None:
            report.errors.setdefault(block.index, []).append(item)
        elif example.form is Form.UNDONE and item.message.startswith(UNSOLVED):
            pass  # an older Lean says this of the bullet, too
        elif _encloses(example, item):
            pass  # Lean stopped before the end of the path's innermost block; the missing sentinels show the same
        elif example.form is Form.PROBE and ALREADY_DECLARED in item.message:
            pass  # the expected error of a probe
        elif _is_whole(example, item) or (example.placed and line <= example.statement):
            report.other_errors.append(item)  # in a command of a file, the text above the gap may be correct
        elif line <= example.statement:
            report.statement_errors.append(item)
        elif line < min(block.first for block in example.blocks):
            report.path_errors.append(item)
        else:
            report.other_errors.append(item)
    return report


def _left_open(example: LeanExample, item: Diagnostic) -> CandidateBlock | None:
    """The block to which an `unsolved goals` message belongs; None if the message belongs to no block as a whole.

    The message is at the block's bullet. If the block has none, it is at the bullet of the path, or the `by` of the
    statement, that encloses the block.
    """
    if not item.message.startswith(UNSOLVED) or example.form is Form.TERSE:
        return None
    if example.form is Form.UNDONE:
        return next((block for block in example.blocks if block.sentinel == item.range.start.line), None)
    start, end = (item.full_range or item.range).start, item.lines[1]
    for block in example.blocks:
        if block.bulleted and start.line == block.first and start.character == block.column:
            return block
        if not block.bulleted and start.line < block.first <= end:
            return block
        if not block.bulleted and start.line == block.first and start.character < block.column:
            return block  # the enclosing bullet is on the same line
    return None


def _encloses(example: LeanExample, item: Diagnostic) -> bool:
    """True for an `unsolved goals` message of a tactic block that encloses the candidates' blocks."""
    start, end = item.lines
    return item.message.startswith(UNSOLVED) and start < example.blocks[0].first <= end


def _is_whole(example: LeanExample, item: Diagnostic) -> bool:
    """True for an error of the whole declaration or its proof, and not of its statement.

    Such errors (of the kernel, or of recursion that does not terminate) are at the keyword or at the `by`.
    """
    start = (item.full_range or item.range).start
    if start.line == example.first and start.character == 0:
        return True
    return not example.placed and start.line == example.statement and start.character >= BY_COLUMN


def _read_probe(example: LeanExample, report: _Report, reading: DocumentReading) -> None:
    (block,) = example.blocks
    if report.errors:
        reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR, message=_message(report.errors[block.index]))
        reading.unparsable.add(block.index)


def _read_example(example: LeanExample, report: _Report, reading: DocumentReading) -> None:
    if report.statement_errors:
        reading.bad_statement = reading.bad_statement or _message(report.statement_errors)
        return
    if example.form is Form.UNDONE:
        _read_undone(example, report, reading)
        return
    if report.path_errors:
        reading.broken |= {block.index: _message(report.path_errors) for block in example.blocks}
        return
    if example.placed and [block.index for block in example.blocks] == [STATE]:
        # The document has no candidate, so an error above the gap is an error of the file.
        above = [item for item in report.other_errors if STATE not in report.goals or not _is_whole(example, item)]
        if above:
            reading.bad_statement = reading.bad_statement or _message(above)
            return
        report.other_errors.clear()
    if example.form is Form.TERSE:
        _read_terse(example, report, reading)
    elif example.form is Form.SEPARATE:
        _read_alone(example.blocks[0], report, reading)
    else:
        _read_copies(example, report, reading)


def _read_alone(block: CandidateBlock, report: _Report, reading: DocumentReading) -> None:
    """Read a separate example: each error in it is the candidate's error."""
    errors = [*report.errors.get(block.index, []), *report.other_errors]
    parser_errors = [item for item in errors if PARSER_MESSAGE.match(item.message)]
    if parser_errors:  # these count even if the part that parses has other errors
        reading.outcomes[block.index] = _failed(OutcomeKind.ERROR, parser_errors, block)
        reading.unparsable.add(block.index)
    elif errors:
        timeout = any(HEARTBEATS.search(item.message) for item in errors)
        kind = OutcomeKind.TIMEOUT if timeout else OutcomeKind.ERROR
        reading.outcomes[block.index] = _failed(kind, errors, block)
    elif block.sentinel not in report.sentinels:
        reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR, message="Lean did not reach the end of the tactic")
    else:
        _settle(block, report, reading)


def _read_terse(example: LeanExample, report: _Report, reading: DocumentReading) -> None:
    """Read a terse example. A candidate without any message stays open: it runs again, or needs a confirmation."""
    ends = example.end in report.sentinels
    for block in example.blocks:
        errors = report.errors.get(block.index, [])
        if any(_is_runtime(item) for item in errors):
            reading.suspect = block.index if reading.suspect is None else reading.suspect
        elif errors and block.index in report.goals:
            reading.contradictory = True
        elif errors:
            reading.outcomes[block.index] = _failed(OutcomeKind.ERROR, errors, block)
            if any(PARSER_MESSAGE.match(item.message) for item in errors):
                reading.unparsable.add(block.index)
        elif block.last in report.sentinels:
            reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR)
        elif report.goals.get(block.index) or (block.index in report.goals and ends and not report.has_errors):
            _settle(block, report, reading)
        elif block.index in report.goals or ends:
            reading.silent.add(block.index)  # with other errors in the example, Lean does not check its proof


def _read_undone(example: LeanExample, report: _Report, reading: DocumentReading) -> None:
    """Read an undone example. A candidate that leaves no goals needs an example in which it is not taken back."""
    reading.contradictory = bool(report.path_errors or report.other_errors)
    for block in example.blocks:
        errors = report.errors.get(block.index, [])
        if any(_is_runtime(item) for item in errors):
            reading.suspect = block.index if reading.suspect is None else reading.suspect
        elif any(PARSER_MESSAGE.match(item.message) for item in errors):
            reading.outcomes[block.index] = _failed(OutcomeKind.ERROR, errors, block)
            reading.unparsable.add(block.index)
        elif errors:
            reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR)
        elif split_goals(report.goals.get(block.index, "")):
            _settle(block, report, reading)
        elif block.index in report.goals:
            reading.silent.add(block.index)


def _read_copies(example: LeanExample, report: _Report, reading: DocumentReading) -> None:
    """Read candidates on copies of one goal. A message at a block's lines counts; silence needs a confirmation."""
    blocks = example.blocks
    with_message = [
        place for place, block in enumerate(blocks) if block.index in report.errors or block.index in report.goals
    ]
    # A block without a message was run only if Lean reached a later block or the final sentinel.
    reached = len(blocks) if example.end in report.sentinels else max(with_message, default=-1)
    for place, block in enumerate(blocks):
        errors = report.errors.get(block.index, [])
        if any(_is_runtime(item) for item in errors):
            reading.suspect = block.index if reading.suspect is None else reading.suspect
        elif errors:
            reading.outcomes[block.index] = _failed(OutcomeKind.ERROR, errors, block)
            if any(PARSER_MESSAGE.match(item.message) for item in errors):
                reading.unparsable.add(block.index)
        elif block.index in report.goals:
            _settle(block, report, reading)
        elif place < reached:
            reading.silent.add(block.index)


def _read_confirmation(example: LeanExample, report: _Report, reading: DocumentReading) -> None:
    """Read a confirmation: all candidates close their goals if the report has the sentinels and nothing else."""
    sentinels = all(block.sentinel in report.sentinels for block in example.blocks)
    problems = report.errors or report.goals or report.path_errors or report.statement_errors or report.other_errors
    for block in example.blocks:
        if sentinels and not problems:
            reading.outcomes[block.index] = Outcome(OutcomeKind.PROVED, message=report.suggestions.get(block.index, ""))
        else:
            reading.unclear.add(block.index)


def _settle(block: CandidateBlock, report: _Report, reading: DocumentReading) -> None:
    """Record the outcome of a block without errors that Lean ran to its end."""
    goals = split_goals(report.goals.get(block.index, ""))
    if block.index == STATE:
        reading.states.append(report.goals.get(block.index, ""))
    elif sum(map(len, goals)) > MAX_GOALS:
        message = (
            f"it leaves {len(goals)} goals of {sum(map(len, goals))} characters; the limit is {MAX_GOALS} characters"
        )
        reading.outcomes[block.index] = Outcome(OutcomeKind.ERROR, message=message)
    elif goals:
        reading.outcomes[block.index] = Outcome(OutcomeKind.GOALS, factorise(goals))
    else:
        reading.outcomes[block.index] = Outcome(OutcomeKind.PROVED, message=report.suggestions.get(block.index, ""))


def _is_runtime(item: Diagnostic) -> bool:
    return bool(_RUNTIME.search(item.message))


def _failed(kind: OutcomeKind, errors: Sequence[Diagnostic], block: CandidateBlock) -> Outcome:
    """The outcome of a candidate with errors, which reports the first error."""
    line = _first(errors).range.start.line
    return Outcome(kind, message=_message(errors), line=line - block.first if block.holds(line) else None)


def _message(errors: Sequence[Diagnostic]) -> str:
    """Lean's message for the first error, truncated."""
    return _first(errors).message[:MAX_MESSAGE]


def _first(errors: Sequence[Diagnostic]) -> Diagnostic:
    return min(errors, key=lambda item: (item.range.start.line, item.range.start.character))


MAX_MESSAGE = 1000
"""Longest text of a Lean message in characters. A reply with 100 outcomes stays far below the bus's message limit."""

MAX_GOALS = 32_768
"""Most characters of the goals that a tactic may leave. This is far more than a policy reads, and ten such outcomes fit
into one bus message."""
