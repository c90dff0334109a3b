"""The bytes of an .olean file as objects of Lean's runtime, looked at only after all of them were checked.

An .olean file is a heap that Lean's compactor wrote: a header, then objects one behind the other, each after those that
it points to. Pointers are absolute, for the address at which Lean maps the file. Whoever elaborates a file decides what
stands in its .olean file, so nothing here is believed: the objects must fill the file one behind the other, and each
pointer must lead to the beginning of an earlier one. They are therefore finite and without circles, and a process that
reads the same bytes natively stays inside of them. None may count references: such a process would then free it.
Layouts: `lean_object` in Lean's `lean.h`, `olean_header` in its `module.cpp`.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

MARKER = b"olean"
HEADER_BYTES = 88
"""Marker (5), format (1), flags (1), Lean's version (33), commit (40), address (8)."""

FORMATS = frozenset({2})
ROOT_FIRST = 1
"""Flag: the pointer to the root stands behind the header. Without it, the pointer is the file's last word."""

LARGEST_CONSTRUCTOR = 244
ARRAY, STRING, INTEGER = 246, 249, 250
"""Tags of objects that are not constructors. A tag up to LARGEST_CONSTRUCTOR is the number of a constructor."""

_SCALAR_ARRAY, _THUNK, _TASK = 248, 251, 252
_STRING_BYTES = 32
_ARRAY_WORDS = 3
_SCALAR_ARRAY_BYTES = 24
_INTEGER_BYTES = 24
_BOXED_BITS = 63
"""Smaller natural numbers are no objects. The kernel takes two numbers for different if one of them is an object."""

_COUNT = 0xFFFFFFFF
"""Bits of an object's header that count references; 0 says that it is never freed."""

_LIMB_BITS = 64


class BadOlean(Exception):
    """The file is no .olean file of this format, or its objects are not what they should be."""


class UnknownFormat(BadOlean):
    """A compiled module of a Lean whose format is not known here."""


@dataclass(frozen=True)
class Node:
    """A constructor object: its number, where its fields begin (in words), and how many of them are objects."""

    tag: int
    at: int
    objects: int
    words: int
    """Number of words that belong to the object behind its header, those of scalar fields included."""


class Region:
    """One mapped .olean file. Pointers are as in the file; a boxed scalar is an odd number. `close` it in the end."""

    def __init__(self, path: Path) -> None:
        """Map a file. Raises BadOlean and OSError."""
        with path.open("rb") as file:
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                raise BadOlean(f"{path.name}: an empty file") from None
        self._bytes = memoryview(self._map)
        header = bytes(self._bytes[:HEADER_BYTES])
        if len(header) < HEADER_BYTES or header[:5] != MARKER:
            raise BadOlean(f"{path.name}: not a compiled Lean module")
        if header[5] not in FORMATS:
            raise UnknownFormat(f"{path.name}: format {header[5]} of compiled modules is not known here")
        if len(self._bytes) % 8:
            raise BadOlean(f"{path.name}: cut short")
        self.version = header[7:40].rstrip(b"\0").decode("ascii", "replace")
        self.commit = header[40:80].rstrip(b"\0").decode("ascii", "replace")
        self._base = int.from_bytes(header[80:88], "little")
        self._size = len(self._bytes)
        self.words = self._bytes.cast("Q")
        root_first = bool(header[6] & ROOT_FIRST)
        first = HEADER_BYTES // 8 + root_first
        last = self._size // 8 - (not root_first)
        if last <= first:
            raise BadOlean(f"{path.name}: cut short")
        self.root = self.words[HEADER_BYTES // 8 if root_first else -1]
        self.pointers = self._checked(first, last)
        """Of all objects."""
        if self.root not in self.pointers:
            raise BadOlean("a pointer that leads to no object")

    def close(self) -> None:
        """Unmap the file."""
        self.words.release()
        self._bytes.release()
        self._map.close()

    def _checked(self, first: int, last: int) -> set[int]:
        """The pointers to all objects, between two positions in words. Raises BadOlean."""
        words, base = self.words, self._base
        starts: set[int] = set()
        at = first
        while at < last:
            header = words[at]
            tag = header >> 56
            if header & _COUNT:
                raise BadOlean("an object that counts references")
            pointers: memoryview | tuple[()] = ()
            if tag <= LARGEST_CONSTRUCTOR:
                size = (header >> 32) & 0xFFFF
                objects = (header >> 48) & 0xFF
                if size & 7 or size < 8 + 8 * objects:
                    raise BadOlean("an object that is larger than its place")
                pointers = words[at + 1 : at + 1 + objects]
                end = at + size // 8
            else:
                end, pointers = self._extent(tag, header, at, last)
            if end > last:
                raise BadOlean("an object that is larger than its place")
            for pointer in pointers:
                if not pointer & 1 and pointer not in starts:
                    raise BadOlean("a pointer that leads to no object before it")
            starts.add(base + 8 * at)
            at = end
        return starts

    def _extent(self, tag: int, header: int, at: int, last: int) -> tuple[int, memoryview | tuple[()]]:
        """Where an object that is no constructor ends, and the pointers in it. Raises BadOlean."""
        if at + _ARRAY_WORDS > last:
            raise BadOlean("an object that is larger than its place")
        words = self.words
        count, room = words[at + 1], words[at + 2]
        if tag in (ARRAY, STRING, _SCALAR_ARRAY) and not count <= room <= self._size:
            raise BadOlean("an array or string that is larger than its place")
        match tag:
            case _ if tag == ARRAY:
                begin = at + _ARRAY_WORDS
                return begin + room, words[begin : begin + count]
            case _ if tag == STRING:
                return at + (_STRING_BYTES + room + 7) // 8, ()
            case _ if tag == _SCALAR_ARRAY:
                return at + (_SCALAR_ARRAY_BYTES + room * ((header >> 48) & 0xFF) + 7) // 8, ()
            case _ if tag == INTEGER:
                return at + _INTEGER_BYTES // 8 + (count >> 32 & 0x7FFFFFFF), ()
            case _ if tag in (_THUNK, _TASK):
                if words[at + 2]:
                    raise BadOlean("a value that is still to be computed")
                return at + 3, words[at + 1 : at + 2]
        raise BadOlean(f"an object with tag {tag}, which no compiled module holds")

    def node(self, pointer: int, before: int | None = None) -> Node:
        """The constructor object behind a pointer; `before`: the pointer to what holds it. Raises BadOlean."""
        at = self._at(pointer, before)
        header = self.words[at]
        tag, objects, size = header >> 56, (header >> 48) & 0xFF, (header >> 32) & 0xFFFF
        if tag > LARGEST_CONSTRUCTOR:
            raise BadOlean(f"an object with tag {tag} where a constructor is expected")
        return Node(tag, at + 1, objects, size // 8 - 1)

    def array(self, pointer: int, before: int | None = None) -> list[int]:
        """The pointers in an array. Raises BadOlean."""
        at = self._at(pointer, before)
        if self.words[at] >> 56 != ARRAY:
            raise BadOlean("no array where one is expected")
        begin = at + _ARRAY_WORDS
        return self.words[begin : begin + self.words[at + 1]].tolist()

    def string(self, pointer: int, before: int | None = None) -> str:
        """The text of a string. Raises BadOlean."""
        at = self._at(pointer, before)
        if self.words[at] >> 56 != STRING:
            raise BadOlean("no string where one is expected")
        size = self.words[at + 1]
        begin = at * 8 + _STRING_BYTES
        if not size or self._bytes[begin + size - 1]:
            raise BadOlean("a string that does not end")
        try:
            return bytes(self._bytes[begin : begin + size - 1]).decode("utf-8")
        except UnicodeDecodeError:
            raise BadOlean("a string that is not UTF-8") from None

    def natural(self, pointer: int, before: int | None = None) -> int:
        """A natural number, boxed or large. Raises BadOlean."""
        if pointer & 1:
            return pointer >> 1
        at = self._at(pointer, before)
        if self.words[at] >> 56 != INTEGER:
            raise BadOlean("no number where one is expected")
        limbs = self.words[at + 1] >> 32
        begin = at * 8 + _INTEGER_BYTES
        if limbs >> 31 or self.words[at + 2] - self._base != begin:
            raise BadOlean("a number that is negative, or whose digits stand elsewhere")
        number = int.from_bytes(self._bytes[begin : begin + limbs * 8], "little")
        if number >> _BOXED_BITS == 0 or number >> (_LIMB_BITS * (limbs - 1)) == 0:
            raise BadOlean("a number that Lean would write in another way")
        return number

    def list_(self, pointer: int, before: int | None = None) -> list[int]:
        """The pointers in a linked list. Raises BadOlean."""
        found = []
        while not pointer & 1:
            cell = self.node(pointer, before)
            if cell.tag != 1 or cell.objects != 2:
                raise BadOlean("no list where one is expected")
            found.append(self.words[cell.at])
            before, pointer = pointer, self.words[cell.at + 1]
        return found

    def _at(self, pointer: int, before: int | None) -> int:
        """Position of an object, in words. Objects stand behind those that they point to."""
        if pointer not in self.pointers or (before is not None and pointer >= before):
            raise BadOlean("a pointer that leads to no object, or forwards")
        return (pointer - self._base) >> 3
