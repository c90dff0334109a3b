"""Reads the sources of self-play's data: a bank, a trace of a project, or rows of a data set. Bad rows are reported and
skipped.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from node.bank import bank, statements
from node.bank.bank import load_proofs
from node.bank.importing import NoFormat, format_of
from node.bank.sources import Source, SourceProblem, find
from node.bank.statements import UNREAD, Row
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.lexing import blanked
from node.stp.formats import BadRow, ConjectureRow, is_reference_row, read_row
from node.stp.lemmas import TRACED, Library
from node.stp.pairs import Given
from node.stp.records import ConjecturerExample, Lemma, Proof, Statement
from node.stp.traces import from_trace

BANK = "bank"
"""The bank of this repository."""

_SORRY = re.compile(r"(?<![\w.'])(?:sorry|admit)(?![\w'])")


@dataclass
class Found:
    """The data of a source."""

    source: str
    statements: list[Statement] = field(default_factory=list)
    proofs: list[Given] = field(default_factory=list)
    conjectures: list[ConjecturerExample] = field(default_factory=list)
    lemmas: list[Lemma] = field(default_factory=list)
    protected: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    """Skipped rows: where, and why."""


def read(source: str, *, test: bool = False, data: Sequence[Path] = (), most: int = 0) -> Found:
    """Read a source. `test`: all its statements are test statements; `data`: folders with copies of data sets; `most`:
    maximum rows to read, 0 for all. Raises SourceProblem, BankError."""
    if source == BANK:
        return _of_bank(bank.DIRECTORY, test)
    path = Path(source)
    if (path / TRACED).is_file():
        found = Found(source)
        found.statements, found.proofs, found.lemmas, found.problems = from_trace(path, "test" if test else "train")
        return found
    located = find(source, data)
    if located.is_bank:
        return _of_bank(path, test)
    return _of_rows(located, test, most)


def _of_bank(directory: Path, test: bool) -> Found:
    """Raises BankError."""
    own = directory.resolve() == bank.DIRECTORY.resolve()
    found = Found(BANK if own else str(directory))
    for split in bank.splits(directory):
        for each in bank.load_statements(split, directory):
            found.statements.append(Statement(each.theorem, "test" if test else split))
    if not test:
        for proof in load_proofs(directory, warm_start=True):
            found.proofs.append(Given(proof.theorem, Proof(proof.theorem.name, proof.script), proof.family))
    if own:
        library = Library.of("pocket")
        found.lemmas, found.protected = library.lemmas, set(library.protected)
    return found


def _of_rows(source: Source, test: bool, most: int) -> Found:
    """Raises SourceProblem."""
    found = Found(source.origin)
    for where, row in islice(_rows(source), most or None):
        if isinstance(row, str):
            found.problems.append(f"{where}: {row}")
            continue
        try:
            _add(found, row, source, test)
        except (BadRow, NoFormat, statements.Refused) as error:
            found.problems.append(f"{where}: {error}")
    return found


def _add(found: Found, row: Row, source: Source, test: bool) -> None:
    """Raises BadRow, NoFormat, Refused."""
    if is_reference_row(row):
        read_ = read_row(row)
        if isinstance(read_, ConjectureRow):
            found.lemmas.append(read_.seed.lemma)
            found.conjectures.append(ConjecturerExample(read_.seed, read_.conjecture.signature, 1.0))
        else:
            found.proofs.append(Given(read_.theorem, Proof(read_.theorem.name, read_.script)))
        return
    if UNREAD in row:
        raise BadRow(str(row[UNREAD]))
    format_ = format_of(row)
    raw = format_.read(row)
    if not raw.text:
        raise BadRow("the row has no statement")
    header = raw.header or format_.header or (source.data_set.header if source.data_set else "")
    theorem = statements.theorem(raw.text, header, raw.name)
    scored = test or raw.split in ("valid", "test")
    found.statements.append(Statement(theorem, "test" if scored else "train"))
    if not scored and (script := _given_script(row)):
        found.proofs.append(Given(theorem, Proof(theorem.name, script)))


def _given_script(row: Row) -> str:
    """The proof in a statement's row (`proof`, in Lean-Workbook a list); empty if there is none."""
    given = row.get("proof") or row.get("formal_proof")
    text = next((each for each in given if isinstance(each, str)), "") if isinstance(given, list) else given
    if not isinstance(text, str) or not text.strip() or _SORRY.search(blanked(text)):
        return ""
    try:
        return block_of(text)
    except NoProof:
        return ""


def _rows(source: Source) -> Iterator[tuple[str, Row | str]]:
    """Rows with their locations; for a row that cannot be read, the reason. Raises SourceProblem."""
    path = Path(source.origin)
    if source.local and path.is_file() and ".jsonl" in path.name:
        yield from _lines(path)
        return
    for number, row in enumerate(source.rows(), start=1):
        yield f"{source.origin}, row {number}", row


def _lines(path: Path) -> Iterator[tuple[str, Row | str]]:
    """Raises SourceProblem."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        raise SourceProblem(f"{path}: cannot be read ({error}); check whether the file is damaged") from error
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield f"{path}, line {number}", f"{error}"
            continue
        yield f"{path}, line {number}", row if isinstance(row, dict) else "an object was expected"
