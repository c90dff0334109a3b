"""From rows to a bank: read, named, sorted into splits, with the statements that do not elaborate left out. Pure."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_whole
from common.lean import Theorem
from node.bank.bank import SPLITS
from node.bank.formats import NoFormat, format_of
from node.bank.rows import Row
from node.bank.statements import Refused, theorem

LEVEL = 1
"""Levels tell the bank's own statements by the length of their proofs: nothing is known of these."""


@dataclass(frozen=True)
class Imported:
    """A statement of a dataset."""

    theorem: Theorem
    split: str
    source: str

    def row(self) -> dict[str, Any]:
        """Its line in the bank."""
        return {
            "name": self.theorem.name,
            "binders": self.theorem.binders,
            "conclusion": self.theorem.conclusion,
            "family": self.source,
            "level": LEVEL,
            "header": self.theorem.header,
            "statement": self.theorem.signature,
            "source": self.source,
        }


@dataclass
class SourceReading:
    """What was read of a source."""

    statements: list[Imported] = field(default_factory=list)
    rows: int = 0
    repeated: int = 0
    """Rows that say again what an earlier one said."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Names (or numbers of rows) and reasons."""


def collect(
    rows: Iterable[Row], source: str, *, split: str, header: str = "", limit: int | None = None
) -> SourceReading:
    """Read rows. `split`, `header`: where the dataset says nothing. Raises SourceProblem."""
    reading = SourceReading()
    seen: dict[tuple[str, str], None] = {}
    names: set[str] = set()
    for row in rows:
        if limit is not None and reading.rows >= limit:
            break
        reading.rows += 1
        try:
            form = format_of(row)
            raw = form.read(row)
            found = theorem(raw.text, raw.header or header or form.header, raw.name)
        except (NoFormat, Refused) as error:
            reading.refused.append((str(row.get("name") or row.get("id") or f"row {reading.rows}"), str(error)))
            continue
        if (found.header, found.proposition) in seen:
            reading.repeated += 1
            continue
        seen[found.header, found.proposition] = None
        unique = _free(found.name, "", names)
        names.add(unique)
        found = Theorem(unique, found.binders, found.conclusion, found.header)
        reading.statements.append(Imported(found, raw.split or split, source))
    return reading


def write(statements: Sequence[Imported], out: Path) -> dict[str, int]:
    """Write a bank's files. Statements of other sources that are there stay; those of these sources are replaced.

    Returns the number of statements by split.
    """
    out.mkdir(parents=True, exist_ok=True)
    sources = {each.source for each in statements}
    counts = {}
    for split in SPLITS:
        path = out / f"{split}.jsonl.gz"
        rows = [row for row in _rows(path) if row.get("source") not in sources]
        taken = {str(row["name"]) for row in rows}
        for each in statements:
            if each.split == split:
                row = each.row()
                row["name"] = _free(str(row["name"]), each.source, taken)
                taken.add(row["name"])
                rows.append(row)
        _write(path, rows)
        counts[split] = len(rows)
    if not (out / "transitions.jsonl.gz").exists():
        _write(out / "transitions.jsonl.gz", [])
    return counts


def _free(name: str, source: str, taken: Collection[str]) -> str:
    """The name, or one made from it (and from the source's) that is not taken."""
    tail = "".join(char if char.isalnum() else "_" for char in source)
    candidates = itertools.chain([name], [f"{name}_{tail}"] if tail else [])
    numbered = (f"{name}_{tail}_{number}" if tail else f"{name}_{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain(candidates, numbered) if each not in taken)


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [msgspec.json.decode(line) for line in gzip.decompress(path.read_bytes()).splitlines() if line.strip()]


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    write_whole(path, gzip.compress(text, mtime=0))  # equal rows give equal bytes
