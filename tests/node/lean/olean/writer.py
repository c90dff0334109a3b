"""Writes .olean files object by object, as code that runs during elaboration could.

A file is decoded into Python objects that share what the file shares, changed, and encoded again; or it is made from
nothing. An unchanged file is encoded to the same bytes. The encoder writes what it is told: wrong hashes, wrong
summaries, wrong sizes, links forwards. `repair` computes the hashes and summaries again, so that a change deep inside a
term does not betray itself by them.

Layouts: `lean.h` of Lean's runtime, and `Prelude.lean`, `Level.lean`, `Expr.lean`, `Declaration.lean` of its library.
This decoder shares no code with the reader of the program, because it is the measure for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from node.lean.olean.terms import mixed_hash, string_hash
from tests.node.lean.terms import read

LARGEST_CONSTRUCTOR = 244
ARRAY, STRING, INTEGER = 246, 249, 250

HEADER_BYTES, BASE_AT = 88, 80
ROOT_FIRST = 1
WORD = (1 << 64) - 1
_BOXED_BITS = 63

AXIOM, DEFINITION, THEOREM, OPAQUE, QUOTIENT, INDUCTIVE, CONSTRUCTOR, RECURSOR = range(8)
"""Constructors of `Lean.ConstantInfo`."""
UNSAFE, SAFE, PARTIAL = range(3)
"""`Lean.DefinitionSafety`."""
BOUND, FREE, META, SORT, CONSTANT, APPLY, LAMBDA, FORALL, LET, LITERAL, NOTE, PROJECTION = range(12)
"""Constructors of `Lean.Expr`."""
ZERO, SUCCESSOR, MAX, IMAX, PARAMETER, LEVEL_META = range(6)
"""Constructors of `Lean.Level`."""

Parts = tuple[str | int, ...]
"""A name, as its components."""


class Unreadable(Exception):
    """The bytes are not what this decoder expects there."""


@dataclass(frozen=True)
class Raw:
    """A field that is written as this word, whatever it means: a pointer of one's own, an even number."""

    word: int
    summary: int = 0
    """The summary of the expression that it points to."""


@dataclass(eq=False, slots=True)
class Object:
    """One object of Lean's runtime. Two fields that hold the same Python object share it in the file."""

    tag: int
    fields: list[Value] = field(default_factory=list)
    """The fields of a constructor that are objects, or the items of an array."""
    data: bytes = b""
    """Scalar fields of a constructor; the text of a string; the limbs of an integer."""
    other: int | None = None
    """A byte of the header to be written as it is: the number of fields, or an element's size. None: as it should be.
    """
    size: int | None = None
    """The size in the header, as it is to be written. None: as it should be."""
    claims: dict[int, int] = field(default_factory=dict)
    """Words of the object (0 is its header) to be written instead of the right ones."""


Value = int | Raw | Object
"""What a field holds; an int is a boxed number."""


# --- objects and bytes ------------------------------------------------------------------------------------------------


def _linked(word: int, known: dict[int, Object]) -> Value:
    if word & 1:
        return word >> 1
    return known[word] if word in known else Raw(word)


def _decoded(content: bytes, words: memoryview, at: int, known: dict[int, Object]) -> tuple[Object, int]:
    """The object at a position of an honest file, in words, and the position behind it."""
    # 1. A constructor: its header says all.
    header = words[at]
    tag, other, size = header >> 56, header >> 48 & 0xFF, header >> 32 & 0xFFFF
    if tag <= LARGEST_CONSTRUCTOR:
        end, begin = at + size // 8, at + 1 + other
        links = [_linked(word, known) for word in words[at + 1 : begin]]
        return Object(tag, links, content[8 * begin : 8 * end]), end
    # 2. Where another object ends.
    count, capacity = words[at + 1], words[at + 2]
    end = at + 3 + {ARRAY: count, STRING: 1 + (capacity + 7) // 8, INTEGER: count >> 32}[tag]
    # 3. What is in it.
    made = Object(tag, other=other, size=size)
    if tag == ARRAY:
        made.fields = [_linked(word, known) for word in words[at + 3 : end]]
    elif tag == STRING:
        made.data = content[8 * at + 32 : 8 * at + 32 + max(count - 1, 0)]
    else:
        made.data = content[8 * at + 24 : 8 * end]
    # 4. What of its header this class would write otherwise stays as it was.
    written = _encoded(made, {}, bare=True)
    made.claims = {
        index: words[at + index]
        for index in range(min(4 if tag == STRING else 3, end - at))
        if not (tag == INTEGER and index == 2)
        and int.from_bytes(written[8 * index : 8 * index + 8], "little") != words[at + index]
    }
    return made, end


def _order(objects: Iterable[Object], root: Value) -> list[Object]:
    """The objects, each behind those that it links to, and otherwise in the given order. Cycles are cut somewhere."""
    wanted = {id(each) for each in reachable([root])}
    order: list[Object] = []
    begun: set[int] = set()
    for first in (*objects, root):
        if not isinstance(first, Object) or id(first) not in wanted:
            continue
        waiting: list[tuple[Object, bool]] = [(first, False)]
        while waiting:
            each, done = waiting.pop()
            if done:
                order.append(each)
                continue
            if id(each) in begun:
                continue
            begun.add(id(each))
            waiting.append((each, True))
            waiting += [(link, False) for link in reversed(each.fields) if isinstance(link, Object)]
    return order


def reachable(roots: Iterable[Value]) -> Iterator[Object]:
    """The objects that these lead to, each once."""
    waiting = [each for each in roots if isinstance(each, Object)]
    seen = {id(each) for each in waiting}
    while waiting:
        each = waiting.pop()
        yield each
        for link in each.fields:
            if isinstance(link, Object) and id(link) not in seen:
                seen.add(id(link))
                waiting.append(link)


def _size(each: Object) -> int:
    """The bytes that an object takes in the file."""
    if each.tag <= LARGEST_CONSTRUCTOR:
        return 8 + 8 * len(each.fields) + _up(len(each.data))
    if each.tag == ARRAY:
        return 24 + 8 * len(each.fields)
    return 32 + _up(len(each.data) + 1) if each.tag == STRING else 24 + _up(len(each.data))


def _up(size: int) -> int:
    """The next multiple of 8."""
    return size + -size % 8


def _encoded(each: Object, places: dict[int, int], *, bare: bool = False) -> bytes:
    """The bytes of an object. `bare`: without its fields, of which there are no places yet."""
    # 1. The object as it should be.
    tag, data = each.tag, each.data
    padded = data + bytes(-len(data) % 8)
    links = b"" if bare else b"".join(_word(link, places).to_bytes(8, "little") for link in each.fields)
    count = len(each.fields)
    other, size = each.other, each.size
    if tag <= LARGEST_CONSTRUCTOR:
        right_size = 8 + 8 * count + len(padded)
        written = _header(tag, count & 0xFF if other is None else other, right_size if size is None else size)
        written += links + padded
    else:
        right_size = 24 + len(padded) if tag == INTEGER else 1
        written = _header(tag, other or 0, right_size if size is None else size)
        if tag == ARRAY:
            written += struct.pack("<QQ", count, count) + links
        elif tag == STRING:
            length = len(data.decode("utf-8", "replace"))
            written += struct.pack("<QQQ", len(data) + 1, len(data) + 1, length) + data + bytes(8 - len(data) % 8)
        else:
            limbs = len(padded) // 8
            written += struct.pack("<IIQ", limbs, limbs, places.get(id(each), 0) + 24) + padded
    # 2. What it claims instead.
    if each.claims:
        changed = bytearray(written)
        for index, word in each.claims.items():
            changed[8 * index : 8 * index + 8] = (word & WORD).to_bytes(8, "little")
        written = bytes(changed)
    return written


def _header(tag: int, other: int, size: int) -> bytes:
    return struct.pack("<IHBB", 0, size & 0xFFFF, other & 0xFF, tag)


def _word(value: Value, places: dict[int, int]) -> int:
    if isinstance(value, Raw):
        return value.word & WORD
    if isinstance(value, int):
        return (value << 1 | 1) & WORD
    return places[id(value)]


# --- names, levels and expressions ------------------------------------------------------------------------------------

_ANONYMOUS_HASH, _LARGE_HASH, _LIST_HASH = 1723, 17, 7
_LEVEL_HASHES = {ZERO: 2221, LEVEL_META: 2237, PARAMETER: 2239, SUCCESSOR: 2243, MAX: 2251, IMAX: 2267}
_LEVEL_FLAGS, _LEVEL_PARAMETER, _LEVEL_DEPTH = 3 << 32, 1 << 33, 40
_FLAGS, _FREE, _EXPRESSION_META, _HAS_LEVEL_META, _HAS_PARAMETER = 15 << 40, *(1 << bit for bit in (40, 41, 42, 43))
_DEPTH, _LOOSE, _MOST_DEPTH, _MOST_LOOSE = 32, 44, 255, (1 << 20) - 1

EXPRESSIONS_OF = {APPLY: (0, 1), LAMBDA: (1, 2), FORALL: (1, 2), LET: (1, 2, 3), NOTE: (1,), PROJECTION: (2,)}
"""Which fields of an expression are expressions, by its constructor."""
LEVELS_OF = {SUCCESSOR: (0,), MAX: (0, 1), IMAX: (0, 1)}
"""Which fields of a level are levels, by its constructor."""


def text(value: str | bytes) -> Object:
    """A string."""
    return Object(STRING, data=value.encode() if isinstance(value, str) else value)


def natural(value: int) -> Value:
    """A natural number."""
    if value >> _BOXED_BITS == 0:
        return value
    return Object(INTEGER, data=value.to_bytes((value.bit_length() + 63) // 64 * 8, "little"))


def linked(items: Sequence[Value]) -> Value:
    """A linked list."""
    made: Value = 0
    for item in reversed(items):
        made = Object(1, [item, made])
    return made


def array(items: Iterable[Value]) -> Object:
    return Object(ARRAY, list(items))


def items_of(value: Value) -> list[Value]:
    """The items of a linked list. Raises Unreadable."""
    items: list[Value] = []
    cells = 0
    while not isinstance(value, int):
        if not isinstance(value, Object) or value.tag != 1 or len(value.fields) != 2:
            raise Unreadable("no list")
        items.append(value.fields[0])
        value = value.fields[1]
        cells += 1
        if cells > 1 << 24:
            raise Unreadable("an endless list")
    return items


def parts(value: Value) -> Parts:
    """The components of a name. Raises Unreadable."""
    found: list[str | int] = []
    while not isinstance(value, int):
        if not isinstance(value, Object) or value.tag not in (1, 2) or len(value.fields) != 2 or len(found) > 1 << 20:
            raise Unreadable("no name")
        part = value.fields[1]
        found.append(string(part) if value.tag == 1 else number(part))
        value = value.fields[0]
    return tuple(reversed(found))


def string(value: Value) -> str:
    """Raises Unreadable."""
    if not isinstance(value, Object) or value.tag != STRING:
        raise Unreadable("no string")
    try:
        return value.data.decode()
    except UnicodeDecodeError as error:
        raise Unreadable("no UTF-8") from error


def number(value: Value) -> int:
    """Raises Unreadable."""
    if isinstance(value, int):
        return value
    if not isinstance(value, Object) or value.tag != INTEGER:
        raise Unreadable("no number")
    return int.from_bytes(value.data, "little")


def scalar(each: Object) -> int:
    """The first eight bytes of an object's scalar fields: the hash of a name, the summary of a term."""
    return int.from_bytes(each.data[:8], "little")


def set_scalar(each: Object, value: int) -> None:
    each.data = (value & WORD).to_bytes(8, "little") + each.data[8:]


def name_hash(value: Value) -> int:
    return scalar(value) if isinstance(value, Object) else _ANONYMOUS_HASH


def right_name_hash(each: Object) -> int:
    """The hash that a name should have."""
    part = each.fields[1]
    if each.tag == 1:
        own = string_hash(part.data.decode("utf-8", "replace")) if isinstance(part, Object) else 0
    else:
        own = _number_hash(part)
    return mixed_hash(name_hash(each.fields[0]), own)


def _number_hash(value: Value) -> int:
    large = number(value)
    return large if large >> 64 == 0 else _LARGE_HASH


def _level_summary(value: Value) -> int:
    return scalar(value) if isinstance(value, Object) else _LEVEL_HASHES[ZERO]


def right_level_summary(each: Object) -> int:
    """The hash, flags and depth that a level should have."""
    below = [_level_summary(each.fields[index]) for index in LEVELS_OF.get(each.tag, ())]
    hashed = _LEVEL_HASHES.get(each.tag, 0)
    match each.tag:
        case 4 | 5:
            hashed = mixed_hash(hashed, name_hash(each.fields[0]))
            flags = _LEVEL_PARAMETER if each.tag == PARAMETER else _LEVEL_FLAGS & ~_LEVEL_PARAMETER
            return hashed & 0xFFFFFFFF | flags
        case 1:
            hashed = mixed_hash(hashed, below[0] & 0xFFFFFFFF)
        case _:
            hashed = mixed_hash(hashed, mixed_hash(*(part & 0xFFFFFFFF for part in below)))
    flags = 0
    for part in below:
        flags |= part & _LEVEL_FLAGS
    depth = max(part >> _LEVEL_DEPTH for part in below) + 1
    return hashed & 0xFFFFFFFF | flags | depth << _LEVEL_DEPTH


def _summary(value: Value) -> int:
    return scalar(value) if isinstance(value, Object) else value.summary if isinstance(value, Raw) else 0


def right_summary(each: Object) -> int:
    """The hash, depth, flags and range of loose variables that an expression should have."""
    # 1. What the expressions inside say.
    fields = each.fields
    below = [_summary(fields[k]) for k in EXPRESSIONS_OF.get(each.tag, ())]
    hashes = [part & 0xFFFFFFFF for part in below]
    loose = [part >> _LOOSE for part in below]
    depth = min(max((part >> _DEPTH & 0xFF for part in below), default=-1) + 1, _MOST_DEPTH)
    flags = 0
    for part in below:
        flags |= part & _FLAGS
    # 2. What the constructor adds to that. The numbers are Lean's own.
    match each.tag:
        case 0:
            index = number(fields[0])
            hashed, loose = mixed_hash(7, _number_hash(fields[0])), [index + 1]
        case 1 | 2:
            hashed = mixed_hash(13 if each.tag == FREE else 17, name_hash(fields[0]))
            flags = _FREE if each.tag == FREE else _EXPRESSION_META
        case 3:
            level = _level_summary(fields[0])
            hashed, flags = mixed_hash(11, level & 0xFFFFFFFF), (level & _LEVEL_FLAGS) >> 32 << 42
        case 4:
            levels = [_level_summary(level) for level in items_of(fields[1])]
            listed = _LIST_HASH
            for level in levels:
                listed = mixed_hash(listed, level & 0xFFFFFFFF)
                flags |= (level & _LEVEL_FLAGS) >> 32 << 42
            hashed = mixed_hash(5, mixed_hash(name_hash(fields[0]), listed))
        case 5:
            hashed = mixed_hash(*below)
        case 6 | 7:
            hashed, loose[1] = mixed_hash(depth, mixed_hash(*hashes)), max(loose[1] - 1, 0)
        case 8:
            hashed = mixed_hash(depth, mixed_hash(hashes[0], mixed_hash(hashes[1], hashes[2])))
            loose[2] = max(loose[2] - 1, 0)
        case 9:
            literal = fields[0]
            value = literal.fields[0] if isinstance(literal, Object) else 0
            is_text = isinstance(value, Object) and value.tag == STRING
            hashed = mixed_hash(3, string_hash(string(value)) if is_text else number(value) & WORD)
        case 10:
            hashed = mixed_hash(depth, hashes[0])
        case 11:
            hashed = mixed_hash(depth, mixed_hash(name_hash(fields[0]), mixed_hash(_number_hash(fields[1]), hashes[0])))
        case _:
            raise Unreadable("no expression")
    # 3. All in one word.
    ranged = min(max(loose, default=0), _MOST_LOOSE)
    return hashed & 0xFFFFFFFF | depth << _DEPTH | flags | ranged << _LOOSE


Named = str | Parts | Value
"""A name as text with dots, as its components, or as it is in the file."""
Term = Any
"""An expression: an object, text (`terms.py`), or a function that makes it with a `Maker`."""


class Maker:
    """Makes names, levels, expressions and constants with right hashes and summaries, the same ones only once."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Object] = {}

    def _once(self, key: tuple[object, ...], made: Object, right: int, tail: bytes = b"") -> Object:
        made.data = right.to_bytes(8, "little") + tail
        return self._made.setdefault(key, made)

    def name(self, *components: str | int) -> Value:
        """A name of these components: `name("Nat", "succ")`."""
        made: Value = 0
        for part in components:
            key = ("name", id(made), part)
            if key not in self._made:
                each = Object(1, [made, text(part)]) if isinstance(part, str) else Object(2, [made, natural(part)])
                self._once(key, each, right_name_hash(each))
            made = self._made[key]
        return made

    def named(self, name: Named) -> Value:
        parts = tuple(name.split(".")) if isinstance(name, str) else name
        return self.name(*parts) if isinstance(parts, tuple) else parts

    # --- levels and expressions ---------------------------------------------------------------------------------------

    def level(self, tag: int, *fields: Value) -> Value:
        each = Object(tag, list(fields))
        return self._once(("level", tag, *map(_key, fields)), each, right_level_summary(each))

    def succ(self, level: Value) -> Value:
        return self.level(SUCCESSOR, level)

    def param(self, name: str) -> Value:
        return self.level(PARAMETER, self.name(name))

    def expression(self, tag: int, *fields: Value, tail: bytes = b"") -> Object:
        """An expression. `tail`: its scalar fields behind the summary, as the kind of a binder."""
        each = Object(tag, list(fields))
        return self._once(("expression", tag, tail, *map(_key, fields)), each, right_summary(each), tail)

    def term(self, term: Term) -> Object:
        made: Any = read(self, term) if isinstance(term, str) else term(self) if callable(term) else term
        return made

    def var(self, index: int) -> Object:
        return self.expression(BOUND, natural(index))

    def sort(self, level: Value) -> Object:
        return self.expression(SORT, level)

    def const(self, name: Named, *levels: Value) -> Object:
        each = Object(CONSTANT, [self.named(name), linked(levels)])
        return self._once(("constant", *map(_key, (each.fields[0], *levels))), each, right_summary(each))

    def app(self, function: Object, *arguments: Object) -> Object:
        for argument in arguments:
            function = self.expression(APPLY, function, argument)
        return function

    def lam(self, type_: Object, body: Object) -> Object:
        return self.expression(LAMBDA, self.name("x"), type_, body, tail=bytes(8))

    def pi(self, type_: Object, body: Object) -> Object:
        return self.expression(FORALL, self.name("x"), type_, body, tail=bytes(8))

    def nat(self, value: int) -> Object:
        each = Object(LITERAL, [Object(0, [natural(value)])])
        return self._once(("literal", value), each, right_summary(each))

    def string(self, value: str) -> Object:
        each = Object(LITERAL, [Object(1, [text(value)])])
        return self._once(("string", value), each, right_summary(each))

    def proj(self, structure: str, index: int, of: Object) -> Object:
        return self.expression(PROJECTION, self.name(structure), natural(index), of)

    # --- constants: the fields as in Lean's `ConstantInfo` ------------------------------------------------------------

    def _constant(self, kind: int, name: Named, levels: Value, type_: Term, *more: Value, flags: bytes = b"") -> Object:
        return Object(kind, [Object(0, [Object(0, [self.named(name), levels, self.term(type_)]), *more], flags)])

    def _names(self, *names: Named) -> Value:
        return linked([self.named(each) for each in names])

    def axiom(self, name: Named, type_: Term, *, levels: Value = 0, unsafe: int = 0) -> Object:
        return self._constant(AXIOM, name, levels, type_, flags=_flags(unsafe))

    def definition(self, name: Named, type_: Term, value: Term, *, levels: Value = 0, safety: int = SAFE) -> Object:
        """A definition that the kernel unfolds at once (`abbrev`)."""
        fields = self.term(value), 1, self._names(name)
        return self._constant(DEFINITION, name, levels, type_, *fields, flags=_flags(safety))

    def theorem(self, name: Named, type_: Term, value: Term, *, levels: Value = 0) -> Object:
        return self._constant(THEOREM, name, levels, type_, self.term(value), self._names(name))

    def opaque(self, name: Named, type_: Term, value: Term, *, levels: Value = 0, unsafe: int = 0) -> Object:
        fields = self.term(value), self._names(name)
        return self._constant(OPAQUE, name, levels, type_, *fields, flags=_flags(unsafe))

    def quotient(self, name: Named, type_: Term, kind: int, *, levels: Value = 0) -> Object:
        return self._constant(QUOTIENT, name, levels, type_, flags=_flags(kind))

    def inductive(self, name: Named, type_: Term, constructors: Sequence[Named], **more: Sequence[int]) -> Object:
        """`numbers`: of parameters, indices, nested types; `flags`: isRec, isUnsafe, isReflexive."""
        parameters, indices, nested = more.get("numbers", (0, 0, 0))
        fields = parameters, indices, self._names(name), self._names(*constructors), nested
        return self._constant(INDUCTIVE, name, 0, type_, *fields, flags=_flags(*more.get("flags", (0, 0, 0))))

    def constructor(self, name: Named, type_: Term, inductive: Named, numbers: Sequence[int] = (0, 0, 0)) -> Object:
        """`numbers`: which constructor it is, of parameters, of fields."""
        return self._constant(CONSTRUCTOR, name, 0, type_, self.named(inductive), *numbers, flags=_flags(0))

    def recursor(self, name: Named, type_: Term, inductive: Named) -> Object:
        """One without rules, with one motive."""
        return self._constant(RECURSOR, name, 0, type_, self._names(inductive), 0, 0, 1, 0, 0, flags=_flags(0, 0))


def _key(value: Value) -> object:
    return ("at", id(value)) if isinstance(value, Object) else value


def _flags(*values: int) -> bytes:
    return bytes(values) + bytes(-len(values) % 8)


# --- modules ----------------------------------------------------------------------------------------------------------

IMPORTS, NAMES, CONSTANTS, EXTRA, ENTRIES = range(5)
"""Fields of `Lean.ModuleData`."""


@dataclass
class Forged:
    """A compiled module as objects, whose constants can be changed by name."""

    root: Value
    header: bytes
    """The first 88 bytes of the file: marker, format, flags, versions, address."""
    objects: list[Object] = field(default_factory=list)
    """The objects in the order in which the file should have them. Those that this list lacks come before their user.
    """
    head: bytes = b""
    """Bytes before the objects."""

    @classmethod
    def decode(cls, content: bytes, before: Sequence[bytes] = ()) -> Self:
        """Of an honest file. `before`: the parts of the module before this one; what it uses of them is then in this
        part, too."""
        known: dict[int, Object] = {}
        root: Value = 0
        for each in (*before, content):
            base = int.from_bytes(each[BASE_AT:HEADER_BYTES], "little")
            words = memoryview(each).cast("Q")
            root_first = each[6] & ROOT_FIRST
            at, last = HEADER_BYTES // 8 + root_first, len(words) - (not root_first)
            while at < last:
                pointer = base + 8 * at
                made, at = _decoded(each, words, at, known)
                known[pointer] = made
            root = _linked(words[HEADER_BYTES // 8 if root_first else -1], known)
        return cls(root, content[:HEADER_BYTES], list(known.values()))

    def encode(self) -> bytes:
        """The bytes of the file."""
        base = int.from_bytes(self.header[BASE_AT:HEADER_BYTES], "little")
        root_first = self.header[6] & ROOT_FIRST
        order = _order(self.objects, self.root)
        # 1. Where each object is. A link to an object that comes later is written like any other: as a link forwards.
        at = HEADER_BYTES + 8 * root_first + len(self.head)
        places: dict[int, int] = {}
        for each in order:
            places[id(each)] = base + at
            at += _size(each)
        # 2. The bytes.
        parts = [self.header]
        root = _word(self.root, places).to_bytes(8, "little")
        if root_first:
            parts.append(root)
        parts.append(self.head)
        parts += [_encoded(each, places) for each in order]
        if not root_first:
            parts.append(root)
        return b"".join(parts)

    @property
    def data(self) -> Object:
        """The `Lean.ModuleData`. Raises Unreadable."""
        if not isinstance(self.root, Object) or len(self.root.fields) != 5:
            raise Unreadable("no module data")
        return self.root

    def items(self, index: int) -> list[Value]:
        """The items of one of the module's five arrays, to be changed in place. Raises Unreadable."""
        found = self.data.fields[index]
        if not isinstance(found, Object) or found.tag != ARRAY:
            raise Unreadable("no array")
        return found.fields

    def infos(self) -> dict[Parts, Object]:
        """The constants by name. Raises Unreadable."""
        return {parts(common(each).fields[0]): each for each in self.constants()}

    def constants(self) -> list[Object]:
        """The `Lean.ConstantInfo` objects. Raises Unreadable."""
        return [fields_of(each, 1) for each in self.items(CONSTANTS)]

    def info(self, name: str) -> Object:
        """The constant of this name (with dots)."""
        return self.infos()[tuple(name.split("."))]

    def add(self, info: Object) -> None:
        """One more constant."""
        self.items(CONSTANTS).append(info)
        self.items(NAMES).append(common(info).fields[0])

    def remove(self, name: str) -> None:
        """One constant less."""
        at = [*self.infos()].index(tuple(name.split(".")))
        del self.items(CONSTANTS)[at], self.items(NAMES)[at]

    def terms(self) -> Iterator[tuple[str, Object]]:
        """The names, levels and expressions of the module, with `name`, `level` or `expression`, each once and behind
        those that it contains. What is not of its sort is left out."""
        roots: list[tuple[str, Value]] = [("name", each) for index in (NAMES, EXTRA) for each in self.items(index)]
        for index in (IMPORTS, ENTRIES):
            named = (each for each in self.items(index) if isinstance(each, Object) and each.fields)
            roots += [("name", each.fields[0]) for each in named]
        for each in self.items(CONSTANTS):
            if isinstance(each, Object):
                roots += _sorts_of_constant(each)
        begun: set[int] = set()
        waiting = [(sort, each, False) for sort, each in reversed(roots)]
        while waiting:
            sort, value, done = waiting.pop()
            if not isinstance(value, Object):
                continue
            if done:
                yield sort, value
            elif id(value) not in begun:
                below = _sorts(sort, value)
                if below is not None:
                    begun.add(id(value))
                    waiting.append((sort, value, True))
                    waiting += [(*each, False) for each in below]

    def repair(self) -> None:
        """Compute the hashes of all names and the summaries of all levels and expressions again."""
        for sort, each in self.terms():
            try:
                right = _RIGHT[sort](each)
            except (Unreadable, IndexError, UnicodeDecodeError, AttributeError):
                continue
            if scalar(each) != right:
                set_scalar(each, right)


_RIGHT = {"name": right_name_hash, "level": right_level_summary, "expression": right_summary}


def _sorts(sort: str, each: Object) -> list[tuple[str, Value]] | None:
    """The names, levels and expressions directly in one; None if it is none itself."""
    fields = each.fields
    if sort == "name":
        return [("name", fields[0])] if each.tag in (1, 2) and len(fields) == 2 else None
    if sort == "level":
        if each.tag in LEVELS_OF and len(fields) == len(LEVELS_OF[each.tag]):
            return [("level", part) for part in fields]
        return [("name", fields[0])] if each.tag in (PARAMETER, LEVEL_META) and len(fields) == 1 else None
    below = EXPRESSIONS_OF.get(each.tag, ())
    if each.tag > PROJECTION or len(fields) <= max(below, default=0):
        return None
    found: list[tuple[str, Value]] = [("expression", fields[index]) for index in below]
    if each.tag in (FREE, META, CONSTANT, LAMBDA, FORALL, LET, PROJECTION):
        found.append(("name", fields[0]))
    if each.tag == SORT:
        found.append(("level", fields[0]))
    if each.tag == CONSTANT and len(fields) == 2:
        found += [("level", level) for level in _listed(fields[1])]
    return found


def _sorts_of_constant(info: Object) -> list[tuple[str, Value]]:
    """The names, levels and expressions of a constant, as far as it is one."""
    details = info.fields[0] if info.fields else 0
    if not isinstance(details, Object) or not details.fields or not isinstance(details.fields[0], Object):
        return []
    first, rest = details.fields[0].fields, details.fields[1:]
    if len(first) != 3:
        return []
    found: list[tuple[str, Value]] = [("name", first[0]), ("expression", first[2])]
    lists = [first[1]]
    if info.tag in (DEFINITION, THEOREM, OPAQUE) and rest:
        found.append(("expression", rest[0]))
        lists.append(rest[-1])
    elif info.tag == INDUCTIVE and len(rest) == 5:
        lists += rest[2:4]
    elif info.tag == CONSTRUCTOR and rest:
        found.append(("name", rest[0]))
    elif info.tag == RECURSOR and len(rest) == 6:
        lists.append(rest[0])
        for rule in _listed(rest[5]):
            if isinstance(rule, Object) and len(rule.fields) == 3:
                found += [("name", rule.fields[0]), ("expression", rule.fields[2])]
    return found + [("name", each) for items in lists for each in _listed(items)]


def _listed(value: Value) -> list[Value]:
    try:
        return items_of(value)
    except Unreadable:
        return []


def fields_of(value: Value, least: int) -> Object:
    """An object with at least so many fields. Raises Unreadable."""
    if not isinstance(value, Object) or len(value.fields) < least:
        raise Unreadable("an object with too few fields")
    return value


def details(info: Object) -> Object:
    """What a constant has besides its kind: its `DefinitionVal`, `TheoremVal`, ... Raises Unreadable."""
    return fields_of(fields_of(info, 1).fields[0], 1)


def common(info: Object) -> Object:
    """The `ConstantVal` of a constant: name, universe parameters, type. Raises Unreadable."""
    return fields_of(details(info).fields[0], 3)


def set_flag(info: Object, index: int, value: int) -> None:
    """One byte of a constant's scalar fields."""
    each = details(info)
    each.data = each.data[:index] + bytes([value]) + each.data[index + 1 :]


def imported(name: Value) -> Object:
    """An import of a module, as an item of `IMPORTS`."""
    return Object(0, [name], bytes([0, 1, 0, 0, 0, 0, 0, 0]))


def module(header: bytes, imports: Sequence[str], constants: Sequence[Object], make: Maker) -> Forged:
    """A module made from nothing, without entries of extensions."""
    listed = array(imported(make.named(name)) for name in imports)
    names = array(common(each).fields[0] for each in constants)
    return Forged(Object(0, [listed, names, array(constants), array([]), array([])], bytes(8)), header)
