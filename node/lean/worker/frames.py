"""What stands above the examples of a document, and is elaborated once: a header, or the text of a file. Pure.

    a header of ours     the header, then a preamble: the definition of COPY, and an option for brief documents
    a file's text        its imports, the definition of COPY, the rest of the text, then a tail of options

The text of a file can open namespaces and sections, and include variables. So COPY is defined above all of that. What
changes between documents (is this one brief?) stands below: a change makes Lean elaborate everything behind it again.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from node.lean.text.headers import import_lines, imports

COPY = "«proofmesh copy»"
"""Name of the lemma that copies a goal. In guillemets, and refused by the text rules: no candidate can use it."""

SENTINEL = "proofmesh"
"""A sentinel's message."""


class Opening(enum.Enum):
    """Which document a frame opens."""

    PLAIN = enum.auto()
    BRIEF = enum.auto()
    """Lean reports once, at the end: see `_SNAPSHOTS_OFF`."""
    RECALL = enum.auto()
    """No example follows. Lean cancels what stands behind a changed command at once; a changed example itself only when
    a thread is free to look at it, and the example may hold the only thread."""


def _copy(name: str) -> str:
    """The definition of COPY. With another variable `name` it is a changed command for Lean's server."""
    return f"def {COPY} {{{name} : Sort _}} (a _ : {name}) : {name} := a"


_SNAPSHOTS_OFF = f"""set_option internal.cmdlineSnapshots false -- {SENTINEL}: brief
set_option internal.cmdlineSnapshots false
set_option internal.cmdlineSnapshots true"""
"""Opens a brief document, which holds a single example. Without command-line snapshots Lean keeps no record
of the example for an editor and reports once, at the end. That saves a third of the CPU time; but while Lean runs, it
does not show which candidate it is at.

Lean's server is not made for switching this option inside a document. When the document is edited, the server no
longer knows where a command ended that was elaborated under the option. It then takes the one or two commands before
it (that depends on Lean's version) for unchanged, whatever they say now, and reads on from where they ended last time.
So these must be commands that never change: the last two options here, behind a first one that stands in no other
document. The header stands before all of them and is compared as usual.

Two things follow. A brief document holds one example alone, since a second one would stand behind such a command. And
it holds an echo, a message that names this very document: without the echo its messages are not believed. (A Lean that
does not know the option reports an error in the option's line, where nothing is read.)"""


@dataclass(frozen=True)
class Frame:
    """What stands above the examples of a document."""

    text: str
    """A header, completed with the configured one; or all that a file has above a command."""
    heartbeats: int = 0
    """For a file's text: Lean's `maxHeartbeats` for what stands behind it. The text itself runs with Lean's own
    options, as its author runs it. 0: a header of ours, where the process's options hold."""

    @property
    def in_file(self) -> bool:
        """Whether this is the text of a file."""
        return bool(self.heartbeats)

    @property
    def imports(self) -> list[str]:
        """Its lines that import. A process keeps what it has imported, and which options it was started with."""
        return imports(self.text)

    @property
    def import_lines(self) -> int:
        """Number of lines up to the last import."""
        return import_lines(self.text)

    def fits(self, other: Frame) -> bool:
        """Whether a process that was started with the other frame can go on with this one."""
        return self.in_file == other.in_file and self.imports == other.imports

    def without_commands(self) -> Frame:
        """The imports alone."""
        return Frame("\n".join(self.imports), self.heartbeats)

    def opening(self, kind: Opening = Opening.PLAIN) -> str:
        """The beginning of a document, with a line break behind it."""
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
        # The number in the tail is what makes a recall's tail a changed command.
        tail = [f"set_option maxHeartbeats {self.heartbeats + (kind is Opening.RECALL)}"]
        if kind is Opening.BRIEF:
            tail.append(_SNAPSHOTS_OFF)
        return "\n".join([*above, _copy("p"), *below, *tail]) + "\n"
