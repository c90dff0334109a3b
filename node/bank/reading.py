"""Converts the rows of a data set to statements with unique names, splits, topics and known flaws. Pure."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec

from common.lean import Theorem
from node.bank.answers import filled
from node.bank.flaws import flaw_of
from node.bank.formats import Format, NoFormat, format_of, split_of
from node.bank.known import DataSet
from node.bank.statements import Refused, in_file, theorem_in_file
from node.bank.statements import theorem as read_theorem
from node.bank.texts import UNREAD, Row
from node.lean.text.headers import imports

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
        """Read rows. Raises SourceProblem."""
        reading = SourceReading()
        seen: set[tuple[object, ...]] = set()
        names = Names()
        headers: dict[str, str] = {}
        for row in itertools.islice(rows, limit):
            reading.rows += 1
            try:
                imported = self._statement(row)
            except (NoFormat, Refused) as error:
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
        """The statement of a row, with the name in the row. Raises NoFormat, Refused."""
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
