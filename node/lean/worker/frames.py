"""Writes the text above the examples of a document: a header, or the text of a file. Lean elaborates it once. Pure.

    for a header         the header, then a preamble: the definition of COPY, and an option for brief documents
    for a file's text    its imports, the definition of COPY, the remaining text, then a tail of options

The text of a file can open namespaces and sections and include variables, so COPY is defined before all of these. The
options that differ between documents are at the end, because Lean elaborates everything after a changed line again.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from node.lean.text.headers import import_lines, imports

COPY = "«proofmesh copy»"
"""Name of the definition that copies a goal. The text rules refuse this name, so no candidate can use it."""

SENTINEL = "proofmesh"
"""The message of a sentinel."""


class Opening(enum.Enum):
    """The kind of document that starts with a frame."""

    PLAIN = enum.auto()
    BRIEF = enum.auto()
    """Lean reports once, at the end: see `_SNAPSHOTS_OFF`."""
    RECALL = enum.auto()
    """A document without examples, which makes Lean cancel the previous example. It changes a command of the frame, and
    Lean cancels the text after a changed command at once. To cancel a changed example itself, Lean would need a free
    thread, and that example may occupy the only one."""


def _copy(name: str) -> str:
    """The definition of COPY. Another variable `name` makes it a changed command for Lean's server."""
    return f"def {COPY} {{{name} : Sort _}} (a _ : {name}) : {name} := a"


_SNAPSHOTS_OFF = f"""set_option internal.cmdlineSnapshots false -- {SENTINEL}: brief
set_option internal.cmdlineSnapshots false
set_option internal.cmdlineSnapshots true"""
"""Starts a brief document, which has a single example. Without command-line snapshots, Lean keeps no record of the
example for an editor and reports once, at the end. That saves a third of the CPU time. But while Lean runs, it does not
show which candidate it is running.

Lean's server is not made for switching this option inside a document. For a command that was elaborated under the
option, the server does not know where it ended. When the document is edited, the server therefore treats the one or two
commands before it (depending on Lean's version) as unchanged, whatever their text is now, and continues to read where
they ended last time. So these must be commands that never change: they are the last two options here. The first option,
with its comment, occurs in no other document. The header comes before all three and is compared as usual.

Two rules follow. A brief document has only one example, because a second one would come after such a command. And it
contains an echo, a message that identifies the document: a report without the echo is not used. (A Lean that does not
know the option reports an error in the option's line, which is not read.)"""


@dataclass(frozen=True)
class Frame:
    """The text above the examples of a document."""

    text: str
    """A header, completed with the configured one; or the text of a file above a command."""
    heartbeats: int = 0
    """For a file's text: Lean's `maxHeartbeats` for the examples after it. The text itself runs with Lean's default
    options, as its author runs it. 0 for a header, which runs with the options of the process."""

    @property
    def in_file(self) -> bool:
        """True for the text of a file."""
        return bool(self.heartbeats)

    @property
    def imports(self) -> list[str]:
        """Its import lines. A running process can change neither its imports nor its options."""
        return imports(self.text)

    @property
    def import_lines(self) -> int:
        """Number of lines up to the last import."""
        return import_lines(self.text)

    def fits(self, other: Frame) -> bool:
        """True when a process that was started with this frame can run documents of the other one, and vice versa."""
        return self.in_file == other.in_file and self.imports == other.imports

    def without_commands(self) -> Frame:
        """The frame with its imports only."""
        return Frame("\n".join(self.imports), self.heartbeats)

    def opening(self, kind: Opening = Opening.PLAIN) -> str:
        """The start of a document, with a final line break."""
        if self.in_file:
            return self._file_opening(kind)
        lines = [self.text] if self.text else []
        lines.append(_copy("r" if kind is Opening.RECALL else "p"))
        if kind is Opening.BRIEF:
            lines.append(_SNAPSHOTS_OFF)
        return "\n".join(lines) + "\n"

    def _file_opening(self, kind: Opening) -> str:
        lines = self.text.split("\n", self.import_lines)
        above, below = lines[: self.import_lines], lines[self.import_lines :]
        # The other number makes this a changed command in a recall.
        tail = [f"set_option maxHeartbeats {self.heartbeats + (kind is Opening.RECALL)}"]
        if kind is Opening.BRIEF:
            tail.append(_SNAPSHOTS_OFF)
        return "\n".join([*above, _copy("p"), *below, *tail]) + "\n"
