"""The verdicts of `proofmesh verify` as rows: one for each declaration, and one for each file that cannot be read."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from common.output.visible import visible

if TYPE_CHECKING:
    from node.lean.check.files.report import DeclarationVerdict, FileReport


INDENT = " " * 10
"""Begins the second and later lines of a verdict: as wide as the verdict and the spaces behind it."""


_DEPENDS = re.compile(r"(it may depend on the command in line \d+), which fails: .*", re.DOTALL)


class ProofVerdict(enum.StrEnum):
    """The verdict on a theorem's proof."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    """The file cannot be read or compiled."""


@dataclass(frozen=True)
class Row:
    """The verdict on one declaration, or on a file that cannot be read (then without line and name)."""

    file: str
    line: int
    theorem: str
    verdict: ProofVerdict
    reason: str = ""
    axioms: tuple[str, ...] = ()
    lean: str = ""
    seconds: float = 0.0
    rechecked: str = ""
    """What checked it again: `kernel`, or `kernel and a second kernel`."""
    kind: str = ""
    depends: tuple[str, ...] = ()
    """Declarations of the user's own files that its statement depends on."""

    @property
    def place(self) -> str:
        """`FILE:LINE: NAME`, as far as they are known."""
        file = f"{self.file}:{self.line}" if self.line else self.file
        return f"{file}: {self.theorem}" if self.theorem else file

    def line_text(self) -> str:
        """The line that reports it. A reason of several lines continues below, indented."""
        place = visible(self.place)
        if self.verdict is ProofVerdict.UNREADABLE:
            return f"proofmesh verify: {place}: {visible(self.reason, multiline=True, indent=INDENT)}"
        if self.verdict is ProofVerdict.REJECTED:
            return f"rejected  {place}: {visible(self.reason, multiline=True, indent=INDENT)}"
        again = f"; checked again by the {self.rechecked}" if self.rechecked else ""
        axioms = visible(axioms_text(self))
        text = f"accepted  {place} (axioms: {axioms}; Lean {self.lean}{again}; {self.seconds:.2f} s)"
        return text + (f"\n{INDENT}as this file defines: {visible(', '.join(self.depends))}" if self.depends else "")


@dataclass
class Verdicts:
    """Collects verdicts."""

    strict: bool = False
    """Reject theorems whose statements depend on the user's own definitions."""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[dict[str, object]] = field(default_factory=list)

    def add_file(self, report: FileReport) -> None:
        """Add the verdicts on a file."""
        self.files.append(
            {
                "file": report.file,
                "problem": report.problem,
                "seconds": round(report.seconds, 3),
                "runs_code": [asdict(item) for item in report.runs_code],
            }
        )
        if report.problem:
            self.add(Row(report.file, 0, "", ProofVerdict.UNREADABLE, report.problem + hint(report)))
        causes: dict[str, str] = {}
        for each in report.declarations:
            row = self._row(report.file, each, report.lean_version, report.rechecked)
            if match := _DEPENDS.fullmatch(row.reason):
                # The cause may have many lines, and every declaration below it would repeat them.
                first = causes.setdefault(match[1], row.theorem)
                row = row if first == row.theorem else replace(row, reason=f"{match[1]} (see {first})")
            self.add(row)
        if report.runs_code:
            names = ", ".join(dict.fromkeys(f"{item.name} (line {item.line})" for item in report.runs_code))
            self.note(f"{report.file} runs code of its own while Lean elaborates it: {names}")
        if not report.problem and not report.declarations:
            self.note(f"{report.file}: no theorem here")

    def add_comparison(
        self, file: str, verdicts: Sequence[DeclarationVerdict], filled: Mapping[str, str], lean: str, rechecked: str
    ) -> None:
        """Add the verdicts of a comparison with a reference."""
        for each in verdicts:
            self.add(self._row(file, each, lean, rechecked))
        for name, value in filled.items():
            self.note(f"{file}: the reference leaves {name} open; here it is {value}")

    def _row(self, file: str, verdict: DeclarationVerdict, lean: str, rechecked: str) -> Row:
        depends = tuple(str(item) for item in verdict.depends)
        reason = verdict.reason
        if not reason and self.strict and depends:
            reason = f"its statement depends on definitions of the file itself: {', '.join(depends)}"
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
        """Add a verdict."""
        self.rows.append(row)

    def note(self, text: str) -> None:
        """Add a note, which is not a verdict."""
        self.notes.append(text)

    def counts(self) -> dict[str, int]:
        """The number of rows with each verdict."""
        return {str(verdict): sum(row.verdict == verdict for row in self.rows) for verdict in ProofVerdict}


def hint(report: FileReport) -> str:
    """What to do about a file that is not Lean source: benchmarks and outputs of models often are .jsonl files, and
    Lean's first error in them does not say so."""
    suffix = PurePath(report.file).suffix
    if suffix in ("", ".lean") or "expected command" not in report.problem:
        return ""
    return f"; `verify` reads Lean source (.lean), and this is a {suffix} file"


def axioms_text(row: Row) -> str:
    """The axioms of a row, for people."""
    return ", ".join(row.axioms) or "none"
