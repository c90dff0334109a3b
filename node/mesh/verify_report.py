"""What `proofmesh verify` prints: lines as they come, a table, or JSON; and its exit code."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2

_CODES = {"accepted": ACCEPTED, "rejected": REJECTED, "unreadable": UNREADABLE}
_COLOURS = {"accepted": "green", "rejected": "red", "unreadable": "yellow"}


@dataclass(frozen=True)
class Row:
    """What became of one theorem, or of a file that could not be read (then without line and theorem)."""

    file: str
    line: int
    theorem: str
    verdict: str
    """`accepted`, `rejected` or `unreadable` (the file, or the statement for Lean)."""
    reason: str = ""
    axioms: tuple[str, ...] = ()
    lean: str = ""
    seconds: float = 0.0
    rechecked: bool = False

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}: {self.theorem}" if self.line else self.file

    def told(self) -> str:
        """Its line."""
        if self.verdict == "unreadable":
            return f"proofmesh verify: {self.place}: {self.reason}"
        if self.verdict == "rejected":
            return f"rejected  {self.place}: {self.reason}"
        again = "; leanchecker" if self.rechecked else ""
        return f"accepted  {self.place} (axioms: {_axioms(self)}; Lean {self.lean}{again}; {self.seconds:.2f} s)"


@dataclass
class Report:
    """Collects verdicts. `form`: `lines`, `table` or `json`."""

    form: str
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if self.form == "lines":
            print(row.told(), file=sys.stderr if row.verdict == "unreadable" else sys.stdout, flush=True)

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
        return {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in _CODES}

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
            told = row.reason or _axioms(row)
            cells = (row.theorem, where, told, f"{row.seconds:.2f}" if row.seconds else "")
            table.add_row(Text(row.verdict, style=_COLOURS[row.verdict]), *map(Text, cells))
        Console().print(table)


def _axioms(row: Row) -> str:
    return ", ".join(row.axioms) or "none"
