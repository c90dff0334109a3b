"""The cheats against `verify --against`, as they stand in `cheats/*.lean`.

A file is one family. A line `--! KIND NAME` begins a section, which reaches to the next one:

    --! reference        what must be proved; the sections behind it are submissions against it
    --! cheat NAME       plain Lean compiles it without error or `sorry` warning, and it must not be accepted
    --! honest NAME      its twin, the most similar submission that proves the reference: it must be accepted
    --! refused NAME     a cheat that plain Lean refuses or warns of; it must not be accepted either
    --! file MODULE      inside a section: another file of it (a section begins with `Main`, where it does not begin so)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from node.lean.check.files.sources import SourceFile, from_text

FOLDER = Path(__file__).parent / "cheats"

_MARK = re.compile(r"--! (reference|cheat|honest|refused|file) ?(\S*)\n")


@dataclass
class Submission:
    kind: str
    name: str
    files: list[SourceFile]


@dataclass
class Reference:
    """What must be proved, and what is handed in for it."""

    family: str
    files: list[SourceFile]
    submissions: list[Submission] = field(default_factory=list)


def read() -> list[Reference]:
    """All families."""
    return [reference for file in sorted(FOLDER.glob("*.lean")) for reference in parsed(file.stem, file.read_text())]


def parsed(family: str, text: str) -> list[Reference]:
    """One family."""
    parts = _MARK.split(text)[1:]
    references: list[Reference] = []
    files: list[SourceFile] = []
    for kind, name, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if kind == "file":
            files.append(from_text(body, name, name))
            continue
        files = [from_text(body, "Main", "Main")] if body.strip() else []
        if kind == "reference":
            references.append(Reference(family, files))
        else:
            references[-1].submissions.append(Submission(kind, name, files))
    return references
