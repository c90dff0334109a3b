"""Writes statements into a bank: by split, with unique names, and with no train statement that valid or test has."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_whole
from common.lean import Theorem
from node.bank import bank, manifest
from node.bank.bank import SPLITS
from node.bank.manifest import SourceRecord
from node.bank.reading import Imported, Names


@dataclass(frozen=True)
class Written:
    """The content of a bank after an import."""

    counts: dict[str, int]
    """Number of statements by split."""
    scored: int
    """Number of statements left out of `train` because `valid` or `test` has them too: a network must not be trained on
    statements that evaluate it."""


def write(statements: Sequence[Imported], out: Path, command: str = "", record: SourceRecord | None = None) -> Written:
    """Write a bank's files. Earlier statements of the same sources are replaced; those of other sources stay.

    Names are unique over all splits, because learners identify statements by name. For the manifest: `command`, which
    imports these statements again, and `record`, which describes their source. Raises BankError, OSError.
    """
    out.mkdir(parents=True, exist_ok=True)
    before = bank.manifest_of(out)
    sources = {each.source for each in statements}
    files = {split: out / f"{split}.jsonl.gz" for split in SPLITS}
    rows = {split: [row for row in _rows(file) if row.get("source") not in sources] for split, file in files.items()}
    names = Names(str(row["name"]) for each in rows.values() for row in each)
    for each in statements:
        row = each.row()
        rows[each.split].append(row | {"name": names.free(str(row["name"]), each.source)})
    scored = {_stated(row) for split in ("valid", "test") for row in rows[split]}
    train = [row for row in rows["train"] if _stated(row) not in scored]
    left_out = len(rows["train"]) - len(train)
    rows["train"] = train
    for split, file in files.items():
        _write(file, rows[split])
    _write_contexts(out / "contexts.jsonl.gz", [each.theorem for each in statements], rows)
    if not (out / "transitions.jsonl.gz").exists():
        _write(out / "transitions.jsonl.gz", [])
    commands = before.commands | (dict.fromkeys(sources, command) if command else {})
    records = before.sources | (dict.fromkeys(sources, record) if record is not None else {})
    # The manifest is written last: if an import is interrupted before, the digest in the manifest does not match.
    digest = bank.digest(out)
    manifest.write(out, msgspec.structs.replace(before, commands=commands, sources=records, digest=digest))
    return Written({split: len(each) for split, each in rows.items()}, left_out)


def _write_contexts(path: Path, theorems: Iterable[Theorem], rows: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Write the texts above theorems in files, each once. Texts that no row of the bank uses are removed."""
    texts = {str(row["digest"]): str(row["text"]) for row in _rows(path)}
    texts |= {each.place.context.digest: each.place.context.text for each in theorems if each.place is not None}
    used = {str(row["context"]) for each in rows.values() for row in each if row.get("context")}
    if used or path.exists():
        _write(path, ({"digest": digest, "text": text} for digest, text in texts.items() if digest in used))


def _stated(row: Mapping[str, Any]) -> tuple[object, ...]:
    """The statement of a row, in the form of `Theorem.stated`."""
    place = row.get("place")
    if place:
        return row["context"], place["before"], place["after"], place["tactic"]
    return row["binders"], row["conclusion"]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a bank's file as dictionaries; empty if there is no file. Raises BankError."""
    if not path.exists():
        return []
    return list(bank.decode(path, dict[str, Any]))


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    text = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    write_whole(path, gzip.compress(text, mtime=0))  # equal rows give equal bytes
