"""Plans that hand a whole text to a worker and keep what Lean says of it: commands, and sources to be checked."""

from __future__ import annotations

from common.lean import Theorem
from node.lean.adapters.repl.protocol import CommandPosition, ReplMessage, severity_name
from node.lean.process.child import Ending
from node.lean.worker.document import LeanDocument
from node.lean.worker.frames import Frame
from node.lean.worker.framing import Diagnostic
from node.lean.worker.plan import BatchPlan
from node.lean.worker.reading import DocumentReading

TRIES = 2
"""A process that dies once may be somebody else's kill."""


class TextPlan(BatchPlan):
    """Elaborate `header` and, behind it, `text`. Messages are kept, and counted, from the text on."""

    def __init__(self, header: str, text: str = "", *, skip: int = 0) -> None:
        """`skip`: without a text, the lines of the header whose messages do not count."""
        super().__init__(Theorem("text", "", "True", header), (), {})
        self.text = text
        self.messages: list[ReplMessage] | None = None
        """What Lean said; none when it came to no end."""
        self.ending: Ending | None = None
        """Why it came to no end."""
        self.reason = ""
        self._lines_before = skip
        self._tries = 0

    @property
    def errors(self) -> list[str]:
        return [message.data for message in self.messages or () if message.severity == "error"]

    @property
    def sorries(self) -> bool:
        """Whether a declaration was left without a proof."""
        return any("declaration uses" in message.data and "sorry" in message.data for message in self.messages or ())

    def document(self, frame: Frame) -> LeanDocument | None:
        """The one document, until it is read."""
        if self.messages is not None or self.ending is not None:
            return None
        before = frame.opening()
        if self.text:
            self._lines_before = before.count("\n")
        return LeanDocument(before + self.text + "\n", ())

    def take(self, reading: DocumentReading) -> None:
        """Keep the messages that count."""
        places = [message for message in reading.messages if message.range.start.line >= self._lines_before]
        self.messages = [_message(item, self._lines_before) for item in places]

    def ended(self, ending: Ending, reason: str, suspect: int | None, *, stuck: bool, parser_error: str = "") -> None:
        """The process ended: once more if it died, else that is the answer."""
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
