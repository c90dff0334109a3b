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


# ----------------------------------------------------------------------------------------------------------------------
# A list of flawed statements of public benchmarks, each with its source: false, vacuous, or not what was intended.
#
# Some copies of a benchmark have corrected statements. So a flawed statement is recognised by its name and by a
# piece of text that only the flawed version has. Results are reported with and without these statements.

_NUMINA = "https://huggingface.co/datasets/AI-MO/minif2f_test"
_DEEPSEEK = "https://github.com/deepseek-ai/DeepSeek-Prover-V1.5/issues/26"
_ROCQ = "https://github.com/LLM4Rocq/miniF2F-rocq/pull/5"
_SHARP = "https://huggingface.co/datasets/PAug/ProofNetSharp/discussions"
_VERIFIED = "https://github.com/marcusm117/ProofNet-Verified"

_ESCAPES = "the body of the big operator has no parentheses, so that its variable stands outside of it"


@dataclass(frozen=True)
class Flaw:
    """A flawed statement."""

    name: str
    sign: str
    """A piece of text that only the flawed version has, without white space and with `in` for `∈`."""
    reason: str
    source: str

    def found_in(self, theorem: Theorem) -> bool:
        """True when the theorem is the flawed version of the statement."""
        # Some copies put the book before a name: Artin_exercise_13_4_10.
        named = theorem.name == self.name or theorem.name.endswith(f"_{self.name}")
        return named and self.sign in _squeezed(theorem)


FLAWS: dict[str, tuple[Flaw, ...]] = {
    "minif2f": (
        Flaw(
            *("mathd_algebra_314", "(1/4)^(n+1)"),
            *("1 / 4 is a division of natural numbers: the statement says 0 = 0", _DEEPSEEK),
        ),
        Flaw(
            *("mathd_algebra_158", "range5,a+2*k)"),
            *(f"{_ESCAPES}: the hypotheses are contradictory", _DEEPSEEK),
        ),
        Flaw("mathd_algebra_342", "range5,a+k*d)", _ESCAPES, _DEEPSEEK),
        Flaw("amc12a_2021_p9", "range7,2^2^k+", _ESCAPES, _DEEPSEEK),
        Flaw("induction_pord1p1on2powklt5on2", "Icc1n,1+(1:ℝ)/2^k)", _ESCAPES, _DEEPSEEK),
        Flaw("induction_prod1p1onk3le3m1onn", "Icc1n,1+(1:ℝ)/k^3)", _ESCAPES, _DEEPSEEK),
        Flaw("mathd_numbertheory_343", "range6,2*k+1)", f"{_ESCAPES}: it is false", _NUMINA),
        Flaw("mathd_numbertheory_618", "(n:ℕ)(p:ℕ→ℕ)", "it is false for n = 0", _NUMINA),
        Flaw(
            *("aime_1994_p3", "(h0:fx+f(x-1)=x^2)"),
            *("the equation is assumed for one x in place of all, so that f 94 is not determined", _NUMINA),
        ),
        Flaw(
            *("amc12a_2020_p7", "(a(k^2))"),
            *("it sums a (k ^ 2), of which most is not known, where (a k) ^ 2 is meant", _NUMINA),
        ),
        Flaw(
            *("mathd_algebra_275", "((11:ℝ)^(1/4))^(3*x-3)"),
            *("the exponent 1 / 4 is a division of natural numbers, 0: the hypothesis is contradictory", _NUMINA),
        ),
        Flaw(
            *("algebra_cubrtrp1oncubrtreq3_rcubp1onrcubeq5778", "(r:ℝ)(h₀:r^((1:ℝ)/3)"),
            *("it is false for negative r, where Mathlib's real power is no root", _NUMINA),
        ),
        Flaw("algebra_ineq_nto1onlt2m1on", "(n:ℕ):(n:ℝ)^((1:ℝ)/n)<2-1/n", "it is false for n = 1", _ROCQ),
    ),
    "proofnet": (
        Flaw("exercise_13_4_10", "(h:∃r:ℕ,p=2^r+1)", "it is false for p = 2 = 2 ^ 0 + 1", _SHARP),
        Flaw("exercise_5_13", "{px:ℤ}(hp:Primep)", "primes of ℤ may be negative: it is false for p = -13", _SHARP),
        Flaw(
            *("exercise_18_4", "∃xyzw:ℤ,x^3+y^3=n"),
            *("cubes may be negative: it is false for 91 = 3 ^ 3 + 4 ^ 3 = 6 ^ 3 + (-5) ^ 3", _VERIFIED),
        ),
    ),
}
"""Flawed statements by data set (`node.bank.known`)."""

_SAME = {"minif2f-numina": "minif2f"}
"""Data sets that share statements with another one."""


def flaw_of(data_set: str, theorem: Theorem) -> str:
    """The known flaw of a data set's statement, with its source; empty if none is known."""
    flaws = FLAWS.get(_SAME.get(data_set, data_set), ())
    return next((f"{each.reason} ({each.source})" for each in flaws if each.found_in(theorem)), "")


def _squeezed(theorem: Theorem) -> str:
    return "".join(f"{theorem.binders} : {theorem.conclusion}".split()).replace("∈", "in")
