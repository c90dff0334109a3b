"""Results of calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from node.command.proofs.verdicts import ProofVerdict, Row as Verdict
from node.proving.answers import Answer

if TYPE_CHECKING:
    from node.lean.trace.records import TracedFile, TracedTheorem
    from node.lean.trace.session import Work

__all__ = ["Answer", "FilledFile", "FilledGap", "Fills", "ProofVerdict", "Traces", "Verdict", "Verification"]


@dataclass(frozen=True)
class Verification:
    """The result of `verify`: a verdict for each theorem, and for each file that could not be read."""

    theorems: tuple[Verdict, ...]
    """The verdicts with reason, axioms and line, in the order of the files."""
    notes: tuple[str, ...] = ()
    """Further notes, such as files without a theorem, and files that run code when they are loaded."""

    @property
    def accepted(self) -> bool:
        """True when there is at least one theorem, and all are accepted."""
        return bool(self.theorems) and all(each.verdict is ProofVerdict.ACCEPTED for each in self.theorems)

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        """Verdicts of theorems that are not proved, and of files that cannot be read."""
        return tuple(each for each in self.theorems if each.verdict is not ProofVerdict.ACCEPTED)


@dataclass(frozen=True)
class FilledGap:
    """The result of one `sorry`."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 0, in characters."""
    theorem: str
    """The declaration that contains it."""
    goal: str
    state: str
    """`filled`, `open`, `refused`, `left alone` or `not tried`: `node.proving.fill.GapState`."""
    proof: str = ""
    """Lines of tactics, the first in column 0; empty without a proof."""
    reason: str = ""
    """Why there is no proof."""
    by: str = ""
    axioms: tuple[str, ...] = ()
    seconds: float = 0.0
    """Seconds of search."""

    @property
    def filled(self) -> bool:
        """Whether Lean accepts the file with this proof."""
        return self.state == "filled"


@dataclass(frozen=True)
class FilledFile:
    """The result of a file with gaps."""

    file: str
    gaps: tuple[FilledGap, ...] = ()
    diff: str = ""
    """A unified diff with the proofs that Lean accepts; empty without proofs."""
    written: bool = False
    problem: str = ""
    """Why the file could not be read, compiled or written; empty if all succeeded."""


@dataclass(frozen=True)
class Fills:
    """The result of `fill`."""

    files: tuple[FilledFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def gaps(self) -> tuple[FilledGap, ...]:
        """The gaps of all files."""
        return tuple(gap for file in self.files for gap in file.gaps)

    @property
    def complete(self) -> bool:
        """True when every file could be read and no gap remains."""
        return all(gap.filled for gap in self.gaps) and not any(file.problem for file in self.files)

    @property
    def diff(self) -> str:
        """The diffs of all files, for `patch -p0`."""
        return "".join(file.diff for file in self.files)


@dataclass(frozen=True)
class Traces:
    """The result of `trace`: files on disk, and iterators over their contents."""

    out: Path
    written: tuple[Path, ...]
    """The written files, in the requested formats."""
    problems: dict[str, str] = field(default_factory=dict)
    """For each file that could not be traced: its name and the reason."""
    notes: tuple[str, ...] = ()
    """Further notes, such as files that differ from the commit that the results name."""
    works: tuple[Work, ...] = field(default=(), repr=False)

    def files(self) -> Iterator[TracedFile]:
        """All traced files, with one in memory at a time."""
        from node.lean.trace.session import stored_result

        for work in self.works:
            if (traced := stored_result(work)) is not None:
                yield traced

    def theorems(self) -> Iterator[TracedTheorem]:
        """The theorems of all files. The field `error` says why a theorem cannot be used."""
        for file in self.files():
            yield from file.theorems
