"""What `proofmesh verify` prints: lines as they come, a table, or JSON; and its exit code."""

from __future__ import annotations

import enum
import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Literal

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2
"""Exit codes; the highest of all rows counts."""


class ProofVerdict(enum.StrEnum):
    """What became of a theorem's proof."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    """The file cannot be read, or Lean refuses the statement."""


_CODES = {
    ProofVerdict.ACCEPTED: ACCEPTED,
    ProofVerdict.REJECTED: REJECTED,
    ProofVerdict.UNREADABLE: UNREADABLE,
}
_COLOURS = {ProofVerdict.ACCEPTED: "green", ProofVerdict.REJECTED: "red", ProofVerdict.UNREADABLE: "yellow"}


@dataclass(frozen=True)
class Row:
    """What became of one theorem, or of a file that could not be read (then without line and theorem)."""

    file: str
    line: int
    theorem: str
    verdict: ProofVerdict
    reason: str = ""
    axioms: tuple[str, ...] = ()
    lean: str = ""
    seconds: float = 0.0
    rechecked: bool = False

    @property
    def place(self) -> str:
        """`FILE:LINE: THEOREM`, or the file alone."""
        return f"{self.file}:{self.line}: {self.theorem}" if self.line else self.file

    def line_text(self) -> str:
        """The line that reports it."""
        if self.verdict is ProofVerdict.UNREADABLE:
            return f"proofmesh verify: {self.place}: {self.reason}"
        if self.verdict is ProofVerdict.REJECTED:
            return f"rejected  {self.place}: {self.reason}"
        again = "; leanchecker" if self.rechecked else ""
        return f"accepted  {self.place} (axioms: {_axioms(self)}; Lean {self.lean}{again}; {self.seconds:.2f} s)"


@dataclass
class Report:
    """Collects verdicts, and prints them: lines as they come, the others at the end."""

    form: Literal["lines", "table", "json"]
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Take in a verdict."""
        self.rows.append(row)
        if self.form == "lines":
            print(
                row.line_text(), file=sys.stderr if row.verdict is ProofVerdict.UNREADABLE else sys.stdout, flush=True
            )

    def finish(self) -> int:
        """Print what is left to print; returns the exit code."""
        if self.form == "json":
            print(
                json.dumps(
                    {"counts": self.counts(), "theorems": [asdict(row) for row in self.rows]}, ensure_ascii=False
                )
            )
        elif self.form == "table":
            self._table()
        return max(_CODES[row.verdict] for row in self.rows)

    def counts(self) -> dict[str, int]:
        """How many of each verdict."""
        return {str(verdict): sum(row.verdict == verdict for row in self.rows) for verdict in _CODES}

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
            axioms_or_reason = row.reason or _axioms(row)
            cells = (row.theorem, where, axioms_or_reason, f"{row.seconds:.2f}" if row.seconds else "")
            table.add_row(Text(row.verdict, style=_COLOURS[row.verdict]), *map(Text, cells))
        Console().print(table)


def _axioms(row: Row) -> str:
    return ", ".join(row.axioms) or "none"
