"""From the rows of a data set to the statements of a bank: formats of rows, reading them, writing a bank."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from common.files import write_whole
from common.lean import Theorem
from node.bank import bank
from node.bank.bank import SPLITS, SourceRecord
from node.bank.known import MINIF2F_HEADER, DataSet, flaw_of
from node.bank.statements import UNREAD, Refused, Row, filled, in_file, theorem as read_theorem, theorem_in_file
from node.lean.text.statement import imports

NAMES_OF_SPLITS = {"train": "train", "valid": "valid", "validation": "valid", "dev": "valid", "test": "test"}
"""The bank's names of splits, by the names in data sets."""

_NO_NAME = re.compile(r"[^\w.']+")
"""Characters that cannot be in a theorem's name, as in ProofNet#'s `Artin|exercise_2_3_2`."""


@dataclass(frozen=True)
class Raw:
    """A statement in the form of its data set."""

    name: str
    """Empty: the name in the statement's text."""
    header: str
    text: str
    split: str
    """`train`, `valid`, `test`; empty if the row names none."""


@dataclass(frozen=True)
class Format:
    """The fields of one family of data sets."""

    name: str
    fields: frozenset[str]
    """A row that has all of these is of this format."""
    read: Callable[[Row], Raw]
    header: str = ""
    """The header of its statements, if their rows have none."""


def _benchmark(row: Row) -> Raw:
    """miniF2F, ProofNet, ProverBench: name (or id), split, header, formal_statement."""
    return Raw(_name(row, "name", "id"), _text(row, "header"), _text(row, "formal_statement"), split_of(row))


def _putnam(row: Row) -> Raw:
    """PutnamBench: name, lean4_statement; no splits."""
    return Raw(_name(row, "name"), _text(row, "header"), _text(row, "lean4_statement"), split_of(row))


def _sharp(row: Row) -> Raw:
    """ProofNet#: id with the book before it, lean4_src_header, lean4_formalization."""
    header = _text(row, "lean4_src_header")
    return Raw(_name(row, "id"), header, _text(row, "lean4_formalization"), split_of(row))


def _formalmath(row: Row) -> Raw:
    """FormalMATH: theorem_names, autoformalization with its imports; no splits."""
    return Raw(_name(row, "theorem_names"), "", _text(row, "autoformalization"), split_of(row))


def _numina(row: Row) -> Raw:
    """NuminaMath-LEAN: uuid, formal_statement with its imports; no splits. The name is the one in the statement."""
    return Raw("", "", _text(row, "formal_statement"), split_of(row))


def _workbook(row: Row) -> Raw:
    """Lean-Workbook: id, formal_statement without header; `split` is a part of the data set."""
    return Raw(_name(row, "id", "problem_id"), "", _text(row, "formal_statement"), split_of(row))


def _plain(row: Row) -> Raw:
    """A user's own file: statement, with optional name, header and split."""
    return Raw(_name(row, "name", "id"), _text(row, "header"), _text(row, "statement"), split_of(row))


def _bank(row: Row) -> Raw:
    """A split of a bank of ours: name, binders, conclusion. Raises Refused for a theorem that stands in a file: what is
    above it there is in another file of the bank."""
    if row.get("context") or row.get("place"):
        raise Refused("the theorem stands in a file, whose text is elsewhere in the bank: name the bank's folder")
    theorem = Theorem(_name(row, "name"), _text(row, "binders"), _text(row, "conclusion"))
    return Raw(theorem.name, _text(row, "header"), theorem.signature, split_of(row))


_STATED = "formal_statement"

FORMATS = (
    Format("benchmark", frozenset({"name", "header", _STATED}), _benchmark),
    Format("benchmark by id", frozenset({"id", "header", _STATED}), _benchmark),
    Format("putnambench", frozenset({"lean4_statement"}), _putnam),
    Format("proofnet-sharp", frozenset({"id", "lean4_formalization"}), _sharp),
    Format("formalmath", frozenset({"autoformalization"}), _formalmath),
    Format("numina", frozenset({"uuid", _STATED}), _numina),
    Format("workbook", frozenset({"natural_language_statement", _STATED}), _workbook, MINIF2F_HEADER),
    Format("minif2f-numina", frozenset({"name", "informal_prefix", _STATED}), _benchmark, MINIF2F_HEADER),
    Format("plain", frozenset({"statement"}), _plain),
    Format("bank", frozenset({"name", "binders", "conclusion"}), _bank),
    Format("plain benchmark", frozenset({"name", _STATED}), _benchmark),
)
"""All formats. A row has the first one that fits."""


def format_of(row: Row) -> Format:
    """The format of a row. Raises Refused."""
    for each in FORMATS:
        if each.fields <= row.keys():
            return each
    known = "; ".join(f"{each.name}: {', '.join(sorted(each.fields))}" for each in FORMATS)
    raise Refused(f"a row with the fields {', '.join(sorted(row))} has no known format; known are {known}")


def _name(row: Row, *fields: str) -> str:
    """The first of these fields that is not empty, as the name of a theorem."""
    name = next((text for field in fields if (text := _text(row, field))), "")
    return _NO_NAME.sub("_", name).strip("_.")


def _text(row: Row, field: str) -> str:
    value = row.get(field)
    return value if isinstance(value, str) else ""


def split_of(row: Row) -> str:
    """The bank's name of a row's split; empty if the row names none."""
    return NAMES_OF_SPLITS.get(_text(row, "split").lower(), "")


# ----------------------------------------------------------------------------------------------------------------------
# Converts the rows of a data set to statements with unique names, splits, topics and known flaws. Pure.

_KIND = re.compile(r"mathd_[a-z]+|[a-z]+")

STATING = frozenset(
    {"name", "header", "formal_statement", "lean4_statement", "lean4_src_header", "lean4_formalization"}
    | {"autoformalization", "statement", "split"}
)
"""Fields whose content becomes a part of the theorem."""

LEVEL = 1
"""The level of all imported statements. Only the bundled banks have levels, by the length of their proofs."""


@dataclass(frozen=True)
class Imported:
    """A statement of a data set."""

    theorem: Theorem
    split: str
    source: str
    family: str
    """Its topic, if the data set states one; otherwise its source."""
    flaw: str = ""
    """A known flaw; empty if none is known."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """The remaining fields of its row."""

    def row(self) -> dict[str, Any]:
        """Its row in the bank."""
        place = self.theorem.place
        gap = {} if place is None else {"before": place.before, "after": place.after, "tactic": place.tactic}
        return {
            "name": self.theorem.name,
            "binders": self.theorem.binders,
            "conclusion": self.theorem.conclusion,
            "family": self.family,
            "level": LEVEL,
            "header": self.theorem.header,
            "statement": self.theorem.signature,
            "source": self.source,
            **({"flaw": self.flaw} if self.flaw else {}),
            **({"context": place.context.digest, "place": gap} if place is not None else {}),
        }


class Refusal(NamedTuple):
    """A row that is not a statement."""

    name: str
    """The name of the statement, or the number of the row."""
    reason: str
    split: str = ""


@dataclass
class SourceReading:
    """The statements of a source, and its rows that are not statements."""

    statements: list[Imported] = field(default_factory=list)
    rows: int = 0
    repeated: int = 0
    """Rows with the same statement as an earlier row."""
    refused: list[Refusal] = field(default_factory=list)

    def digest(self) -> str:
        """A digest of the statements in their order. It does not depend on the kind of file."""
        total = hashlib.blake2b(digest_size=16)
        for each in self.statements:
            total.update(repr((each.theorem.name, each.theorem.header, *each.theorem.stated, each.split)).encode())
        return total.hexdigest()


@dataclass(frozen=True)
class Reader:
    """Converts the rows of one source to statements."""

    source: str
    split: str = "train"
    """Split of statements whose row names none."""
    header: str = ""
    """Header of statements without one."""
    known: DataSet | None = None
    """The data set, if it is a known one."""
    repeats: bool = False
    """Keep repeated statements, because a benchmark counts them."""
    extra: bool = False
    """Keep the remaining fields of rows."""

    def collect(self, rows: Iterable[Row], limit: int | None = None) -> SourceReading:
        """Read rows. Raises BankError."""
        reading = SourceReading()
        seen: set[tuple[object, ...]] = set()
        names = Names()
        headers: dict[str, str] = {}
        for row in itertools.islice(rows, limit):
            reading.rows += 1
            try:
                imported = self._statement(row)
            except Refused as error:
                name = str(row.get("name") or row.get("id") or _place(row) or f"row {reading.rows}")
                reading.refused.append(Refusal(name, str(error), self._split(split_of(row))))
                continue
            place = imported.theorem.place
            statement = (imported.theorem.header, imported.theorem.proposition) if place is None else place.key
            if statement in seen and not self.repeats:
                reading.repeated += 1
                continue
            seen.add(statement)
            header = headers.setdefault(imported.theorem.header, imported.theorem.header)  # equal headers share memory
            theorem = msgspec.structs.replace(imported.theorem, name=names.free(imported.theorem.name), header=header)
            reading.statements.append(replace(imported, theorem=theorem))
        return reading

    def _statement(self, row: Row) -> Imported:
        """The statement of a row, with the name in the row. Raises Refused, Refused."""
        if UNREAD in row:
            raise Refused(str(row[UNREAD]))
        if in_file(row):
            placed = theorem_in_file(row)
            return Imported(placed, self._split(split_of(row)), self.source, self._family(row, placed.name))
        form = format_of(row)
        raw = form.read(row)
        known = self.known
        text, header = raw.text, raw.header or self._default_header(form, raw.text)
        if (known is not None and known.open_answers) or "lean4_statement" in row:
            header, text = filled(header, text)
        stated = read_theorem(text, header, raw.name)
        return Imported(
            theorem=stated,
            split=self._split(raw.split),
            source=self.source,
            family=self._family(row, stated.name),
            flaw=flaw_of(known.name, stated) if known is not None else "",
            extra={name: value for name, value in row.items() if name not in STATING} if self.extra else {},
        )

    def _split(self, split_of_row: str) -> str:
        """The split of a statement, given the split that its row names. For a data set with a single split, the row's
        split is ignored, because the hub calls any single split `train`."""
        named = "" if self.known is not None and len(self.known.splits) == 1 else split_of_row
        return named or self.split

    def _default_header(self, form: Format, text: str) -> str:
        """The header of a statement whose row has none. A statement with imports needs none."""
        if imports(text):
            return ""
        return self.header or (self.known.header if self.known is not None else "") or form.header

    def _family(self, row: Row, name: str) -> str:
        """The topic of a statement, from its row or from a name of miniF2F (`mathd_algebra_158`); else its source."""
        known = self.known
        if known is not None and known.family and isinstance(topic := row.get(known.family), str) and topic:
            return topic
        if known is not None and known.name.startswith("minif2f") and (match := _KIND.match(name)):
            return match.group()
        return self.source


def _place(row: Row) -> str:
    """The line of a row in a text file, with the file's name in a folder; empty for rows of other files."""
    if not isinstance(line := row.get("line"), int):
        return ""
    return f"{row['file']}, line {line}" if row.get("file") else f"line {line}"


class Names:
    """Makes names unique: a name that is taken gets its source or a number as a suffix."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._numbers: dict[str, int] = {}

    def free(self, name: str, source: str = "") -> str:
        """The name, or the name with a suffix if it is taken. The result is then taken."""
        tail = "".join(char if char.isalnum() else "_" for char in source)
        base = f"{name}_{tail}" if tail else name
        unique = name if name not in self._taken else base
        while unique in self._taken:
            # Thousands of statements may share a name, so continue with the last number instead of starting at 2.
            self._numbers[base] = self._numbers.get(base, 1) + 1
            unique = f"{base}_{self._numbers[base]}"
        self._taken.add(unique)
        return unique


# ----------------------------------------------------------------------------------------------------------------------
# Writes statements into a bank: by split, with unique names, and with no train statement that valid or test has.


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
    bank.write_manifest(out, msgspec.structs.replace(before, commands=commands, sources=records, digest=digest))
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
