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
from node.bank import manifest
from node.bank.bank import SPLITS
from node.bank.formats import SPLITS as SPLITS_BY_NAME
from node.bank.formats import NoFormat, format_of
from node.bank.rows import Row
from node.bank.statements import Refused, in_file, theorem, theorem_in_file

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
        place = self.theorem.place
        gap = {} if place is None else {"before": place.before, "after": place.after, "tactic": place.tactic}
        return {
            "name": self.theorem.name,
            "binders": self.theorem.binders,
            "conclusion": self.theorem.conclusion,
            "family": self.source,
            "level": LEVEL,
            "header": self.theorem.header,
            "statement": self.theorem.signature,
            "source": self.source,
            **({"context": place.context.digest, "place": gap} if place is not None else {}),
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
    seen: dict[tuple[object, ...], None] = {}
    names: set[str] = set()
    for row in rows:
        if limit is not None and reading.rows >= limit:
            break
        reading.rows += 1
        try:
            if in_file(row):
                found, own_split = theorem_in_file(row), SPLITS_BY_NAME.get(str(row.get("split", "")).lower(), "")
            else:
                form = format_of(row)
                raw = form.read(row)
                found, own_split = theorem(raw.text, raw.header or header or form.header, raw.name), raw.split
        except (NoFormat, Refused) as error:
            reading.refused.append((str(row.get("name") or row.get("id") or f"row {reading.rows}"), str(error)))
            continue
        key = found.place.key if found.place is not None else (found.header, found.proposition)
        if key in seen:
            reading.repeated += 1
            continue
        seen[key] = None
        unique = _free(found.name, "", names)
        names.add(unique)
        found = msgspec.structs.replace(found, name=unique)
        reading.statements.append(Imported(found, own_split or split, source))
    return reading


@dataclass(frozen=True)
class Written:
    """What a bank holds after an import."""

    counts: dict[str, int]
    """Statements by split."""
    scored: int
    """Statements left out of `train` because `valid` or `test` has them, too: what is scored is never trained on."""


def write(statements: Sequence[Imported], out: Path, command: str = "") -> Written:
    """Write a bank's files. Statements of other sources that are there stay; those of these sources are replaced.

    No name is there twice, in whatever splits: learners know statements by name. `command`: what makes this part of the
    bank anew, for its manifest. Raises ManifestError, OSError.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = manifest.read(out)
    sources = {each.source for each in statements}
    files = {split: out / f"{split}.jsonl.gz" for split in SPLITS}
    rows = {split: [row for row in _rows(file) if row.get("source") not in sources] for split, file in files.items()}
    taken = {str(row["name"]) for each in rows.values() for row in each}
    for each in statements:
        row = each.row()
        row["name"] = _free(str(row["name"]), each.source, taken)
        taken.add(row["name"])
        rows[each.split].append(row)
    scored = {_proposition(row) for split in ("valid", "test") for row in rows[split]}
    train = [row for row in rows["train"] if _proposition(row) not in scored]
    left_out = len(rows["train"]) - len(train)
    rows["train"] = train
    for split, file in files.items():
        _write(file, rows[split])
    _write_contexts(out / "contexts.jsonl.gz", [each.theorem for each in statements], rows)
    if not (out / "transitions.jsonl.gz").exists():
        _write(out / "transitions.jsonl.gz", [])
    if command:
        commands = found.commands | dict.fromkeys(sources, command)
        manifest.write(out, msgspec.structs.replace(found, commands=commands))
    return Written({split: len(each) for split, each in rows.items()}, left_out)


def _write_contexts(path: Path, theorems: Iterable[Theorem], rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """The texts above theorems in files, each once; those that no row of the bank names any more go."""
    texts = {str(row["digest"]): str(row["text"]) for row in _rows(path)}
    texts |= {each.place.context.digest: each.place.context.text for each in theorems if each.place is not None}
    named = {str(row["context"]) for each in rows.values() for row in each if row.get("context")}
    if named or path.exists():
        _write(path, ({"digest": digest, "text": text} for digest, text in texts.items() if digest in named))


def _proposition(row: Mapping[str, Any]) -> tuple[str, str]:
    """What a row states."""
    return str(row["binders"]), str(row["conclusion"])


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
