"""The output of `proofmesh verify` (lines, a table, or JSON) and its exit code."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Literal

from node.mesh.verify_rows import ProofVerdict, Row, Verdicts, axioms_text

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
            print(
                row.line_text(), file=sys.stderr if row.verdict is ProofVerdict.UNREADABLE else sys.stdout, flush=True
            )

    def note(self, text: str) -> None:
        """Add a note, which is not a verdict."""
        super().note(text)
        if self.form == "lines":
            print(f"note      {text}", flush=True)

    def finish(self) -> int:
        """Print the final output; returns the exit code."""
        if self.form == "json":
            document = {
                "counts": self.counts(),
                "theorems": [asdict(row) for row in self.rows],
                "files": self.files,
                "notes": self.notes,
            }
            print(json.dumps(document, ensure_ascii=False))
        elif self.form == "table":
            self._table()
        return max((_CODES[row.verdict] for row in self.rows), default=ACCEPTED)

    def _table(self) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items() if number)
        table = Table(caption=counts, caption_justify="left")
        for heading in ("verdict", "theorem", "where", "axioms, or why not", "s"):
            table.add_column(heading, overflow="fold")
        for row in self.rows:
            where = f"{row.file}:{row.line}" if row.line else row.file
            depends = f"; as this file defines: {', '.join(row.depends)}" if row.depends and not row.reason else ""
            axioms_or_reason = row.reason or axioms_text(row) + depends
            cells = (row.theorem, where, axioms_or_reason, f"{row.seconds:.2f}" if row.seconds else "")
            table.add_row(Text(row.verdict, style=_COLOURS[row.verdict]), *map(Text, cells))
        console = Console()
        console.print(table)
        for note in self.notes:
            console.print(Text(note))
