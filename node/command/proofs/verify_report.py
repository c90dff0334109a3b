"""The output of `proofmesh verify` (lines, a table, or JSON) and its exit code."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Literal

from common.output.visible import as_json, say, visible
from node.command.proofs.verify_rows import INDENT, ProofVerdict, Row, Verdicts, axioms_text

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2
"""Exit codes; the highest of all rows counts."""


_CODES = {
    ProofVerdict.ACCEPTED: ACCEPTED,
    ProofVerdict.REJECTED: REJECTED,
    ProofVerdict.UNREADABLE: UNREADABLE,
}
_COLOURS = {ProofVerdict.ACCEPTED: "green", ProofVerdict.REJECTED: "red", ProofVerdict.UNREADABLE: "yellow"}


@dataclass
class Report(Verdicts):
    """Collects verdicts and prints them: lines at once, a table or JSON at the end."""

    form: Literal["lines", "table", "json"] = "lines"

    def add(self, row: Row) -> None:
        """Add a verdict."""
        super().add(row)
        if self.form == "lines":
            file = sys.stderr if row.verdict is ProofVerdict.UNREADABLE else sys.stdout
            say(row.line_text(), file=file, flush=True, indent=INDENT)

    def note(self, text: str) -> None:
        """Add a note, which is not a verdict."""
        super().note(text)
        if self.form == "lines":
            say(f"note      {visible(text)}", flush=True)

    def finish(self) -> int:
        """Print the final output; returns the exit code."""
        if self.form == "json":
            document = {
                "counts": self.counts(),
                "theorems": [asdict(row) for row in self.rows],
                "files": self.files,
                "notes": self.notes,
            }
            print(as_json(document))
        elif self.form == "table":
            self._table()
        return max((_CODES[row.verdict] for row in self.rows), default=ACCEPTED)

    def _table(self) -> None:
        from rich.table import Table
        from rich.text import Text

        from common.output.terminal import Console, line, lines

        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items() if number)
        table = Table(caption=counts, caption_justify="left")
        for heading in ("verdict", "theorem", "where", "axioms, or why not", "s"):
            table.add_column(heading, overflow="fold")
        for row in self.rows:
            where = f"{row.file}:{row.line}" if row.line else row.file
            depends = f"; as this file defines: {', '.join(row.depends)}" if row.depends and not row.reason else ""
            axioms_or_reason = row.reason or axioms_text(row) + depends
            verdict, reason = Text(row.verdict, style=_COLOURS[row.verdict]), lines(axioms_or_reason, indent="")
            table.add_row(verdict, line(row.theorem), line(where), reason, f"{row.seconds:.2f}" if row.seconds else "")
        console = Console()
        console.print(table)
        for note in self.notes:
            console.print(line(note))
