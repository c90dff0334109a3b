"""Reads lean4export's NDJSON format, version 3.1, line by line. Whatever does not fit is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from node.lean.check.second.declarations import ABBREVIATION, OPAQUE
from node.lean.check.second.terms import LAM, PI, Expr, Level, Store

LINE_CHARACTERS = 16 * 2**20
MOST_TERMS = 20_000_000
LARGEST_INDEX = 1 << 16
"""Bound variables and projections: more binders than that do not occur."""
NUMERAL_DIGITS = 1_000_000
VERSION = (3, 1)


class BadExport(Exception):
    """The file is not an export of this format; the text names the line."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The fields that all declarations have."""

    name: str
    parameters: tuple[str, ...]
    type: Expr


@dataclass(frozen=True, slots=True)
class ParsedAxiom(Parsed):
    unsafe: bool


@dataclass(frozen=True, slots=True)
class ParsedValue(Parsed):
    """A definition, theorem or opaque constant."""

    kind: str
    """`def`, `thm` or `opaque`."""
    value: Expr
    height: int
    unsafe: bool


@dataclass(frozen=True, slots=True)
class ParsedQuotient(Parsed):
    kind: str


@dataclass(frozen=True, slots=True)
class ParsedType(Parsed):
    """An inductive type. What follows `constructors` is only compared."""

    arguments: int
    constructors: tuple[str, ...]
    indices: int
    recursive: bool
    nested: int
    unsafe: bool


@dataclass(frozen=True, slots=True)
class ParsedConstructor(Parsed):
    inductive: str
    place: int
    arguments: int
    fields: int
    unsafe: bool


@dataclass(frozen=True, slots=True)
class ParsedRecursor(Parsed):
    numbers: tuple[int, int, int, int]
    """Parameters, indices, motives, minor premises."""
    rules: tuple[tuple[str, int, Expr], ...]
    k: bool
    unsafe: bool


@dataclass(frozen=True, slots=True)
class ParsedGroup:
    """Inductive types that are declared together."""

    types: tuple[ParsedType, ...]
    constructors: tuple[ParsedConstructor, ...]
    recursors: tuple[ParsedRecursor, ...]


Declaration = ParsedAxiom | ParsedValue | ParsedQuotient | ParsedGroup


class _Fields:
    """The fields of one JSON object, each of which must have the right type."""

    def __init__(self, content: Any, reader: Reader) -> None:
        if type(content) is not dict:
            raise BadExport("an object is expected")
        self._content = content
        self._reader = reader

    def get(self, key: str, kind: type) -> Any:
        value = self._content.get(key)
        if type(value) is not kind:
            raise BadExport(f"{key!r} is missing or not of type {kind.__name__}")
        return value

    def number(self, key: str) -> int:
        value: int = self.get(key, int)
        if not 0 <= value < 1 << 32:
            raise BadExport(f"{key!r} is out of range")
        return value

    def name(self, key: str = "name") -> str:
        return self._reader.name(self.get(key, int))

    def names(self, key: str) -> tuple[str, ...]:
        return tuple(self._reader.name(each) for each in self.get(key, list))

    def expression(self, key: str) -> Expr:
        return self._reader.expression(self.get(key, int))

    def flag(self, key: str) -> bool:
        value: bool = self.get(key, bool)
        return value

    def common(self) -> tuple[str, tuple[str, ...], Expr]:
        return self.name(), self.names("levelParams"), self.expression("type")

    def objects(self, key: str) -> list[_Fields]:
        return [_Fields(each, self._reader) for each in self.get(key, list)]


class Reader:
    """Reads one file into a `Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: list[str] = [""]
        self._levels: list[Level] = [store.zero]
        self._expressions: list[Expr] = []

    def declarations(self, lines: IO[str]) -> Iterator[Declaration]:
        """The declarations in order. Raises BadExport, with the line's number."""
        number = 0
        try:
            while line := lines.readline(LINE_CHARACTERS + 1):
                number += 1
                if len(line) > LINE_CHARACTERS:
                    raise BadExport(f"longer than {LINE_CHARACTERS} characters")
                content = json.loads(line)
                if type(content) is not dict:
                    raise BadExport("an object is expected")
                if number == 1:
                    self._meta(content)
                elif (declaration := self._read(content)) is not None:
                    yield declaration
        except BadExport as error:
            raise BadExport(f"line {number}: {error}") from None
        except (ValueError, RecursionError) as error:  # not JSON, not UTF-8, a numeral of too many digits, or too deep
            raise BadExport(f"line {number}: not a line of an export ({type(error).__name__})") from None
        if not number:
            raise BadExport("an empty file")

    def _meta(self, content: dict[str, Any]) -> None:
        version = _Fields(_Fields(content.get("meta"), self).get("format", dict), self).get("version", str)
        parts = version.split(".")
        if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts):
            raise BadExport("a format version is expected")
        if (int(parts[0]), int(parts[1])) != VERSION:
            raise BadExport(f"format {version} is not supported, only 3.1")

    def _read(self, content: dict[str, Any]) -> Declaration | None:
        """One line: a term that is kept (None), or a declaration."""
        # 1. Terms, which are most lines. Their numbers are consecutive.
        if len(content) == 2:
            if "ie" in content:
                self._keep(self._expressions, content.pop("ie"), self._made_expression(content))
            elif "in" in content:
                self._keep(self._names, content.pop("in"), self._made_name(content))
            elif "il" in content:
                self._keep(self._levels, content.pop("il"), self._made_level(content))
            else:
                raise BadExport("neither a term nor a declaration")
            return None
        # 2. Declarations.
        if len(content) != 1:
            raise BadExport("neither a term nor a declaration")
        ((key, inner),) = content.items()
        fields = _Fields(inner, self)
        match key:
            case "axiom":
                return ParsedAxiom(*fields.common(), fields.flag("isUnsafe"))
            case "def":
                safety = fields.get("safety", str)
                if safety not in ("safe", "unsafe", "partial"):
                    raise BadExport("an unknown safety")
                height = _height(inner.get("hints"))
                return ParsedValue(*fields.common(), key, fields.expression("value"), height, safety != "safe")
            case "thm":
                return ParsedValue(*fields.common(), key, fields.expression("value"), OPAQUE, False)
            case "opaque":
                unsafe = fields.flag("isUnsafe")
                return ParsedValue(*fields.common(), key, fields.expression("value"), OPAQUE, unsafe)
            case "quot":
                return ParsedQuotient(*fields.common(), fields.get("kind", str))
            case "inductive":
                return ParsedGroup(
                    tuple(_type(each) for each in fields.objects("types")),
                    tuple(_constructor(each) for each in fields.objects("ctors")),
                    tuple(_recursor(each) for each in fields.objects("recs")),
                )
        raise BadExport(f"an unknown declaration {key[:20]!r}")

    @staticmethod
    def _keep(kept: list[Any], number: object, made: object) -> None:
        if type(number) is not int or number != len(kept):
            raise BadExport(f"term number {len(kept)} is expected")
        if number >= MOST_TERMS:
            raise BadExport(f"more than {MOST_TERMS} terms")
        kept.append(made)

    # --- terms ------------------------------------------------------------------------------------------------------

    def name(self, number: object) -> str:
        """A name that was read before. Raises BadExport."""
        if type(number) is not int or not 0 <= number < len(self._names):
            raise BadExport("a name that was not read before")
        return self._names[number]

    def _level(self, number: object) -> Level:
        if type(number) is not int or not 0 <= number < len(self._levels):
            raise BadExport("a level that was not read before")
        return self._levels[number]

    def expression(self, number: object) -> Expr:
        """An expression that was read before. Raises BadExport."""
        if type(number) is not int or not 0 <= number < len(self._expressions):
            raise BadExport("an expression that was not read before")
        return self._expressions[number]

    def _made_name(self, content: dict[str, Any]) -> str:
        ((key, inner),) = content.items()
        fields = _Fields(inner, self)
        before = fields.name("pre")
        if key == "str":
            part = _shown(_text(fields.get("str", str)))
        elif key == "num":
            value = fields.get("i", int)
            if not 0 <= value < 1 << 64:
                raise BadExport("a number in a name that is out of range")
            part = str(value)
        else:
            raise BadExport("an unknown name")
        return sys.intern(f"{before}.{part}" if before else part)

    def _made_level(self, content: dict[str, Any]) -> Level:
        ((key, inner),) = content.items()
        if key == "succ":
            return self._store.succ(self._level(inner))
        if key == "param":
            return self._store.param(self.name(inner))
        if key not in ("max", "imax") or type(inner) is not list or len(inner) != 2:
            raise BadExport("an unknown level")
        make = self._store.max if key == "max" else self._store.imax
        return make(self._level(inner[0]), self._level(inner[1]))

    def _made_expression(self, content: dict[str, Any]) -> Expr:
        # 1. The kind.
        ((key, inner),) = content.items()
        store = self._store
        # 2. Its fields, which must be terms that were read before.
        match key:
            case "app":
                fields = _Fields(inner, self)
                return store.app(fields.expression("fn"), fields.expression("arg"))
            case "const":
                fields = _Fields(inner, self)
                return store.const(fields.name(), tuple(self._level(each) for each in fields.get("us", list)))
            case "bvar":
                return store.bvar(_index(inner))
            case "lam" | "forallE":
                fields = _Fields(inner, self)
                tag = LAM if key == "lam" else PI
                return store.binder(tag, fields.expression("type"), fields.expression("body"))
            case "sort":
                return store.sort(self._level(inner))
            case "letE":
                fields = _Fields(inner, self)
                return store.let(fields.expression("type"), fields.expression("value"), fields.expression("body"))
            case "proj":
                fields = _Fields(inner, self)
                return store.proj(fields.name("typeName"), _index(fields.get("idx", int)), fields.expression("struct"))
            case "natVal":
                if type(inner) is not str or not (inner.isascii() and inner.isdigit()) or len(inner) > NUMERAL_DIGITS:
                    raise BadExport("a numeral is expected")
                return store.nat(_numeral(inner))
            case "strVal":
                return store.string(_text(inner))
            case "mdata":
                return _Fields(inner, self).expression("expr")  # a note of the elaborator, without meaning
        raise BadExport(f"an unknown expression {key[:20]!r}")


def _index(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LARGEST_INDEX:
        raise BadExport("an index that is out of range")
    return value


def _text(value: object) -> str:
    """JSON can hold halves of surrogate pairs, which no text of Lean has."""
    if not isinstance(value, str) or any("\ud800" <= each <= "\udfff" for each in value):
        raise BadExport("a text of Unicode scalar values is expected")
    return value


def _numeral(digits: str) -> int:
    """Python refuses to convert more than 4300 digits at once, because its algorithm is quadratic."""
    if len(digits) <= 4000:
        return int(digits)
    middle = len(digits) // 2
    power: int = 10**middle
    return _numeral(digits[:-middle]) * power + _numeral(digits[-middle:])


def _height(hints: object) -> int:
    if hints == "opaque":
        return OPAQUE
    if hints == "abbrev":
        return ABBREVIATION
    if type(hints) is dict and len(hints) == 1:
        height = hints.get("regular")
        if type(height) is int and 0 <= height < 1 << 32:
            return height
    raise BadExport("unknown reducibility hints")


def _shown(part: str) -> str:
    """A part of a name; «quoted» if it would read as another name."""
    plain = part and "." not in part and "«" not in part and "»" not in part and not part.isdigit()
    return part if plain else f"«{part.replace('»', '»»')}»"


def _type(fields: _Fields) -> ParsedType:
    return ParsedType(
        *fields.common(),
        fields.number("numParams"),
        fields.names("ctors"),
        fields.number("numIndices"),
        fields.flag("isRec"),
        fields.number("numNested"),
        fields.flag("isUnsafe"),
    )


def _constructor(fields: _Fields) -> ParsedConstructor:
    numbers = (fields.number("cidx"), fields.number("numParams"), fields.number("numFields"))
    return ParsedConstructor(*fields.common(), fields.name("induct"), *numbers, fields.flag("isUnsafe"))


def _recursor(fields: _Fields) -> ParsedRecursor:
    rules = [(each.name("ctor"), each.number("nfields"), each.expression("rhs")) for each in fields.objects("rules")]
    numbers = (
        fields.number("numParams"),
        fields.number("numIndices"),
        fields.number("numMotives"),
        fields.number("numMinors"),
    )
    return ParsedRecursor(*fields.common(), numbers, tuple(rules), fields.flag("k"), fields.flag("isUnsafe"))
