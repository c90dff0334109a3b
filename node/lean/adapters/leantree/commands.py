"""A plan that makes a worker elaborate a whole text, commands or a source to check, and keeps Lean's messages."""

from __future__ import annotations

from common.lean import Theorem
from node.lean.adapters.repl.protocol import CommandPosition, ReplMessage, severity_name
from node.lean.process.child import Ending
from node.lean.worker.document import Frame, LeanDocument
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import Diagnostic
from node.lean.worker.reading import DocumentReading

TRIES = 2
"""Attempts before a crash counts. After a first crash the text runs again, because something else may have killed the
process."""


class TextPlan(BatchPlan):
    """Elaborates `header` followed by `text`, and keeps the messages about the text."""

    def __init__(self, header: str, text: str = "", *, skip: int = 0) -> None:
        """`skip`: if there is no text, the number of lines of the header whose messages are dropped."""
        super().__init__(Theorem("text", "", "True", header), (), {})
        self.text = text
        self.messages: list[ReplMessage] | None = None
        """Lean's messages; None if Lean did not finish the text."""
        self.ending: Ending | None = None
        """Why Lean did not finish the text."""
        self.reason = ""
        self._lines_before = skip
        self._tries = 0

    @property
    def errors(self) -> list[str]:
        return [message.data for message in self.messages or () if message.severity == "error"]

    @property
    def sorries(self) -> bool:
        """True when a declaration uses `sorry`."""
        return any("declaration uses" in message.data and "sorry" in message.data for message in self.messages or ())

    def document(self, frame: Frame) -> LeanDocument | None:
        """The only document; None after its report."""
        if self.messages is not None or self.ending is not None:
            return None
        before = frame.opening()
        if self.text:
            self._lines_before = before.count("\n")
        return LeanDocument(before + self.text + "\n", ())

    def take(self, reading: DocumentReading) -> None:
        """Keep the messages about the text."""
        places = [message for message in reading.messages if message.range.start.line >= self._lines_before]
        self.messages = [_message(item, self._lines_before) for item in places]

    def ended(self, ending: Ending, reason: str, suspect: int | None, *, stuck: bool, parser_error: str = "") -> None:
        """Record that the process ended. After a first crash the text runs once more; otherwise this is the result."""
        self._tries += 1
        if ending is not Ending.DIED or self._tries >= TRIES:
            self.ending, self.reason = ending, reason


def _message(item: Diagnostic, lines_before: int) -> ReplMessage:
    whole = item.full_range or item.range
    return ReplMessage(
        severity_name(item),
        item.message,
        CommandPosition(whole.start.line - lines_before + 1, whole.start.character),
        CommandPosition(whole.end.line - lines_before + 1, whole.end.character),
    )
