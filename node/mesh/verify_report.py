"""What `proofmesh verify` prints: lines as they come, a table, or JSON; and its exit code."""

from __future__ import annotations

import enum
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from node.lean.files.report import DeclarationVerdict, FileReport

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2
"""Exit codes; the highest of all rows counts."""


class ProofVerdict(enum.StrEnum):
    """What became of a theorem's proof."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    """The file cannot be read or compiled."""


_CODES = {
    ProofVerdict.ACCEPTED: ACCEPTED,
    ProofVerdict.REJECTED: REJECTED,
    ProofVerdict.UNREADABLE: UNREADABLE,
}
_COLOURS = {ProofVerdict.ACCEPTED: "green", ProofVerdict.REJECTED: "red", ProofVerdict.UNREADABLE: "yellow"}


@dataclass(frozen=True)
class Row:
    """What became of one declaration, or of a file that could not be read (then without line and name)."""

    file: str
    line: int
    theorem: str
    verdict: ProofVerdict
    reason: str = ""
    axioms: tuple[str, ...] = ()
    lean: str = ""
    seconds: float = 0.0
    rechecked: str = ""
    """What checked it once more: `kernel` or `leanchecker`."""
    kind: str = ""
    depends: tuple[str, ...] = ()
    """What its statement depends on and the user's own files define."""

    @property
    def place(self) -> str:
        """`FILE:LINE: NAME`, as far as they are known."""
        file = f"{self.file}:{self.line}" if self.line else self.file
        return f"{file}: {self.theorem}" if self.theorem else file

    def line_text(self) -> str:
        """The line that reports it."""
        if self.verdict is ProofVerdict.UNREADABLE:
            return f"proofmesh verify: {self.place}: {self.reason}"
        if self.verdict is ProofVerdict.REJECTED:
            return f"rejected  {self.place}: {self.reason}".replace("\n", "\n          ")
        again = f"; checked again by the {self.rechecked}" if self.rechecked else ""
        text = f"accepted  {self.place} (axioms: {_axioms(self)}; Lean {self.lean}{again}; {self.seconds:.2f} s)"
        return text + (f"\n          as this file defines: {', '.join(self.depends)}" if self.depends else "")


@dataclass
class Report:
    """Collects verdicts, and prints them: lines as they come, the others at the end."""

    form: Literal["lines", "table", "json"]
    strict: bool = False
    """Reject what depends on the user's own definitions."""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[dict[str, object]] = field(default_factory=list)

    def add_file(self, report: FileReport) -> None:
        """Take in what became of a file."""
        self.files.append(
            {
                "file": report.file,
                "problem": report.problem,
                "seconds": round(report.seconds, 3),
                "runs_code": [asdict(item) for item in report.runs_code],
            }
        )
        if report.problem:
            self.add(Row(report.file, 0, "", ProofVerdict.UNREADABLE, report.problem))
        for each in report.declarations:
            self.add(self._row(report.file, each, report.lean_version, report.rechecked))
        if report.runs_code:
            words = ", ".join(dict.fromkeys(f"{item.name} (line {item.line})" for item in report.runs_code))
            self.note(f"{report.file} runs code of its own while Lean elaborates it: {words}")
        if not report.problem and not report.declarations:
            self.note(f"{report.file}: no theorem here")

    def add_comparison(
        self, file: str, verdicts: Sequence[DeclarationVerdict], filled: Mapping[str, str], lean: str, rechecked: str
    ) -> None:
        """Take in the comparison of a submission with a reference."""
        for each in verdicts:
            self.add(self._row(file, each, lean, rechecked))
        for name, value in filled.items():
            self.note(f"{file}: the reference leaves {name} open; here it is {value}")

    def _row(self, file: str, verdict: DeclarationVerdict, lean: str, rechecked: str) -> Row:
        depends = tuple(str(item) for item in verdict.depends)
        reason = verdict.reason
        if not reason and self.strict and depends:
            reason = f"its statement depends on what the file itself defines: {', '.join(depends)}"
        return Row(
            file,
            verdict.line,
            verdict.name,
            ProofVerdict.REJECTED if reason else ProofVerdict.ACCEPTED,
            reason,
            verdict.axioms,
            lean,
            round(verdict.seconds, 3),
            rechecked,
            verdict.kind,
            depends,
        )

    def add(self, row: Row) -> None:
        """Take in a verdict."""
        self.rows.append(row)
        if self.form == "lines":
            print(
                row.line_text(), file=sys.stderr if row.verdict is ProofVerdict.UNREADABLE else sys.stdout, flush=True
            )

    def note(self, text: str) -> None:
        """Take in something to know that is no verdict."""
        self.notes.append(text)
        if self.form == "lines":
            print(f"note      {text}", flush=True)

    def finish(self) -> int:
        """Print what is left to print; returns the exit code."""
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
            depends = f"; as this file defines: {', '.join(row.depends)}" if row.depends and not row.reason else ""
            axioms_or_reason = row.reason or _axioms(row) + depends
            cells = (row.theorem, where, axioms_or_reason, f"{row.seconds:.2f}" if row.seconds else "")
            table.add_row(Text(row.verdict, style=_COLOURS[row.verdict]), *map(Text, cells))
        console = Console()
        console.print(table)
        for note in self.notes:
            console.print(Text(note))


def _axioms(row: Row) -> str:
    return ", ".join(row.axioms) or "none"
