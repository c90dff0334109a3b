"""What calls return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from node.mesh.verify_rows import ProofVerdict
from node.mesh.verify_rows import Row as Verdict
from node.proving.answers import Answer

if TYPE_CHECKING:
    from node.lean.trace.records import TracedFile, TracedTheorem
    from node.lean.trace.session import Work

__all__ = ["Answer", "FilledFile", "FilledGap", "Fills", "ProofVerdict", "Traces", "Verdict", "Verification"]


@dataclass(frozen=True)
class Verification:
    """What `verify` says: a verdict for each theorem, and for each file that could not be read."""

    theorems: tuple[Verdict, ...]
    """In the order of the files: verdict, reason, axioms, line."""
    notes: tuple[str, ...] = ()
    """What else there is to know: files without a theorem, files that run code of their own."""

    @property
    def accepted(self) -> bool:
        """Whether there is a theorem, and each is accepted."""
        return bool(self.theorems) and all(each.verdict is ProofVerdict.ACCEPTED for each in self.theorems)

    @property
    def rejected(self) -> tuple[Verdict, ...]:
        """Theorems that are not proved, and files that cannot be read."""
        return tuple(each for each in self.theorems if each.verdict is not ProofVerdict.ACCEPTED)


@dataclass(frozen=True)
class FilledGap:
    """What became of a `sorry`."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 0, in characters."""
    theorem: str
    """The declaration that it is in."""
    goal: str
    state: str
    """`filled`, `open`, `refused`, `left alone` or `not tried`: `node.proving.fill.GapState`."""
    proof: str = ""
    """Lines of tactics, the first in column 0; empty where nothing was found."""
    reason: str = ""
    """Why there is none."""
    by: str = ""
    axioms: tuple[str, ...] = ()
    seconds: float = 0.0
    """Of the search."""

    @property
    def filled(self) -> bool:
        """Whether Lean accepts the file with this proof in it."""
        return self.state == "filled"


@dataclass(frozen=True)
class FilledFile:
    """What became of a file with gaps."""

    file: str
    gaps: tuple[FilledGap, ...] = ()
    diff: str = ""
    """A unified diff with the proofs that Lean accepts; empty where there are none."""
    written: bool = False
    problem: str = ""
    """Why the file could not be read, compiled or written; empty when it could."""


@dataclass(frozen=True)
class Fills:
    """What `fill` did."""

    files: tuple[FilledFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def gaps(self) -> tuple[FilledGap, ...]:
        """Those of all files."""
        return tuple(gap for file in self.files for gap in file.gaps)

    @property
    def complete(self) -> bool:
        """Whether every file could be read and no gap is left."""
        return all(gap.filled for gap in self.gaps) and not any(file.problem for file in self.files)

    @property
    def diff(self) -> str:
        """Of all files; `patch -p0` takes it."""
        return "".join(file.diff for file in self.files)


@dataclass(frozen=True)
class Traces:
    """What `trace` found: files on disk, and iterators over them."""

    out: Path
    written: tuple[Path, ...]
    """The files that were written, in the formats that were asked for."""
    problems: dict[str, str] = field(default_factory=dict)
    """By name of a file, why it could not be traced."""
    notes: tuple[str, ...] = ()
    """What else there is to know: files that are not as in the commit that the results name."""
    works: tuple[Work, ...] = field(default=(), repr=False)

    def files(self) -> Iterator[TracedFile]:
        """Each file that was traced, one in memory at a time."""
        from node.lean.trace.session import stored_result

        for work in self.works:
            if (traced := stored_result(work)) is not None:
                yield traced

    def theorems(self) -> Iterator[TracedTheorem]:
        """The theorems of all files; `error` says why nothing of one counts."""
        for file in self.files():
            yield from file.theorems
